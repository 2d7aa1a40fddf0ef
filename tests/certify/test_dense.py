"""The dense judge: against the blocks of the checker, real functions, and wrong data.

It writes every client out, so its forms have the blocks' eigenvalues, each as often as
exchangeable clients repeat it. That holds exactly, for random numbers in a certificate.
"""

from __future__ import annotations

import copy
from fractions import Fraction
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random

import numpy as np
import pytest
from flint import fmpq, fmpq_mat

from flverify.algorithms import FedDyn, FedVarp, Focus, ProxSkip, Scaffold
from flverify.certify.check import Rejected, blocks, cancellations, load
from flverify.certify.rates import certify
from flverify.participation import AllOrNothing, Bernoulli, UniformCohort
from tests.certify import dense
from tests.certify.ansaetze import at_level

DATA = Path(__file__).parent / "data"
STORED = (
    "fedavg_neighbourhood",
    "focus_classes",
    "focus_slots",
    "focus_started",
    "proxskip",
    "scaffold_lifted",
)  # those of at most four clients
FOUND = {
    "previous point": (Focus("1/4"), UniformCohort(4, 1)),
    "last step": (Focus("11/30"), UniformCohort(3, 1)),
    "previous gradients": (Focus("3/10"), UniformCohort(4, 2)),
    "previous gradients, classes": (Scaffold("1/2"), Bernoulli(["1/2"] * 2 + ["1/5"])),
    "three classes": (Focus("1/9", 2), Bernoulli(["1", "1/3", "1/3", "1/9"])),
    "option I": (Scaffold("1/9", 2, option="I"), Bernoulli(["1/2"] * 3)),
    "table": (FedVarp("1/10"), Bernoulli(["1/2"] * 2 + ["1/5"])),
    "duals": (FedDyn("1/2", 1, 2), Bernoulli(["1/2"] * 2 + ["1/5"])),
    "coin": (ProxSkip("1/3", probability="1/5"), AllOrNothing(4, "1/5")),
}


@cache
def certificate(name):
    if name in STORED:
        return load(DATA / f"{name}.json")
    algorithm, law = FOUND[name]
    one = name in ("previous point", "last step")
    return (at_level(name) if one else certify)(algorithm, law, "1/10", 1).certificate


CASES = pytest.mark.parametrize("name", [*STORED, *FOUND])


@CASES
def test_it_accepts_what_holds(name):
    assert dense.accepts(certificate(name))


# ------------------------------------------------- the same forms as the blocks


def shuffled(name, seed):
    return randomised(certificate(name), f"{name}{seed}")


def randomised(certificate, seed):
    """The certificate with random numbers for V, multipliers, weights and values."""
    draw, c = Random(seed), copy.deepcopy(certificate)

    def some(low):
        return str(Fraction(draw.randint(low, 20), draw.randint(1, 9)))

    for matrix in [c["V"]["mean"], *c["V"]["classes"]]:
        for a in range(len(matrix)):
            for b in range(a + 1):
                matrix[a][b] = matrix[b][a] = some(-20)
    for part in ("decrease", "positivity", "start"):
        for key in {"multipliers", "upper", "lower"} & set(c[part]):
            c[part][key] = [[*row[:-1], some(0)] for row in c[part][key]]
    c["values"] = [{**value, "delta": some(0)} for value in c["values"]]
    c["ghost_values"] = [[some(-20) for _ in row] for row in c["ghost_values"]]
    c["start"]["C1"], c["start"]["C2"] = some(0), some(0)
    if c["neighbourhood"]:
        c["neighbourhood"] = {"weight": some(1), "constant": some(0)}
    return c


def sizes(c):
    law = c["law"]
    if law["kind"] == "bernoulli":
        return [entry["clients"] for entry in law["classes"]]
    return [law["n_clients"]]


@pytest.mark.one_in(5)
@CASES
@pytest.mark.parametrize("seed", range(3))
def test_signatures_are_those_of_the_blocks(name, seed):
    c = shuffled(name, seed)
    require_signatures(c, blocks(c))


