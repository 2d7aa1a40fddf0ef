"""What grows along links too weak for floats is not called stable."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from flverify import moments
from flverify._core.errors import RefusedError
from flverify.algorithms import ProxSkip
from flverify.engines.moments import _perron
from flverify.engines.moments._large import LargeMoments
from flverify.participation import Bernoulli, UniformCohort
from flverify.problems import Quadratics
from flverify.testing import (
    Algorithm,
    Broken,
    Clients,
    Inconclusive,
    Server,
    assert_fixed_point_bias,
    assert_linear_rate,
    assert_stable,
)

TWO = Quadratics([[[1]], [[2]]], [[1], [2]])
HALF = Bernoulli(["1/2", "1/2"])


class State(NamedTuple):
    model: Server
    own: Clients


@dataclass(frozen=True)
class Beside(Algorithm):
    """Vectors of clients that the model, or a constant, moves by `link`; so do they."""

    link: Any
    factor: Any
    begun: Any = 0
    step_size: Any = Fraction(1, 4)

    State = State

    def init(self, start, cohort, oracle):
        slopes = oracle.gradient(0 * cohort.broadcast(start))
        return State(start, self.begun * slopes)

    def round(self, state, cohort, oracle):
        here = cohort.broadcast(state.model)
        step = self.step_size / cohort.n_clients
        moved = state.model - step * cohort.everyone(oracle.gradient(here))
        led = 0 * here if self.begun else self.link * here
        own = cohort.select(self.factor * state.own + led, state.own)
        return State(moved + self.link * cohort.everyone(state.own), own)


def broken(ask):
    with pytest.raises(AssertionError) as raised:
        ask()
    return isinstance(raised.value, Broken)


@pytest.mark.parametrize("link", [1e-20, 1e-40])
@pytest.mark.parametrize("factor", [2, -2])
def test_what_grows_along_weak_links_is_not_stable_in_floats(link, factor):
    # two rounds lead from the model to itself by 1e-40, and that grows by 5/2 a round
    floats, exact = Beside(link, factor), Beside(Fraction(link), factor)
    assert broken(lambda: assert_stable(TWO, exact, HALF, method="exact"))
    assert broken(lambda: assert_stable(TWO.as_float(), floats, HALF, method="exact"))
    asked = TWO.as_float(), floats, HALF
    with pytest.raises(Inconclusive):
        assert_linear_rate(*asked, rate=0.9, method="exact")


def test_a_mean_that_grows_along_weak_links_has_no_bias_in_floats():
    with pytest.raises(Inconclusive, match="does not converge"):
        assert_fixed_point_bias(TWO.as_float(), Beside(1e-20, 2), HALF, bias=0)


def test_what_a_weak_constant_moves_is_not_stable_in_floats():
    floats, exact = (Beside(kind(1e-20), 2, kind(1e-20)) for kind in (float, Fraction))
    assert broken(lambda: assert_stable(TWO, exact, HALF, method="exact"))
    with pytest.raises(Inconclusive, match="cannot be told"):
        assert_stable(TWO.as_float(), floats, HALF, method="exact")


@pytest.mark.parametrize("dim", [1, 25])
def test_growth_by_a_few_percent_counts(dim):
    # by 1.03 a round in mean square, by 1.015 in the mean
    problem = Quadratics([h * np.eye(dim) for h in (1.0, 2.0)], np.ones((2, dim)))
    asked = problem, Beside(1e-20, 1.03), HALF
    with pytest.raises(Inconclusive):
        assert_linear_rate(*asked, rate=0.9, method="exact")


def test_weak_links_to_what_does_not_grow_are_left_out():
    floats = Beside(1e-20, 0.5)
    assert_stable(TWO.as_float(), floats, HALF, method="exact")
    assert_linear_rate(TWO.as_float(), floats, HALF, rate=0.9, method="exact")


WIDE = Quadratics([np.eye(30), 2 * np.eye(30)], [[1.0] * 30, [2.0] * 30])


@pytest.mark.parametrize("begun", [0, 1e-20])
@pytest.mark.parametrize("factor", [2, -2])
def test_large_systems_do_not_overlook_weak_links_either(factor, begun):
    asked = WIDE, Beside(1e-20, factor, begun), HALF
    with pytest.raises(Inconclusive, match="cannot be told"):
        assert_stable(*asked, method="exact")
    with pytest.raises(Inconclusive, match="too weak to be followed"):
        assert_linear_rate(*asked, rate=0.9, method="exact")
    if factor == 2:
        with pytest.raises(Inconclusive):
            assert_fixed_point_bias(*asked, bias=0)
    if not begun:
        with pytest.raises(RefusedError, match="may grow"):
            _ = moments(*asked).mean_square_rate


def test_large_systems_leave_out_weak_links_to_what_does_not_grow():
    asked = WIDE, Beside(1e-20, 0.5), HALF
    assert_stable(*asked, method="exact")
    assert_linear_rate(*asked, rate=0.9, method="exact")
    assert_fixed_point_bias(*asked, bias=0)


@pytest.mark.parametrize("dim", [1, 25])
def test_a_sum_that_is_kept_at_zero_is_no_weak_link(dim):
    # the shifts would grow by 1.85 a round if their sum were not 0
    problem = Quadratics(
        [h * np.eye(dim) for h in (1.0, 2.5, 0.375)], np.ones((3, dim))
    )
    asked = problem, ProxSkip(0.25, 2, variant="notebook"), UniformCohort(3, 2)
    assert moments(*asked).mean_square_rate == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize("below", [1e-7, 1e-6])
def test_what_only_seems_to_grow_towards_the_floor_is_rounding(below, monkeypatch):
    """As processors differ in it: F(c) (c - floor) grows with c, and seemed to fall."""
    problem = Quadratics([[[h]] for h in (1.0, 2.5, 0.375)], np.ones((3, 1)))
    asked = problem, ProxSkip(0.25, 2, variant="notebook"), UniformCohort(3, 2)
    arnoldi = _perron._arnoldi

    def noisy(mapped, start, rate):
        value, vector = arnoldi(mapped, start, rate)
        near = rate - mapped.floor < below * mapped.floor
        return (4366.0 if near else value), vector

    monkeypatch.setattr(_perron, "_arnoldi", noisy)
    found = LargeMoments(*asked).mean_square_rate
    assert found == pytest.approx(1, abs=1e-8)
    monkeypatch.setattr(_perron, "NEAR", 0.0)
    with pytest.raises(RefusedError, match="the gap is"):
        _ = LargeMoments(*asked).mean_square_rate
