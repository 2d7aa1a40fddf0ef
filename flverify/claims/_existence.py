"""Whether expressions exist anywhere: shown at one exact point of their symbols.

What exists nowhere agrees with everything, so an identity is proved only beside a point
at which all its parts have values. Formal functions take values of our choice; other
functions are enclosed, or known to exist and no more.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import reduce
from itertools import count
from math import comb, factorial
from operator import add, mul
from typing import Any

import sympy
from sympy.core.function import Application, AppliedUndef
from sympy.logic import boolalg
from sympy.matrices.expressions.matexpr import MatrixElement

from flverify.certify._scalar import evaluation
from flverify.certify._scalar.evaluation import Enclosure, UndefinedError
from flverify.claims import _points

Value = Enclosure | None  # None: it exists, and nothing else is known
Point = dict[Any, Fraction]

NOWHERE = (
    "no values of its symbols were found at which all of it exists, and what exists "
    "nowhere agrees with everything"
)
DRAWS = 200
TERMS = 100  # of a sum or a product that are added up, or multiplied
ROUNDED = 1 << 256  # exponentials are enclosed to about 1/2^256
MOST_STEPS = 20_000  # parts that are evaluated, at all points together
MOST_BITS = 20_000  # of a value
STEEPEST = 1000  # of their arguments
FARTHEST = 10_000  # of arguments of functions that are left to sympy
JOINED = sympy.Add | sympy.Mul | sympy.Max | sympy.Min | sympy.Abs
OF_MATRICES = MatrixElement | sympy.Trace | sympy.Determinant
NAMED = AppliedUndef | sympy.Indexed | MatrixElement


def exist_somewhere(expressions: Iterable[sympy.Expr]) -> bool:
    """Whether a point was found at which all expressions have real values.

    It has everything assumed of the symbols. False: none was found.

    Examples
    --------
    >>> x = sympy.Symbol("x", positive=True)
    >>> nothing = sympy.sqrt(x**2 + 2 * x + 1) - x - 1
    >>> exist_somewhere([1 / (x - 1)]), exist_somewhere([1 / nothing])
    (True, False)
    """
    listed, steps = [*expressions], count()
    return any(
        all(_exists(expression, _At(point, steps)) for expression in listed)
        for point in _draws(listed)
    )


def _exists(expression: sympy.Expr, at: _At) -> bool:
    try:
        at.value(expression)
    except UndefinedError:
        return False
    return True


def _draws(expressions: list[sympy.Expr]) -> Iterator[Point]:
    """Draw points: of small positive numbers first, where these are allowed."""
    found = set().union(*(expression.free_symbols for expression in expressions))
    symbols = sorted((s for s in found if isinstance(s, sympy.Symbol)), key=str)
    pools = [_points.allowed(symbol, largest=24, unit=9) for symbol in symbols]
    if not all(pools):
        return
    draws = random.Random(0)  # noqa: S311 - a deterministic search, not a secret
    for turn in range(DRAWS if symbols else 1):
        kinds = [pool[: 1 if turn < DRAWS // 4 else None] for pool in pools]
        values = [draws.choice(draws.choice(pool)) for pool in kinds]
        yield {
            symbol: Fraction(int(value.p), int(value.q))
            for symbol, value in zip(symbols, values, strict=True)
        }


class _At:
    """Values of expressions at one point."""

    def __init__(self, point: Point, steps: Iterator[int]) -> None:
        self.point, self.steps = point, steps
        self.known: dict[Any, Value] = {}

    def value(self, e: Any) -> Value:
        """Enclose a value.

        Raises
        ------
        UndefinedError
            If it is not shown that there is one.
        """
        if e not in self.known:
            if next(self.steps) > MOST_STEPS:
                raise UndefinedError
            self.known[e] = self._found(e)
        return self.known[e]

    def _found(self, e: Any) -> Value:
        if e in self.point:
            return _exactly(self.point[e])
        if e.is_Rational or isinstance(e, sympy.NumberSymbol):
            return _number(e)
        kinds = (sympy.Pow, sympy.Piecewise, sympy.Sum, sympy.Product)
        ways = (self._power, self._first, self._run, self._run)
        for kind, way in zip(kinds, ways, strict=True):
            if isinstance(e, kind):
                return way(e)
        parts = [*map(self.value, self._inside(e))]
        if isinstance(e, JOINED):
            return _joined(e, [p for p in parts if p is not None], None in parts)
        return _formal(e, parts) if _is_formal(e) else _called(e, parts)

    def _inside(self, e: Any) -> tuple[Any, ...]:
        """Return what has to exist for it to exist."""
        if isinstance(e, Application | JOINED):
            return tuple(e.args)
        if not _is_formal(e):
            raise UndefinedError
        return () if isinstance(e, sympy.Derivative) else tuple(e.args[1:])

    def _power(self, e: Any) -> Value:
        base, exponent = self.value(e.base), self.value(e.exp)
        exact = _exact([exponent])
        if base is None or exact is None:
            return self._vague_power(e, base, exact)
        above, below = exact[0].numerator, exact[0].denominator
        if max(abs(above), below) > evaluation.MOST_TIMES:
            raise UndefinedError
        return _short(evaluation.power(base, above, below))

    def _vague_power(self, e: Any, base: Value, exact: list[Fraction] | None) -> Value:
        """Return that it exists, if that is known without its value."""
        positive = base.low > 0 if base else _points.in_reals(e.base).is_positive
        whole = exact is not None and exact[0].denominator == 1
        if positive or (whole and exact is not None and exact[0] >= 0):
            return None
        if whole and _points.in_reals(e.base).is_zero is False:
            return None
        raise UndefinedError

    def _first(self, e: Any) -> Value:
        for part, condition in e.args:
            if self._truth(condition):
                return self.value(part)
        raise UndefinedError

    def _truth(self, relation: Any) -> bool:
        if isinstance(relation, boolalg.BooleanAtom):
            return bool(relation)
        if isinstance(relation, boolalg.And | boolalg.Or):
            parts = [self._truth(part) for part in relation.args]
            return all(parts) if isinstance(relation, boolalg.And) else any(parts)
        if isinstance(relation, boolalg.Not):
            return not self._truth(relation.args[0])
        compare = evaluation.COMPARISONS.get(type(relation))
        sides = [self.value(side) for side in relation.args] if compare else []
        if compare is None or sides[0] is None or sides[1] is None:
            raise UndefinedError
        return compare(sides[0], sides[1])

    def _run(self, e: Any, inner: int | None = None) -> Value:
        """Go through the terms of a sum or a product, the outermost index first."""
        limits = e.limits[:inner]
        if not limits:
            return self.value(e.function)
        index, *ends = limits[-1]
        exact = _exact([self.value(end) for end in ends])
        if exact is None or len(exact) < 2 or any(v.denominator > 1 for v in exact):
            raise UndefinedError
        first, last = map(int, exact)
        if not -1 <= last - first < TERMS:  # sympy counts backwards below
            raise UndefinedError
        terms = [
            _At({**self.point, index: Fraction(k)}, self.steps)._run(e, len(limits) - 1)
            for k in range(first, last + 1)
        ]
        is_sum = isinstance(e, sympy.Sum)
        start = _exactly(Fraction(0 if is_sum else 1))
        known = [term for term in terms if term is not None]
        if len(known) < len(terms):
            return None
        return _folded(add if is_sum else mul, [start, *known])


def _exactly(number: Fraction) -> Enclosure:
    return Enclosure(number, number)


def _short(value: Enclosure) -> Enclosure:
    """Return a value, unless it has too many digits to go on with."""
    ends = value.low.as_integer_ratio() + value.high.as_integer_ratio()
    if max(end.bit_length() for end in ends) > MOST_BITS:
        raise UndefinedError
    return value


def _folded(join: Callable[..., Enclosure], parts: list[Enclosure]) -> Enclosure:
    return reduce(lambda a, b: _short(join(a, b)), parts)


def _exact(values: Iterable[Value]) -> list[Fraction] | None:
    """Return rational values; None if one is not known exactly."""
    listed = [*values]
    out = [v.low for v in listed if v is not None and v.low == v.high]
    return out if len(out) == len(listed) else None


def _number(e: Any) -> Enclosure:
    whole = e.is_Rational
    ends = (e, e) if whole else e.approximation_interval(sympy.Integer)
    return Enclosure(*(Fraction(int(end.p), int(end.q)) for end in ends))


def _is_formal(e: Any) -> bool:
    """Whether its value is of our choice, or that of a matrix or function that is."""
    if isinstance(e, sympy.Derivative):
        called = isinstance(e.expr, AppliedUndef)
        return called and all(arg.is_Symbol for arg in e.expr.args)
    if isinstance(e, OF_MATRICES):
        return isinstance(e.args[0], sympy.MatrixSymbol)
    return isinstance(e, AppliedUndef | sympy.Indexed)


def _joined(e: Any, parts: list[Enclosure], vague: bool) -> Value:
    if vague:
        return None
    if e.is_Add or e.is_Mul:
        return _folded(add if e.is_Add else mul, parts)
    if isinstance(e, sympy.Abs):
        parts = [*parts, parts[0] * _exactly(Fraction(-1))]
    pick = min if isinstance(e, sympy.Min) else max
    return Enclosure(pick(p.low for p in parts), pick(p.high for p in parts))


def _formal(e: Any, parts: list[Value]) -> Value:
    exact = _exact(parts)
    return _chosen(e, exact) if isinstance(e, NAMED) and exact is not None else None


def _called(e: Any, parts: list[Value]) -> Value:
    """Value of a function whose arguments exist."""
    exact = _exact(parts)
    if not (e.func.__module__ or "sympy").startswith("sympy"):
        return None if exact is None else _own(e, exact)
    if isinstance(e, sympy.sin | sympy.cos):
        return Enclosure(Fraction(-1), Fraction(1))
    if isinstance(e, sympy.exp | sympy.log) and len(parts) == 1:
        return (_exponential if isinstance(e, sympy.exp) else _logarithm)(parts[0])
    if exact is None:
        raise UndefinedError
    counting = isinstance(e, sympy.factorial | sympy.binomial)
    return _counted(exact) if counting else _by_sympy(e, exact)


def _chosen(e: Any, exact: list[Fraction]) -> Enclosure:
    """Choose the value of a formal function: one for each point, of its kind."""
    name = e.func if isinstance(e, AppliedUndef) else e.args[0]
    draws = random.Random(f"{name} {exact}")  # noqa: S311 - a choice, not a secret
    number = draws.randint(2, 10**6)
    for size in (sympy.Rational(number, 997), sympy.Integer(number)):
        for value in (size, -size, 2 * size, -2 * size):
            if _points.satisfies(value, e):
                return _exactly(Fraction(int(value.p), int(value.q)))
    raise UndefinedError


def _own(e: Any, exact: list[Fraction]) -> Enclosure:
    """Value of a function of the user's own: what it says, or one of our choice."""
    found = e.func(*(sympy.Rational(v.numerator, v.denominator) for v in exact))
    if found.is_Rational:
        return _exactly(Fraction(int(found.p), int(found.q)))
    if found.func is e.func:
        return _chosen(e, exact)
    raise UndefinedError


