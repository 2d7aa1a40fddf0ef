"""Rules of sympy that are wrong at some points: what is built agrees with its value."""

from __future__ import annotations

import pytest
from sympy import Abs, Max, Min, Mod, Ne, Rational, Symbol, binomial, ceiling, frac, re

from flverify._core import sympy_rules
from flverify.claims import judge
from flverify.claims.verdict import Verdict

even = Symbol("e", even=True)
twos = Symbol("t", even=True, positive=True)
n, m = (Symbol(name, integer=True, positive=True) for name in "nm")
z = Symbol("z", integer=True)
x = Symbol("x", real=True)
product = m * (2 * n + 2)

# what is built, a point, and its value there by hand
MISLEADING = [
    (Abs(twos / 6 - 1), {twos: 2}, Rational(2, 3)),
    (Max(1, product / 6), {n: 1, m: 1}, 1),
    (Min(1, product / 6), {n: 1, m: 1}, Rational(2, 3)),
    (ceiling(twos / 6), {twos: 2}, 1),
    (frac(even / 6), {even: 2}, Rational(1, 3)),
    (Ne(even / 3, 0), {even: 0}, False),
    (Ne((2 * z + 2) / (2 * n + 1), 0), {z: -1, n: 1}, False),
    (Abs(binomial(z, 2 * m + 1)), {z: 3, m: 1}, 1),
    (Max(0, binomial(z, 2 * m + 1)), {z: 3, m: 1}, 1),
    (re((-2) ** (n / 2)), {n: 2}, -2),
    (Mod(-x, 3 * x), {x: 2}, 4),
    (Mod(-z / 2, z), {z: 10}, 5),
    (Mod(n * Mod(3, n), 4), {n: 9}, 3),
]


@pytest.mark.parametrize(("built", "at", "value"), MISLEADING)
def test_what_is_built_keeps_its_value(built, at, value):
    assert built.subs(at) == value


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Abs(twos / 6 - 1), twos / 6 - 1),
        (Max(1, product / 6), product / 6),
        (Min(1, product / 6), 1),
        (Abs(binomial(z, 2 * m + 1)), -binomial(z, 2 * m + 1)),
        (Mod(-z / 2, z), -z / 2),
    ],
)
def test_no_identity_is_proved_by_such_a_rule(left, right):
    found = judge.identity([("it", left, right)], "all")
    assert found.verdict != Verdict.PROVED


def test_rules_that_are_right_still_help():
    assert (even / 2).is_integer
    assert (product / 2).is_integer
    assert ((2 * n + 1) / 2).is_integer is False
    assert (1 / (2 * n + 1)).is_integer is False
    assert binomial(n, m).is_nonnegative
    assert ((-2) ** (n + Rational(1, 2))).is_imaginary
    assert (Mod(2 * n, 2), Mod(7, 3)) == (0, 1)


def test_only_answers_that_mislead_are_held_back():
    """Nothing new is said: an answer is sympy's own, or none."""
    for held in (True, False, None):
        kind = type("Kind", (), {"_prop_handler": {"integer": lambda _, a=held: a}})
        sympy_rules._hold_back(kind, "integer", lambda _, found: found)
        said = kind._prop_handler["integer"](kind())
        assert said is (None if held else held)
