"""The judge and functions, roots, indexed symbols and numbers above all floats."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy
from sympy import KroneckerDelta, Max, Min, Mod, Piecewise, binomial, log, sign, sqrt

from flverify.claims import judge
from flverify.claims.judge import Case
from flverify.claims.verdict import Verdict

p, q = sympy.symbols("p q", positive=True)
n, k = sympy.symbols("n k", integer=True)
m = sympy.Symbol("m", integer=True, nonnegative=True)
i, j = sympy.symbols("i j", integer=True)
b = sympy.IndexedBase("b")
t = sympy.Idx("t", (1, 3))
HUGE = Fraction(10**400)


def identity(left, right):
    return judge.identity([("it", left, right)], "all")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (binomial(m - 1, m), 0),
        (binomial(2 * m - 1, m), binomial(2 * m, m) / 2),
        (binomial(n, n), 1),
        (binomial(n, k), binomial(n, n - k)),
        (Piecewise((0, p > 1)), 0),
    ],
)
def test_rules_with_exceptions_prove_nothing(left, right):
    assert identity(left, right).verdict == Verdict.INCONCLUSIVE


INVERSE = 1 / (1 + 1 / (p - q) ** 2)  # nowhere where p = q


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (sqrt(p - 1) * sqrt(q - 1), sqrt((p - 1) * (q - 1))),
        (sign(p - q) ** 2 + INVERSE, 1 + INVERSE),
        (KroneckerDelta(p, q) + INVERSE, INVERSE),
        (b[(i + j) ** 2], b[i**2 + 2 * i * j + j**2]),
        (b[Max(i, j)] + b[Min(i, j)], b[i] + b[j]),
        ((t - 1) * (t - 2) * (t - 3), 0),
    ],
)
def test_what_holds_wherever_it_exists_is_not_refuted(left, right):
    assert identity(left, right).verdict == Verdict.INCONCLUSIVE
    found = judge.nonnegative([("it", left - right)], "all")
    assert found.verdict != Verdict.REFUTED


@pytest.mark.parametrize(
    "side",
    [
        Max(p, 1 / (p - q)),
        Min(1, sqrt(p - q)),
        Max(log(p - q), 0),
        Piecewise((p, 1 / (p - q) > 1), (q, True)),
        Mod(p, p - q),
        sympy.Sum(k, (k, 1, m)),
        sympy.Trace(sympy.MatrixSymbol("A", 2, 2)),
        sympy.Pow(p - q, 0, evaluate=False),
        sympy.Integer(10) ** 5000,
    ],
)
def test_no_point_is_an_error(side):
    assert identity(side, side).verdict == Verdict.PROVED
    assert identity(side, side + p).verdict != Verdict.PROVED
    assert judge.nonnegative([("it", -side)], "all").verdict != Verdict.PROVED


def test_where_functions_do_not_exist_is_part_of_the_scope():
    assert identity(2 * log(p - q), log(p - q) + log(p - q)).scope == (
        "all, wherever every term exists"
    )
    f = sympy.Function("f")
    assert identity(f(p + p), f(2 * p)).scope == "all"
    assert identity(sqrt(p) * (1 + sqrt(p)), sqrt(p) + p).scope == "all"


def test_a_power_with_a_symbol_is_refuted_at_a_point():
    found = identity(p**m, m * p)
    assert found.verdict == Verdict.REFUTED
    at = {key: Fraction(value) for key, value in found.evidence["point"].items()}
    assert at["p"] ** at["m"] != at["m"] * at["p"]


x, whole = sympy.Symbol("x", real=True), sympy.Symbol("whole", integer=True)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (sympy.Abs(x), x),
        (sqrt(x**2), x),
        (Max(x, 0), x),
        (Min(x, 1), x),
        (sympy.Abs(whole), whole),
    ],
)
def test_what_holds_for_small_positive_numbers_alone_is_refuted(left, right):
    found = identity(left, right)
    assert found.verdict == Verdict.REFUTED
    ((_, value),) = found.evidence["point"].items()
    assert not 0 <= Fraction(value) <= 1


def test_what_holds_for_every_sign_is_not_refuted():
    for side in (sympy.Abs(x), sqrt(x**2), Max(x, -x)):
        assert identity(side**2, x**2).verdict != Verdict.REFUTED
        assert identity(side, sympy.Abs(x)).verdict != Verdict.REFUTED


@pytest.mark.parametrize("right", [Fraction(1), 1.0])
def test_numbers_above_all_floats_are_compared(right):
    case = Case({"r": HUGE}, HUGE, right, lambda: (HUGE, 1))
    found = judge.instances([case], "<=", "one")
    assert found.verdict == Verdict.REFUTED
    assert "1.00000e+400 <= 1" in found.reason
    small = Case({"r": 1}, 2 / HUGE, 1 / HUGE, lambda: (2 / HUGE, 1 / HUGE))
    assert "2e-400 <= 1e-400" in judge.instances([small], "<=", "one").reason


def test_hypotheses_that_can_be_read_once_are_kept():
    found = judge.implied((h for h in [p > 1]), p**2 > 1, "every p")
    assert found.evidence["given"] == ["p > 1"]


class Own(sympy.Function):
    """A formal function: a name, that has values at rational points."""

    @classmethod
    def eval(cls, point):
        return point**2 if point.is_Rational else None


def test_formal_functions_are_refuted_by_their_values():
    f = sympy.Function("f")
    assert identity(f(p) + p, f(p)).verdict == Verdict.INCONCLUSIVE
    assert identity(Own(q) + Own(q), 2 * Own(q)).scope == "all"
    found = identity(Own(p) + p, Own(p + q))
    assert found.verdict == Verdict.REFUTED
    x, y = (Fraction(found.evidence["point"][name]) for name in "pq")
    assert Fraction(found.evidence["left"]) == x * x + x
    assert Fraction(found.evidence["right"]) == (x + y) ** 2


def test_dummies_are_symbols_too():
    d = sympy.Dummy("d", positive=True)
    assert identity(d + d, 3 * d).verdict == Verdict.REFUTED
    assert judge.nonnegative([("it", d - 1)], "all").verdict == Verdict.REFUTED
    twice = sympy.Dummy("d", positive=True)  # which of the two is d in a point?
    assert identity(d, twice).verdict == Verdict.INCONCLUSIVE


SEMIPRIME = (10**40 + 121) * (10**41 + 271)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (2 * p ** (10**9), 3 * p ** (10**9)),
        (2 * p ** sympy.Rational(10**9, 3), 3 * p ** sympy.Rational(10**9, 3)),
        ((p + 1) ** 10**9, (p + 2) ** 10**9),
        ((p + 1) ** -(10**9), (p + 2) ** -(10**9)),
        ((SEMIPRIME * p) ** m, p**m),
    ],
)
def test_large_powers_are_left_open_at_once(left, right):
    assert identity(left, right).verdict != Verdict.PROVED
    assert judge.nonnegative([("it", left)], "all").verdict == Verdict.INCONCLUSIVE


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "power",
    [
        (p**2 + p + 1) ** 4000,  # products of many terms meet in few
        (p + 1) ** 3000 * (m + 1) ** 3000,
        (p + m + 1) ** 400,
        1 / (1 + sympy.sqrt(p + 1 / (p + m + 1) ** 200)),
    ],
)
def test_what_takes_long_to_multiply_out_is_left_open(power):
    assert identity(power, power * (1 + p)).verdict != Verdict.PROVED
    assert judge.nonnegative([("it", power)], "all").verdict == Verdict.INCONCLUSIVE


@pytest.mark.slow
def test_long_powers_are_multiplied_by_squares():
    long, other = (p**2 + p + 1) ** 600, (p**4 + 2 * p**3 + 3 * p**2 + 2 * p + 1) ** 300
    assert identity(long, other).verdict == Verdict.PROVED
    assert identity(long, other + 1).verdict == Verdict.REFUTED


def test_roots_of_high_powers_are_powers_of_roots():
    assert identity(p ** sympy.Rational(7, 3), p**2 * sympy.cbrt(p)).scope == "all"
    far = sympy.Rational(10**9, 3)
    assert identity(p**far * (p + 1), p ** (far + 1) + p**far).verdict == Verdict.PROVED


def test_what_is_nested_too_deeply_is_left_open():
    f, deep = sympy.Function("f"), p
    for _ in range(300):
        deep = f(deep) + 1
    for right in (p, deep + p):
        found = identity(deep, right)
        assert found.reason == "it: it is nested too deeply"
    found = judge.nonnegative([("it", deep)], "all")
    assert found.verdict == Verdict.INCONCLUSIVE
    assert judge.identity([("it", deep, deep)], "all").verdict != Verdict.REFUTED
