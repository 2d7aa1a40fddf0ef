"""What exists nowhere agrees with everything, and is proved nowhere."""

from __future__ import annotations

import pytest
import sympy
from sympy import Derivative, Integral, Max, Min, Piecewise, Sum, exp, log, sqrt

from flverify.claims import judge
from flverify.claims._existence import NOWHERE, exist_somewhere
from flverify.claims.verdict import Verdict

x, y = sympy.symbols("x y", positive=True)
r = sympy.Symbol("r", real=True)
n, k = sympy.symbols("n k", integer=True, positive=True)
two = sympy.Symbol("t", even=True, prime=True)
b = sympy.IndexedBase("b")
f = sympy.Function("f")


class Nought(sympy.Function):
    """A function of the user's own that is 0 at rational points."""

    @classmethod
    def eval(cls, point):
        return sympy.Integer(0) if point.is_Rational else None


def multiplied_out(part):
    return judge.identity([("it", part * (y + 1), part * y + part)], "all")


@pytest.mark.parametrize(
    "part",
    [
        1 / (sqrt(x**2 + 2 * x + 1) - x - 1),
        1 / (two - 2),
        1 / (Sum(k, (k, 1, n)) - n * (n + 1) / 2),
        1 / (b[(n + 1) ** 2] - b[n**2 + 2 * n + 1]),
        1 / Nought(x),
        1 / (exp(x) ** 2 - exp(2 * x) + Nought(x)),
        sqrt(-1 - r**2),
        log(-x),
        Piecewise((x, r**2 - 2 * r + 1 < 0)),
        1 / (Max(r, 2 * r) + Min(r, 2 * r) - 3 * r),
        1 / sympy.Mod(n, 1, evaluate=False),
        Piecewise((x, x < y), (y, True)) / (Min(x, y) - Piecewise((x, x < y), (y, 1))),
        sqrt(x - 2) * sqrt(1 - x),
        sympy.factorial(-n),
        sympy.Symbol("i", infinite=True),
        Derivative(sympy.Abs(x - 1), x),
        Derivative(f(log(-x)), x),
        Integral(exp(k), (k, 0, x)),
    ],
)
def test_what_was_seen_to_exist_nowhere_is_left_open(part):
    found = multiplied_out(part)
    assert found.verdict == Verdict.INCONCLUSIVE
    assert found.reason == f"it: {NOWHERE}"


@pytest.mark.parametrize(
    "part",
    [
        1 / (sqrt(x**2 + 2 * x + 2) - x - 1),
        1 / (two - 3),
        1 / ((-1) ** n + 1),
        1 / (Max(r, 2 * r) + Min(r, 2 * r) - 2 * r),
        1 / (f(x) - f(y)),
        1 / (Sum(k, (k, 1, n)) - n * (n + 1) / 3),
        1 / (f((x + 1) ** 2) - f(x**2 + 2 * x)),
        1 / (b[(n + 1) ** 2] - b[n**2 + 2 * n]),
        1 / (1 + Nought(x)),
        1 / (exp(x) - exp(2 * x)),
        1 / log(x),
        sqrt(1 - r**2),
        sqrt(x - 2) * sqrt(3 - x),
        log(x - 1),
        Piecewise((x, x < 1)),
        sympy.factorial(n - 3),
        sympy.binomial(n, k) ** -1,
        sympy.Product(f(k), (k, 1, n)) ** -1,
        sympy.gamma(x - 1),
        1 / (sympy.pi - x),
    ],
)
def test_what_exists_somewhere_is_proved_there(part):
    found = multiplied_out(part)
    assert found.verdict == Verdict.PROVED
    assert "wherever" in found.scope


def test_a_sign_is_shown_where_there_is_a_value():
    def quotient(offset):
        below = two - offset
        return sympy.Mul(two * y - offset * y + below, 1 / below, evaluate=False)

    nowhere = judge.nonnegative([("it", quotient(2))], "all")
    assert nowhere.reason == f"it: {NOWHERE}"
    found = judge.nonnegative([("it", quotient(4))], "all")
    assert found.verdict == Verdict.PROVED


def test_parts_exist_at_one_point():
    one, other = sqrt(1 - x), sqrt(x - 3)
    assert exist_somewhere([one])
    assert exist_somewhere([other])
    assert not exist_somewhere([one, other])


def test_indices_of_sums_are_no_free_integers():
    part = 1 / (1 + Sum(k, (k, 1, n)))  # once an error of sympy
    assert multiplied_out(part).verdict == Verdict.PROVED


@pytest.mark.slow
def test_what_takes_too_long_is_left_open():
    run = sympy.Product(exp(x) + k, (k, 0, 99), (n, 0, 99))
    assert not exist_somewhere([sympy.sqrt(run - run.func(exp(x), *run.limits))])
    tower = x
    for _ in range(4):
        tower = 1 + tower**12
    assert not exist_somewhere([1 / tower, sqrt(-x)])


def test_exponentials_are_enclosed():
    near = sympy.exp(sympy.Rational(1, 3)).evalf(60)
    fraction = sympy.Rational(str(near))
    for offset in (sympy.Rational(1, 10**50), -sympy.Rational(1, 10**50)):
        power = exp(sympy.Rational(1, 3)) - fraction
        assert exist_somewhere([sqrt((power + offset) / offset)])
        assert not exist_somewhere([sqrt((power - offset) / offset)])
