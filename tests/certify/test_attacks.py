"""Attempts to have something false accepted: each must be rejected, for its own reason.

An attack changes one thing of a stored certificate and signs it again. Those under
`CHEAP` would prove any rate at all if the thing were let through: they first ask for a
rate below that of the worst quadratic. The rest of the file compares the checker with
the dense judge where its "kinds" are oddest: classes of one and of two clients, classes
that always take part, one client alone, a coin, and rounds that may be empty.
"""

from __future__ import annotations

import copy
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from flverify.algorithms import Focus
from flverify.certify.certificate import digest
from flverify.certify.check import Rejected, blocks, cancellations, check, load
from flverify.certify.check._reading import STATEMENTS
from flverify.certify.sandwich import worst_quadratic
from flverify.participation import Bernoulli
from tests.certify import dense
from tests.certify.test_dense import (
    named,
    randomised,
    require_signatures,
    sizes,
    zeros,
)

DATA = Path(__file__).parent / "data"


@cache
def stored(name):
    return load(DATA / f"{name}.json")


def attacked(name, *changes):
    c = copy.deepcopy(stored(name))
    for change in changes:
        change(c)
    return {**c, "digest": digest(c)}


def put(*path):
    """Write the last of these at the path that the others are."""
    *keys, last, value = path

    def change(c):
        for key in keys:
            c = c[key]
        c[last] = value

    return change


def append(*path):
    """Add the last of these to the list at the path that the others are."""
    *keys, value = path

    def change(c):
        for key in keys:
            c = c[key]
        c.append(value)

    return change


# ------------------------------------------------------ what would prove any rate

LOW = put("rho", "9/10")  # of focus_slots; the worst quadratic has more
HUGE = "1" + "0" * 200
SELF = [0, "call:0", "call:0", HUGE]
STAR = [0, "star", "star", HUGE]
VALUE = {"point": {"model": "1"}, "delta": HUGE}
NEVER = {"clients": 2, "inclusion": "0"}
SURE = {"kind": "bernoulli", "classes": [{"clients": 2, "inclusion": "3/2"}]}
CHEAP = {
    "nothing else": ([], "positive semidefinite"),
    "a multiplier from a point to itself": (
        [append("decrease", "multipliers", SELF)],
        "positive semidefinite",
    ),
    "a multiplier from x* to itself": (
        [append("decrease", "multipliers", STAR)],
        "positive semidefinite",
    ),
    "multipliers that cancel": (
        [
            append("decrease", "multipliers", [0, "star", "call:0", HUGE]),
            append("decrease", "multipliers", [0, "star", "call:0", "-" + HUGE]),
        ],
        "must not be negative",
    ),
    "a cycle of multipliers": (
        [
            append("decrease", "multipliers", [0, "star", "call:0", HUGE]),
            append("decrease", "multipliers", [0, "call:0", "star", HUGE]),
        ],
        "positive semidefinite",
    ),
    "a value that is free": (
        [append("values", VALUE)],
        "positivity: the weights of value 0",
    ),
    "a value below zero": (
        [append("values", {**VALUE, "delta": "-1"})],
        "delta must",
    ),
    "twice the same bound": (
        [
            append("values", VALUE),
            append("decrease", "lower", [0, 0, "star", HUGE]),
            append("decrease", "lower", [0, 0, "star", HUGE]),
        ],
        "positivity: the weights of value 0",
    ),
    "a V of zero": (
        [put("V", {"mean": zeros(2), "classes": [[["0"]]]})],
        "block positivity/mean",
    ),
    "an indefinite V": ([put("V", "mean", 0, 0, "-" + HUGE)], "block positivity"),
    "nobody ever": ([put("law", "classes", 0, NEVER)], "above 0"),
    "more than surely": ([put("law", SURE)], "at most 1"),
    "an infinite step": (
        [put("algorithm", "settings", "step_size", "inf")],
        "exact number",
    ),
    "no local steps": ([put("algorithm", "settings", "local_steps", 0)], "from 1"),
    "settings of another loop": (
        [put("algorithm", "settings", "probability", "1")],
        "settings must be among",
    ),
    "gradients that are not taken": ([put("calls", 2)], "must take 2 gradients"),
    "a tracker that is not eliminated rightly": (
        [put("eliminated", {"tracker": {}})],
        "relation that eliminates tracker",
    ),
    "the model eliminated": (
        [put("eliminated", "model", {"tracker": "1"})],
        "must be one of",
    ),
    "a model that rests elsewhere": (
        [put("equilibrium", "model", ["2", "0"])],
        "must be x",
    ),
    "a tracker that rests at a gradient": (
        [put("equilibrium", "tracker", ["0", "1"])],
        "must have beta 0",
    ),
    "a slot that rests nowhere": (
        [put("equilibrium", "stored", ["0", "0"])],
        "stored must be as in the table",
    ),
    "memories without weight": (
        [
            put("equilibrium", "stored", ["0", "0"]),
            put("memories", [{"slot": "stored", "calls": [0], "weights": ["0"]}]),
            put("level", "lifted"),
            put("ghost_values", [["0"]]),
            put("V", {"mean": zeros(3), "classes": [zeros(2)]}),
        ],
        "stored must be as in the table",
    ),
    "memories whose weights add to zero": (
        [
            put("equilibrium", "stored", ["0", "0"]),
            put(
                "memories",
                [{"slot": "stored", "calls": [0, 0], "weights": ["1", "-1"]}],
            ),
            put("level", "lifted"),
            put("ghost_values", [["0", "0"]]),
            put("V", {"mean": zeros(5), "classes": [zeros(4)]}),
        ],
        "stored must be as in the table",
    ),
    "a memory of no slot that holds a slot": (
        [
            put("memories", [{"slot": None, "calls": [0], "weights": ["1"]}]),
            put("level", "previous gradients"),
        ],
        "without a slot must have the weights 0",
    ),
    "two memories of no slot": (
        [
            put("memories", [{"slot": None, "calls": [0], "weights": ["0"]}] * 2),
            put("level", "previous gradients"),
        ],
        "once at most",
    ),
    "a memory of no slot whose value is free": (
        [
            put("memories", [{"slot": None, "calls": [0], "weights": ["0"]}]),
            put("level", "previous gradients"),
            put("ghost_values", [["-" + HUGE]]),
            put("V", {"mean": zeros(4), "classes": [zeros(3)]}),
        ],
        "value decrease/class 0/ghost:0 must cancel|value positivity/class 0/ghost:0",
    ),
    "a smoothness below the convexity": (
        [put("function_class", "smoothness", "1/100")],
        "0 < strong_convexity < smoothness",
    ),
    "no strong convexity": (
        [put("function_class", "strong_convexity", "-1")],
        "0 < strong_convexity",
    ),
}


