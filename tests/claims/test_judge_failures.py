"""Nodes on which sympy itself fails are left open, in one sentence."""

from __future__ import annotations

import pytest
import sympy
from sympy import Min, Pow, Rational

from flverify._core.errors import InputError
from flverify.claims import judge
from flverify.claims.verdict import Verdict

x, y = sympy.symbols("x y", positive=True)
r = sympy.Symbol("r", real=True)


class Failing(sympy.Function):
    """A function of the user's own, with a mistake in it."""

    @classmethod
    def eval(cls, point):
        if point.is_Rational:
            raise ZeroDivisionError("at a number")


@pytest.mark.parametrize(
    "side",
    [
        2 * Min(2, sympy.zoo, evaluate=False),
        2 * sympy.Max(1, sympy.I, evaluate=False),
        sympy.exp(sympy.Ne(r, 1)),
        1 / Failing(x),
    ],
)
def test_what_sympy_fails_on_is_left_open(side):
    pair = judge.identity([("it", side, sympy.sign(y) * (r + 1))], "all")
    assert pair.verdict == Verdict.INCONCLUSIVE
    assert judge.nonnegative([("it", side)], "all").verdict == Verdict.INCONCLUSIVE


def test_what_sympy_says_is_told_in_one_line():
    side = 2 * sympy.Max(1, sympy.I, evaluate=False)
    found = judge.nonnegative([("it", side)], "all")
    assert found.reason == (
        "it: sympy fails on it, ValueError: The argument 'I' is not comparable."
    )


def test_wrong_parts_are_still_refused():
    with pytest.raises(InputError):
        judge.nonnegative([("it", "x")], "all")
    with pytest.raises(InputError):
        judge.identity([("it", "x", x)], "all")


def test_a_second_substitution_that_fails_confirms_nothing():
    nought = Pow(0, Rational(1, 3), evaluate=False)
    small = Min(nought, Min(0, r, evaluate=False), evaluate=False)
    found = judge.implied([small <= r + 1], abs(r) < r, "all")
    assert found.verdict == Verdict.INCONCLUSIVE
    assert "a second substitution does not confirm" in found.reason
