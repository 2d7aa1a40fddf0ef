"""Conditioning on a nonempty cohort."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from flverify._core.errors import DomainError, RefusedError
from flverify.participation import (
    AllOrNothing,
    Bernoulli,
    ExplicitLaw,
    Full,
    ModeChain,
    NonEmpty,
)


def conditioned(probabilities):
    outcomes = {}
    for bits in product((0, 1), repeat=len(probabilities)):
        chance = Fraction(1)
        for bit, p in zip(bits, probabilities, strict=True):
            chance *= p if bit else 1 - p
        outcomes[frozenset(i for i, bit in enumerate(bits) if bit)] = chance
    del outcomes[frozenset()]
    mass = sum(outcomes.values())
    return {s: c / mass for s, c in outcomes.items()}


@settings(deadline=None, derandomize=True, max_examples=30)
@given(
    st.lists(st.fractions(0, 1, max_denominator=30), min_size=1, max_size=4).filter(any)
)
def test_equals_enumeration(equals_enumeration, p):
    equals_enumeration(NonEmpty(Bernoulli(p)), conditioned(p))


def test_by_hand():
    law = NonEmpty(Bernoulli(("1/2", "1/2")))
    assert law.inclusion().tolist() == [Fraction(2, 3)] * 2
    assert law.averaging_weights().tolist() == [Fraction(1, 2)] * 2
    assert law.empty_probability() == 0


@pytest.mark.parametrize("p", [[0.5, 0.25], [1e-9, 1e-9, 1e-12], [0.0, 1.0, 0.3]])
def test_floats(p, floats_match):
    floats_match(NonEmpty(Bernoulli(p)), NonEmpty(Bernoulli([Fraction(v) for v in p])))


def test_nothing_changes_where_nobody_is_ever_missing():
    assert NonEmpty(Full(3)).cross().tolist() == Full(3).cross().tolist()


def test_symbols():
    p = sympy.Symbol("p")
    law = NonEmpty(Bernoulli((p, p)))
    assert sympy.simplify(law.averaging_weights()[0] - sympy.Rational(1, 2)) == 0
    assert sympy.simplify(law.inclusion()[0] - 1 / (2 - p)) == 0
    assert NonEmpty(AllOrNothing(2, p)).inclusion().tolist() == [1, 1]


def test_drawing(frequencies_match):
    p = [Fraction(1, 5), Fraction(1, 10), Fraction(1, 20)]
    frequencies_match(NonEmpty(Bernoulli(p)), conditioned(p))


def test_rounds_that_were_not_empty_are_kept():
    law = Bernoulli((0.2, 0.1))
    plain, again = law.sample(3, 5, 100), NonEmpty(law).sample(3, 5, 100)
    kept = plain.any(axis=-1)
    assert (again[kept] == plain[kept]).all()
    assert again.any(axis=-1).all()
    assert not kept.all()


def test_a_redraw_does_not_depend_on_the_blocking():
    law = NonEmpty(Bernoulli((0.05, 0.02)))
    whole = law.sample(9, 6, 300)
    for runs, rounds in ((range(2, 4), range(60, 70)), (range(5, 6), range(299, 300))):
        part = law.sample(9, runs, rounds)
        assert (part == whole[runs.start : runs.stop, rounds.start : rounds.stop]).all()


def test_redraws_are_fresh():
    # were a redraw to reuse its round's uniforms it would stay empty for ever; were
    # attempts to share a stream the two clients would be drawn in the wrong ratio
    law = NonEmpty(ExplicitLaw({(): "9/10", (0,): "1/20", (1,): "1/20"}, 2))
    share = law.sample(1, 50, 200)[..., 0].mean()
    assert abs(share - 0.5) < 5 * 0.5 / 100


def test_rare_rounds_are_not_redrawn():
    law = NonEmpty(Bernoulli((1e-5, 1e-5)))
    assert np.allclose(law.averaging_weights(), 0.5)
    with pytest.raises(RefusedError, match="drawing again"):
        law.sample(0, 1, 1)
    with pytest.raises(RefusedError, match="drawing again"):
        NonEmpty(Bernoulli((4e-4, 4e-4))).sample(0, 1, 1)
    assert NonEmpty(Bernoulli((1e-3, 1e-3))).sample(0, 1, 1).any()


def test_notation():
    law = NonEmpty(Bernoulli(("1/5", "1/2")))
    assert law.spec == "nonempty:bernoulli:1/5,1/2"
    assert law == NonEmpty(Bernoulli(("0.2", "0.5")))


@pytest.mark.parametrize(
    "law",
    [
        Bernoulli((0, 0)),
        AllOrNothing(2, 0.0),
        NonEmpty(Full(2)),
        ModeChain(((1,),), (Full(2),)),
        None,
    ],
)
def test_bad_input(law):
    with pytest.raises(DomainError, match=r"S must be nonempty|NonEmpty conditions"):
        NonEmpty(law)
