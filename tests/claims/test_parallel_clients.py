"""Clients of bounded heterogeneity: their constants, and limits found another way."""

from fractions import Fraction
from itertools import combinations

import pytest

from flverify._core.errors import DomainError, ShapeError
from flverify.claims import client_drift
from flverify.claims.client_drift import drift_order, drift_ratio
from flverify.claims.parallel_clients import Setting, step_cap
from flverify.claims.parallel_families import (
    BALANCED,
    BIASED,
    WITH_EMPTY_ROUNDS,
    family,
    heterogeneity_again,
    limit_again,
    mismatch_again,
    normalised,
    rescaled,
)
from flverify.claims.recheck import expected_square_errors
from flverify.claims.verdict import Verdict
from flverify.participation import Bernoulli, Full, UniformCohort
from flverify.reference import fedavg

F = Fraction
BERNOULLI = Bernoulli(["1", "1/2"])


def setting(law=BERNOULLI, tau=2, h=(1, 3), b=(-1, 2), reach=0):
    step = step_cap(F(max(h)), tau)
    return Setting((h,), (b,), law, tau, step, F(reach))


def test_equal_hessians_against_the_formula_of_the_ledger():
    """(x_q - x*)^2 + (1-a)/(1+a) Var of the mean of b over the cohort, a = (1-eh)^tau.

    Three clients, two at a time: means 1/2, 2, 5/2 with b = (0, 1, 4).
    """
    one = setting(UniformCohort(3, 2), 3, (2, 2, 2), (0, 1, 4))
    means = [F(x + y, 2) for x, y in combinations((0, 1, 4), 2)]
    variance = sum(m * m for m in means) / 3 - (sum(means) / 3) ** 2
    a = (1 - one.step_size * 2) ** 3
    assert one.limit() == (1 - a) / (1 + a) * variance


def test_weights_sum_to_one_unless_rounds_may_be_empty():
    """What focus.eq29.delta_q takes for granted of the laws that it searches."""
    sums = [{sum(one.weights) for one in family(laws, (1,))} for laws in LAWS]
    assert sums[:2] == [{1}, {1}]
    assert max(sums[2]) < 1


LAWS = (BIASED, BALANCED, WITH_EMPTY_ROUNDS)


def test_limit_against_listed_sequences_of_cohorts():
    one = setting(tau=1, h=(2, 3))
    coordinate = one.coordinates[0]
    curve = expected_square_errors(
        fedavg.run,
        lambda i, x: [coordinate.derivative(i, x[0])],
        2,
        one.law.support(),
        10,
        [F(0)],
        [coordinate.minimiser],
        step_size=one.step_size,
    )
    gaps = [abs(float(value - one.limit())) for value in curve]
    assert gaps[10] < 0.02 * one.limit()
    assert gaps[10] < gaps[8] < gaps[6]


def test_limsup_is_over_local_iterations_too():
    """Full participation is a cycle: run (33)-(35) long enough and take the worst."""
    one = setting(Full(2), 4, (1, 9), (-1, 2))
    x, rates, worst = 0.0, [float(one.step_size * h) for h in (1, 9)], []
    for _ in range(500):
        local, worst = [x, x], []
        for _ in range(4):
            worst.append((sum(local) / 2 - 1.7) ** 2)  # x* = (9 * 2 - 1) / 10
            pulls = zip(local, rates, (-1, 2), strict=True)
            local = [v - r * (v - b) for v, r, b in pulls]
        x = sum(local) / 2
    assert abs(max(worst) - one.limit()) < 1e-12
    assert max(worst) > 1.001 * worst[0] or max(worst) > 1.001 * worst[-1]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("laws", [BALANCED[:2], BIASED[:2], WITH_EMPTY_ROUNDS[:1]])
def test_the_plain_loop_agrees(laws):
    for one in family(laws, (1, 2)):
        assert limit_again(one, one.weights) == one.limit()
        assert heterogeneity_again(one) == one.heterogeneity
        if one.mismatch is not None:
            assert mismatch_again(one) == one.mismatch


def test_no_iterate_depends_on_the_scale():
    for plain, scaled in rescaled(BIASED[:1], (2,)):
        factor = scaled.smoothness / plain.smoothness
        assert scaled.limit() == plain.limit()
        assert limit_again(scaled, scaled.weights) == plain.limit()
        assert scaled.heterogeneity == factor**2 * plain.heterogeneity


