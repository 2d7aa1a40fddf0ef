"""What rounding does to sampled runs is no break: bounds that are met exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from flverify import simulate
from flverify.algorithms import Focus, GradientDescent, Scaffold
from flverify.participation import Bernoulli, Full
from flverify.problems import Quadratics
from flverify.problems._problem import Problem
from flverify.testing import (
    Broken,
    Inconclusive,
    assert_error_bound,
    assert_fixed_point_bias,
    assert_linear_rate,
)
from flverify.testing.blur import blur
from flverify.testing.precision import of_gradients, precision_of
from flverify.testing.rounding import rounding
from flverify.testing.sequential import BoundTest
from flverify.testing.setting import setting

PLAIN = Quadratics([[[1]], [[1]]], [[1], ["1/3"]])  # x* = 2/3
RATE = Fraction(9, 16)  # of steps of 1/4 along the mean gradient


class Mine(Problem):
    """The same in floats of some kind, with a minimiser that is off."""

    exact = False
    n_clients = 2
    dim = 1

    def __init__(self, off=0.0, kind=np.float64):
        self.off, self.kind = off, kind

    def gradient(self, client, point):
        slope = np.asarray(point, self.kind) - np.array([1, 1 / 3], self.kind)[client]
        return slope.astype(self.kind)

    def value(self, client, point):
        return float(point @ point / 2 - np.array([1, 1 / 3])[client] * point[0])

    def minimiser(self):
        return np.array([2 / 3 + self.off])


def stepped(masks, gradient, start, kind=np.float32):
    """Full participation in short floats."""
    models = [start.astype(kind)]
    for _ in masks:
        mean = np.mean([gradient(i, models[-1]) for i in range(2)], axis=0)
        models.append((models[-1] - kind(0.25) * mean.astype(kind)).astype(kind))
    return models


@pytest.mark.parametrize(
    ("problem", "algorithm"),
    [
        (Mine(off=1e-8), GradientDescent("1/8")),
        (Mine(off=1e-6), GradientDescent("1/8")),
        (Mine(kind=np.float32), GradientDescent("1/8")),
        (PLAIN, stepped),
    ],
)
def test_a_bound_that_is_met_exactly_is_not_broken_by_rounding(problem, algorithm):
    asked = (problem, algorithm, Full(2))
    first = float(problem.minimiser()[0]) ** 2
    more = {"constant": first, "rounds": 80, "budget": 300, "method": "sampled"}
    with pytest.raises(Inconclusive):
        assert_linear_rate(*asked, rate=RATE, **more)
    # a rate that is too small is seen all the same
    with pytest.raises(Broken):
        assert_linear_rate(*asked, rate="1/2", **more)
    assert_linear_rate(*asked, rate=RATE, budget=1200, method="sampled")


def test_a_bias_of_short_floats_is_no_bias():
    more = {"rounds": 160, "budget": 260, "false_alarm": 0.5, "method": "sampled"}
    with pytest.raises(Inconclusive):
        assert_fixed_point_bias(PLAIN, stepped, Full(2), bias=0, **more)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "algorithm", [GradientDescent("1/40"), Focus("1/20", 2), Scaffold("1/10", 2)]
)
@pytest.mark.parametrize("dim", [1, 6])
def test_what_is_left_of_errors_is_less_than_runs_may_be_off_by(algorithm, dim):
    curved = np.array([np.diag(np.linspace(1, 1 + i, dim)) for i in range(3)])
    linear = np.random.default_rng(dim).standard_normal((3, dim))
    problem = Quadratics(curved, linear)
    for law in (Full(3), Bernoulli([0.5] * 3)):
        if isinstance(algorithm, GradientDescent) and law.inclusion()[0] != 1:
            continue
        asked = setting(problem, algorithm, law, np.zeros(dim))
        runs = simulate(problem, algorithm, law, rounds=1500, runs=1, seed=1)
        left = np.sqrt(runs.errors[:, -1].max())
        assert left <= rounding(asked, 1, 1500)[-1]


def descended(masks, gradient, start):
    """Steps of 1/40 along the only client's gradient."""
    models = [start]
    for _ in masks:
        models.append(models[-1] - gradient(0, models[-1]) / 40)
    return models


@pytest.mark.parametrize("algorithm", [GradientDescent("1/40"), descended])
def test_what_rounding_grows_to_beside_a_start_is_no_break(algorithm):
    # the second coordinate starts at its minimiser 1/3; off it, it grows as (3/2)^r
    steep = Quadratics([[[1, 0], [0, 100]]], [[1, "100/3"]])
    more = {"rounds": 150, "budget": 300, "method": "sampled"}
    with pytest.raises(Inconclusive):
        assert_error_bound(steep, algorithm, Full(1), bound=2, start=[0, "1/3"], **more)
    with pytest.raises(Broken):
        assert_error_bound(steep, algorithm, Full(1), bound=2, start=[0, "1/2"], **more)


def test_what_roots_may_be_off_by_is_given_to_either_answer():
    # the root of each X is 1 % too large: 1.0201 in place of 1
    seen = np.full((3000, 1), 1.0201)
    assert _fed(seen, 0.0).broken
    assert not _fed(seen, 0.0101).broken
    # and 10 % too small: 0.81 in place of 1
    seen = np.full((3000, 1), 0.81)
    assert _fed(seen, 0.0).holds
    assert not _fed(seen, 0.1).holds
    # nothing is seen to hold below what roots may be off by, however small it looks
    assert _fed(0 * seen, 0.4).holds
    assert not _fed(0 * seen, 0.6).holds
    assert _fed(np.full((9, 1), np.inf), np.inf).broken


def _fed(errors, off):
    test = BoundTest(np.ones(1), 1e-6, 2.0, np.array([off]))
    test.add(errors)
    return test


def test_the_newton_step_says_how_far_a_minimiser_is_off():
    for off in (1e-8, 1e-5):
        mine = Mine(off)
        assert blur(mine, mine.minimiser()) == pytest.approx(off, rel=1e-3)
    short = np.ones(1, dtype=np.float32)
    assert precision_of(short) == precision_of([*short]) == np.finfo("f4").eps
    assert of_gradients(Mine(kind=np.float32), np.zeros(1)) == np.finfo("f4").eps
