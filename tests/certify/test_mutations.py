"""What the dense judge rejects of changed certificates, the checker rejects too.

One thing is changed at a time, and it is signed again, so that the digest is never the
reason. The certificates have little slack: their rate is the smallest that was found.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from fractions import Fraction
from functools import cache
from random import Random
from time import process_time

import pytest

from flverify.algorithms import (
    FedAvg,
    FedDyn,
    FedProx,
    FedVarp,
    Focus,
    GradientDescent,
    Mifa,
    ProxSkip,
    Scaffold,
)
from flverify.certify import check as checker
from flverify.certify.certificate import digest
from flverify.certify.check import Rejected, check, load
from flverify.certify.check._reading import STATEMENTS
from flverify.certify.neighbourhood import contraction, distance
from flverify.certify.rates import certify
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort
from tests.certify import dense
from tests.certify.ansaetze import at_level

WARM = {"initial_gradients": "start", "initial_tracker": "sum"}
ORIGINALS = {
    "focus": (certify, Focus("1/5"), Bernoulli(["1/2"] * 2)),
    "classes": (certify, Focus("1/9", 2), Bernoulli(["1/2", "1/2", "1/5"])),
    "previous point": (at_level("previous point"), Focus("1/4"), UniformCohort(4, 1)),
    "last step": (at_level("last step"), Focus("11/30"), UniformCohort(3, 1)),
    "previous gradients": (certify, Focus("3/10"), UniformCohort(4, 2)),
    "warm": (certify, Focus("1/3", 1, **WARM), UniformCohort(3, 1)),
    "skip": (certify, Focus("1/5", 2, "skip"), AllOrNothing(3, "2/7")),
    "scaffold": (certify, Scaffold("1/2", 2, "3/4"), UniformCohort(4, 2)),
    "option I": (certify, Scaffold("1/9", 2, option="I"), Bernoulli(["1/2"] * 3)),
    "feddyn": (certify, FedDyn("1/2", 1, 2), UniformCohort(4, 2)),
    "proxskip": (certify, ProxSkip("1/3", probability="1/5"), AllOrNothing(4, "1/5")),
    "descent": (certify, GradientDescent("2/5"), Full(3)),
    "fedavg": (distance, FedAvg("1/10", 2), Full(2)),
    "contraction": (contraction, FedAvg("1/10", 2), UniformCohort(4, 1)),
    "fedvarp": (contraction, FedVarp("1/10", 2), Bernoulli(["1/2"] * 3)),
    "mifa": (certify, Mifa("1/10"), UniformCohort(4, 2)),
    "fedprox": (contraction, FedProx("1/10", "1/2", 2), Bernoulli(["1/2"] * 3)),
}
QUICK, WHOLE = 72, 1008


@cache
def original(name):
    search, algorithm, law = ORIGINALS[name]
    found = search(algorithm, law, "1/10", 1)
    assert found.status == "certified", found.reason
    return found.certificate


def signed(certificate):
    return {**certificate, "digest": digest(certificate)}


# ------------------------------------------------------------------- changes


def leaves(value, path=()):
    """Paths of all exact numbers."""
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], (*path, key))
    elif isinstance(value, list):
        for key, inner in enumerate(value):
            yield from leaves(inner, (*path, key))
    elif isinstance(value, str) and value.lstrip("-").replace("/", "", 1).isdigit():
        yield path


def at(certificate, path):
    for key in path:
        certificate = certificate[key]
    return certificate


def put(certificate, path, value):
    """Write a value; in V at the mirrored place too."""
    at(certificate, path[:-1])[path[-1]] = value
    if path[0] == "V":
        *matrix, row, column = path
        at(certificate, matrix)[column][row] = value


def some_number(c, draw):
    """A place where a number that is not zero stands."""
    part = draw.choice(
        ["V", "decrease", "positivity", "start", "values", "ghost_values"]
    )
    places = [p for p in leaves(c[part], (part,)) if at(c, p) != "0"]
    return draw.choice(places) if places else ("rho",)


def scale(c, draw):
    path = some_number(c, draw)
    put(c, path, str(Fraction(at(c, path)) * Fraction(100 + draw.choice([-1, 1]), 100)))


def digit(c, draw):
    path = some_number(c, draw)
    text = at(c, path)
    top = text.partition("/")[0]
    places = [k for k, x in enumerate(top) if x.isdigit()]
    k = draw.choice(places[: max(1, len(places) // 3)])
    other = draw.choice([x for x in "123456789" if x != text[k]])
    put(c, path, text[:k] + other + text[k + 1 :])


def sign(c, draw):
    path = some_number(c, draw)
    put(c, path, str(-Fraction(at(c, path))))


def asymmetry(c, draw):
    path = draw.choice([p for p in leaves(c["V"], ("V",)) if at(c, p) != "0"])
    at(c, path[:-1])[path[-1]] = str(Fraction(at(c, path)) * draw.choice([-1, 2]))


def rate(c, draw):
    c["rho"] = str(
        Fraction(c["rho"]) * draw.choice([Fraction(99, 100), Fraction(9, 10)])
    )
    if c["neighbourhood"] and c["neighbourhood"]["weight"] != "0":
        c["neighbourhood"]["weight"] = "2"


def function_class(c, draw):
    """A wider class mostly: of a narrower one the certificate stays true."""
    key = draw.choice(["strong_convexity", "smoothness"])
    off = Fraction(draw.choice([-1, 1, 1, 1, 5, 5]), 100)
    off = off if key == "smoothness" else -off
    c["function_class"][key] = str(Fraction(c["function_class"][key]) * (1 + off))


def law(c, draw):
    """Another number of clients, cohort size, or probability."""
    entry = c["law"]
    entry = draw.choice(entry["classes"]) if "classes" in entry else entry
    key = draw.choice([k for k in entry if k != "kind"])
    if key in {"clients", "n_clients", "cohort_size"}:
        entry[key] = max(1, entry[key] + draw.choice([-1, 1, 2]))
    else:
        p = Fraction(entry[key]) * Fraction(draw.choice([50, 99, 101, 150]), 100)
        entry[key] = str(min(p, Fraction(1)))


def kind_of_law(c, draw):
    n = c["law"].get("n_clients") or sum(e["clients"] for e in c["law"]["classes"])
    single = {"clients": n, "inclusion": "1/2"}
    c["law"] = draw.choice(
        [
            {"kind": "full", "n_clients": n},
            {"kind": "uniform_cohort", "n_clients": n, "cohort_size": 1},
            {"kind": "all_or_nothing", "n_clients": n, "probability": "1/3"},
            {"kind": "bernoulli", "classes": [single]},
            {"kind": "bernoulli", "classes": [{**single, "clients": 1}, single]},
        ]
    )


def settings(c, draw):
    """Another step size, number of steps or variant."""
    table = c["algorithm"]["settings"]
    key = draw.choice(list(table))
    words = {
        "empty_round": ["step", "skip"],
        "initial_gradients": ["zero", "start"],
        "initial_table": ["full", "zero"],
        "initial_tracker": ["zero", "sum"],
        "option": ["I", "II"],
        "aggregation": ["mean", "all"],
        "variant": ["paper", "notebook"],
    }
    if key == "local_steps":
        table[key] = max(1, table[key] + draw.choice([-1, 1]))
    elif key in words:
        table[key] = draw.choice(words[key])
    else:
        factor = Fraction(draw.choice([50, 99, 101, 110, 300]), 100)
        table[key] = str(Fraction(table[key]) * factor)


def algorithm(c, draw):
    """Claim it of another algorithm."""
    entry = c["algorithm"]
    entry["name"] = draw.choice(sorted({*dense.ALGORITHMS} - {entry["name"]}))
    entry["settings"] = {"step_size": entry["settings"]["step_size"]}


def drop(c, draw):
    """Leave out a multiplier, a weight, a value, a class or a memory."""
    lists = [c["memories"], c["values"], c["V"]["classes"], c["ghost_values"]]
    lists += [
        rows for part in ("decrease", "positivity", "start")
        for rows in c[part].values() if isinstance(rows, list)
    ] * 3  # fmt: skip
    rows = draw.choice([rows for rows in lists if rows])
    rows.pop(draw.randrange(len(rows)))


def swap(c, draw):
    """Exchange two numbers of one part."""
    part = draw.choice(["V", "decrease", "start"])
    places = list(leaves(c[part], (part,)))
    one, other = draw.choice(places), draw.choice(places)
    first, second = at(c, one), at(c, other)
    put(c, one, second)
    put(c, other, first)


def turn(c, draw):
    """Exchange the two points of a multiplier."""
    rows = [row for part in ("decrease", "positivity", "start")
            for row in c[part]["multipliers"]]  # fmt: skip
    if rows:
        row = draw.choice(rows)
        row[1], row[2] = row[2], row[1]


def index(c, draw):
    """Let a multiplier or a weight speak of another class, value or point."""
    rows = [row for part in ("decrease", "positivity", "start")
            for table in c[part].values() if isinstance(table, list)
            for row in table]  # fmt: skip
    row = draw.choice(rows)
    k = draw.randrange(len(row) - 1)
    points = sorted({x for other in rows for x in other if _is_point(x)})
    row[k] = draw.choice(points) if _is_point(row[k]) else row[k] + draw.choice([-1, 1])


def _is_point(entry):
    return isinstance(entry, str) and (entry == "star" or ":" in entry)


def equilibrium(c, draw):
    pair = c["equilibrium"][draw.choice(list(c["equilibrium"]))]
    k = draw.randrange(2)
    pair[k] = str(Fraction(pair[k]) + draw.choice([-1, 1, Fraction(1, 100)]))


def eliminated(c, draw):
    """Change, add or leave out a relation."""
    table = c["eliminated"]
    if not table:
        table[draw.choice(list(c["equilibrium"]))] = {}
        return
    slot = draw.choice(list(table))
    what = draw.choice(["drop", "scale", "add"])
    if what == "drop":
        table.pop(slot)
    elif what == "scale" and table[slot]:
        name = draw.choice(list(table[slot]))
        table[slot][name] = str(Fraction(table[slot][name]) * Fraction(101, 100))
    else:
        name = draw.choice(sorted(set(c["equilibrium"]) - {slot}))
        table[slot][name] = str(Fraction(table[slot].get(name, 0)) + 1)


def memory(c, draw):
    """Other weights, calls or slots of a memory; another number of calls."""
    if not c["memories"]:
        c["calls"] = max(1, c["calls"] + draw.choice([-1, 1]))
        return
    entry = draw.choice(c["memories"])
    k = draw.randrange(len(entry["calls"]))
    what = draw.choice(["weight", "call", "twice", "calls"])
    if what == "weight":
        entry["weights"][k] = str(Fraction(entry["weights"][k]) * Fraction(101, 100))
    elif what == "call":
        entry["calls"][k] += draw.choice([-1, 1])
    elif what == "twice":
        c["memories"].append(copy.deepcopy(entry))
    else:
        c["calls"] += 1


def value_point(c, draw):
    """Another point or coefficient of a value term; or one more."""
    if not c["values"]:
        c["values"].append({"point": {"model": "1"}, "delta": "1"})
        return
    entry = draw.choice(c["values"])
    name = draw.choice(list(entry["point"]))
    if draw.random() < 0.3:
        c["values"].append(copy.deepcopy(entry))
    else:
        entry["point"][name] = str(Fraction(entry["point"][name]) * Fraction(99, 100))


def statement(c, draw):
    """Call a rate a neighbourhood, or a neighbourhood a rate."""
    if c["kind"] == "neighbourhood":
        c["kind"], c["neighbourhood"], c["rho"] = "rate", None, "999/1000"
    else:
        c["kind"] = "neighbourhood"
        c["neighbourhood"] = {"weight": draw.choice(["0", "1"]), "constant": "1"}
    c["statement"] = STATEMENTS[c["kind"]]


NUMBERS = [scale] * 6 + [digit] * 4 + [sign] * 3
TABLES = [
    equilibrium,
    eliminated,
    memory,
    value_point,
    statement,
    algorithm,
    kind_of_law,
]
CHANGES = [
    *NUMBERS,
    *TABLES,
    *[rate, function_class, law, settings, drop, swap] * 2,
    *[turn, index, asymmetry],
]


def mutants(number, seed, names=(), found=None):
    """As many changed certificates as asked for, each with its story.

    Of the originals, unless others are named, and where to find them.
    """
    names, found = list(names or ORIGINALS), found or original
    for k in range(number):
        draw = Random(f"{seed}/{k}")
        before = found(names[k % len(names)])
        after = before
        while after == before:
            change = draw.choice(CHANGES)
            after = copy.deepcopy(before)
            change(after, draw)
        yield f"{k} {names[k % len(names)]} {change.__name__}", signed(after)


def accepted(certificate):
    try:
        check(certificate)
    except Rejected:
        return False
    return True


def campaign(number, seed):
    """How often (judge, checker) said what; and the changes wrongly accepted."""
    counts, wrong = Counter(), []
    for story, mutant in mutants(number, seed):
        said = dense.accepts(mutant), accepted(mutant)
        counts[said] += 1
        if said == (False, True):
            wrong.append(story)
    return counts, wrong


def test_a_quick_campaign():
    counts, wrong = campaign(QUICK, seed="quick")
    assert not wrong
    assert counts[False, False] >= 0.8 * QUICK


@pytest.mark.slow
def test_a_thousand_changes():
    counts, wrong = campaign(WHOLE, seed="whole")
    assert not wrong
    assert counts[False, False] >= 900
    assert counts[True, False] == 0  # nor is anything true refused


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ORIGINALS)
def test_the_originals_have_little_slack(name):
    certificate = original(name)
    assert accepted(certificate)
    assert dense.accepts(certificate)
    lower = copy.deepcopy(certificate)
    if name == "fedavg":
        constant = Fraction(lower["neighbourhood"]["constant"])
        lower["neighbourhood"]["constant"] = str(constant * Fraction(99999, 100000))
    else:
        lower["rho"] = str(Fraction(lower["rho"]) - Fraction(1, 10**4))
    assert not accepted(signed(lower))
    assert not dense.accepts(lower)


@pytest.fixture
def originals():
    """Make them while the checker sees: searches ask it, and what they find is kept."""
    return [*map(original, ORIGINALS)]


@pytest.mark.slow
def test_a_checker_blind_to_definiteness_would_be_noticed(originals, monkeypatch):
    monkeypatch.setattr(checker, "smallest_pivot", lambda _: Fraction(1))
    assert campaign(QUICK // 2, seed="blind")[1]


@pytest.mark.slow
def test_a_checker_blind_to_values_and_signs_would_be_noticed(originals, monkeypatch):
    def blind(findings):
        pivots = map(checker.smallest_pivot, findings.blocks.values())
        if None in list(pivots):
            raise Rejected("definiteness alone")
        return {}

    monkeypatch.setattr(checker, "_judge", blind)
    assert campaign(QUICK, seed="blind")[1]


# ------------------------------------------------------------------- garbage

DEEP = 100_000
WORDS = [
    *("", "-", "/", "1/", "/1", "1/0", "0/0", "1/1/1", "--1", "+1", "-0x1", "0x10"),
    *("1_000", " 1", "1 ", "1\n", "1.0", "1e3", "1e-3", "1e999999", "1e999999999"),
    *("9**9**9", "9" * 5000, "1/" + "9" * 5000, "inf", "-inf", "nan", "None", "True"),
    *("１", "½", "٣", "1⁄2", "x", "\x00", "\ud800", "x" * 10**6),
]
THINGS = [
    *(None, True, False, 1.0, -0.0, 0.5, float("nan"), float("inf"), 1e308, 10**30),
    *((), (1,), set(), b"1", 1j, Fraction(1, 2), object(), range(3), len),
    *([None] * 10**5, dict.fromkeys(map(str, range(10**4)), "1"), {1: 2}, {None: "1"}),
    *([[]], [{}], {"": {}}),
]
TEXTS = {("statement",), ("level",), ("algorithm", "source"), ("digest",)}


def everywhere(value, path=()):
    """Every path, one for all entries of a list."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from everywhere(value[key], (*path, key))
    elif isinstance(value, list) and value:
        kinds = enumerate(value) if not isinstance(value[0], list) else [(0, value[0])]
        for key, inner in kinds:
            yield from everywhere(inner, (*path, key))