def _by_sympy(e: Any, exact: list[Fraction]) -> Value:
    """Take sympy's word that a function has a real value at rational points."""
    at = [sympy.Rational(v.numerator, v.denominator) for v in exact]
    if any(abs(v) > FARTHEST for v in at):  # sympy may write out as many factors
        raise UndefinedError
    try:
        found = e.func(*at)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise UndefinedError from error
    if found.is_Rational:
        return _exactly(Fraction(int(found.p), int(found.q)))
    if found.is_number and found.is_real and found.is_finite:
        return None
    raise UndefinedError


def _counted(exact: list[Fraction]) -> Enclosure:
    """Value of a factorial or a binomial coefficient of counts."""
    if any(v.denominator > 1 or not 0 <= v <= TERMS for v in exact):
        raise UndefinedError
    counts = [*map(int, exact)]
    value = comb(*counts) if len(counts) > 1 else factorial(counts[0])
    return _exactly(Fraction(value))


def _logarithm(argument: Value) -> Enclosure:
    """Enclose a logarithm: 1 - 1/x <= log x <= x - 1."""
    if argument is None or argument.low <= 0:
        raise UndefinedError
    return Enclosure(1 - 1 / argument.low, argument.high - 1)


def _exponential(argument: Value) -> Value:
    """Enclose an exponential by its series at a small part of the argument."""
    if argument is None:
        return None
    low, high = (_series(end) for end in (argument.low, argument.high))
    return None if low is None or high is None else Enclosure(low.low, high.high)


def _series(number: Fraction) -> Enclosure | None:
    if abs(number) > STEEPEST:
        return None
    times = 4 * (int(abs(number)) + 1)
    part = number / times  # at most 1/4
    total = term = ROUNDED
    for k in range(1, 60):
        term = term * part.numerator // (part.denominator * k)
        total += term
    # each term is off by less than 2 units, and the rest is less than 1
    ends = (Fraction(total + side * 150, ROUNDED) for side in (-1, 1))
    small = Enclosure(*ends)
    return _rounded(evaluation.power(small, times, 1))


def _rounded(value: Enclosure) -> Enclosure:
    """Widen a positive enclosure to short ends."""
    below = Fraction(int(value.low * ROUNDED), ROUNDED)
    return Enclosure(below, Fraction(int(value.high * ROUNDED) + 1, ROUNDED))
