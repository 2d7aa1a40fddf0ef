"""The stationary error where there is no stationary law."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from flverify import RefusedError, moments
from flverify.algorithms import FedAvg, Focus, ProxSkip, Scaffold
from flverify.engines.moments._large import LargeMoments
from flverify.participation import (
    AllOrNothing,
    Bernoulli,
    Full,
    ModeChain,
    UniformCohort,
)
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


def test_an_error_of_0_far_from_the_origin_is_not_made_of_rounding():
    # x* has a length of 1e4; in its unit the moments of x and 1 are of one size
    unit = 2.0**-18
    flat = Quadratics([[[73 * unit, -51 * unit], [-51 * unit, 53 * unit]]], [[1, 1]])
    found = moments(flat, Scaffold(2048.0), Full(1))
    assert found.stationary_mean_square_error == pytest.approx(0, abs=1e-3)


def test_an_error_of_0_is_small_where_flat_directions_are_slow():
    hessians = [
        [[21 / 64, -29 / 2**16], [-29 / 2**16, 41 / 2**25]],
        [[15 / 16, 0], [0, 15 / 2**24]],
        [[3 / 4, -3 / 2**14], [-3 / 2**14, 11 / 2**24]],
    ]
    linear = [[-1, -7 / 2**12], [-15 / 8, 1 / 2**13], [3 / 8, -7 / 2**12]]
    problem = Quadratics(hessians, linear)
    optimum = np.asarray(problem.minimiser())
    for step, chance in ((0.125, 0.25), (0.25, 0.125)):
        algorithm = ProxSkip(step, 2, variant="notebook")
        large = LargeMoments(problem, algorithm, AllOrNothing(3, chance))
        error = large.stationary_error(optimum)
        assert error == pytest.approx(0, abs=1e-6)  # x* is 1600


@pytest.mark.parametrize("kind", [Scaffold, FedAvg, Focus])
@pytest.mark.parametrize("power", [10, 23])
def test_nor_is_one_of_modes(kind, power):
    # x* is 1e6: errors of .0012 and 0 came out as .035 and .06; of a tiny step, 3125
    curvatures, linear = [2, 4, 5], [2**21, 2**22 + 4, 5 * 2**20 + 10]
    exact = Quadratics([[[h]] for h in curvatures], [[b] for b in linear])
    laws = UniformCohort(3, 1), Bernoulli(["1/2", "1/4", "1/3"])
    law = ModeChain((("3/4", "1/4"), ("1/2", "1/2")), laws)
    expected = moments(exact, kind(F(1, 2**power)), law).stationary_mean_square_error
    found = moments(exact.as_float(), kind(2.0**-power), law)
    assert found.stationary_mean_square_error == pytest.approx(
        float(expected), rel=1e-2, abs=1e-6
    )


def test_of_steps_too_small_for_floats_the_error_is_refused():
    # it was infinite: rates from 1 - 1e-12 on were taken for 1
    near = moments(PAIR.as_float(), FedAvg(1e-13, 2), Bernoulli([0.5, 0.25]))
    with pytest.raises(RefusedError, match=r"got one from 0\.99.* to 0\.99"):
        _ = near.stationary_mean_square_error
    exact = moments(PAIR, FedAvg("1e-13", 2), Bernoulli(["1/2", "1/4"]))
    assert exact.stationary_mean_square_error < 1


def test_an_error_is_infinite_where_a_float_rate_is_surely_above_1():
    one = Quadratics([[[1.0]], [[3.0]]], [[0.0], [3.0]])
    for kind in (lambda *given: moments(*given)._engine, LargeMoments):
        found = kind(one, FedAvg(1.5, 1), Bernoulli([0.5, 0.5]))
        assert found.mean_square_rate > 1.1
        assert found.stationary_error(np.ones(1)) == math.inf


@pytest.mark.parametrize("power", [20, 30])
@pytest.mark.parametrize("kind", [Focus, Scaffold])
def test_modes_whose_means_end_at_one_state_have_an_error_of_0(kind, power):
    # about the origin it came out as 30571, of x* at 1e6
    curvatures, linear = [29, 20, 7], [29 * 10**6, 31250000, -1750000]
    exact = Quadratics([[[F(h, 16)]] for h in curvatures], [[b] for b in linear])
    stays = (("99/100", "1/100"), ("1/50", "49/50"))
    law = ModeChain(stays, (UniformCohort(3, 2), UniformCohort(3, 1)))
    assert moments(exact, kind(F(1, 2**power)), law).stationary_mean_square_error == 0
    found = moments(exact.as_float(), kind(2.0**-power), law)
    assert found.stationary_mean_square_error < 1e-5


@pytest.mark.parametrize("chance", [0.0625, 0.25, 0.5])
def test_no_error_is_below_0(chance):
    # all go to x* at once: what rounding leaves of the spread was -3e-17
    linear = [[0.1250609416750106], [0.5423], [0.0803896269815912]]
    alike = Quadratics([[[0.29]]] * 3, linear)
    law = AllOrNothing(3, chance)
    found = LargeMoments(alike, FedAvg(2.7586206896551726, 3), law)
    assert 0 <= found.stationary_error(alike.minimiser()) < 1e-15


def test_a_rate_in_rationals_is_below_1_however_near():
    # of more digits than are told the rate was told as 1, and the error as infinite
    step = 2 - F(1, 10**40) + F(1, 3**200)
    found = moments(Quadratics([[[1]]], [[1]]), FedAvg(step, 3), Bernoulli(["1/2"]))
    low, high = found.mean_square_rate_interval
    square = (1 - step) ** 6
    assert low <= F(1, 2) + square / 2 <= high < 1
    assert found.stationary_mean_square_error == 0