def test_the_lower_rate_is_false():
    worst = worst_quadratic(Focus("1/5"), Bernoulli(["1/2"] * 2), "1/10", 1)
    assert worst.lower_bound > Fraction("9/10")
    assert check(stored("focus_slots")).rho > worst.lower_bound


@pytest.mark.parametrize("name", CHEAP)
def test_no_trick_proves_a_rate_below_the_worst_quadratic(name):
    tricks, reason = CHEAP[name]
    with pytest.raises(Rejected, match=reason):
        check(attacked("focus_slots", LOW, *tricks))


# --------------------------------------------- rates and constants out of their range


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("focus_slots", [put("rho", "-1/2")], "rho must be above 0"),
        ("focus_slots", [put("rho", "0")], "rho must be above 0"),
        ("focus_slots", [put("rho", "1")], "rho must be below 1"),
        ("focus_slots", [put("rho", "2")], "at most 1"),
        ("focus_slots", [put("rho", "nan")], "exact number"),
        ("focus_slots", [put("rho", "1e-9")], "exact number"),
        ("focus_slots", [put("rho", "9_1/100")], "exact number"),
        ("focus_slots", [put("rho", "\u0661/2")], "exact number"),
        ("focus_slots", [put("rho", "1/2\n")], "exact number"),
        ("focus_slots", [put("rho", "1/0")], "divide by zero"),
        ("focus_slots", [put("rho", 0.5)], "exact number"),
        ("focus_slots", [put("start", "C1", "-1")], "C1 and C2"),
        ("focus_slots", [put("start", "C2", "0")], "block start"),
        ("focus_slots", [put("start", "C1", "0")], "block start"),
        ("focus_slots", [put("level", "last step")], "level must be"),
        ("scaffold_lifted", [put("level", "previous gradients")], "level must be"),
        (
            "fedavg_neighbourhood",
            [put("neighbourhood", {"weight": "0", "constant": "1"})],
            "rho must be below 1",
        ),
        (
            "fedavg_neighbourhood",
            [put("neighbourhood", {"weight": "0", "constant": "1"}), put("rho", "1/2")],
            "block",
        ),
        (
            "fedavg_neighbourhood",
            [put("neighbourhood", "constant", "-1")],
            "must not be negative",
        ),
        (
            "fedavg_neighbourhood",
            [put("neighbourhood", "constant", "0")],
            "block decrease",
        ),
        (
            "fedavg_neighbourhood",
            [
                put("kind", "rate"),
                put("statement", STATEMENTS["rate"]),
                put("neighbourhood", None),
                put("rho", "99/100"),
            ],
            "every point must be as in the table",
        ),
    ],
)
def test_numbers_out_of_range(name, changes, reason):
    with pytest.raises(Rejected, match=reason):
        check(attacked(name, *changes))


