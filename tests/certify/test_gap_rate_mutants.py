"""Changed rates of f(x) - f(x*): what the dense judge rejects, the checker rejects too.

One thing is changed at a time, or two so that values still cancel, and it is signed
again. The rates are near the smallest that were found.
"""

from __future__ import annotations

import copy
from collections import Counter
from fractions import Fraction
from random import Random

import pytest

from flverify.certify.certificate import digest
from flverify.certify.check import Rejected, check, plain
from flverify.certify.check._wide import STATEMENTS
from flverify.certify.check.plain import _proof
from flverify.certify.check.plain._average import above_least, gap, measured, slope
from flverify.certify.check.plain._sums import total
from tests.certify import dense
from tests.certify import test_average_mutants as averages
from tests.certify import test_mutations as house
from tests.certify.gap_settings import SETTINGS, found
from tests.certify.test_mutations import accepted, at, put, signed

QUICK, WHOLE = 60, 2040
FAST = ["descent", "uniform", "skip", "all or nothing", "beta = L", "long"]
FEW = [name for name in SETTINGS if name != "eight"]  # of which the judge is slow
EVERY = pytest.mark.parametrize(
    "name",
    [n if n in FAST else pytest.param(n, marks=pytest.mark.slow) for n in SETTINGS],
)


# ------------------------------------------------------------------- changes


def dominance(c, draw):
    """Another beta, weight of it, or multiple of what is claimed."""
    key = draw.choice(["beta", "weight", "v"])
    factor = Fraction(draw.choice([-100, 0, 50, 90, 99, 101, 110, 200]), 100)
    c["dominance"][key] = str(Fraction(c["dominance"][key]) * factor)


def together(c, draw):
    """Change beta and its weight, so that the values still cancel."""
    table, factor = c["dominance"], Fraction(draw.choice([50, 90, 99, 101, 200]), 100)
    table["beta"] = str(Fraction(table["beta"]) * factor)
    table["weight"] = str(Fraction(table["weight"]) / factor)


def heavier(c, draw):
    """Raise V's least multiple with the weight that shows it."""
    off = Fraction(draw.choice([1, 5, 20, 100]), 100)
    table = c["dominance"]
    table["v"] = str(Fraction(table["v"]) * (1 + off))
    row = draw.choice(c["positivity"]["minimum"])
    row[1] = str(Fraction(row[1]) * (1 + off))


def claim(c, draw):
    """Claim an average, or a rate of the distance, with the same numbers."""
    weight = c.pop("dominance")["weight"]
    c["kind"] = draw.choice(["average", "rate", "neighbourhood"])
    if c["kind"] == "average":
        of = draw.choice(["gap", "gradient"])
        c["average"] = {"of": of, "weight": draw.choice([weight, "1/1000"])}
        c["rho"], c["statement"] = "1", STATEMENTS[f"average of {of}"]
        return
    c["statement"] = house.STATEMENTS[c["kind"]]
    del c["positivity"]["minimum"], c["start"]["minimum"], c["start"]["C0"]
    if c["kind"] == "neighbourhood":
        c["neighbourhood"] = {"weight": "0", "constant": "1"}


def around(c, draw):
    """Something beside the rate."""
    weight = draw.choice(["0", "1", "-1"])
    c["neighbourhood"] = {"weight": weight, "constant": draw.choice(["0", "1"])}


def faster(c, draw):
    """Raise the rate's distance to 1; or take it away, or the sign."""
    rho, gone = Fraction(c["rho"]), Fraction(draw.choice([1001, 1010, 1200]), 1000)
    c["rho"] = str(draw.choice([1 - gone * (1 - rho), -rho, Fraction(0), 1, 2]))


def carried(c, draw):
    """Change rho, and the bound of the old value with it, which still cancels."""
    rho = Fraction(c["rho"])
    new = rho * Fraction(draw.choice([90, 99]), 100)
    c["rho"] = str(new)
    table = c["dominance"]
    spared = (rho - new) * Fraction(c["values"][0]["delta"]) if c["values"] else 0
    change = draw.choice(["weight", "beta"])
    factor = Fraction(table["weight"]), Fraction(table["beta"])
    product = factor[0] * factor[1] + spared / 2
    other = factor[1] if change == "weight" else factor[0]
    if other:
        table[change] = str(product / other)