def judged(certificate):
    """Whether the checker rejects, and soon."""
    began = process_time()
    says = accepted(certificate)
    assert process_time() - began < 10
    return not says


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["classes", "last step", "fedavg"])
def test_garbage_anywhere_is_rejected(name):
    draw = Random(name)
    for path in list(everywhere(original(name)))[1:]:
        if path in TEXTS:
            continue
        for value in draw.sample(WORDS, 6) + draw.sample(THINGS, 4):
            mutant = copy.deepcopy(original(name))
            if repr(value) == repr(at(mutant, path)):
                continue
            at(mutant, path[:-1])[path[-1]] = value
            # unsigned: garbage must not get as far as the digest
            assert judged(mutant), (path, value)


@pytest.mark.parametrize("value", THINGS, ids=lambda v: type(v).__name__)
def test_garbage_as_text_or_as_a_whole_is_rejected(value):
    assert judged(value)
    for path in TEXTS:
        mutant = copy.deepcopy(original("focus"))
        at(mutant, path[:-1])[path[-1]] = value
        assert judged(mutant), path


@pytest.mark.parametrize("what", ["missing", "further", "renamed"])
def test_keys_are_those_of_the_format(what):
    for path in everywhere(original("last step")):
        here = at(original("last step"), path)
        if not isinstance(here, dict) or not here or path[-1:] == ("settings",):
            continue
        if path[-1:] == ("point",):
            continue  # any combination of coordinates may be a point
        for key in here:
            mutant = copy.deepcopy(original("last step"))
            table = at(mutant, path)
            value = table[key] if what == "further" else table.pop(key)
            if what != "missing":
                table[f"{key} "] = value
            mutant = mutant if path == () else signed(mutant)
            assert judged(mutant), (path, key)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("make", [lambda inner: [inner], lambda inner: {"a": inner}])
