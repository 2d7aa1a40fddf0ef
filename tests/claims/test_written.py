"""Relations as they are written, and what sympy had settled before."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy

from flverify._core.errors import InputError
from flverify.claims import judge
from flverify.claims.verdict import Verdict
from flverify.claims.written import (
    above,
    at_least,
    at_most,
    both,
    either,
    equal,
    put_in,
    unequal,
)

x = sympy.Symbol("x", real=True)
even = sympy.Symbol("e", even=True)
SETTLED = sympy.Ne(sympy.Symbol("p", positive=True), 0)


def implied(hypotheses, conclusion):
    return judge.implied(hypotheses, conclusion, "all")


def test_both_keeps_what_sympy_drops():
    assert SETTLED is sympy.true
    assert sympy.And(SETTLED, x > 0) == (x > 0)
    kept = both(unequal(even / 3, 0), x > 0)
    assert implied([kept], sympy.Ne(even, 0)).verdict == Verdict.PROVED
    assert implied([x > 1], kept).verdict == Verdict.REFUTED
    assert implied([x > 1, even > 0], kept).verdict == Verdict.PROVED


def test_either_keeps_what_sympy_drops():
    kept = either(unequal(even / 3, 0), x > 0)
    assert implied([], kept).verdict == Verdict.REFUTED
    assert implied([x > 1], kept).verdict == Verdict.PROVED


def test_a_hypothesis_of_its_own_is_seen_to_be_settled():
    assert implied([SETTLED, x > 0], sympy.Ne(even, 0)).verdict == Verdict.INCONCLUSIVE


@pytest.mark.parametrize("join", [both, either])
@pytest.mark.parametrize(
    "part",
    [SETTLED, True, False, sympy.Symbol("a"), 1, "x > 0", sympy.Not(SETTLED)],
)
def test_settled_parts_are_refused(join, part):
    with pytest.raises(InputError, match="not settled; got"):
        join(x > 0, part)


@pytest.mark.parametrize("true", [True, np.True_, sympy.true])
def test_what_python_settled_is_a_hypothesis_as_well(true):
    assert implied([true, x > 1], x > 0).verdict == Verdict.PROVED
    assert implied([true, x > 0], x > 1).verdict == Verdict.INCONCLUSIVE
    assert implied([x > 0], true).verdict == Verdict.INCONCLUSIVE


@pytest.mark.parametrize("false", [False, np.False_, sympy.false])
def test_nothing_follows_from_what_is_false(false):
    found = implied([false], at_least(x, 0))
    assert found.verdict == Verdict.INCONCLUSIVE
    assert "cannot hold together" in found.reason


@pytest.mark.parametrize("wrong", [sympy.Symbol("a"), x + 1, 1, "x > 0", None])
def test_what_is_no_relation_is_refused_by_the_judge(wrong):
    for given in (([wrong], x > 0), ([], wrong)):
        with pytest.raises(InputError, match="write them like x <= 1"):
            implied(*given)


COMPARISONS = [above, at_least, at_most, equal, unequal]


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("side", ["x", "1/2", None, [1], True, x > 0, sympy.eye(1)])
def test_sides_are_numbers_or_expressions(compare, side):
    for sides in ((side, x), (x, side)):
        with pytest.raises(InputError, match="must be a number or an expression"):
            compare(*sides)


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("side", [2, Fraction(1, 2), np.int64(2), 0.5, 2 * x])
def test_numbers_and_expressions_are_sides(compare, side):
    assert compare(side, x).lhs == side
    assert compare(x, side).rhs == side


@pytest.mark.parametrize("wrong", [3, None, both(x >= 0, x <= 1), sympy.true])
def test_values_are_put_into_one_comparison(wrong):
    with pytest.raises(InputError, match=r"^values must be put into one comparison; "):
        put_in(wrong, {x: 1})
    assert put_in(x <= 1, {x: 2}) == at_most(2, 1)
