"""The judge, where sides exist nowhere or in part, and where integers mislead."""

from __future__ import annotations

import pytest
import sympy
from sympy import Derivative, Sum, sqrt

from flverify.claims import judge
from flverify.claims._points import BY_ZERO
from flverify.claims.verdict import Verdict

x, k = sympy.symbols("x k")
p, q = sympy.symbols("p q", positive=True)
n = sympy.Symbol("n", integer=True)
even = sympy.Symbol("e", even=True)
f = sympy.Function("f")
NOTHING = sqrt(3 + 2 * sqrt(2)) - sqrt(2) - 1  # 0, which no rule of algebra sees
NONE = sympy.Symbol("z", zero=True)
DIVIDED, EXISTING = "wherever no denominator vanishes", "wherever every term exists"


def identity(left, right):
    return judge.identity([("it", left, right)], "all")


def nonnegative(expression):
    return judge.nonnegative([("it", expression)], "all")


@pytest.mark.parametrize("zero", [NOTHING, NONE])
def test_what_is_divided_by_zero_is_not_proved(zero):
    assert identity(1 / zero, 1 / zero).verdict == Verdict.INCONCLUSIVE
    quotient = (p * zero + zero) / zero
    assert identity(quotient, p + 1).reason == f"it: {BY_ZERO}"
    assert nonnegative(quotient).reason == f"it: {BY_ZERO}"


def test_numbers_that_are_not_zero_may_divide():
    assert identity(p / (sqrt(2) - 1), p * (1 + sqrt(2))).scope == "all"
    assert nonnegative((p + p**2) / p).scope == "all"


def test_a_formal_constant_may_be_zero():
    assert DIVIDED in identity((f(1) * x + f(1)) / f(1), x + 1).scope
    assert DIVIDED in nonnegative((f(1) * p + f(1)) / f(1)).scope
    assert DIVIDED in identity(0**x, 0**x).scope


@pytest.mark.parametrize(
    "zero_at_0",
    [even + even**3 / 27, 2 * even + even**3 / 9],
)
def test_what_is_even_may_be_zero_over_three(zero_at_0):
    assert zero_at_0.subs(even, 0) == 0
    quotient = (zero_at_0 * x + zero_at_0) * sympy.Pow(zero_at_0, -1, evaluate=False)
    assert DIVIDED in identity(quotient, x + 1).scope


def test_a_sixth_of_what_is_even_may_be_below_1():
    second = sympy.Symbol("e", even=True, positive=True)
    below = second / 6 - 1  # -2/3 at 2
    x0 = sympy.Symbol("x", nonnegative=True)
    power = x0**below
    assert DIVIDED in identity(power * (x0 + 1), power * x0 + power).scope
    root = sqrt(below)
    assert EXISTING in identity(root * (x + 1), root * x + root).scope


def test_positive_integers_are_at_least_1():
    count = sympy.Symbol("k", integer=True, positive=True)
    for part in (x ** (count - 1), sqrt(2 * count - 1), 1 / (3 * count - 2)):
        assert identity(part * (x + 1), part * x + part).scope == "all"


@pytest.mark.parametrize("nothing", [sympy.nan, sympy.zoo])
def test_what_has_no_value_agrees_with_nothing(nothing):
    assert identity(f(nothing), f(nothing)).verdict == Verdict.INCONCLUSIVE


def test_a_sixth_of_what_is_even_is_no_whole_exponent():
    r, s = sympy.symbols("r s", real=True)
    left, right = (r + r * s) ** (even / 6), r ** (even / 6) * (1 + s) ** (even / 6)
    at = {r: -1, s: -2, even: 2}
    assert left.subs(at) == 1 != right.subs(at)
    assert identity(left, right).verdict == Verdict.INCONCLUSIVE
    halved = identity(
        (r + r * s) ** (even / 2), r ** (even / 2) * (1 + s) ** (even / 2)
    )
    assert halved.verdict == Verdict.PROVED
    assert EXISTING not in halved.scope
    assert EXISTING in identity(right, right).scope


@pytest.mark.parametrize(
    "part",
    [Sum(f(k), (k, 1, n)), sympy.Symbol("i", extended_real=True), sympy.log(x - 1)],
)
def test_what_need_not_have_a_value_is_part_of_the_scope(part):
    assert EXISTING in identity((part + 1) ** 2, part**2 + 2 * part + 1).scope


def test_names_have_values():
    a, b = sympy.MatrixSymbol("A", 2, 2), sympy.IndexedBase("b")
    for name in (a[0, 1], b[n], f(x), Derivative(f(x), x), sympy.pi, x):
        assert identity((name + 1) ** 2, name**2 + 2 * name + 1).scope == "all"


def test_sets_of_numbers_are_no_numbers():
    part = p * sympy.AccumBounds(0, 1)  # at x = -1: 0, and all of [-p, p]
    assert identity(part * (x + 1), part * x + part).verdict == Verdict.INCONCLUSIVE


@pytest.mark.parametrize("power", [1, 2])
def test_factors_without_number_are_not_written_out(power):
    m = sympy.Symbol("m", composite=True)
    value = m + sympy.gamma(sympy.gamma(sympy.gamma(m))) ** power
    found = judge.identity([("itself", value, value)], "every m")
    assert found.verdict in (Verdict.PROVED, Verdict.INCONCLUSIVE)