@pytest.mark.parametrize("key", ["V", "statement", "law", "eliminated", "algorithm"])
def test_deep_nesting_is_rejected(make, key):
    deep = "1"
    for _ in range(DEEP):
        deep = make(deep)
    assert judged({**original("focus"), key: deep})


def written(path, text):
    path.write_text(text, encoding="utf-8")
    try:
        check(load(path))
    except Rejected:
        return False
    return True


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"version": 1', '"version": 1.0'),
        ('"version": 1', '"version": 1e0'),
        ('"version": 1', '"version": NaN'),
        ('"version": 1', '"version": 1e999999999'),
        ('"version": 1', '"version": 1' + "0" * 10**5),
        ('"version": 1', '"version": -Infinity'),
        ('"calls": 1', '"calls": true'),
        ('"calls": 1', '"calls": "1"'),
        ("}", "}}"),
        ("{", "["),
        ("{", "\ufeff{"),
        ('"rho"', "'rho'"),
        ('"rho"', '"rho\\u0000"'),
        ('"V": {"mean"', '"V": ' + "[" * DEEP + '{"mean"'),
    ],
)
def test_garbage_in_a_file_is_rejected(tmp_path, old, new):
    text = json.dumps(original("focus"))
    assert old in text
    began = process_time()
    assert written(tmp_path / "c.json", text)
    assert not written(tmp_path / "c.json", text.replace(old, new, 1))
    assert process_time() - began < 10


@pytest.mark.parametrize("length", [1, 10, 100, 1000, -1])
def test_half_a_file_is_rejected(tmp_path, length):
    assert not written(tmp_path / "c.json", json.dumps(original("focus"))[:length])
