"""The sequential tests: their error probabilities, and what they cannot tell."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from flverify.testing.sequential import BoundTest
from flverify.testing.vector_mean import _variance_above, mean_ball


def ended(draw, alpha, tail, looks=12, bound=1.0):
    """Feed samples until there is an answer; return it."""
    test = BoundTest(np.array([bound]), alpha, tail)
    for _ in range(looks):
        test.add(draw())
        if test.broken:
            return "broken"
        if test.holds:
            return "holds"
    return "open"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("tail_of", [0.01, 0.3, 1.0])
def test_a_bound_that_holds_with_equality_is_rarely_called_broken(tail_of):
    # X = 1/p with probability p: mean 1, and E X^2 = 1/p as large as one likes
    draws = np.random.default_rng(0)

    def draw():
        return (draws.random((50, 1)) < tail_of) / tail_of

    alarms = sum(ended(draw, 0.1, 1e9) == "broken" for _ in range(300))
    assert alarms <= 300 * 0.1  # Ville gives at most 30 on average; seeded


@pytest.mark.slow
def test_a_bound_that_is_broken_is_rarely_accepted():
    # mean 1.02 above the bound 1, with the second moment that was assumed
    draws = np.random.default_rng(1)
    p = 0.2

    def draw():
        return 1.02 * (draws.random((50, 1)) < p) / p

    accepted = sum(ended(draw, 0.1, 1 / p) == "holds" for _ in range(300))
    assert accepted <= 300 * 0.1


def test_the_assumption_is_needed():
    # the mean 2 comes from a value that no sample of this size sees; a test without
    # an assumption could not accept here, and the smaller tail is false
    draws = np.random.default_rng(2)

    def draw():
        rare = draws.random((50, 1)) < 1e-7
        return np.where(rare, 2e7, 1e-3)

    assert ended(draw, 1e-6, 30.0, looks=40) == "holds"
    # with the true E X^2/(E X)^2 = 1e7 there is no answer
    assert ended(draw, 1e-6, 1e7, looks=40) == "open"


def test_clear_cases_end_early():
    draws = np.random.default_rng(3)
    above = ended(lambda: 3 * draws.exponential(size=(64, 1)), 1e-6, 30.0, looks=1)
    below = ended(lambda: 0.1 * draws.exponential(size=(64, 1)), 1e-6, 5.0, looks=8)
    assert (above, below) == ("broken", "holds")


def test_zeros_are_accepted_neither_too_early_nor_late():
    # X = 30 with probability 1/30, else 0, has the mean 1 and E X^2 = 30: no sound test
    # accepts n zeros while they have the probability (29/30)^n > 1e-6, so while n < 408
    test = BoundTest(np.ones(1), 1e-6, 30.0)
    test.add(np.zeros((407, 1)))
    assert not test.holds
    test.add(np.zeros((593, 1)))
    assert test.holds


def test_one_broken_round_among_many_is_found():
    test = BoundTest(np.ones(100), 1e-6, 30.0)
    errors = np.full((64, 100), 1e-3)
    errors[:, 41] = 2.5
    test.add(errors)
    assert test.broken
    assert test.first_break == 41


def test_every_round_has_to_hold():
    test = BoundTest(np.ones(3), 1e-6, 5.0)
    test.add(np.tile([0.1, 0.1, 0.99], (2000, 1)))
    assert not test.broken
    assert not test.holds
    assert test.unclear.tolist() == [2]


def test_an_overflow_is_a_break():
    test = BoundTest(np.ones(2), 1e-6, 30.0)
    test.add(np.array([[0.5, np.inf]]))
    assert test.broken
    assert test.first_break == 1


def test_a_sample_beyond_the_assumed_tail_accepts_nothing():
    test = BoundTest(np.ones(1), 1e-6, 2.0)
    errors = np.zeros((1000, 1))
    errors[0] = 100.0  # mean 0.1, but a mean square of 10
    test.add(errors)
    assert not test.plausible
    assert not test.holds


def test_the_tail_is_relative_to_the_larger_of_bound_and_mean():
    # constants: E X^2/max(b, E X)^2 is 1 above the bound, (1/4)^2 at a quarter of it
    test = BoundTest(np.array([40.0, 1.0]), 1e-6, 2.0)
    test.add(np.full((5, 2), 10.0))
    assert (test.sample_tail, test.heaviest, test.plausible) == (1.0, 1, True)
    below = BoundTest(np.array([40.0]), 1e-6, 2.0)
    below.add(np.full((5, 1), 10.0))
    assert below.sample_tail == 1 / 16


def test_the_ball_around_a_mean_holds_it():
    draws, missed = np.random.default_rng(4), 0
    for _ in range(200):
        copies = draws.standard_normal((600, 2)) ** 3  # mean 0, heavy tails
        ball = mean_ball(copies, 0.05, 50.0)
        missed += bool(np.linalg.norm(ball.centre) > ball.radius)
    assert missed <= 10


def test_too_few_copies_say_nothing():
    assert mean_ball(np.zeros((10, 1)), 1e-6, 3.0).radius == np.inf
    assert mean_ball(np.full((5000, 1), np.inf), 1e-6, 3.0).radius == np.inf


def test_the_variance_is_bounded_from_above():
    # standard normal numbers: variance 1, fourth moment 3
    draws, missed, found = np.random.default_rng(5), 0, []
    for _ in range(200):
        found.append(_variance_above(draws.standard_normal((4000, 1)), 0.05, 3.0))
        missed += found[-1] < 1
    assert missed <= 10
    assert max(found) < 1.5


def test_every_coordinate_has_its_share_of_the_probability_to_miss():
    # a block mean is far off with probability 1/4; with fewer than `least` blocks, the
    # median of one of 100 coordinates is, with probability above 0.05/2. So a spike in
    # each of fewer than half as many blocks must not move the centre
    dim, runs = 100, 20_000
    least = next(
        k for k in range(1, runs, 2) if dim * binom.sf(k // 2, k, 0.25) < 0.025
    )

    def centre(spikes):
        copies = np.zeros((runs, dim))
        copies[np.arange(spikes) * (runs // spikes)] = 1e6
        return mean_ball(copies, 0.05, 30.0).centre

    assert not centre(least // 2).any()
    assert centre(200).all()
