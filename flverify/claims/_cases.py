"""The judge's part for instances: sides as intervals, comparisons, second looks."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from flverify._core.errors import InputError
from flverify._core.exact import Scalar, is_exact, scalar
from flverify._core.exact import text as exact_text
from flverify._core.shown import shown

FLOAT_MARGIN = 1e-9  # relative: closer than this, a float comparison says nothing
LEAST = Fraction(1, 2**1022)  # floats below have lost digits, and may be 0
WIDEST = 10**300  # a margin; wide enclosures of tiny numbers have larger ones
FLOAT_AGREEMENT = 1e-6  # relative: how near a second computation is to a float side

Interval: TypeAlias = tuple[Scalar, Scalar]
Sides: TypeAlias = tuple[Interval, Interval]

_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}


@dataclass(frozen=True)
class Case:
    """One instance of a universal claim: left relation right.

    Parameters
    ----------
    where : mapping
        The instance, as exact text or numbers; cases with the same one count once.
    left, right : rational, float, or (lower, upper) enclosure
        The two sides.
    recheck : callable or None
        A second, independent computation of (left, right) in rationals; needed to
        refute.
    another_quantity : bool
        Whether the recheck compares other numbers that decide the same question;
        otherwise it has to arrive at the same two sides.

    Examples
    --------
    >>> Case({"n": 2}, Fraction(1, 2), 1, lambda: (1 / Fraction(2), 1)).sides()
    ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 1), Fraction(1, 1)))
    """

    where: Mapping[str, Any]
    left: Any
    right: Any
    recheck: Callable[[], tuple[Any, Any]] | None = field(default=None, compare=False)
    another_quantity: bool = False

    def sides(self) -> Sides:
        """Both sides as intervals of rationals or floats."""
        return interval(self.left), interval(self.right)


def interval(side: Any) -> Interval:
    """Normalise a side; a number is an interval of one point.

    Raises
    ------
    InputError
        If an end is neither rational nor float, or the ends are in the wrong order.
    """
    if isinstance(side, tuple) and len(side) != 2:
        raise InputError(
            f"an enclosure must have two ends; got {shown(side)}; give (low, high)."
        )
    if not isinstance(side, tuple):
        value = number(side)
        return value, value
    low, high = map(number, side)
    if low > high:
        raise InputError(
            f"an enclosure must have its lower end first; got {low} and {high}; "
            "exchange them."
        )
    return low, high


def number(value: Any) -> Scalar:
    """Normalise a number of numpy or sympy: a Fraction if exact, else a float.

    Raises
    ------
    InputError
        If it is text, a boolean, infinite, or irrational.
    """
    if isinstance(value, Fraction):
        return value
    found = value if isinstance(value, str) else scalar(value, "a side of a case")
    if not isinstance(found, Fraction | float):
        raise InputError(
            f"a side of a case must be a rational or a float; got {shown(value)}; give "
            "an enclosure by rationals instead."
        )
    return found


def exact(sides: Sides) -> bool:
    """Whether all ends are rational."""
    return all(is_exact(end) for side in sides for end in side)


def holds(sides: Sides, relation: str) -> bool | None:
    """Decide a relation; None when floats or enclosures are too close to say."""
    if not isinstance(relation, str) or relation not in _RELATIONS:
        raise InputError(
            f"a relation must be one of {', '.join(_RELATIONS)}; got "
            f"{shown(relation)}; choose one."
        )
    left, right = sides
    floats = not exact(sides)
    if relation == "==":
        return None if floats else _equal(left, right)
    compare = _RELATIONS[relation]
    ends = {bool(compare(a, b)) for a in left for b in right}
    if len(ends) > 1 or (floats and _too_close(sides)):
        return None
    return ends.pop()


def _too_close(sides: Sides) -> bool:
    """Whether floats say nothing here: by their digits, or as they are all but zero."""
    (low, high), (below, above) = (map(Fraction, side) for side in sides)
    gap = min(abs(high - below), abs(above - low))
    return gap < LEAST or margin(sides) < FLOAT_MARGIN


def _equal(left: Interval, right: Interval) -> bool | None:
    """Decide for points and for sides apart; overlapping enclosures say nothing."""
    if not _overlap(left, right):
        return False
    return True if left[0] == left[1] == right[0] == right[1] else None


def _overlap(one: Interval, other: Interval) -> bool:
    return bool(one[0] <= other[1] and other[0] <= one[1])


def margin(sides: Sides) -> float:
    """Distance between the two sides relative to the larger."""
    (low, high), (below, above) = sides
    try:
        return _relative(low, high, below, above)
    except ArithmeticError:  # a rational above or below all floats, beside a float
        return _relative(*map(Fraction, (low, high, below, above)))


def _relative(low: Scalar, high: Scalar, below: Scalar, above: Scalar) -> float:
    gap, size = min(abs(high - below), abs(above - low)), max(abs(high), abs(above))
    return float(min(gap / size, WIDEST)) if size else 0.0


@dataclass(frozen=True)
class Second:
    """The sides a recheck arrived at, or why it confirms nothing."""

    left: Any = None
    right: Any = None
    fault: str = ""


def second_look(case: Case, relation: str, *, wanted: bool) -> Second:
    """Run the recheck: rational, of the wanted outcome, and of the same two sides."""
    if case.recheck is None:
        return Second(fault="was not confirmed in rationals: there is no recheck")
    left, right = _both(case.recheck)
    sides = interval(left), interval(right)
    if not exact(sides):
        return Second(fault="was not confirmed in rationals: the recheck has floats")
    if holds(sides, relation) is not wanted:
        return Second(fault="was not confirmed in rationals: the recheck denies it")
    if not case.another_quantity and not _agree(case.sides(), sides):
        return Second(fault="was not confirmed in rationals: the recheck disagrees")
    return Second(left, right)


def _both(recheck: object) -> tuple[Any, Any]:
    """Run a recheck, which is a function that returns two sides."""
    if not callable(recheck):
        raise InputError(
            f"a recheck must be a function; got {shown(recheck)}; write it like "
            "lambda: (left, right)."
        )
    found = recheck()
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise InputError(
            f"a recheck must return two sides; got {shown(found)}; return "
            "(left, right)."
        )
    return found[0], found[1]


def _agree(first: Sides, second: Sides) -> bool:
    """Whether both computations may be of the same numbers."""
    return all(
        _overlap(_widened(one), other) for one, other in zip(first, second, strict=True)
    )


def _widened(side: Interval) -> Interval:
    low, high = side
    if is_exact(low) and is_exact(high):
        return side
    slack = FLOAT_AGREEMENT * max(abs(low), abs(high))
    return low - slack, high + slack


def where(case: Case) -> str:
    """One line that names the instance."""
    named = ", ".join(f"{k} = {short(v)}" for k, v in case.where.items())
    return named or "the instance without a name"


def text(value: Any) -> Any:
    """Exact, JSON-able text of a value."""
    if isinstance(value, Mapping):
        return {str(k): text(v) for k, v in value.items()}
    if isinstance(value, tuple | list | np.ndarray):
        return [text(v) for v in value]
    if isinstance(value, bool | int | str) or value is None:
        return value
    return exact_text(value) if isinstance(value, Fraction) else str(value)


def same(value: Any) -> object:
    """Return what two wheres share if they are of one instance, however written.

    Examples
    --------
    >>> same({"N": 2, "step": Fraction(1, 2)}) == same({"step": 0.5, "N": "2"})
    True
    """
    if isinstance(value, Mapping):
        return frozenset((str(k), same(v)) for k, v in value.items())
    if isinstance(value, tuple | list | np.ndarray):
        return tuple(same(v) for v in value)
    if isinstance(value, bool | np.bool_):
        return bool(value), "no number"
    if isinstance(value, float | np.floating) and np.isfinite(value):
        return exact_text(Fraction(float(value)))
    return str(text(value))


def plain(value: Any) -> str:
    """Text of a value for a sentence: numbers in lists have no quotes.

    Examples
    --------
    >>> plain({"h": [Fraction(1, 2), "1/3"], "law": "full"})
    '{h: [1/2, 1/3], law: full}'
    """
    exact = text(value)
    if isinstance(exact, dict):
        return f"{{{', '.join(f'{k}: {plain(v)}' for k, v in exact.items())}}}"
    if isinstance(exact, list):
        return f"[{', '.join(map(plain, exact))}]"
    return str(exact)


def compared(left: Any, relation: str, right: Any) -> str:
    """Write a comparison so that it shows which side is larger.

    Where six digits hide that, the left side is written as the right one and the rest.

    Examples
    --------
    >>> third, rest = Fraction(1, 3), Fraction(1, 10**30)
    >>> compared(third, "<=", third + 1), compared(third + rest, "<=", third)
    ('1/3 <= 4/3', '1/3 + 1e-30 <= 1/3')
    """
    one, other = short(left), short(right)
    if _hidden(left, right):
        rest = Fraction(left) - Fraction(right)
        one = f"{other} {'+' if rest > 0 else '-'} {short(abs(rest))}"
    return f"{one} {relation} {other}"


def _hidden(left: Any, right: Any) -> bool:
    """Whether two rationals are so near that rounding changes how they differ."""
    if not all(isinstance(side, Fraction | int) for side in (left, right)):
        return False
    rounded = [
        Fraction(short(x)) if _is_long(x) else Fraction(x) for x in (left, right)
    ]
    rest, seen = Fraction(left) - Fraction(right), rounded[0] - rounded[1]
    return 2 * abs(seen - rest) > abs(rest)


def short(value: Any) -> str:
    """Text of a value, long rationals as decimals."""
    return _rounded(value) if _is_long(value) else plain(value)


def _is_long(value: Any) -> bool:
    return isinstance(value, Fraction) and len(plain(value)) > 24


def _rounded(value: Fraction) -> str:
    """Write six digits, also of what is above or below all floats."""
    try:
        near = float(value)
    except OverflowError:
        near = 0.0
    if near == 0 and value != 0:
        return f"{Decimal(value.numerator) / Decimal(value.denominator):.6g}"
    return f"{near:.6g}"
