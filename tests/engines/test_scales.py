"""Units of f do not matter: moments of f with the step h are those of k f with h/k."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify import moments
from flverify.algorithms import Focus, ProxSkip, Scaffold
from flverify.participation import AllOrNothing, Bernoulli
from flverify.problems import Quadratics
from flverify.testing import assert_linear_rate, assert_stable

F = Fraction
HESSIANS = [[[2, F(1, 2)], [F(1, 2), 1]], [[1, 0], [0, 3]]]
LINEAR = [[1, 0], [2, -1]]
HALF = Bernoulli(["1/2", "1/2"])
COIN = AllOrNothing(2, "1/2")
METHODS = [(Focus, HALF), (Scaffold, HALF), (ProxSkip, COIN)]


def problem(times):
    hessians = [[[times * v for v in row] for row in h] for h in HESSIANS]
    return Quadratics(hessians, [[times * v for v in b] for b in LINEAR])


def method(kind, times):
    if kind is ProxSkip:
        return ProxSkip(F(1, 10) / times, probability=F(1, 2))
    return kind(F(1, 10) / times)


@pytest.mark.parametrize("times", [F(1, 10**6), F(1, 10**3), 10**3, 10**6, 10**12])
@pytest.mark.parametrize(("kind", "law"), METHODS)
def test_float_moments_do_not_depend_on_the_unit_of_the_objectives(kind, law, times):
    low, high = moments(problem(1), method(kind, 1), law).mean_square_rate_interval
    found = moments(problem(times).as_float(), method(kind, times), law)
    assert not found.exact
    assert float(low) * (1 - 1e-9) <= found.mean_square_rate <= float(high) * (1 + 1e-9)
    assert found.stationary_mean_square_error < 1e-9  # x* is of size 1
    assert found.bias.tolist() == pytest.approx([0, 0], abs=1e-9)


@pytest.mark.parametrize("times", [F(1, 10**3), 10**6, 10**9])
@pytest.mark.parametrize(("kind", "law"), METHODS[:2])
def test_neither_do_assertions_in_floats(kind, law, times):
    rate = moments(problem(1), method(kind, 1), law).mean_square_rate
    setting = problem(times).as_float(), method(kind, times), law
    assert assert_linear_rate(*setting, rate=rate * F(1001, 1000), method="exact")
    assert assert_stable(*setting, method="exact")
    with pytest.raises(AssertionError, match="BROKEN"):
        assert_linear_rate(*setting, rate=rate * F(999, 1000), method="exact")