def doubled(c, draw):
    """Write a row twice, whole or in two halves."""
    rows = [c["positivity"]["minimum"]]
    rows += [
        table
        for part in ("decrease", "positivity", "start")
        for table in c[part].values()
        if isinstance(table, list) and table
    ]
    table = draw.choice(rows)
    row = draw.choice(table)
    if draw.random() < 0.5:
        row[-1] = str(Fraction(row[-1]) / 2)
    table.append(list(row))


def slight(c, draw):
    """Add to both multipliers of two points so little that the form allows it."""
    part, *pair = draw.choice(
        [
            ("decrease", "star", "call:0"),
            ("decrease", "ghost:0", "call:0"),
            ("positivity", "star", "ghost:0"),
            ("start", "star", "start_call:0"),
        ]
    )
    off = str(Fraction(draw.choice([-1, -1, 1]), 10**12))
    c[part]["multipliers"] += [[0, *pair, off], [0, *reversed(pair), off]]


def lowered(c, draw):
    """Take as much from C0 as from what f(x_0) - f(x*) is above."""
    off = Fraction(c["start"]["minimum"]) * Fraction(draw.choice([1, 10, 50]), 100)
    for key in ("C0", "minimum"):
        c["start"][key] = str(Fraction(c["start"][key]) - off)


def parted(c, draw):
    """Write a row as two, one of them negative."""
    part = draw.choice(["decrease", "positivity", "start"])
    table = draw.choice([rows for rows in c[part].values() if isinstance(rows, list)])
    row = draw.choice(table)
    table.append([*row[:-1], "-1/10"])
    row[-1] = str(Fraction(row[-1]) + Fraction(1, 10))


def elsewhere(c, draw):
    """Let the weight of f >= f(x*) be of another point than the model's."""
    names = ["ghost:0.point", "model"]
    entry = draw.choice(c["values"])
    both = dict.fromkeys(names, "1/2")
    entry["point"] = draw.choice([{draw.choice(names): "1"}, both])


def forgotten(c, draw):
    """Leave out all weights of f >= f(x*), or those of one part."""
    what = draw.choice(["minimum", "start", "lower"])
    if what == "start":
        c["start"]["minimum"] = "0"
    else:
        c["positivity"][what] = []


OWN = [dominance, together, heavier, faster, carried, doubled] * 3
OWN += [claim, around, elsewhere, forgotten, slight, parted, lowered]
SHARED = [averages.symmetric, averages.moved, averages.raised] * 2
SHARED += [averages.convexity, averages.bound, averages.least]
SHARED += [averages.warmth, averages.bend]
CHANGES = [*house.CHANGES, *SHARED * 2, *OWN]


def mutants(number, seed, names=FEW):
    """Yield as many changed certificates, each with its story."""
    for k in range(number):
        draw, name = Random(f"{seed}/{k}"), names[k % len(names)]
        after = before = found(name).certificate
        while after == before:
            change = draw.choice(CHANGES)
            after = copy.deepcopy(before)
            try:
                change(after, draw)
            except (IndexError, KeyError):  # nothing of the kind is there
                after = before
        yield f"{k} {name} {change.__name__}", signed(after)


def campaign(number, seed, names=FEW):
    """How often (judge, checker) said what; and the changes wrongly accepted."""
    counts, wrong = Counter(), []
    for story, mutant in mutants(number, seed, names):
        said = dense.accepts(mutant), accepted(mutant)
        counts[said] += 1
        if said == (False, True):
            wrong.append(story)
    return counts, wrong


def changed(name, *path):
    """Return a certificate with the last of these at the path of the others, signed."""
    *keys, value = path
    c = copy.deepcopy(found(name).certificate)
    put(c, keys, value)
    return signed(c)


@EVERY
def test_the_dense_judge_accepts_what_holds(name):
    assert dense.accepts(found(name).certificate)
    assert accepted(found(name).certificate)