def require_signatures(c, found):
    """By Sylvester's law they agree whatever coordinates either side chose."""
    for stage, condition in dense.conditions(c).items():
        wanted = np.array(_signs(found[f"{stage}/mean"]))
        for r, n in enumerate(sizes(c)):
            if n > 1:
                block = found[f"{stage}/class {r}"]
                wanted += (n - 1) * np.array(_signs(block))
        counts = np.array(dense.sign_counts(condition.matrix()))
        assert (counts[::2] == wanted[::2]).all(), stage  # unseen names are zeros


def _signs(block):
    return dense.sign_counts([[dense.exact(x) for x in row] for row in block])


@pytest.mark.one_in(4)
@CASES
@pytest.mark.parametrize("seed", range(3))
def test_values_cancel_by_the_same_amounts(name, seed):
    c = shuffled(name, seed)
    found, n_clients = cancellations(c), sum(sizes(c))
    checked = 0
    for stage, condition in dense.conditions(c).items():
        of_class = [r for r, n in enumerate(sizes(c)) for _ in range(n)]
        for i, r in enumerate(of_class):
            prefix = f"{stage}/class {r}/"
            mine = {k: v for k, v in found.items() if k.startswith(prefix)}
            for key, value in mine.items():
                own = condition.values[i, key.removeprefix(prefix)]
                assert own * n_clients == dense.exact(value), key
                checked += 1
    assert checked == sum(
        n * sum(f"/class {r}/" in key for key in found) for r, n in enumerate(sizes(c))
    )


FREE = [
    *("focus_slots", "focus_classes", "scaffold_lifted", "previous point"),
    *("last step", "three classes", "option I"),
]  # no mean of a client slot is eliminated, so all clients' vectors are coordinates


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", FREE)
@pytest.mark.parametrize("stage", ["decrease", "positivity"])
def test_eigenvalues_are_those_of_the_blocks(name, stage):
    # (mean, deviation) is an orthogonal change of coordinates once the mean over a
    # class of n clients is scaled by sqrt(n): the characteristic polynomials factor
    c = shuffled(name, 7)
    judge, found, n_clients = dense.Judge(c), blocks(c), sum(sizes(c))
    calls = range(c["calls"] if stage == "decrease" else 0)
    names = [("server", s) for s in judge.server]
    names += [("client", s, i) for s in judge.client for i in range(n_clients)]
    names += [("call", k, i) for k in calls for i in range(n_clients)]
    scales = [1] * len(judge.server)
    scales += [n for n in sizes(c) for _ in judge.client]
    scales += [n for n in sizes(c) for _ in calls]
    rows = zip(found[f"{stage}/mean"], scales, strict=True)
    wanted = _polynomial([[x / n for x in row] for row, n in rows])
    for r, n in enumerate(sizes(c)):
        if n > 1:
            block = found[f"{stage}/class {r}"]
            own = _polynomial([[x / n_clients for x in row] for row in block])
            wanted *= own ** (n - 1)
    condition = getattr(judge, stage)()
    assert {n for pair in condition.form for n in pair} <= set(names)
    assert fmpq_mat(condition.matrix(names)).charpoly() == wanted


def _polynomial(rows):
    return fmpq_mat([[dense.exact(x) for x in row] for row in rows]).charpoly()


def test_another_law_has_another_form():
    c = shuffled("focus_slots", 0)
    other = copy.deepcopy(c)
    other["law"]["classes"][0]["inclusion"] = "50001/100000"
    ours, theirs = dense.Judge(c).decrease(), dense.Judge(other).decrease()
    assert ours.matrix() != theirs.matrix()


# ------------------------------------------------------------- any tables at all

