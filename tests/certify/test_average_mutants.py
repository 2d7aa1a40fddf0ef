"""Changed bounds on averages: what the dense judge rejects, the checker rejects too.

One thing is changed at a time, or two so that values still cancel, and it is signed
again. The bounds have little slack.
"""

from __future__ import annotations

import copy
from collections import Counter
from fractions import Fraction
from functools import cache
from random import Random

import pytest

from flverify.algorithms import (
    FedAvg,
    FedProx,
    FedVarp,
    Focus,
    GradientDescent,
    Mifa,
    Scaffold,
)
from flverify.certify.averages import average
from flverify.certify.check import plain
from flverify.certify.check._reading import STATEMENTS
from flverify.certify.check.plain import _proof
from flverify.certify.check.plain._sums import NOTHING
from flverify.participation import Bernoulli, Full, UniformCohort
from tests.certify import dense
from tests.certify import test_mutations as house
from tests.certify.test_mutations import accepted, at, put, signed

WARM = {"initial_gradients": "start", "initial_tracker": "sum"}
CLASSES = Bernoulli(["1/2", "1/2", "1/5"])
ORIGINALS = {
    "descent": (GradientDescent("1/2"), Full(2), 1, 0),
    "descent, smooth": (GradientDescent("1/2"), Full(2), 1, -1),
    "L = 2": (GradientDescent("1/3"), Full(1), 2, 0),
    "L = 2, smooth": (Focus("1/40", **WARM), UniformCohort(3, 1), 2, -2),
    "weakly convex": (Focus("1/20", **WARM), UniformCohort(3, 1), 1, "-1/2"),
    "focus": (Focus("1/20", **WARM), UniformCohort(4, 2), 1, 0),
    "focus, smooth": (Focus("1/20", **WARM), UniformCohort(4, 2), 1, -1),
    "two classes": (Focus("1/20", **WARM), CLASSES, 1, 0),
    "two classes, smooth": (Focus("1/20", **WARM), CLASSES, 1, -1),
    "scaffold": (Scaffold("1/10", 2), UniformCohort(4, 2), 1, 0),
    "fedavg": (FedAvg("1/10", 2), UniformCohort(3, 1), 1, 0),
    "fedvarp": (FedVarp("1/10"), UniformCohort(3, 1), 1, 0),
    "mifa": (Mifa("1/10"), UniformCohort(3, 1), 1, 0),
    "fedprox": (FedProx("1/10", "1/2", 2), UniformCohort(3, 1), 1, 0),
    "strongly convex": (Focus("1/20"), UniformCohort(3, 1), 1, "1/10"),
}
EVERY = pytest.mark.parametrize("name", ORIGINALS)
QUICK, WHOLE = 150, 1050


@cache
def original(name):
    algorithm, law, smoothness, convexity = ORIGINALS[name]
    found = average(algorithm, law, smoothness, convexity)
    assert found.status == "certified", found.reason
    return found.certificate


# ------------------------------------------------------------------- changes


def weight(c, draw):
    """What is claimed of M is larger mostly."""
    factor = Fraction(draw.choice([99, 101, 110, 300]), 100)
    c["average"]["weight"] = str(Fraction(c["average"]["weight"]) * factor)


def measure(c, _draw):
    """Speak of the other measure."""
    table = c["average"]
    table["of"] = "gap" if table["of"] == "gradient" else "gradient"
    c["statement"] = STATEMENTS[table["of"]]


def convexity(c, draw):
    table = c["function_class"]
    off = Fraction(draw.choice([-1000, -100, -10, -1, 1, 100]), 1000)
    table["strong_convexity"] = str(Fraction(table["strong_convexity"]) + off)


def around(c, draw):
    """Another constant, a second weight, or none of both."""
    constant = Fraction((c["neighbourhood"] or {}).get("constant", 0))
    c["neighbourhood"] = draw.choice(
        [
            None,
            {"weight": "0", "constant": str(constant * Fraction(99, 100))},
            {"weight": "0", "constant": "-1/100"},
            {"weight": "1/100", "constant": str(constant)},
        ]
    )


def bound(c, draw):
    """A smaller constant of the start."""
    key = draw.choice([k for k in ("C0", "C1", "C2") if c["start"][k] != "0"])
    factor = Fraction(draw.choice([-100, 0, 50, 90, 99]), 100)
    c["start"][key] = str(Fraction(c["start"][key]) * factor)


def least(c, draw):
    """Other weights of f >= f(x*), negative ones too, or of other values."""
    table = c["positivity"]["minimum"]
    off = Fraction(draw.choice([-100, -1, 1, 100]), 100)
    if not table or draw.random() < 0.4:
        c["start"]["minimum"] = str(Fraction(c["start"]["minimum"]) + off)
        return
    row = draw.choice(table)
    what = draw.choice(["weight", "sign", "value", "twice", "drop"])
    if what == "weight":
        row[1] = str(Fraction(row[1]) + off)
    elif what == "sign":
        row[1] = str(-Fraction(row[1]))
    elif what == "value":
        row[0] = len(c["values"]) - 1 - row[0]
    elif what == "twice":
        table.append(list(row))
    else:
        table.remove(row)


