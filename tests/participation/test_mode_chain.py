"""Participation with memory."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from flverify._core.errors import DomainError, ShapeError
from flverify.participation import (
    AllOrNothing,
    Bernoulli,
    ExplicitLaw,
    Full,
    ModeChain,
    NonEmpty,
    UniformCohort,
)

ALONE = tuple(ExplicitLaw({(k,): 1}, 3) for k in range(3))  # the mode shows in S


def rows(counts):
    return [[Fraction(c, sum(row)) for c in row] for row in counts]


@settings(deadline=None, derandomize=True, max_examples=30)
@given(
    st.lists(
        st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=3, max_size=3
    )
)
def test_stationary_law_is_left_unchanged(counts):
    transition = rows(counts)
    law = ModeChain(transition, ALONE)
    shares = law.modes().stationary
    assert sum(shares) == 1
    for k in range(3):
        assert shares[k] == sum(shares[n] * transition[n][k] for n in range(3))
    assert law.inclusion().tolist() == list(shares)


def test_tables_are_those_of_the_mixture(equals_enumeration):
    # stays with 1/2 and with 2/3, so the modes are visited 2 : 3
    chain = ModeChain(
        (("1/2", "1/2"), ("1/3", "2/3")), (AllOrNothing(3, "1/4"), UniformCohort(3, 1))
    )
    outcomes = {
        frozenset(): Fraction(3, 10),
        frozenset((0, 1, 2)): Fraction(1, 10),
        **{frozenset((i,)): Fraction(1, 5) for i in range(3)},
    }
    equals_enumeration(chain, outcomes)


def test_an_outcome_of_two_modes_has_the_chance_of_both(equals_enumeration):
    # visited 2 : 3; one client alone is 1/2 in the first mode and 1/4 in the second
    chain = ModeChain(
        (("1/2", "1/2"), ("1/3", "2/3")), (UniformCohort(2, 1), Bernoulli(["1/2"] * 2))
    )
    alone = {frozenset((i,)): Fraction(7, 20) for i in range(2)}
    both, nobody = {frozenset((0, 1)): Fraction(3, 20)}, {frozenset(): Fraction(3, 20)}
    equals_enumeration(chain, {**alone, **both, **nobody})
    assert chain.support() == {**alone, **both, **nobody}


def test_floats(floats_match):
    transition = [[0.75, 0.25, 0.0], [2.0**-30, 0.5, 0.5 - 2.0**-30], [0.5, 0.5, 0.0]]
    laws = [Bernoulli((0.5, 1e-9)), AllOrNothing(2, 0.3), Bernoulli((0.1, 0.7))]
    exact = [
        Bernoulli([Fraction(0.5), Fraction(1e-9)]),
        AllOrNothing(2, Fraction(0.3)),
        Bernoulli([Fraction(0.1), Fraction(0.7)]),
    ]
    rational = [[Fraction(v) for v in row] for row in transition]
    floats_match(ModeChain(transition, laws), ModeChain(rational, exact))
    floats_match(ModeChain(rational, laws), ModeChain(rational, exact))
    assert not ModeChain(transition, exact).exact


def test_modes():
    law = ModeChain((("1/4", "3/4"), (1, 0)), ALONE[:2], initial=1)
    modes = law.modes()
    assert modes.initial == (0, 1)
    assert modes.transition == ((Fraction(1, 4), Fraction(3, 4)), (1, 0))
    assert modes.laws == ALONE[:2]
    assert modes.stationary == (Fraction(4, 7), Fraction(3, 7))
    assert ModeChain(modes.transition, modes.laws).modes().initial == modes.stationary


def test_a_law_without_memory_has_one_mode():
    law = UniformCohort(3, 2)
    modes = law.modes()
    assert (modes.initial, modes.transition, modes.laws) == ((1,), ((1,),), (law,))
    assert modes.stationary == (1,)


def test_transient_modes_have_no_share():
    law = ModeChain(((0, "1/2", "1/2"), (0, 0, 1), (0, 1, 0)), ALONE, initial=0)
    assert law.modes().stationary == (0, Fraction(1, 2), Fraction(1, 2))
    assert law.modes().initial == (1, 0, 0)


def test_a_cycle_is_followed_from_round_zero():
    law = ModeChain(((0, 1, 0), (0, 0, 1), (1, 0, 0)), ALONE, initial=2)
    mode = law.sample(seed=1, runs=2, rounds=200).argmax(axis=-1)
    assert (mode == (2 + np.arange(200)) % 3).all()
    later = law.sample(seed=1, runs=range(1, 2), rounds=range(90, 130))
    assert (later.argmax(axis=-1) == (2 + np.arange(90, 130)) % 3).all()


def test_drawing_moves_as_the_transition_says():
    law = ModeChain(rows([[1, 3, 4], [5, 1, 2], [1, 1, 6]]), ALONE)
    mode = law.sample(seed=5, runs=200, rounds=300).argmax(axis=-1)
    before, after = mode[:, :-1], mode[:, 1:]
    for k, row in enumerate(law.modes().transition):
        visits = (before == k).sum()
        for n, chance in enumerate(row):
            share = ((before == k) & (after == n)).sum() / visits
            sigma = float(chance * (1 - chance) / visits) ** 0.5
            assert abs(share - float(chance)) < 5 * sigma
    start = np.bincount(mode[:, 0], minlength=3) / 200
    expected = np.array(law.modes().stationary, dtype=float)
    assert (abs(start - expected) < 5 * np.sqrt(expected * (1 - expected) / 200)).all()


def test_the_path_and_the_cohort_are_independent():
    # both modes draw by the same law, so S says nothing about the next mode
    fair = Bernoulli(("1/2", "1/2"))
    law = ModeChain((("1/2", "1/2"), ("1/2", "1/2")), (fair, NonEmpty(fair)))
    mask = law.sample(seed=2, runs=200, rounds=200)
    empty = ~mask.any(axis=-1)
    share = empty[:, 1:][mask[:, :-1, 0]].mean()
    count = mask[:, :-1, 0].sum()
    assert abs(share - 1 / 8) < 5 * (1 / 8 * 7 / 8 / count) ** 0.5


def test_drawing_does_not_depend_on_the_blocking():
    laws = (NonEmpty(Bernoulli((0.1, 0.2, 0.1))), UniformCohort(3, 2), Full(3))
    law = ModeChain(rows([[1, 1, 1], [1, 2, 1], [3, 1, 1]]), laws, initial=0)
    whole = law.sample(4, 5, 150)
    part = law.sample(4, range(2, 5), range(63, 130))
    assert (part == whole[2:5, 63:130]).all()


def test_notation():
    law = ModeChain(((1,),), (Full(2),))
    assert law.spec == "chain"
    assert repr(law) == "<ModeChain chain on 2 clients>"
    assert law == ModeChain([["1"]], [Full(2)], initial=0)
    assert hash(law) == hash(ModeChain([["1"]], [Full(2)], initial=0))


CHAIN = ModeChain((("1/2", "1/2"), (1, 0)), ALONE[:2])


@pytest.mark.parametrize(
    ("transition", "laws", "initial", "error"),
    [
        ([["1/2", "1/3"], [1, 0]], ALONE[:2], 0, DomainError),
        ([["3/2", "-1/2"], [1, 0]], ALONE[:2], 0, DomainError),
        ([[1, 0]], ALONE[:2], 0, ShapeError),
        ([[1], [1]], ALONE[:2], 0, ShapeError),
        (1, ALONE[:1], 0, ShapeError),
        ([[1]], (), 0, ShapeError),
        ([[1]], Full(2), 0, ShapeError),
        ([[0, 1], [1, 0]], (Full(2), Full(3)), 0, ShapeError),
        ([[1]], ["full"], 0, DomainError),
        ([[1]], (CHAIN,), 0, DomainError),
        ([[1, 0], [0, 1]], ALONE[:2], 0, DomainError),
        ([[sympy.Symbol("p")]], ALONE[:1], 0, DomainError),
        ([[0, 1], [1, 0]], ALONE[:2], 2, DomainError),
        ([[0, 1], [1, 0]], ALONE[:2], True, DomainError),
        ([[0, 1], [1, 0]], ALONE[:2], 0.5, DomainError),
        ([[0, 1], [1, 0]], ALONE[:2], "first", DomainError),
        ([[0, 1], [1, 0]], ALONE[:2], (1,), ShapeError),
        ([[0, 1], [1, 0]], ALONE[:2], ("1/2", "1/3"), DomainError),
    ],
)
def test_bad_input(transition, laws, initial, error):
    with pytest.raises(error, match="must"):
        ModeChain(transition, laws, initial)


def test_rounds_are_independent_of_one_another_given_their_modes():
    # laws that take two uniforms in a round, and one
    coins, coin = Bernoulli(("1/2", "1/2")), AllOrNothing(2, "1/2")
    chain = ModeChain(((0, 1), (1, 0)), (coins, coin), initial=0)
    mask = chain.sample(seed=3, runs=4000, rounds=2)
    both = mask[:, 0] & mask[:, 1]
    assert both.mean(axis=0) == pytest.approx([0.25, 0.25], abs=0.03)
