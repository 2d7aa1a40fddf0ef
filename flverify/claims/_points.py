"""What the judge's parts share: exact expressions, points of their symbols, silence."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
import sympy
from sympy.core.function import AppliedUndef

from flverify._core.algebra import is_whole
from flverify._core.errors import InputError
from flverify.certify._scalar import evaluation
from flverify.claims.verdict import Finding, Verdict

DIVIDED = ", wherever no denominator vanishes"
EXISTING = ", wherever every term exists"
TOTAL = (sympy.Abs, sympy.Max, sympy.Min, sympy.sign, sympy.exp, sympy.sin, sympy.cos)
PLAIN = (sympy.Add, sympy.Mul, sympy.Pow, *TOTAL)
BY_ZERO = "a denominator is 0 or may be, whatever the values of the symbols"
TOO_DEEP = "it is nested too deeply"
FAILURES = (  # of sympy, which walks trees recursively, on what it was not made for
    RecursionError,
    ArithmeticError,
    AttributeError,
    NotImplementedError,
    TypeError,
    ValueError,
)
UNCONFIRMED = "unconfirmed violation"  # key of the evidence that stops a proof
LONGEST = 120  # characters of what sympy says where it fails
SIGNS = ("positive", "negative", "nonnegative", "nonpositive", "nonzero")
POINTS = 40  # rational points tried before a question is left open; of each kind

Point = dict[sympy.Symbol, sympy.Rational]


def inconclusive(reason: str) -> Finding:
    """Say that nothing was shown, and why.

    Examples
    --------
    >>> print(inconclusive("nobody tried").verdict)
    INCONCLUSIVE
    """
    return Finding(Verdict.INCONCLUSIVE, "nothing shown", reason)


def unread(label: str, error: Exception) -> Finding:
    """Leave open what sympy fails on."""
    if isinstance(error, RecursionError):
        return inconclusive(f"{label}: {TOO_DEEP}")
    words = " ".join(str(error).split())[:LONGEST]
    return inconclusive(f"{label}: sympy fails on it, {type(error).__name__}: {words}")


def has_floats(value: Any) -> bool:
    """Whether a value is a float of any kind, or an expression with one inside."""
    if isinstance(value, sympy.Basic):
        return bool(value.has(sympy.Float))
    return isinstance(value, float | complex | np.inexact | Decimal)


def exact_expression(value: Any, label: str) -> sympy.Expr:
    """Turn an integer, a rational or an expression into an expression.

    Raises
    ------
    InputError
        If it is anything else: text, a boolean, None.

    Examples
    --------
    >>> exact_expression(Fraction(3, 8), "weight")
    3/8
    """
    if isinstance(value, Fraction):
        return sympy.Rational(value.numerator, value.denominator)
    if isinstance(value, sympy.Expr):
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        return sympy.Integer(int(value))
    raise InputError(
        f"{label} must be compared in integers, fractions or expressions; got "
        f"{value!r}; give one of these."
    )


def may_divide_by_zero(expression: sympy.Expr) -> bool:
    """Whether a denominator with symbols is not known to differ from 0.

    Examples
    --------
    >>> p = sympy.Symbol("p", positive=True)
    >>> may_divide_by_zero(1 / (1 + p)), may_divide_by_zero(1 / (1 - p))
    (False, True)
    """
    return any(
        in_reals(power.exp).is_nonnegative is not True
        and in_reals(power.base).is_zero is not False
        for power in expression.atoms(sympy.Pow)
    )


def in_reals(e: sympy.Expr) -> sympy.Expr:
    """Take integers for reals that are at least 1, at most -1, or of their sign.

    Rules for integers alone are not asked then: some of sympy's are wrong.
    """
    parts = e.atoms(sympy.Symbol, sympy.Function)
    try:
        return e.xreplace({part: _real(part) for part in parts if part.is_integer})
    except ValueError:  # as of an index of a sum; nothing is known then
        return sympy.Dummy()


def _real(part: sympy.Expr) -> sympy.Expr:
    beyond = sympy.Dummy(nonnegative=True)
    if part.is_positive:
        return 1 + beyond
    if part.is_negative:
        return -1 - beyond
    signs = {word: True for word in SIGNS if getattr(part, f"is_{word}")}
    return sympy.Dummy(real=True, **signs)


def divides_by_zero(expression: sympy.Expr) -> bool:
    """Whether a denominator is 0 throughout, or a number that may be 0; or has been.

    Examples
    --------
    >>> root, other = sympy.sqrt(3 + 2 * sympy.sqrt(2)), 1 + sympy.sqrt(2)
    >>> divides_by_zero(1 / (1 + root)), divides_by_zero(1 / (other - root))
    (False, True)
    """
    below = (p.base for p in expression.atoms(sympy.Pow) if p.exp.is_negative)
    undefined = expression.has(sympy.nan, sympy.zoo)
    return undefined or any(
        e.is_zero or (e.is_number and e.is_zero is None) for e in below
    )


def may_not_exist(expression: sympy.Expr) -> bool:
    """Whether a root or another part may have no real value: also a sum, or a limit.

    Formal functions, which sympy does not define, have values everywhere, and so have
    their derivatives.

    Examples
    --------
    >>> p = sympy.Symbol("p", positive=True)
    >>> may_not_exist(sympy.sqrt(p)), may_not_exist(sympy.log(p - 1))
    (False, True)
    """
    roots = (
        in_reals(power.base).is_nonnegative is not True
        for power in expression.atoms(sympy.Pow)
        if not is_whole(power.exp)
    )
    infinite = (
        s.is_finite is False or (s.is_extended_real and s.is_finite is None)
        for s in expression.free_symbols
    )
    parts = sympy.preorder_traversal(expression)
    return any(roots) or any(infinite) or any(map(_may_lack_a_value, parts))


def _may_lack_a_value(part: sympy.Basic) -> bool:
    """Whether sympy defines it, and not for every real number."""
    theirs = (part.func.__module__ or "").startswith("sympy")
    formal = isinstance(part, sympy.Derivative) and isinstance(part.expr, AppliedUndef)
    known = part.is_Atom or part.is_symbol or formal or isinstance(part, PLAIN)
    return theirs and isinstance(part, sympy.Expr) and not known


def where_defined(scope: str, divided: bool, partial: bool = False) -> str:
    """State in the scope that quotients, or all terms, are meant where they exist."""
    for is_so, words in ((divided, DIVIDED), (partial, EXISTING)):
        scope += words if is_so and words not in scope else ""
    return scope


def points(
    expressions: Iterable[sympy.Expr], largest: int, unit: int, *, signs: bool = False
) -> Iterator[Point]:
    """Draw rational points that satisfy what is assumed of each symbol.

    Multiples of 1/unit up to largest/unit; where the assumptions exclude these,
    integers, negative numbers or 0. With `signs` all of these come afterwards, as some
    of them alone tell |x| from x. Nothing is drawn if none of them satisfies, or if two
    symbols have one name.

    Examples
    --------
    >>> n = sympy.Symbol("n", integer=True, negative=True)
    >>> next(points([n], 3, 9))
    {n: -2}
    """
    found = set().union(*(expression.free_symbols for expression in expressions))
    symbols = sorted(found, key=str)
    kinds = [allowed(symbol, largest, unit) for symbol in symbols]
    if not all(kinds) or len({symbol.name for symbol in symbols}) < len(symbols):
        return
    draws = random.Random(0)  # noqa: S311 - a deterministic search, not a secret
    for turn in range(2 * POINTS if signs else POINTS):
        pools = [k[0] if turn < POINTS else draws.choice(k) for k in kinds]
        values = [draws.choice(pool) for pool in pools]
        yield dict(zip(symbols, values, strict=True))


def value_at(expression: sympy.Expr, point: Point) -> Fraction | None:
    """Return the rational value at a point; None where a part has no real value.

    Examples
    --------
    >>> x = sympy.Symbol("x", positive=True)
    >>> value_at(1 / (1 + x), {x: sympy.Rational(1, 2)})
    Fraction(2, 3)
    >>> value_at(1 / (1 + 1 / (x - 1)), {x: sympy.Integer(1)}) is None
    True
    """
    named = {s.name: Fraction(int(x.p), int(x.q)) for s, x in point.items()}
    try:
        found = evaluation.value(expression, named)
    except evaluation.UndefinedError:
        return None
    return found.low if found.low == found.high else None


def allowed(
    symbol: sympy.Symbol, largest: int, unit: int
) -> list[list[sympy.Rational]]:
    """Values that a symbol may take, of each kind that has any.

    Examples
    --------
    >>> allowed(sympy.Symbol("n", integer=True, nonnegative=True), 3, 9)
    [[1, 2, 3], [0]]
    """
    steps = range(1, largest + 1)
    kinds = [[sympy.Rational(sign * k, u) for k in steps] for sign, u in _kinds(unit)]
    each = [
        [value for value in kind if satisfies(value, symbol)]
        for kind in [*kinds, [sympy.Integer(0)]]
    ]
    return [kind for kind in each if kind]


def _kinds(unit: int) -> list[tuple[int, int]]:
    return [(1, unit), (1, 1), (-1, unit), (-1, 1)]


def satisfies(value: sympy.Rational, symbol: sympy.Expr) -> bool:
    """Whether a value has everything that is assumed of a symbol."""
    assumed = symbol.assumptions0.items()
    return all(getattr(value, f"is_{key}", None) is wanted for key, wanted in assumed)


def shown(point: Point) -> dict[str, str]:
    """Exact text of a point."""
    return {str(symbol): str(value) for symbol, value in point.items()}


def written(side: object) -> str:
    """Text of a side, unless it has more digits or levels than Python writes."""
    try:
        return str(side)
    except ValueError:
        return "a number of very many digits"
    except RecursionError:
        return "an expression of very many levels"


def at(point: Point) -> str:
    """Say where, or nothing if there are no symbols."""
    listed = ", ".join(f"{symbol} = {value}" for symbol, value in point.items())
    return f" at {listed}" if listed else ""
