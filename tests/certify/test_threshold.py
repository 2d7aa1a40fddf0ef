"""Where a margin begins: found between a point with and one without, in few solves."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, nan
from random import Random

import pytest

from flverify.algorithms import FedAvg, Focus, GradientDescent, Scaffold
from flverify.certify.check import check
from flverify.certify.ladder import Ladder
from flverify.certify.neighbourhood import contraction, distance
from flverify.certify.rates import certify
from flverify.certify.sandwich import worst_quadratic
from flverify.certify.short_rates import nearest, short
from flverify.certify.threshold import Margin, threshold
from flverify.participation import Bernoulli, Full, UniformCohort

# how margins may rise from their threshold: straight, bent either way, in steps, and
# as a yes or no alone
SHAPES = {
    "straight": lambda d: d / 5,
    "concave": lambda d: 1 - exp(-30 * d),
    "convex": lambda d: d + 20 * d * d,
    "flat at first": lambda d: d**3,
    "a yes": lambda _: 1.0,
    "falling": lambda d: 2 - d,
    "in steps": lambda d: 1e-9 + round(d, 3),
}


# duals say how margins rise, well or badly
SLOPES = {
    "right": lambda slope, _: slope,
    "rough": lambda slope, noise: slope * noise.uniform(0.5, 2),
    "none": lambda *_: 0.0,
    "some": lambda slope, noise: slope * noise.randint(0, 1),
    "steep": lambda *_: 1e9,
    "flat": lambda *_: 1e-9,
    "down": lambda slope, _: -slope,
    "infinite": lambda *_: inf,
    "not a number": lambda *_: nan,
}


def asked(shape, where, noise=None, slope=SLOPES["right"]):
    points = []

    def margin(rho):
        points.append(rho)
        if rho <= where:
            return Margin(0.0, 0.0)
        error = noise.uniform(0.9, 1.1) if noise else 1
        d, tiny = rho - where, 1e-9
        rise = (shape(d + tiny) - shape(d - tiny)) / (2 * tiny)
        return Margin(shape(d) * error, slope(rise, Random(f"{rho}")))

    return margin, points


@pytest.mark.parametrize("where", [1e-7, 0.3, 0.96, 0.99995])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("slope", SLOPES)
def test_it_lies_between_a_point_without_and_one_with(shape, where, noisy, slope):
    noise = Random(f"{shape} {where}") if noisy else None
    margin, points = asked(SHAPES[shape], where, noise, SLOPES[slope])
    known = 1 - 1e-9, margin(1 - 1e-9)
    found = threshold(margin, 0.0, known, lambda high: min(2e-6, (1 - high) / 200))
    assert found in points
    assert len(set(points)) == len(points)  # no solve is spent twice
    # above WIDE_ENOUGH: a cube begins to show 2e-4 above its zero
    seen = where + (2.2e-4 if shape == "flat at first" else 0)
    below = max([0.0, *(p for p in points if p < found)])
    assert found - below <= min(2e-6, (1 - found) / 200)
    assert below - 2.2e-4 <= where < found <= seen + 2e-6
    assert len(points) <= 60


@pytest.mark.parametrize("where", [0.3, 0.96, 0.99995])
def test_a_straight_line_costs_few_solves(where):
    margin, points = asked(SHAPES["straight"], where)
    threshold(margin, 0.0, (1 - 1e-9, margin(1 - 1e-9)), lambda _: 1e-7)
    assert len(points) <= 5  # bisection takes 24


@pytest.mark.parametrize("where", [0.3, 0.96, 0.99995])
@pytest.mark.parametrize("shape", ["concave", "convex"])
def test_a_bent_line_costs_few_solves_by_its_slopes(shape, where):
    counts = {}
    for slope in ("right", "none"):
        margin, points = asked(SHAPES[shape], where, slope=SLOPES[slope])
        threshold(margin, 0.0, (1 - 1e-9, margin(1 - 1e-9)), lambda _: 1e-7)
        counts[slope] = len(points)
    assert counts["right"] <= 12
    assert counts["right"] < counts["none"]


@pytest.mark.parametrize("where", [0.3, 0.96, 0.99])
@pytest.mark.parametrize("shape", ["straight", "concave", "convex"])
def test_curves_that_agree_may_be_trusted(where, shape):
    counts, close = [], 2e-6
    for trusted in (0.0, close):
        margin, points = asked(SHAPES[shape], where)
        known = 1 - 1e-9, margin(1 - 1e-9)
        found = threshold(margin, 0.0, known, lambda _: close, trusted)
        assert 0 < found - where <= close  # smooth curves were right
        counts.append(len(points))
    assert counts[1] < counts[0]


@pytest.mark.parametrize("where", [0.3, 0.96, 0.9999])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("slope", SLOPES)
def test_short_places_are_asked_beside_those_that_curves_point_to(shape, where, slope):
    margin, points = asked(SHAPES[shape], where, Random(shape), SLOPES[slope])
    known = 1 - 1e-9, margin(1 - 1e-9)
    found = threshold(margin, 0.0, known, lambda _: 2e-6, 2e-6, short)
    assert where < found
    assert found in points
    assert len(points) <= 60


@pytest.mark.parametrize("where", [0.3, 0.96])
@pytest.mark.parametrize("shape", ["straight", "concave", "convex"])
def test_smooth_curves_end_at_a_short_rate_that_can_be_proved_as_it_is(shape, where):
    margin, _ = asked(SHAPES[shape], where + 1.7e-7)
    known = 1 - 1e-9, margin(1 - 1e-9)
    found = threshold(margin, 0.0, known, lambda _: 2e-6, 2e-6, short)
    assert 0 < found - where < 4e-6
    rate = next(nearest(found))
    assert (float(rate), 10**6 % rate.denominator) == (found, 0)


def test_curves_are_not_trusted_where_finer_is_wanted():
    margin, points = asked(SHAPES["concave"], 0.96)
    known = 1 - 1e-9, margin(1 - 1e-9)
    found = threshold(margin, 0.0, known, lambda _: 1e-7, 2e-6)
    assert min(p for p in points if p <= 0.96) < found
    assert found - max(p for p in points if p <= 0.96) <= 1e-7


@pytest.mark.parametrize("where", [0.3, 0.96])
@pytest.mark.parametrize("slope", SLOPES)
def test_wrong_slopes_and_trust_still_end_at_a_point_with_a_margin(where, slope):
    for shape in SHAPES.values():
        margin, points = asked(shape, where, Random(f"{where}"), SLOPES[slope])
        known = 1 - 1e-9, margin(1 - 1e-9)
        found = threshold(margin, 0.0, known, lambda _: 2e-6, 2e-6)
        assert where < found
        assert found in points
        assert len(points) <= 60


def test_nothing_is_asked_where_the_bracket_is_narrow():
    margin, points = asked(SHAPES["straight"], 0.5)
    known = 0.5000001, Margin(1e-8, 0.2)
    assert threshold(margin, 0.4999999, known, lambda _: 1e-6) == 0.5000001
    assert points == []


@pytest.mark.parametrize("law", [UniformCohort(8, 1), Bernoulli(["1/2"] * 3)])
@pytest.mark.parametrize(
    "algorithm", [Focus("1/20", 1), Scaffold("1/10", 3), FedAvg("1/10", 2)]
)
def test_the_slope_is_that_of_the_margin(algorithm, law):
    # FedAvg's ansatz has matrices that no unknown multiplies
    for found in Ladder.of(algorithm, law, "1/10", 1).searches(algorithm.step_size):
        for rho in (0.997, 0.9999):
            here, step = found.margin(rho), 1e-4
            near = [found.margin(rho + s).margin for s in (-step, step)]
            if min(near) <= 0:
                continue
            assert here.slope == pytest.approx((near[1] - near[0]) / (2 * step), 0.05)


@pytest.mark.parametrize("law", [UniformCohort(8, 1), Bernoulli(["1/2"] * 3)])
@pytest.mark.parametrize("algorithm", [Focus("1/20", 1), Scaffold("1/10", 3)])
def test_the_widest_margin_exists_and_grows_with_the_rate(algorithm, law):
    # also where values of f outweigh a negative quadratic in V
    for found in Ladder.of(algorithm, law, "1/10", 1).searches(algorithm.step_size):
        margins = [found.margin(rho) for rho in (0.999, 0.9995, 1 - 1e-9)]
        assert [m.status for m in margins] == ["solved"] * 3
        widths = [m.margin for m in margins]
        assert 0 < widths[0] < widths[1] < widths[2] < 1


@pytest.mark.one_in(4)
@pytest.mark.parametrize("digits", [4, 6, 9, 30])
def test_gradients_are_shifted_near_kappa_one(digits):
    # in g the matrices of multipliers grow like L/(L - mu)
    mu = 1 - Fraction(1, 10**digits)
    nothing = contraction(FedAvg(1, 2), UniformCohort(3, 2), mu, 1)
    assert 0 < nothing.rate < Fraction(1, 10**5)
    # at mu = L models end at their own minimisers: (1/m - 1/N) N/(N - 1) = 1/4
    around = distance(FedAvg(1, 2), UniformCohort(3, 2), mu, 1)
    assert 0 < around.constant - Fraction(1, 4) < 1 - mu + Fraction(1, 10**5)
    close = Fraction(1, 10**5)
    for setting in (
        (GradientDescent("1/2"), Full(1)),
        (Focus("1/10", 3), UniformCohort(4, 2)),
        (Scaffold("3/2", 4), Bernoulli(["1/2"] * 4)),
    ):
        least = worst_quadratic(*setting, mu, 1).lower_bound
        found = certify(*setting, mu, 1)
        assert 0 < check(found.certificate).rho - least < close
    # for long steps the ansatz itself leaves a third of 1 - mu
    setting = Focus("1/2", 4), Full(5), mu, 1
    gap = certify(*setting).rate - worst_quadratic(*setting).lower_bound
    assert 0 < gap < close + (1 - mu) / 2