LOOPS = {
    "focus": ({"step_size": "1/5", "local_steps": 2}, ["tracker"], ["stored"]),
    "scaffold": ({"step_size": "1/5", "local_steps": 2}, ["control"], ["controls"]),
    "proxskip": ({"step_size": "1/3", "probability": "1/5"}, [], ["models", "shifts"]),
}


def named(name, given):
    """Settings with the defaults of a loop, which a certificate has to name."""
    module = import_module(f"flverify.reference.{name}")
    defaults = {
        **(module.start.__kwdefaults__ or {}),
        **(module.play.__kwdefaults__ or {}),
    }
    exact = {"server_step_size": "1"} if "server_step_size" in defaults else {}
    return {k: v for k, v in defaults.items() if v is not None} | exact | given


def tables(name, draw):
    """A certificate of zeros with random tables, most of them near the right ones."""
    c = copy.deepcopy(certificate("scaffold_lifted"))  # for its texts and keys
    settings, trackers, clients = LOOPS[name]
    servers, n, numbers = ["model", *trackers], 3, ["-1", "0", "1/3", "1", "2", "3"]
    right = {"models": ["1", "0"], "model": ["1", "0"], "tracker": ["0", "0"]}
    right |= {"control": ["0", "0"]}
    rest = {s: right.get(s, ["0", "1"]) for s in [*servers, *clients]}
    relations = {
        "focus": [("tracker", "stored", "3"), ("stored", "tracker", "1/3")],
        "scaffold": [("control", "controls", "1"), ("controls", "control", "1")],
        "proxskip": [("model", "models", "1"), ("shifts", "model", "0")],
    }[name]
    gone = {slot: {other: v} for slot, other, v in relations if draw.random() < 0.5}
    calls = draw.choice([1, 2])
    chosen = [draw.randrange(calls) for _ in range(draw.choice([1, 2]))]
    weights = draw.choice([["1"], ["1/2", "1/2"], ["2", "-1"], ["0", "1"]])
    lifted = [clients[-1]] if draw.random() < 0.5 else []
    memories = [{"slot": s, "calls": chosen, "weights": weights} for s in lifted]
    further = [draw.randrange(calls)] if draw.random() < 0.3 else []
    weight = draw.choice(["0", "0", "0", "1"])
    memories += [{"slot": None, "calls": further, "weights": [weight]} for _ in further]
    if draw.random() < 0.5:
        rest[draw.choice(list(rest))] = [draw.choice(numbers), draw.choice(numbers)]
    if draw.random() < 0.3:
        slot, other = draw.sample(list(rest), 2)
        gone[slot] = {other: draw.choice(numbers)} if draw.random() < 0.8 else {}
    ghosts = (len(chosen) if lifted else 0) + len(further)
    own = len(clients) - len(lifted) + 2 * ghosts
    mean = len([s for s in servers if s not in gone])
    mean += own - len([s for s in clients if s in gone])
    c |= {
        "kind": draw.choice(["rate", "neighbourhood"]),
        "algorithm": {"name": name, "source": "", "settings": named(name, settings)},
        "law": {"kind": "all_or_nothing", "n_clients": n, "probability": "1/5"},
        "equilibrium": rest,
        "eliminated": gone,
        "calls": calls,
        "memories": memories,
        "values": [],
        "ghost_values": [["0"] * ghosts],
        "V": {"mean": zeros(mean), "classes": [zeros(own)]},
    }
    c["neighbourhood"] = {"weight": "1", "constant": "1"}
    for part in ("decrease", "positivity", "start"):
        c[part] |= {key: [] for key in c[part] if isinstance(c[part][key], list)}
    names = ["star", *(f"ghost:{j}" for j in range(ghosts))]
    asked = [f"call:{k}" for k in range(calls)]
    c["decrease"]["multipliers"] = [[0, b, a, "1"] for a in asked for b in names]
    if c["kind"] == "rate":
        c["neighbourhood"] = None
    return c


