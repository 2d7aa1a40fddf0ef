"""The distinct clients of independent draws, against all sequences of draws."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from flverify._core.errors import DomainError, RefusedError, ShapeError
from flverify.participation import ReplacementSampling

weight_lists = st.lists(
    st.fractions(0, 9, max_denominator=9), min_size=1, max_size=4
).filter(any)


def sequences(weights, m):
    outcomes, total = {}, sum(weights, Fraction(0))
    for draws in product(range(len(weights)), repeat=m):
        chance = Fraction(1)
        for i in draws:
            chance *= weights[i] / total
        outcomes[frozenset(draws)] = outcomes.get(frozenset(draws), 0) + chance
    return outcomes


@settings(deadline=None, derandomize=True, max_examples=40)
@given(weight_lists, st.integers(1, 4))
def test_equals_enumeration(equals_enumeration, weights, m):
    law = ReplacementSampling(weights, m)
    equals_enumeration(law, sequences(weights, m))


def test_by_hand():
    # weights (1/3, 2/3), two draws: only 0 with 1/9, only 1 with 4/9, both with 4/9
    law = ReplacementSampling((1, 2), 2)
    assert law.inclusion().tolist() == [Fraction(5, 9), Fraction(8, 9)]
    assert law.averaging_weights()[0] == Fraction(1, 9) + Fraction(4, 9) / 2


FLOATS = [
    ([1.0], 4),
    ([1.0, 2.0, 3.0], 2),
    ([1e-9, 1.0, 1e9], 5),
    ([1.0, 0.0, 3.5, 1e-6], 7),
    ([1.0, 1e-14], 3),
    ([1.0, 1.0, 1.0], 1),
    ([1.0, 1.0 - 2.0**-50], 2),
    ([0.75, 0.125, 0.25], 25),
]


@pytest.mark.parametrize(("weights", "m"), FLOATS)
def test_floats(weights, m, floats_match):
    exact = ReplacementSampling([Fraction(w) for w in weights], m)
    floats_match(ReplacementSampling(weights, m), exact)


def test_a_thousand_float_draws_of_two_clients():
    # only 0, or only 1, or both: three outcomes whatever m is
    for share in (0.001, 0.25, 0.999):
        only, other = share**1000, (1 - share) ** 1000
        law = ReplacementSampling((share, 1 - share), 1000)
        expected = only + (1 - only - other) / 2
        assert abs(law.averaging_weights()[0] / expected - 1) < 1e-12


def test_relabelling(relabelled):
    weights, order = [1, 5, 2, 0], (3, 1, 0, 2)
    permuted = ReplacementSampling([weights[i] for i in order], 3)
    relabelled(ReplacementSampling(weights, 3), permuted, order)


def test_drawing(frequencies_match):
    for weights, m in (([1, 2, Fraction(1, 2)], 2), ([0, 3, 1, 0], 3)):
        listed = [Fraction(w) for w in weights]
        frequencies_match(ReplacementSampling(weights, m), sequences(listed, m))


def test_a_client_of_weight_zero_is_never_drawn():
    law = ReplacementSampling([0.1] * 10 + [0.0], 2)  # in floats ten tenths miss 1
    first_and_last = np.array([0.0, np.nextafter(1.0, 0.0)])
    assert np.flatnonzero(law.masks(first_and_last)).tolist() == [0, 9]
    assert law.inclusion()[10] == 0


def test_too_many_float_draws_are_refused():
    law = ReplacementSampling((0.5, 0.25), 1001)
    assert law.joint_inclusion().shape == (2, 2)
    assert law.moment((0, 1), 0) == law.joint_inclusion()[0, 1]
    with pytest.raises(RefusedError, match="rational weights"):
        law.averaging_weights()


def test_large_support_is_refused():
    with pytest.raises(RefusedError, match="outcomes"):
        ReplacementSampling([1] * 40, 20).support()


def test_notation():
    assert ReplacementSampling((1, "0.5"), 3).spec == "replacement:3:1,1/2"
    assert ReplacementSampling((1, "0.5"), 3) == ReplacementSampling([1, "1/2"], 3)


@pytest.mark.parametrize(
    ("weights", "m", "error"),
    [
        ([], 1, ShapeError),
        ("1,2", 1, ShapeError),
        ([0, 0], 1, DomainError),
        ([1, -2], 1, DomainError),
        ([1, float("nan")], 1, DomainError),
        ([False, 1], 1, DomainError),
        ([1, sympy.Symbol("w")], 1, DomainError),
        ([1, 2], 0, DomainError),
        ([1, 2], 1.0, DomainError),
        ([1, 2], 10**6 + 1, DomainError),
        ([1, 2], 10**400, DomainError),
    ],
)
def test_bad_input(weights, m, error):
    with pytest.raises(error, match="must"):
        ReplacementSampling(weights, m)
