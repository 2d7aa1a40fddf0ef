"""Zero by algebra: what is seen, what must not be, and random expressions."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
import sympy
from sympy import I, Rational, binomial, cos, factorial, nan, oo, sin, sqrt, tan, zoo

from flverify._core.algebra import vanishes
from flverify.claims._points import value_at

x, y, p = sympy.symbols("x y p", positive=True)
z, w = sympy.symbols("z w")
r = sympy.Symbol("r", real=True)
n, k = sympy.symbols("n k", integer=True)
m = sympy.Symbol("m", integer=True, nonnegative=True)
even = sympy.Symbol("e", even=True)
f, g = sympy.Function("f"), sympy.Function("g")


@pytest.mark.parametrize(
    "zero",
    [
        (z**2 - w**2) / (z - w) - z - w,
        z ** (r + 1) - z * z**r,
        z ** (2 * r + 1) - z * z**r * z**r,
        (2 * x) ** n - 2**n * x**n,
        (1 - 1 / y) ** n * y**n - (y - 1) ** n,
        (z / w / 2) ** n * w**n * 2**n - z**n,
        (z / 2 + Rational(1, 3)) ** n * 6**n - (3 * z + 2) ** n,
        (1 - x) ** n - (-1) ** n * (x - 1) ** n,
        (-1) ** n * (1 + (-1) ** n) - (-1) ** n - 1,
        Rational(2, 3) ** n * 9**n - 6**n,
        (1 + I) * (1 - I) - 2,
        1 / (sqrt(z) + 1) * (z - 1) - sqrt(z) + 1,
        (1 + sqrt(2)) ** 3 - 7 - 5 * sqrt(2),
        (sqrt(1 + sqrt(z)) + 1) ** 2 * (sqrt(1 + sqrt(z)) - 1) ** 2 - z,
        f((x + 1) ** 2) - f(x**2 + 2 * x + 1),
        f(g(2 * z) - z) - f(-z + g(z + z)),
        (sympy.cbrt(2) - 1) * (sympy.cbrt(4) + sympy.cbrt(2) + 1) - 1,
        (z + z * w) ** (even / 2) - z ** (even / 2) * (1 + w) ** (even / 2),
        binomial(n, k) * (x + 1) - binomial(n, k) - x * binomial(n, k),
    ],
)
def test_what_is_zero_is_seen(zero):
    assert vanishes(zero)
    assert not vanishes(zero + Rational(1, 10**9))


@pytest.mark.parametrize(
    "expression",
    [
        # sympy.simplify calls the first six zero; at m = 0, n = -1, x = -4 they are not
        binomial(m - 1, m),
        binomial(2 * m - 1, m) - binomial(2 * m, m) / 2,
        sympy.RisingFactorial(m, m) - factorial(2 * m) / (2 * factorial(m)),
        binomial(n, n) - 1,
        binomial(n, k) - binomial(n, n - k),
        sympy.Piecewise((0, r > 0)),
        sqrt(z**2) - z,
        sqrt(z) * sqrt(w) - sqrt(z * w),
        (z**2) ** r - z ** (2 * r),
        z ** (r / 2) - z**r,
        (z * w) ** r - z**r * w**r,
        (z + z * w) ** (even / 6) - z ** (even / 6) * (1 + w) ** (even / 6),
        (z * w) ** (n * r) - z ** (n * r) * w ** (n * r),
        (z * w) ** (1 / n) - z ** (1 / n) * w ** (1 / n),
        (z * w) ** (n**k) - z ** (n**k) * w ** (n**k),
        (z / 2 + Rational(1, 3)) ** n - 6**n * (3 * z + 2) ** n,
        I + 1 / I - 2,
        (-1) ** n - 1,
        sympy.cbrt(2) / (sympy.cbrt(3) + 1) - 1,
        1 / (2 * sympy.cbrt(2) + sympy.cbrt(9)) - sympy.sqrt(3),
        f(x) - f(y),
        f(x) - g(x),
        factorial(n + 1) - (n + 1) * factorial(n),
        tan(r) * cos(r) - sin(r),
        nan,
        oo,
        zoo * x,
        1 / (x - 1) + zoo,
        sympy.Mul(0, 1 / ((x + 1) ** 2 - x**2 - 2 * x - 1), evaluate=False),
        sympy.Mul(0, 1 / ((sqrt(z) + 1) ** 2 - z - 2 * sqrt(z) - 1), evaluate=False),
        sympy.Add(zoo, sympy.Mul(-1, zoo, evaluate=False), evaluate=False),
        sympy.Symbol("a", commutative=False),
    ],
)
def test_what_is_not_always_zero_is_not_called_so(expression):
    assert not vanishes(expression)


def grown(draw, depth):
    """Draw an expression with quotients, roots and symbolic powers."""
    if depth == 0:
        return draw.choice([x, y, p, sympy.Integer(2), Rational(1, 3), sqrt(x + 1)])
    one, other = grown(draw, depth - 1), grown(draw, depth - 1)
    return draw.choice(
        [
            one + other,
            one - other,
            one * other,
            one / (1 + other**2),
            one**2,
            (1 + one**2) ** draw.choice([m, m + 1, 2 * m, Rational(1, 2)]),
        ]
    )


def rewritten(draw, e):
    return draw.choice([sympy.expand, sympy.together, sympy.factor, lambda e: e])(e)


@pytest.mark.parametrize("seed", range(40))
def test_random_expressions_keep_their_values(seed):
    draw = random.Random(f"algebra {seed}")
    one = grown(draw, 2)
    other = rewritten(draw, one) + draw.choice([0, 0, x - y, x**2 * (p - 1)])
    below = {x: 11, y: 13, p: 7}  # so that x and y, and p and 1, differ
    at = {s: Rational(draw.randint(1, 6), d) for s, d in below.items()}
    at[m] = sympy.Integer(draw.randint(0, 3))
    far = abs(sympy.N((one - other).subs(at), 60))
    assert vanishes(one - other) is bool(far < Fraction(1, 10**40))


def test_values_at_points_are_those_of_every_part():
    at = {x: Rational(1, 2), y: Rational(3, 2), m: sympy.Integer(3)}
    assert value_at((x + y) ** m / (1 - x), at) == 16
    for undefined in (1 / (1 + 1 / (x + y - 2)), sqrt(x - y), tan(x)):
        assert value_at(undefined, at) is None
    assert value_at(x ** (10**9 * m), at) is None  # too long to multiply out
