"""Float rates of many clients are those of rationals, to what is said of them."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from flverify import moments
from flverify._core.errors import RefusedError
from flverify.algorithms import Focus, Scaffold
from flverify.engines.moments import _perron
from flverify.engines.moments._large import LargeMoments
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort
from flverify.problems import Quadratics, synthetic_ridge
from flverify.testing import (
    Algorithm,
    Inconclusive,
    Server,
    assert_fixed_point_bias,
)

BENT = [
    (UniformCohort(3, 2), 10, "1/20", 1),
    (UniformCohort(3, 2), 10, "3/4", 1),
    (UniformCohort(4, 2), 10, "1/20", 1),
    (AllOrNothing(3, "2/5"), 10, "1/2", 2),
    (AllOrNothing(5, "2/5"), 5, "3/10", 2),
]


@pytest.mark.parametrize(("law", "parts", "step", "local"), BENT)
def test_large_rates_are_those_of_rationals(law, parts, step, local):
    clients = range(law.n_clients)
    problem = Quadratics(
        [[[Fraction(parts + i, parts)]] for i in clients], [[i % 3] for i in clients]
    )
    low, high = moments(problem, Scaffold(step, local), law).mean_square_rate_interval
    floats = Scaffold(float(Fraction(step)), local)
    found = LargeMoments(problem.as_float(), floats, law).mean_square_rate
    assert float(low) * (1 - 1e-9) <= found <= float(high) * (1 + 1e-9)


def test_a_step_past_the_floor_goes_nearer_to_it_than_the_middle():
    floor, high = 0.5, 0.9
    assert _perron._inside(0.4, floor, high, floor) == pytest.approx(0.55)
    assert _perron._inside(0.4, 0.6, high, floor) == pytest.approx(0.75)
    assert _perron._inside(0.7, floor, high, floor) == 0.7


# the mean grows in what starts move by 1e-9 of the rest
FAR = Focus(16667.0, 4, initial_gradients="start", initial_tracker="sum")
RARE = Bernoulli([3.8e-6] * 2)


def copies(curvatures, dim):
    """Clients that are the same in every coordinate, with minimisers 1 and 2."""
    hessians = [np.diag([h] * dim) for h in curvatures]
    linear = [[h * b] * dim for h, b in zip(curvatures, (1.0, 2.0), strict=True)]
    return Quadratics(hessians, linear)


def test_a_mean_that_grows_where_starts_hardly_move_it_does_not_settle():
    curvatures = 0.39, 6e-5
    exact = [Fraction(h) for h in curvatures]
    rational = Quadratics([[[h]] for h in exact], [[h] for h in exact])
    algorithm = replace(FAR, step_size=Fraction(FAR.step_size))
    law = Bernoulli([Fraction(3.8e-6)] * 2)
    assert moments(rational, algorithm, law).mean_rate > 1e9
    for dim in (1, 25):
        problem = copies(curvatures, dim)
        assert not moments(problem, FAR, RARE).mean_settles
        with pytest.raises(Inconclusive, match="the mean does not converge"):
            assert_fixed_point_bias(problem, FAR, RARE, bias=0)


@pytest.mark.parametrize(
    "name", ["mean_rate", "mean_square_rate", "stationary_mean_square_error"]
)
def test_no_rate_is_told_where_what_grows_is_too_weak(name):
    # of what can be followed the mean-square rate is .12; of everything it is 1.2e25
    found = moments(copies((0.39, 6e-5), 25), FAR, RARE)
    with pytest.raises(RefusedError, match=r"may grow by 6\.78e\+09 a round"):
        getattr(found, name)


def test_what_is_conserved_does_not_keep_a_mean_from_settling():
    # here, too, something is too weak to be followed, but nothing grows
    problem, law = synthetic_ridge(4, 90, 20, seed=0), Full(4)
    found = moments(problem, Focus(2e-9, 2), law)
    assert found.mean_square_rate_interval[1] == float("inf")
    assert found.mean_settles


# one client renews what it stored by (1 - step h)^7 = 5e-14 of it: it hardly forgets
RENEWED = Focus(250.0, 8)
ZEROS = [[0, 0], [0, 0]]
STEEP = [
    [[0.00046936, 0.00014908], [0.00014908, 0.00062502]],
    [[0.00342028, 0.00117295], [0.00117295, 0.00135322]],
]


@pytest.mark.parametrize("step", [245.0, 249.5, 250.0, 250.5])
def test_what_starts_hardly_move_decides_a_rate_near_one(step):
    # floats alone followed what is left, and enclosed a rate of .76
    exact = Quadratics([[[Fraction(v) for v in r] for r in h] for h in STEEP], ZEROS)
    algorithm = replace(RENEWED, step_size=Fraction(step))
    low, high = moments(exact, algorithm, Full(2)).mean_square_rate_interval
    floats = moments(exact.as_float(), replace(RENEWED, step_size=step), Full(2))
    least, most = floats.mean_square_rate_interval
    assert least <= high
    assert low <= most
    assert floats.mean_square_rate == pytest.approx(float(high), rel=1e-9)


def test_a_large_system_says_that_something_is_too_weak_to_be_followed():
    hessians = [np.kron(np.eye(14), h) for h in STEEP]
    problem = Quadratics(hessians, [[0.0] * 28] * 2)
    found = moments(problem, replace(RENEWED, step_size=251.0), Full(2))
    assert found.mean_square_rate_interval[1] >= 1


class Beside(NamedTuple):
    model: Server
    extra: Server


@dataclass(frozen=True)
class Noisy(Algorithm):
    """A slot that starts at a constant, and into which the model sends noise alone."""

    factor: Any
    step_size: Any = Fraction(1, 4)

    State = Beside

    def init(self, start, cohort, oracle):
        origin = 0 * cohort.broadcast(start)
        return Beside(start, cohort.everyone(oracle.gradient(origin)))

    def round(self, state, cohort, oracle):
        here = cohort.broadcast(state.model)
        step = self.step_size / cohort.n_clients
        moved = state.model - step * cohort.everyone(oracle.gradient(here))
        noise = cohort.everyone(cohort.select(here, -here))  # of mean 0: halves
        return Beside(moved + state.extra, self.factor * state.extra + noise)


@pytest.mark.parametrize(
    ("factor", "settles"), [(-1, False), (2, False), (Fraction(1, 2), True)]
)
def test_a_mean_does_not_settle_where_constants_move_what_starts_reach_by_noise(
    factor, settles
):
    # of factor -1 the mean goes to and fro for ever; starts move it by (5/8)^r alone
    problem, law = Quadratics([[[1]], [[2]]], [[1], [2]]), Bernoulli(["1/2"] * 2)
    algorithm = Noisy(factor)
    for one in (problem, problem.as_float()):
        found = moments(one, algorithm, law)
        assert found.mean_rate == pytest.approx(5 / 8)
        assert found.mean_settles is settles
        if not settles:
            with pytest.raises(Inconclusive, match="the mean does not converge"):
                assert_fixed_point_bias(one, algorithm, law, bias=0)
    large = LargeMoments(problem.as_float(), algorithm, law)
    assert large.mean_settles is settles
