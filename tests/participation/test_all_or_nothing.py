"""All or nothing: one coin for all clients."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from flverify._core.errors import DomainError, RefusedError
from flverify.participation import AllOrNothing


def coin(n_clients, p):
    return {frozenset(range(n_clients)): p, frozenset(): 1 - p}


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.integers(1, 4), st.fractions(0, 1, max_denominator=50))
def test_equals_enumeration(equals_enumeration, n_clients, p):
    equals_enumeration(AllOrNothing(n_clients, p), coin(n_clients, p))


@pytest.mark.parametrize("p", [0.3, 1e-9, 1 - 1e-9, 0.0, 1.0])
def test_floats(p, floats_match):
    floats_match(AllOrNothing(3, p), AllOrNothing(3, Fraction(p)))


def test_symbols():
    p = sympy.Symbol("p")
    law = AllOrNothing(4, p)
    assert law.exact
    assert law.moment((0, 1), 2) == p / 16
    assert law.empty_probability() == 1 - p
    assert law.cross()[0, 1] == p / 4
    with pytest.raises(RefusedError, match="substitute"):
        law.sample(0, 1, 1)


def test_drawing(frequencies_match):
    frequencies_match(AllOrNothing(3, "0.3"), coin(3, Fraction(3, 10)))


def test_notation():
    assert AllOrNothing(3, "0.3").spec == "allornothing:3/10"
    assert AllOrNothing(3, "0.3") == AllOrNothing(3, Fraction(3, 10))
    assert AllOrNothing(3, 0) != AllOrNothing(3, 1)


@pytest.mark.parametrize(
    "p", [-0.1, 1.5, "3/2", float("nan"), True, None, sympy.Rational(3, 2), sympy.nan]
)
def test_bad_probability(p):
    with pytest.raises(DomainError, match="probability must"):
        AllOrNothing(2, p)


@pytest.mark.parametrize("n_clients", [0, True, 1.0])
def test_bad_size(n_clients):
    with pytest.raises(DomainError, match="n_clients must"):
        AllOrNothing(n_clients, "1/2")
