"""Exact values of claims beside samples: chains of cohorts, and Dirichlet shares."""

from fractions import Fraction

import numpy as np
import pytest

from flverify.claims import dirichlet_counts, sticky_cohorts
from flverify.claims import sg_focus_race as sg
from tests.shipped import CLAIMS

STAY, STEP = Fraction(3, 4), Fraction(1, 10)


def sampled_limit(stay, step, rounds, seed):
    """Mean of x^2 along one long run of FedAvg, one client in every round."""
    draw = np.random.default_rng(seed)
    x, here, total = 0.0, 1.0, 0.0
    for keeps in draw.random(rounds) < stay:
        here = here if keeps else -here
        x -= step * (x - here)
        total += x * x
    return total / rounds


def test_the_limit_for_sticky_cohorts_is_that_of_a_long_run():
    cases = sticky_cohorts.limits(STAY, (1,), lambda *_: Fraction(1))
    exact = {case.where["step size"]: float(case.left) for case in cases}
    step = sticky_cohorts.STEPS[0]
    found = sampled_limit(float(STAY), float(step), 400_000, seed=1)
    assert found == pytest.approx(exact[step], rel=0.1)
    # independent rounds end nearer
    half = Fraction(1, 2)
    fresh = next(sticky_cohorts.limits(half, (1,), lambda *_: half))
    assert float(fresh.left) < 0.5 * exact[step]


@pytest.mark.parametrize("stay", ["1/2", "255/256"])
def test_both_computations_of_focus_with_sticky_cohorts_agree(stay):
    caps = CLAIMS["focus.thm1.sc.dependent"].constants["caps"]
    for case in sticky_cohorts.errors(Fraction(stay), caps):
        assert case.recheck() == (case.left, case.right)


def test_the_mean_number_of_classes_is_that_of_many_draws():
    exact = dirichlet_counts.expected("clients", Fraction(1, 20), 32, 2).left
    counts = [(sg.shares("clients", 0.05, 32, seed) >= 0.1).sum() for seed in range(99)]
    assert np.mean(counts) / 32 == pytest.approx(exact, rel=0.02)


def test_the_tail_for_whole_alpha_is_the_incomplete_beta_function():
    whole = dirichlet_counts.expected("classes", Fraction(2), 32, 2)
    near = dirichlet_counts.expected("classes", Fraction(2_000_001, 10**6), 32, 2)
    assert float(whole.left) == pytest.approx(near.left, rel=1e-4)
    assert whole.recheck() == (whole.left, 2)
