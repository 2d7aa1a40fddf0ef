"""Numbers for readers: short rationals as they are, everything else as decimals."""

from __future__ import annotations

import math
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import groupby

import numpy as np

from flverify._core.exact import Scalar, text

MOST = 12  # numbers, or runs of equal ones, of a law that are shown
LONGEST = 17  # characters of a rational that is shown as it is
DIGITS = 10


def shown(value: Scalar) -> str:
    """Text of a number for a table; `~` marks a rational too long to be shown whole.

    Examples
    --------
    >>> shown(Fraction(3, 8)), shown(0.25), shown(math.inf)
    ('3/8', '0.25', 'infinite')
    >>> shown(Fraction(10**30 + 1, 3 * 10**30))
    '~0.3333333333'
    """
    if isinstance(value, Fraction):
        exact = text(value)
        return exact if len(exact) <= LONGEST else f"~{decimal(value):.{DIGITS}g}"
    if isinstance(value, float):
        if math.isfinite(value):
            return f"{value:.{DIGITS}g}"
        return "not a number" if math.isnan(value) else "infinite"
    return text(value)


def decimal(value: Fraction, digits: int = 28, rounding: str | None = None) -> Decimal:
    """Return a rational as a decimal, whatever its size."""
    context = Context(prec=digits, rounding=rounding, Emin=-(10**9), Emax=10**9)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def bound(value: Fraction, digits: int, *, up: bool) -> str:
    """Text of a bound in few digits, rounded to where it still holds.

    Parameters
    ----------
    value : Fraction
    digits : int
        How many significant ones, at most 15.
    up : bool
        Whether it is an upper bound, such as a rate; a cap is a lower one.

    Examples
    --------
    >>> bound(Fraction("0.918114"), 5, up=True), bound(Fraction(2, 3), 5, up=False)
    ('0.91812', '0.66666')
    """
    rounded = decimal(value, digits, ROUND_CEILING if up else ROUND_FLOOR)
    plain = rounded == 0 or sys.float_info.min <= abs(rounded) <= sys.float_info.max
    return f"{float(rounded) if plain else rounded.normalize():.{digits}g}"


def enclosure(lower: Scalar, upper: Scalar) -> str:
    """Text of an interval, its ends rounded outwards; `exact` if it is one point.

    Examples
    --------
    >>> enclosure(Fraction(1, 3), Fraction(2, 3))
    '[0.333333333333, 0.666666666667]'
    """
    if lower == upper and isinstance(lower, Fraction):
        return "exact"
    # a rational is finite, however large, and may be beyond all floats
    if not all(
        isinstance(end, Fraction) or math.isfinite(end) for end in (lower, upper)
    ):
        return f"[{shown(lower)}, {shown(upper)}]"
    low = decimal(Fraction(lower), 12, ROUND_FLOOR)
    high = decimal(Fraction(upper), 12, ROUND_CEILING)
    return f"[{low}, {high}]"


def listed(values: object, most: int | None = None) -> str:
    """Text of a vector; what is left out is said.

    Examples
    --------
    >>> listed([Fraction(1, 2), Fraction(0), Fraction(1)], most=2)
    '1/2, 0 and 1 more'
    """
    entries = [shown(value) for value in np.asarray(values, dtype=object).tolist()]
    if most is None or len(entries) <= most:
        return ", ".join(entries)
    return f"{', '.join(entries[:most])} and {len(entries) - most} more"


def law_text(spec: str) -> str:
    """Text of a law for readers: of many numbers some, equal ones in a row together.

    Examples
    --------
    >>> law_text("bernoulli:" + ",".join(["1/2"] * 90 + ["1/3"] * 10))
    'bernoulli: 90 times 1/2, 10 times 1/3'
    >>> law_text("bernoulli:" + ",".join(f"{k}/99" for k in range(99)))
    'bernoulli: 0/99, 1/99, 2/99, 3/99, 4/99, 5/99, ..., 98/99 (99 numbers)'
    """
    name, _, rest = spec.rpartition(":")
    numbers = [one.strip() for one in rest.split(",")]
    if len(numbers) <= MOST or not all(
        one[:1] in set(".0123456789") for one in numbers
    ):
        return spec
    runs = [(one, len(list(same))) for one, same in groupby(numbers)]
    if len(runs) <= MOST:
        parts = [f"{count} times {one}" if count > 1 else one for one, count in runs]
        return f"{name}: {', '.join(parts)}"
    first = ", ".join(numbers[: MOST // 2])
    return f"{name}: {first}, ..., {numbers[-1]} ({len(numbers)} numbers)"