def test_clients_are_strongly_convex_and_smooth_and_stay_inside():
    one = setting(h=(1, 3, 5), b=(0, 4, -2), law=Full(3), reach=1)
    c = one.coordinates[0]
    points = [F(j, 3) for j in range(-30, 31)]
    for i in range(3):
        for x, y in combinations(points, 2):
            slope = (c.derivative(i, y) - c.derivative(i, x)) / (y - x)
            assert one.strong_convexity <= slope <= one.smoothness
    low, high = c.interval
    for i, x in ((i, x) for i in range(3) for x in (low, high)):
        assert low <= x - one.step_size * c.derivative(i, x) <= high
    assert c.mean(c.minimiser) == 0


def test_heterogeneity_by_hand():
    """f_1' = x + 1, f_2' = 3 (x - 2) on [-1, 2]: half their difference is -9/2, 3/2."""
    assert setting().heterogeneity == F(81, 4)
    assert setting().mismatch == F(1, 16) * 81  # q = (3/4, 1/4)


def test_weights_that_do_not_sum_to_one():
    one = setting(WITH_EMPTY_ROUNDS[0], 1, (1, 1), (2, 2), 1)
    assert one.mismatch is None
    assert one.limit() == F(1, 4)  # q'x stays at 3/2 where x* = 2
    assert one.limit(normalised(one)) == 0


def test_drift_by_hand():
    """h = 1, 2, b = 0, 1, tau = 2: x^o = (4e - 4e^2) / (6e - 5e^2), x* = 2/3."""
    h, b = (F(1), F(2)), (F(0), F(1))
    eta = F(1, 10**6)
    exact = (4 * eta - 4 * eta**2) / (6 * eta - 5 * eta**2) - F(2, 3)
    order, value = drift_order(h, b, 2)
    assert order == 1
    assert abs(exact / eta - value) < F(1, 10**5)
    assert drift_ratio(h, b, 2, 1) == abs(value) / F(2, 3)


@pytest.mark.parametrize(
    ("h", "b", "tau"), [((1, 2), (0, 1), 2), ((3, F(1, 7)), (10, 11), 5)]
)
def test_two_clients_drift_as_the_proof_says(h, b, tau):
    """The fixed point of the affine round, step by step, at a small step size."""
    eta = F(1, 10**8)

    def round_from(x):
        ends = []
        for slope, point in zip(h, b, strict=True):
            end = x
            for _ in range(tau):
                end -= eta * slope * (end - point)
            ends.append(end)
        return sum(ends) / 2

    shift, keep = round_from(F(0)), round_from(F(1)) - round_from(F(0))
    best = F(h[0] * b[0] + h[1] * b[1]) / (h[0] + h[1])
    drift = (shift / (1 - keep) - best) / (eta * (tau - 1))
    said = -F(h[0] * h[1] * (h[0] - h[1]) * (b[0] - b[1])) / (2 * (h[0] + h[1]) ** 2)
    assert abs(drift / said - 1) < F(1, 10**6)


def test_a_wrong_expansion_of_the_local_steps_is_no_proof(monkeypatch):
    assert client_drift.pair_drifts(1).verdict == Verdict.PROVED
    steps = client_drift._local_steps()
    wrong = [(name, left, 2 * right) for name, left, right in steps]
    monkeypatch.setattr(client_drift, "_local_steps", lambda: wrong)
    assert client_drift.pair_drifts(1).verdict == Verdict.REFUTED


def test_bad_input():
    with pytest.raises(DomainError, match="step_size must be"):
        Setting(((1, 1),), ((0, 1),), BERNOULLI, 1, F(1, 2))
    with pytest.raises(DomainError, match="curvatures must be"):
        Setting(((0, 1),), ((0, 1),), BERNOULLI, 1, F(1, 3))
    with pytest.raises(DomainError, match="p_i > 0"):
        Setting(((1, 1),), ((0, 1),), Bernoulli(["0", "1"]), 1, F(1, 3))
    with pytest.raises(ShapeError, match="2 clients"):
        Setting(((1, 1, 1),), ((0, 1, 2),), BERNOULLI, 1, F(1, 3))
    with pytest.raises(DomainError, match="must drift"):
        drift_order((F(1), F(1)), (F(0), F(1)), 3)
    with pytest.raises(DomainError, match="must not be 0"):
        drift_ratio((F(1), F(2)), (F(2), F(-1)), 2, 1)