@EVERY
def test_nothing_is_better_by_force(name):
    c = found(name).certificate
    rho = Fraction(c["rho"])
    better = [
        (("rho",), 1 - Fraction(6, 5) * (1 - rho)),
        (("dominance", "beta"), Fraction(c["dominance"]["beta"]) * Fraction(4, 5)),
        (("dominance", "v"), Fraction(c["dominance"]["v"]) * Fraction(6, 5)),
        (("start", "C0"), Fraction(c["start"]["C0"]) * Fraction(4, 5)),
    ]
    for path, value in better:
        mutant = changed(name, *path, str(value))
        assert not dense.accepts(mutant), path
        assert not accepted(mutant), path


@pytest.mark.parametrize("statement", [*STATEMENTS.values(), ""])
def test_words_are_those_of_what_is_checked(statement):
    mutant = changed("descent", "statement", statement)
    assert accepted(mutant) == (statement == STATEMENTS["gap"])


GARBAGE = [None, True, 1, 0.5, "", "x", "nan", "1/0", "1e3", "9" * 251, [], {}, ["1"]]
PLACES = [
    *(("dominance", key) for key in ("beta", "weight", "v")),
    *(("start", key) for key in ("C0", "C1", "C2", "minimum")),
    *(("positivity", "minimum"), ("positivity", "minimum", 0)),
    *(("positivity", "minimum", 0, 0), ("positivity", "minimum", 0, 1)),
    *(("dominance",), ("kind",), ("rho",), ("neighbourhood",), ("statement",)),
    ("function_class", "strong_convexity"),
]
SAME = [("neighbourhood", None), ("minimum", []), ("weight", "0")]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_garbage_is_rejected_in_a_sentence(place):
    for value in GARBAGE:
        if (place[-1], value) in SAME:
            continue
        c = copy.deepcopy(found("uniform").certificate)
        at(c, place[:-1])[place[-1]] = value
        with pytest.raises(Rejected):
            check({**c, "digest": digest(c)})


def test_keys_are_those_of_the_kind():
    c = copy.deepcopy(found("descent").certificate)
    for part in (c, c["dominance"], c["start"], c["positivity"]):
        part["more"] = "1"
        assert not accepted(signed(c))
        del part["more"]
    assert accepted(signed(c))
    c["average"] = {"of": "gap", "weight": "1"}
    assert not accepted(signed(c))


def test_a_quick_campaign():
    counts, wrong = campaign(QUICK, seed="quick", names=FAST)
    assert not wrong
    assert counts[False, False] >= 0.7 * QUICK


@pytest.mark.slow
def test_two_thousand_changes():
    counts, wrong = campaign(WHOLE, seed="whole")
    assert not wrong
    assert counts[False, False] >= 0.7 * WHOLE


@pytest.fixture
def originals():
    """Make them while the checker sees: searches ask it, and what they find is kept."""
    return [*map(found, FAST)]


def _slope_counts_twice(state, points, x, smooth):
    return above_least(state, points, x, smooth / 2)


def _half_the_slope(c, state, points):
    x = state.at["model"][0]
    g = slope(state, points, x)
    return measured(c, state, points) - g @ g / 2


def _twice_the_gap(state, points, x):
    return gap(state, points, x) * 2


def _whatever_v_is(proof, state):
    rows = proof.c.positivity.minimum
    ends = [(g, p, w) for v, w in rows for g, p in state.each(f"value:{v}")]
    return total(p.f * (w * g.many) for g, p, w in ends) / proof.n


BLIND = {
    "judge": (plain, "judge", lambda *_: None),
    "signs": (_proof, "_weighted", lambda rows: rows),
    "start": (_proof, "above_least", _slope_counts_twice),
    "hypothesis": (_proof, "measured", _half_the_slope),
    "bound": (_proof, "gap", _twice_the_gap),
    "claim": (_proof.Proof, "least", _whatever_v_is),
}


@pytest.mark.parametrize("blind", BLIND)
@pytest.mark.slow
def test_a_checker_that_overlooks_something_would_be_noticed(
    originals, monkeypatch, blind
):
    monkeypatch.setattr(*BLIND[blind])
    assert campaign(WHOLE // 4, seed="blind", names=FAST)[1]
