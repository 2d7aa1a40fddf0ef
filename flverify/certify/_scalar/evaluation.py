"""Relations at rational points, exactly: the re-check of every counterexample.

The tree as given is walked with `Fraction` intervals. Without roots an interval is
one number; an irrational root is enclosed by two rationals, and a comparison that the
enclosures leave open has no answer. No solver, no rewriting, no floats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import lcm
from typing import Any

import sympy
from sympy.core import relational
from sympy.logic import boolalg

MOST_TIMES = 10_000  # exponents up to which powers are multiplied out
MOST_BITS = 1_000_000  # of a power that is multiplied out
MOST_JOINED = 100  # degree up to which roots in a product are joined into one
ROOT_BITS = 256  # an irrational root is enclosed to 2^-256
SHORT = 64  # bits of a root that is found by bisection

Point = Mapping[str, Fraction]


class UndefinedError(ArithmeticError):
    """A denominator that vanishes, a root of a negative number, an open comparison."""


@dataclass(frozen=True)
class Enclosure:
    """A closed interval with rational ends that contains the value."""

    low: Fraction
    high: Fraction

    def __add__(self, other: Enclosure) -> Enclosure:
        return Enclosure(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Enclosure) -> Enclosure:
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Enclosure(min(ends), max(ends))

    def reciprocal(self) -> Enclosure:
        """Enclose 1/value; the value must be known to differ from 0."""
        if self.low <= 0 <= self.high:
            raise UndefinedError
        return Enclosure(1 / self.high, 1 / self.low)

    def root(self, degree: int) -> Enclosure:
        """Enclose the nonnegative root; the value must be known to be nonnegative."""
        if self.low < 0:
            raise UndefinedError
        low, high = (_root(end, degree) for end in (self.low, self.high))
        return Enclosure(low.low, high.high)


def holds(relation: Any, point: Point) -> bool | None:
    """Whether a relation holds at a rational point; None where that is not settled.

    Not settled: a denominator vanishes, a root is taken of a negative number, two
    sides with irrational roots are equal or too close, or a part has no such answer.

    Parameters
    ----------
    relation : sympy relation, or And, Or, Not of relations
    point : mapping
        A rational value for the name of every symbol.

    Examples
    --------
    >>> eta, L = sympy.symbols("eta L", real=True)
    >>> holds(sympy.Le(eta, 1 / L), {"eta": Fraction(1, 3), "L": Fraction(3)})
    True
    >>> holds(sympy.sqrt(L) > 1, {"L": Fraction(2)})
    True
    >>> holds(eta < 1 / L, {"eta": Fraction(1), "L": Fraction(0)}) is None
    True
    """
    try:
        return _truth(relation, point)
    except UndefinedError:
        return None


def _truth(relation: Any, point: Point) -> bool:
    if isinstance(relation, boolalg.BooleanTrue | boolalg.BooleanFalse):
        return bool(relation)
    if isinstance(relation, boolalg.And | boolalg.Or):
        # every part must be settled: what is undefined is not judged
        parts = [_truth(part, point) for part in relation.args]
        return all(parts) if isinstance(relation, boolalg.And) else any(parts)
    if isinstance(relation, boolalg.Not):
        return not _truth(relation.args[0], point)
    left, right = (_value(side, point) for side in relation.args)
    return COMPARISONS[type(relation)](left, right)


def _less(left: Enclosure, right: Enclosure) -> bool:
    if left.high < right.low:
        return True
    if left.low >= right.high:
        return False
    raise UndefinedError


def _equal(left: Enclosure, right: Enclosure) -> bool:
    if left.high < right.low or right.high < left.low:
        return False
    if left.low == left.high == right.low == right.high:
        return True
    raise UndefinedError


COMPARISONS: dict[type, Callable[[Enclosure, Enclosure], bool]] = {
    relational.StrictLessThan: _less,
    relational.StrictGreaterThan: lambda a, b: _less(b, a),
    relational.LessThan: lambda a, b: not _less(b, a),
    relational.GreaterThan: lambda a, b: not _less(a, b),
    relational.Equality: _equal,
    relational.Unequality: lambda a, b: not _equal(a, b),
}


def value(expression: Any, point: Point) -> Enclosure:
    """Enclose the value of an expression at a rational point.

    Raises
    ------
    UndefinedError
        If it has no real value there.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> value(1 / (1 + x), {"x": Fraction(1)}).low
    Fraction(1, 2)
    """
    return _value(expression, point)


def _value(e: Any, point: Point) -> Enclosure:
    if e.is_Rational:
        return _exactly(Fraction(int(e.p), int(e.q)))
    if e.is_Symbol:
        return _exactly(point[e.name])
    if e.is_Pow:
        exponent = _exponent(e.exp, point)
        return power(_value(e.base, point), exponent.numerator, exponent.denominator)
    if e.is_Mul:
        return _product(e.args, point)
    chosen = isinstance(e, sympy.Max | sympy.Min | sympy.Abs)
    if isinstance(e, sympy.Function) and not chosen:
        return _called(e, point)
    if not (e.is_Add or chosen):
        raise UndefinedError
    parts = [_value(arg, point) for arg in e.args]
    return _chosen(e, parts) if chosen else reduce(Enclosure.__add__, parts)


def _called(e: Any, point: Point) -> Enclosure:
    """Value of a function of the user's own that is rational at rational points.

    Those of sympy are left open: some have values by convention alone.
    """
    home = e.func.__module__ or "sympy"  # a bare name has none
    if home.split(".")[0] == "sympy":
        raise UndefinedError
    known = [_value(arg, point) for arg in e.args]
    if any(part.low != part.high for part in known):
        raise UndefinedError
    at = [sympy.Rational(part.low.numerator, part.low.denominator) for part in known]
    found = e.func(*at)
    if not found.is_Rational:
        raise UndefinedError
    return _exactly(Fraction(int(found.p), int(found.q)))


def _exponent(e: Any, point: Point) -> Fraction:
    found = _value(e, point)
    ends = abs(found.low.numerator), found.low.denominator
    if found.low != found.high or max(ends) > MOST_TIMES:
        raise UndefinedError
    return found.low


def _product(args: Sequence[Any], point: Point) -> Enclosure:
    """Multiply; roots of rationals are joined first, for sqrt(2) sqrt(2) is 2."""
    rest, inside, degree = _exactly(Fraction(1)), Fraction(1), 1
    for arg in args:
        base = _value(arg.base, point) if arg.is_Pow and arg.exp.is_Rational else None
        above, below = (int(arg.exp.p), int(arg.exp.q)) if base else (0, 1)
        joined = lcm(degree, below)
        long = abs(above) > MOST_TIMES or joined > MOST_JOINED
        if base is None or long or base.low != base.high or base.low <= 0:
            rest = rest * _value(arg, point)
            continue
        inside = inside ** (joined // degree) * base.low ** (above * joined // below)
        degree = joined
    return rest * _root(inside, degree)


def _chosen(e: Any, parts: list[Enclosure]) -> Enclosure:
    """Value of Max, Min or the absolute value, |a| = max(a, -a)."""
    if isinstance(e, sympy.Abs):
        parts.append(parts[0] * _exactly(Fraction(-1)))
    pick = min if isinstance(e, sympy.Min) else max
    return Enclosure(pick(p.low for p in parts), pick(p.high for p in parts))


def power(base: Enclosure, above: int, below: int) -> Enclosure:
    """Enclose base^(above/below).

    Raises
    ------
    UndefinedError
        If it has no real value, or too many digits.

    Examples
    --------
    >>> four = Fraction(4)
    >>> power(Enclosure(four, four), -1, 2).low
    Fraction(1, 2)
    """
    rooted = base if below == 1 else base.root(below)
    if above < 0:
        rooted = rooted.reciprocal()
    ends = (rooted.low.numerator, rooted.high.numerator, rooted.low.denominator)
    if max(end.bit_length() for end in ends) * abs(above) > MOST_BITS:
        raise UndefinedError
    if rooted.low >= 0:  # both ends at once: a product of each two is slow
        return Enclosure(rooted.low ** abs(above), rooted.high ** abs(above))
    out = reduce(Enclosure.__mul__, [rooted] * abs(above), _exactly(Fraction(1)))
    if above % 2 == 0:
        return Enclosure(max(out.low, Fraction(0)), out.high)
    return out


def _exactly(number: Fraction) -> Enclosure:
    return Enclosure(number, number)


def _root(number: Fraction, degree: int) -> Enclosure:
    """Enclose a root of a nonnegative rational; exact where it is rational."""
    top, bottom = (
        floor_root(n, degree) for n in (number.numerator, number.denominator)
    )
    if (top**degree, bottom**degree) == (number.numerator, number.denominator):
        return _exactly(Fraction(top, bottom))
    unit = 1 << ROOT_BITS
    below = floor_root(int(number * unit**degree), degree)
    return Enclosure(Fraction(below, unit), Fraction(below + 1, unit))


def floor_root(number: int, degree: int) -> int:
    """Largest integer whose power of that degree is at most the number.

    Examples
    --------
    >>> floor_root(27, 3), floor_root(26, 3)
    (3, 2)
    """
    bits = number.bit_length() // degree
    if bits <= SHORT:
        return _bisected(number, degree)
    half = bits // 2
    # Newton's method from above, starting with half of the digits
    root = (floor_root(number >> half * degree, degree) + 1) << half
    while True:
        near = ((degree - 1) * root + number // root ** (degree - 1)) // degree
        if near >= root:
            return root
        root = near


def _bisected(number: int, degree: int) -> int:
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= number else (low, middle)
    return low