def warmth(c, draw):
    """Start with no gradients, or another tracker."""
    table = c["algorithm"]["settings"]
    for key in ("initial_gradients", "initial_tracker"):
        if key in table and draw.random() < 0.6:
            table[key] = "zero"


def bend(c, draw):
    """Let V be larger or smaller by a square; its sign decides."""
    places = [p for p in house.leaves(c["V"], ("V",)) if at(c, p) != "0"]
    path = draw.choice(places)
    put(c, path, str(Fraction(at(c, path)) + Fraction(draw.choice([-1, 1]), 50)))


# of two numbers together, so that the values still cancel


def _add(row, off):
    row[-1] = str(Fraction(row[-1]) + off)


def symmetric(c, draw):
    """Add to both multipliers of two points; a negative one gives much away."""
    part = draw.choice(["decrease", "positivity", "start"])
    table, known = c[part]["multipliers"], ["star", "ghost:0", "call:0"]
    if part == "start":
        known = ["star", "start_call:0", "start_ghost:0"]
    known = known[: 2 if part == "positivity" else 3]
    a, b = draw.sample(known, 2)
    off = Fraction(draw.choice([-100, -10, 10]), 100)
    for pair in ([a, b], [b, a]):
        row = next((row for row in table if row[1:3] == pair), None)
        if row is None:
            table.append(row := [0, *pair, "0"])
        _add(row, off)


def moved(c, draw):
    """Let one bound on a value weigh less, and another more, or that by f(x*)."""
    part, key = draw.choice(
        [("decrease", "upper"), ("decrease", "lower"), ("positivity", "lower")]
    )
    row = draw.choice(c[part][key])
    others = [other for other in c[part][key] if other[:2] == row[:2]]
    others = [other for other in others if other is not row]
    if part == "positivity" and "classes" not in c["law"]:
        others += [r for r in c["positivity"]["minimum"] if r[0] == row[0]]
    off = Fraction(row[-1]) * draw.choice([-2, -1, 1, 2]) + Fraction(1, 10)
    _add(row, -off)
    _add(draw.choice(others), off)


def raised(c, draw):
    """Change C0 and the weight at the start together."""
    off = Fraction(draw.choice([-100, -20, -5, -1, 5]), 100)
    for key in ("C0", "minimum"):
        c["start"][key] = str(Fraction(c["start"][key]) + off)


OWN = [symmetric, moved, raised] * 2
OWN += [weight, measure, convexity, around, bound, least, warmth, bend]
CHANGES = [*house.CHANGES, *OWN * 3]


def mutants(number, seed):
    names = list(ORIGINALS)
    for k in range(number):
        draw, name = Random(f"{seed}/{k}"), names[k % len(names)]
        after = before = original(name)
        while after == before:
            change = draw.choice(CHANGES)
            after = copy.deepcopy(before)
            try:
                change(after, draw)
            except (IndexError, KeyError):  # nothing of the kind is there
                after = before
        yield f"{k} {name} {change.__name__}", signed(after)


def campaign(number, seed):
    """How often (judge, checker) said what; and the changes wrongly accepted."""
    counts, wrong = Counter(), []
    for story, mutant in mutants(number, seed):
        said = dense.accepts(mutant), accepted(mutant)
        counts[said] += 1
        if said == (False, True):
            wrong.append(story)
    return counts, wrong


@EVERY
def test_the_dense_judge_accepts_what_holds(name):
    assert dense.accepts(original(name))
    assert accepted(original(name))


@EVERY
def test_the_originals_have_little_slack(name):
    for key in ("C0", "C1"):
        lower = copy.deepcopy(original(name))
        if lower["start"][key] != "0":
            reduced = Fraction(lower["start"][key]) * Fraction(99, 100)
            lower["start"][key] = str(reduced)
            assert not dense.accepts(lower)
            assert not accepted(signed(lower))


def test_a_quick_campaign():
    counts, wrong = campaign(QUICK, seed="quick")
    assert not wrong
    assert counts[False, False] >= 0.7 * QUICK


@pytest.mark.slow
def test_a_thousand_changes():
    counts, wrong = campaign(WHOLE, seed="whole")
    assert not wrong
    assert counts[False, False] >= 0.7 * WHOLE


@pytest.fixture
def originals():
    """Make them while the checker sees: searches ask it, and what they find is kept."""
    return [*map(original, ORIGINALS)]


@pytest.mark.parametrize("blind", ["judge", "above_least", "_weighted"])
@pytest.mark.slow
def test_a_checker_that_overlooks_something_would_be_noticed(
    originals, monkeypatch, blind
):
    nothing = {
        "judge": (plain, lambda *_: None),
        "above_least": (_proof, lambda *_: NOTHING),
        "_weighted": (_proof, lambda rows: rows),
    }
    module, answer = nothing[blind]
    monkeypatch.setattr(module, blind, answer)
    assert campaign(WHOLE // 2, seed="blind")[1]