def zeros(size):
    return [["0"] * size for _ in range(size)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", LOOPS)
def test_tables_that_the_checker_lets_through_are_true(name):
    draw, through = Random(f"tables {name}"), set()
    for k in range(400):
        c = randomised(tables(name, draw), f"tables {k}")
        try:
            found = blocks(c)
        except Rejected:
            continue
        require_signatures(c, found)
        told = [c[key] for key in ("kind", "equilibrium", "eliminated", "memories")]
        through.add(repr(told))
    assert len(through) >= 6


# -------------------------------------------------------------- definiteness


def test_signs_are_those_of_the_eigenvalues():
    draw = np.random.default_rng(3)
    for size in range(1, 7):
        whole = draw.integers(-9, 10, (size, size))
        whole = whole + whole.T
        values = np.linalg.eigvalsh(whole)
        counts = (
            (values < -1e-9).sum(),
            (abs(values) < 1e-9).sum(),
            (values > 1e-9).sum(),
        )
        assert (
            dense.sign_counts([[fmpq(int(x)) for x in row] for row in whole]) == counts
        )


def test_signs_of_a_square_and_just_below_it():
    draw = np.random.default_rng(4)
    tall = draw.integers(-9, 10, (5, 3))
    square = [[fmpq(int(x), 7) for x in row] for row in tall @ tall.T]
    assert dense.sign_counts(square) == (0, 2, 3)
    tiny = fmpq(1, 10**40)
    lower = [
        [x - (tiny if a == b else 0) for b, x in enumerate(row)]
        for a, row in enumerate(square)
    ]
    assert dense.sign_counts(lower) == (2, 0, 3)
    assert dense.sign_counts([]) == (0, 0, 0)


# ------------------------------------------------------------- wrong data


def changed(name, path, value):
    c = copy.deepcopy(certificate(name))
    at = c
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return c


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("focus_slots", ("rho",), "459055/500000"),
        ("focus_slots", ("law", "classes", 0, "clients"), 3),
        ("focus_slots", ("law", "classes", 0, "inclusion"), "49/100"),
        ("focus_slots", ("law", "kind"), "uniform_cohort"),
        ("focus_slots", ("algorithm", "settings", "step_size"), "21/100"),
        ("focus_slots", ("algorithm", "settings", "local_steps"), 2),
        ("focus_slots", ("algorithm", "name"), "scaffold"),
        ("focus_slots", ("equilibrium", "stored"), ["0", "2"]),
        ("focus_slots", ("equilibrium", "model"), ["2", "0"]),
        ("focus_slots", ("eliminated", "tracker", "stored"), "3"),
        ("focus_slots", ("eliminated",), {}),
        ("focus_slots", ("calls",), 2),
        ("focus_slots", ("V", "mean", 0, 1), "-1000"),
        ("focus_slots", ("start", "C1"), "2000"),
        ("focus_slots", ("decrease", "multipliers"), []),
        ("focus_started", ("algorithm", "settings", "initial_tracker"), "zero"),
        ("focus_started", ("memories", 0, "weights"), ["2"]),
        ("scaffold_lifted", ("memories", 0, "weights"), ["1/3", "2/3"]),
        ("scaffold_lifted", ("memories", 0, "calls"), [1, 1]),
        ("scaffold_lifted", ("positivity", "multipliers"), []),
        ("previous point", ("values", 0, "point", "model"), "2"),
        ("previous point", ("values", 0, "delta"), "-1"),
        ("previous point", ("ghost_values", 0, 0), "1/3"),
        ("previous point", ("law", "cohort_size"), 2),
        ("last step", ("decrease", "upper"), []),
        ("last step", ("positivity", "lower"), []),
        ("fedavg_neighbourhood", ("neighbourhood", "constant"), "1/1000"),
        ("fedavg_neighbourhood", ("neighbourhood", "weight"), "2"),
        ("proxskip", ("eliminated",), {}),
        ("proxskip", ("law", "probability"), "1/10"),
    ],
)
def test_it_rejects(name, path, value):
    assert not dense.accepts(changed(name, path, value))