# ------------------------------------------------------- another setting than proved


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        # the same numbers for a loop that does something else in an empty round
        (
            "focus_slots",
            [put("algorithm", "settings", "empty_round", "skip")],
            "block decrease",
        ),
        # a tracker that is not the sum of the stored gradients at the start
        (
            "focus_started",
            [put("algorithm", "settings", "initial_tracker", "zero")],
            "eliminates tracker must hold at the start",
        ),
        (
            "focus_started",
            [put("law", "n_clients", 4)],
            "eliminates tracker must hold after",
        ),
        (
            "focus_classes",
            [put("law", "classes", 1, "clients", 2)],
            "must be a list of length 1",
        ),
        (
            "focus_classes",
            [put("law", "classes", 0, "inclusion", "1/1000")],
            "block",
        ),
        # the coin of ProxSkip: the law tosses it, the loop is told its probability
        ("proxskip", [put("law", "probability", "1/100")], "block"),
        (
            "proxskip",
            [put("algorithm", "settings", "probability", "1/100")],
            "block",
        ),
        ("proxskip", [put("algorithm", "settings", "local_steps", 2)], "must suit"),
        (
            "proxskip",
            [put("law", {"kind": "bernoulli", "classes": [
                {"clients": 3, "inclusion": "1/2"}]})],
            "block decrease",
        ),
        (
            "scaffold_lifted",
            [put("algorithm", "settings", "option", "I")],
            "memory controls",
        ),
        ("scaffold_lifted", [put("memories", 0, "calls", [0, 0])], "memory controls"),
        (
            "focus_lifted",
            [put("values", 1, "point", {"model": "2", "ghost:0.point": "-1"})],
            "block decrease",
        ),
        (
            "focus_lifted",
            [put("values", 1, "point", {"ghost:0.gradient": "1"})],
            "must be x",
        ),
    ],
)  # fmt: skip
def test_numbers_of_another_setting(name, changes, reason):
    with pytest.raises(Rejected, match=reason):
        check(attacked(name, *changes))


# ------------------------------------------------------------ kinds, where they are odd


def classes(*pairs):
    listed = [{"clients": n, "inclusion": p} for n, p in pairs]
    return {"kind": "bernoulli", "classes": listed}


