"""Sampling without replacement by weight, against all orders of draws."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from flverify._core.errors import DomainError, RefusedError, ShapeError
from flverify.participation import SuccessiveSampling, UniformCohort

weights_and_m = st.lists(
    st.fractions(Fraction(1, 9), 9, max_denominator=9), min_size=1, max_size=5
).flatmap(lambda w: st.tuples(st.just(w), st.integers(1, len(w))))


def ordered_draws(weights, m):
    outcomes = {}
    for order in permutations(range(len(weights)), m):
        chance, left = Fraction(1), sum(weights, Fraction(0))
        for i in order:
            chance *= weights[i] / left
            left -= weights[i]
        outcomes[frozenset(order)] = outcomes.get(frozenset(order), 0) + chance
    return outcomes


@settings(deadline=None, derandomize=True, max_examples=40)
@given(weights_and_m)
def test_equals_enumeration(equals_enumeration, drawn):
    weights, m = drawn
    equals_enumeration(SuccessiveSampling(weights, m), ordered_draws(weights, m))


def test_by_hand():
    # 1 of weights (1, 2, 3) first with 1/6, or after 2 (1/3 * 1/4) or 3 (1/2 * 1/3)
    law = SuccessiveSampling((1, 2, 3), 2)
    assert law.inclusion()[0] == Fraction(1, 6) + Fraction(1, 12) + Fraction(1, 6)
    assert law.averaging_weights()[0] == Fraction(5, 24)


def test_inclusion_of_a_paper_notebook():
    # draw weights printed to four digits; the rarest client, .053 against .046 = 4 w
    parts = (297, 1126, 277, 1187, 637, 795, 992, 676)
    parts += (392, 253, 116, 957, 577, 215, 1138, 363)
    weights = [f"{part}e-4" for part in parts]
    law = SuccessiveSampling(weights, 4)
    assert law.exact
    assert round(float(law.inclusion()[10]), 3) == 0.053
    assert sum(law.inclusion()) == 4


SKEWED = [
    ([1.0, 2.0, 3.0], 2),
    ([1e-9, 1.0, 1e9], 2),
    ([1.0, 1e-14], 1),
    ([3.0, 1.0, 4.0, 1.0, 5.0], 5),
    ([3.0, 1.0, 4.0, 1.0, 5.0], 4),
    ([1.0] * 3 + [1e-8] * 3, 3),
    ([1.0] * 3 + [1e-8] * 3, 4),
    ((2.0 ** -np.arange(0, 20, 2)).tolist(), 4),
    ((10.0 ** np.arange(9)).tolist(), 8),
]


@pytest.mark.parametrize(("weights", "m"), SKEWED)
def test_floats(weights, m, floats_match):
    exact = SuccessiveSampling([Fraction(w) for w in weights], m)
    floats_match(SuccessiveSampling(weights, m), exact)


@settings(deadline=None, derandomize=True, max_examples=15)
@given(
    st.lists(st.integers(1, 10**6), min_size=2, max_size=7).flatmap(
        lambda w: st.tuples(st.just(w), st.integers(1, len(w)))
    )
)
def test_random_floats(floats_match, drawn):
    weights, m = drawn
    law = SuccessiveSampling([float(w) for w in weights], m)
    floats_match(law, SuccessiveSampling(weights, m))


@pytest.mark.parametrize(("n_clients", "m"), [(60, 3), (60, 25), (40, 39)])
def test_floats_of_many_equal_clients(n_clients, m, floats_match):
    law = SuccessiveSampling([0.7] * n_clients, m)
    floats_match(law, UniformCohort(n_clients, m))


def test_floats_of_many_clients():
    weights = np.random.default_rng(4).integers(1, 30, 60)
    for m in (2, 11):
        exact = SuccessiveSampling(weights.tolist(), m)
        in_floats = SuccessiveSampling(weights.astype(float), m)
        assert exact.exact
        assert not in_floats.exact
        expected = exact.inclusion().astype(float)
        assert abs(in_floats.inclusion() / expected - 1).max() < 1e-12


def test_floats_of_rare_clients_among_many():
    weights = [2 ** (i // 5) for i in range(60)]  # up to 2048 times the rarest
    exact = SuccessiveSampling(weights, 5)
    assert exact.exact
    p = SuccessiveSampling([float(w) for w in weights], 5).inclusion()
    assert abs(p / exact.inclusion().astype(float) - 1).max() < 1e-12


def test_exponential_weights_fill_the_cohort():
    # N=100, m=10, weights exp(-i/10): sum_i p_i = m and sum_j p_ij = m p_i
    law = SuccessiveSampling(np.exp(-np.arange(100) / 10), 10)
    p, joint = law.inclusion(), law.joint_inclusion()
    assert abs(p.sum() / 10 - 1) < 1e-12
    assert abs(joint.sum(axis=1) / (10 * p) - 1).max() < 1e-12
    assert (np.diff(p) < 0).all()


def test_large_whole_weights_are_answered_in_floats():
    weights = [10**12 + 10**11 * i for i in range(16)]
    law = SuccessiveSampling([w + 1 for w in weights], 3)
    assert not law.exact
    assert law.inclusion_error == 1e-12
    assert law.inclusion().dtype == np.float64
    near = SuccessiveSampling([10 + i for i in range(16)], 3)
    assert near.exact
    assert near.inclusion_error == 0
    assert abs(law.inclusion() / near.inclusion().astype(float) - 1).max() < 1e-9


def test_up_to_fifteen_clients_are_exact():
    weights = [10**12 + 7**i for i in range(15)]
    assert SuccessiveSampling(weights, 2).exact
    assert sum(SuccessiveSampling(weights, 2).inclusion()) == 2


def test_only_ratios_matter():
    small, large = SuccessiveSampling((1, 2, 5), 2), SuccessiveSampling((3, 6, 15), 2)
    assert small.inclusion().tolist() == large.inclusion().tolist()
    tiny = SuccessiveSampling((1e-200, 2e-200, 5e-200), 2)
    expected = small.inclusion().astype(float)
    assert abs(tiny.inclusion() / expected - 1).max() < 1e-12


def test_relabelling(relabelled):
    weights, order = [1, 5, 2, 9], (3, 1, 0, 2)
    permuted = SuccessiveSampling([weights[i] for i in order], 3)
    relabelled(SuccessiveSampling(weights, 3), permuted, order)


def test_drawing(frequencies_match):
    weights = [Fraction(1), Fraction(5, 2), Fraction(3), Fraction(1, 10)]
    for m in (1, 3):
        law = SuccessiveSampling(weights, m)
        frequencies_match(law, ordered_draws(weights, m))


def test_drawing_survives_a_uniform_zero_and_extreme_weights():
    law = SuccessiveSampling((Fraction(1, 10**400), 1, 10**400), 2)
    mask = law.masks(np.array([[0.0, 0.5, 0.5], [0.5, 0.5, 0.5]]))
    assert mask.tolist() == [[True, False, True], [False, True, True]]


def test_ratios_beyond_floats_are_refused():
    law = SuccessiveSampling((1e-300, 1.0, 1e300), 2)
    with pytest.raises(RefusedError, match="1e307"):
        law.inclusion()


def test_large_support_is_refused():
    with pytest.raises(RefusedError, match="outcomes"):
        SuccessiveSampling([1] * 40, 20).support()


def test_notation():
    assert SuccessiveSampling(("0.5", 2), 1).spec == "successive:1:1/2,2"
    assert SuccessiveSampling(("0.5", 2), 1) == SuccessiveSampling(["1/2", 2], 1)
    assert SuccessiveSampling((1, 2), 1) != SuccessiveSampling((1, 2), 2)


@pytest.mark.parametrize(
    ("weights", "m", "error"),
    [
        ([], 1, ShapeError),
        (3, 1, ShapeError),
        ([[1, 2]], 1, ShapeError),
        ([1, 0], 1, DomainError),
        ([1, -2], 1, DomainError),
        ([1, float("inf")], 1, DomainError),
        ([1, True], 1, DomainError),
        ([1, sympy.Symbol("w")], 1, DomainError),
        ([1, 2], 3, DomainError),
        ([1, 2], 0, DomainError),
        ([1, 2], True, DomainError),
    ],
)
def test_bad_input(weights, m, error):
    with pytest.raises(error, match="must"):
        SuccessiveSampling(weights, m)
