"""The stationary error where there is no stationary law."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from flverify import moments
from flverify.algorithms import FedAvg
from flverify.participation import Bernoulli, Full
from flverify.problems import Quadratics
from tests.testing.own import PilesUp

F = Fraction
PAIR = Quadratics([[[1]], [[2]]], [[0], [2]])


@pytest.mark.parametrize("law", [Full(2), Bernoulli(["1/2", "1/3"])])
@pytest.mark.parametrize("problem", [PAIR, PAIR.as_float()])
def test_a_mean_that_grows_has_no_stationary_error(problem, law):
    # x+ = x/2 + pile, pile+ = pile - 2: two runs come together, x_r goes to -infinity
    found = moments(problem, PilesUp(F(1, 2)), law)
    assert found.mean_square_rate == F(1, 4)
    assert found.stationary_mean_square_error == math.inf
    assert found.mean_square_error([0], 40)[-1] > 10**4


@pytest.mark.parametrize("size", [F(1, 10**6), F(1), F(1000)])
def test_a_far_or_near_stationary_law_is_kept(size):
    one = Quadratics([[[1]], [[3]]], [[0], [3 * size]])
    law = Bernoulli(["1/2", "1/2"])
    exact = moments(one, FedAvg("1/8", 2), law)
    plain = moments(one.as_float(), FedAvg("1/8", 2), law)
    expected = float(exact.stationary_mean_square_error)
    assert plain.stationary_mean_square_error == pytest.approx(expected, rel=1e-6)