LAWS = {
    "one sure, one not": classes((1, "1"), (1, "1/3")),
    "two sure, one rare": classes((2, "1"), (1, "1/1000")),
    "one of each": classes((1, "1/2"), (1, "1/3"), (1, "1")),
    "pairs": classes((2, "1/2"), (2, "9/10")),
    "one alone": classes((1, "1/7")),
    "nobody or one": {"kind": "all_or_nothing", "n_clients": 1, "probability": "1/7"},
    "nobody or two": {"kind": "all_or_nothing", "n_clients": 2, "probability": "1/2"},
    "one of two": {"kind": "uniform_cohort", "n_clients": 2, "cohort_size": 1},
    "one of one": {"kind": "uniform_cohort", "n_clients": 1, "cohort_size": 1},
}
REST = {
    "model": ["1", "0"],
    "models": ["1", "0"],
    "tracker": ["0", "0"],
    "control": ["0", "0"],
    "stored": ["0", "1"],
    "controls": ["0", "1"],
    "shifts": ["0", "1"],
}
STEP = {"step_size": "3/7"}
LOOPS = {
    "focus, step": ("focus", {**STEP, "local_steps": 2}, 2, "stored"),
    "focus, skip": ("focus", {**STEP, "empty_round": "skip"}, 1, "stored"),
    "scaffold": ("scaffold", {**STEP, "local_steps": 2}, 2, "controls"),
    "coin": ("proxskip", {**STEP, "probability": "1/5"}, 1, None),
    "notebook": (
        "proxskip",
        {**STEP, "variant": "notebook", "local_steps": 2},
        2,
        None,
    ),
    "fedavg, all": ("fedavg", {**STEP, "aggregation": "all"}, 1, None),
    "descent": ("gradient_descent", STEP, 1, None),
}
SLOTS = {
    "focus": ["model", "tracker", "stored"],
    "scaffold": ["model", "control", "controls"],
    "proxskip": ["model", "models", "shifts"],
    "fedavg": ["model"],
    "gradient_descent": ["model"],
}
ASKED = {"stored": ([-1], ["1"]), "controls": ([0, 1], ["1/2", "1/2"])}


def structure(loop, law, own_memory):
    """A certificate with random numbers, of a neighbourhood so that g* is seen too.

    With `own_memory` V also remembers the gradients of all clients, of no slot.
    """
    name, settings, calls, slot = LOOPS[loop]
    c = copy.deepcopy(stored("scaffold_lifted")) | {"law": LAWS[law]}
    client = [s for s in SLOTS[name] if s in ("stored", "controls", "models", "shifts")]
    memories, ghosts = [], 0
    if slot:
        kept, weights = ASKED[slot]
        kept, ghosts = [k % calls for k in kept], len(kept)
        memories = [{"slot": slot, "calls": kept, "weights": weights}]
    own = len(client) - len(memories)
    if own_memory:
        memories.append({"slot": None, "calls": [0], "weights": ["0"]})
        ghosts += 1
    own += 2 * ghosts
    mean = len(SLOTS[name]) - len(client) + len(sizes(c)) * own
    points = [f"ghost:{j}" for j in range(ghosts)] + ["star"]
    asked = [f"call:{k}" for k in range(calls)]
    at = {"model": "2/3", "ghost:0.point": "1/3"} if ghosts else {"model": "1"}
    c |= {
        "kind": "neighbourhood",
        "neighbourhood": {"weight": "1", "constant": "1"},
        "algorithm": {"name": name, "source": "", "settings": named(name, settings)},
        "equilibrium": {s: REST[s] for s in SLOTS[name]},
        "eliminated": {},
        "calls": calls,
        "memories": memories,
        "values": [{"point": at, "delta": "1"}],
        "ghost_values": [["0"] * ghosts for _ in sizes(c)],
        "V": {
            "mean": zeros(mean),
            "classes": [zeros(own if n > 1 else 0) for n in sizes(c)],
        },
    }
    for part in ("decrease", "positivity", "start"):
        c[part] |= {key: [] for key in c[part] if isinstance(c[part][key], list)}
    for q in range(len(sizes(c))):
        pairs = [(a, b) for a in [*points, *asked] for b in [*asked, *points]]
        c["decrease"]["multipliers"] += [[q, a, b, "1"] for a, b in pairs]
        c["decrease"]["upper"] += [[0, q, a, "1"] for a in [*points, *asked]]
    return randomised(c, f"{loop} {law}")


@pytest.mark.one_in(14)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("own_memory", [False, True])
def test_odd_kinds_have_the_forms_of_all_clients_written_out(law, own_memory):
    for loop, (_, _, calls, _) in LOOPS.items():
        if calls > 1 and law == "pairs":
            continue  # the dense judge takes seconds
        c = structure(loop, law, own_memory)
        require_signatures(c, blocks(c))
        found, n_clients = cancellations(c), sum(sizes(c))
        of_class = [r for r, n in enumerate(sizes(c)) for _ in range(n)]
        seen = 0
        for stage, condition in dense.conditions(c).items():
            for (i, point), value in condition.values.items():
                key = f"{stage}/class {of_class[i]}/{point}"
                assert value * n_clients == dense.exact(found.get(key, Fraction(0)))
                seen += 1
        assert seen
