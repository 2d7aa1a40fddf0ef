"""Own quadratic problems that compute their minimiser in floats beside rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from flverify import moments, simulate
from flverify.algorithms import Focus, GradientDescent
from flverify.participation import Bernoulli, Full
from flverify.problems import Quadratics
from flverify.problems._minimiser import minimiser_of, quadratics_of
from flverify.problems._problem import Problem
from flverify.testing import (
    assert_error_bound,
    assert_fixed_point_bias,
    assert_linear_rate,
)
from flverify.testing.blur import blur


class Mine(Problem):
    """x^2/2 - x and x^2 - 3x/2: x* = 5/6, which floats do not hold."""

    exact = True
    n_clients = 2
    dim = 1
    hessians = np.array([[[Fraction(1)]], [[Fraction(2)]]])
    linear = np.array([[Fraction(1)], [Fraction(3, 2)]])

    def __init__(self, off=0.0):
        self.off = off

    def gradient(self, client, point):
        return self.hessians[client] @ point - self.linear[client]

    def value(self, client, point):
        return point @ (self.hessians[client] @ point / 2 - self.linear[client])

    def minimiser(self):
        return np.array([5 / 6 + self.off])


@pytest.mark.parametrize("off", [0.0, 1e-9, 1e-7])
def test_a_minimiser_in_floats_breaks_nothing_that_is_true(off):
    mine, law = Mine(off), Bernoulli(["1/2", "1/2"])
    # F has the curvature 3/2: the factor per round is (1 - 3/8)^2
    descent = (mine, GradientDescent("1/4"), Full(2))
    assert_linear_rate(*descent, rate="25/64")
    exactly = Fraction(25, 36)
    assert_error_bound(*descent, bound=lambda r: exactly * Fraction(25, 64) ** r)
    assert_fixed_point_bias(mine, Focus("1/8"), law, bias=0)
    assert moments(mine, Focus("1/8"), law).bias.tolist() == [0]


def test_errors_are_measured_from_the_minimiser_of_the_hessians():
    mine = Mine(1e-7)
    assert minimiser_of(mine).tolist() == [Fraction(5, 6)]
    sampled = simulate(mine, GradientDescent("1/4"), Full(2), rounds=90, runs=1, seed=1)
    assert sampled.errors[0, -1] < 1e-30
    plain = Quadratics(mine.hessians, mine.linear)
    assert blur(mine, minimiser_of(mine)) == blur(plain, plain.minimiser()) > 0


def test_where_the_hessians_have_no_minimiser_the_problem_is_asked():
    class Flat(Mine):
        hessians = np.array([[[Fraction(1)]], [[Fraction(-1)]]])

    assert minimiser_of(Flat()).tolist() == [5 / 6]

    class Listed(Mine):
        linear = None

    assert quadratics_of(Listed()) is None
    assert minimiser_of(Listed()).tolist() == [5 / 6]
