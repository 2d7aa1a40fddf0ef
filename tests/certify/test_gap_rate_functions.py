"""Certified rates of f(x) - f(x*) against exact runs of the plain loops on functions.

Clients are drawn whose mean obeys the condition with the certificate's beta: piecewise
quadratics with slopes of both signs, the mean's among them, and quadratics of the plane
of which single ones are concave and the mean may be flat in one direction.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from flverify.algorithms import GradientDescent
from flverify.certify.averages.gap_rate import gap_rate
from flverify.participation import Full
from tests.certify.gap_functions import Game, Pieces, Plane
from tests.certify.gap_settings import SETTINGS, found

FAST = ["descent", "descent, long", "uniform", "all or nothing", "three steps"]
NAMES = [name for name in SETTINGS if name != "eight"]  # too many cohorts
STATES = 60  # about how many are played in the last round
PLENTY = 100


def game(name):
    return Game(found(name).certificate)


def rounds(played, states=STATES):
    """As many as keep the number of cohorts' sequences small."""
    most = [r for r in range(1, 9) if len(played.sets) ** r <= states]
    return max(most, default=1)


def sixteenths(draw, low, high):
    return Fraction(draw.randint(int(16 * low), int(16 * high)), 16)


def zero_sum(draw, n, size):
    found = [size * sixteenths(draw, -1, 1) for _ in range(n - 1)]
    return [*found, -sum(found)]


def pieces(played, draw):
    """Piecewise quadratics, most with a concave piece of the mean."""
    smooth, n = played.smooth, played.n
    while True:
        ends = sorted({sixteenths(draw, -2, 2) for _ in range(draw.randint(0, 4))})
        mean = [sixteenths(draw, -1, 1) for _ in range(len(ends) + 1)]
        if played.beta == smooth:
            mean = [Fraction(1)] * len(mean)
        apart = [zero_sum(draw, n, 1 - abs(h)) for h in mean]
        slopes = [
            [smooth * (h + d[i]) for h, d in zip(mean, apart, strict=True)]
            for i in range(n)
        ]
        clients = Pieces(ends, slopes, zero_sum(draw, n, draw.choice([0, 1])))
        fits = clients.smoothness <= smooth and clients.dominance >= played.beta
        if fits and (not ends or min(mean) < 0 or draw.random() < 0.05):
            return clients, [sixteenths(draw, 1, 3) * draw.choice([-1, 1])]


def plane(played, draw):
    """Quadratics, the mean's curvatures being beta or more; or 0 along one axis."""
    smooth, beta, n = played.smooth, played.beta, played.n
    while True:
        level = [draw.choice([beta, beta, smooth]), draw.choice([0, beta, smooth])]
        parts = [zero_sum(draw, n, smooth) for _ in range(3)]
        hessians = [
            [[level[0] + a, b], [b, level[1] + d]]
            for a, b, d in zip(*parts, strict=True)
        ]
        along = [zero_sum(draw, n, draw.choice([0, 1])) for _ in "xy"]
        tilts = zip(*along, strict=True)
        clients = Plane(hessians, [*map(list, tilts)])
        if clients.fits(smooth, beta):
            return clients, [sixteenths(draw, 1, 2), sixteenths(draw, -2, 2)]


def worst(name, make, number, seed):
    played = game(name)
    many, out = rounds(played), Fraction(0)
    for k in range(number):
        clients, x0 = make(played, Random(f"{seed}/{name}/{k}"))
        out = max([out, *played.ratios(clients, x0, many)[1:]])
    return out


# quadratics of the plane with beta = L are all alike
CASES = [(name, pieces) for name in NAMES]
CASES += [(name, plane) for name in NAMES if not name.endswith("beta = L")]


@pytest.mark.parametrize(("name", "make"), [c for c in CASES if c[0] in FAST])
def test_no_function_is_above_what_is_certified(name, make):
    assert 0 < worst(name, make, 5, "quick") <= 1


@pytest.mark.parametrize(("name", "make"), CASES)
@pytest.mark.slow
def test_none_of_many_functions_is(name, make):
    assert 0 < worst(name, make, PLENTY, "many") <= 1


def alike(played):
    """All clients beta x^2/2."""
    return Pieces([], [[played.beta]] * played.n, [Fraction(0)] * played.n)


@pytest.mark.parametrize(
    ("name", "factor", "many"),
    [("three steps", "6/5", 40), ("one of three", "6/5", 5), ("descent", "7/5", 2)],
)
def test_a_rate_made_better_by_force_is_broken(name, factor, many):
    played = game(name)
    better = 1 - Fraction(factor) * (1 - played.rho)
    x0 = [Fraction(1)]
    assert max(played.ratios(alike(played), x0, many, better)) > 1
    assert max(played.ratios(alike(played), x0, many)) <= 1


@pytest.mark.parametrize("name", FAST)
def test_a_constant_made_better_by_force_is_broken(name):
    played = game(name)
    assert played.ratios(alike(played), [Fraction(1)], 0)[0] * Fraction(5, 4) > 1


def test_a_weaker_condition_breaks_the_rate():
    played = game("descent")
    flat = Pieces([], [[played.beta / 2]] * 2, [Fraction(0)] * 2)
    assert flat.dominance == played.beta / 2
    assert max(played.ratios(flat, [Fraction(1)], 1)) > 1


def test_dominance_is_the_smallest_ratio_seen():
    draw, played = Random("dominance"), game("descent")
    for _ in range(5):
        clients, _ = pieces(played, draw)
        points = [Fraction(k, 64) for k in range(-256, 257) if k]
        slopes = [sum(clients.gradient(i, [x])[0] for i in (0, 1)) / 2 for x in points]
        pairs = zip(points, slopes, strict=True)
        seen = min(g * g / (2 * clients.gap([x])) for x, g in pairs)
        assert clients.dominance <= seen
        assert clients.dominance in {seen, *clients.mean}


@pytest.mark.parametrize(
    ("step", "smooth", "beta"),
    [(1, 1, "1/10"), ("1/100", 1, "1/10"), ("19/10", 1, "1/3"), (1, "1/3", "1/3"),
     ("1/7", 2, "1/1000")],
)  # fmt: skip
def test_descent_has_the_rate_of_textbooks(step, smooth, beta):
    result = gap_rate(GradientDescent(step), Full(1), smooth, beta)
    eta, L, beta = map(Fraction, (step, smooth, beta))
    known = 1 - 2 * beta * eta * (1 - eta * L / 2)
    assert 0 < result.rate - known <= Fraction(1, 10**5)
    assert result.by_gap < Fraction(1001, 1000)


@pytest.mark.parametrize(("step", "status"), [("1/100000", "inconclusive"), (3, None)])
def test_a_rate_nearer_to_1_than_is_looked_for_is_not_denied(step, status):
    setting = GradientDescent(step), Full(1), 1, "1/1000"
    result = gap_rate(*setting)
    assert result.status == (status or "not_certified")
    assert ("a rate above 0.999999" in result.reason) == (status is not None)
    slower = gap_rate(*setting, rate="0.999999985")
    assert (slower.status == "certified") == (status is not None)
