"""Sampling weights: numbers whose ratios, not sizes, matter."""

from __future__ import annotations

import math
import sys

import numpy as np

from flverify._core.checks import numbers
from flverify._core.errors import DomainError, RefusedError
from flverify._core.exact import Array, Scalar, is_symbolic

TINIEST = sys.float_info.min  # smaller floats lose digits


def sampling_weights(values: object, *, zero: bool) -> tuple[Scalar, ...]:
    """Return a tuple of weights of one kind, positive or (`zero`) not negative.

    Raises
    ------
    ShapeError
        If the value is not a nonempty list of numbers.
    DomainError
        If a weight is a symbol, negative, or 0 where it must be positive.
    """
    listed = numbers(values, "weights")
    wrong = [w for w in listed if is_symbolic(w) or w < 0 or (w == 0 and not zero)]
    if wrong or not any(listed):
        must = "at least 0 and not all 0" if zero else "positive"
        given = wrong[0] if wrong else "only zeros"
        raise DomainError(
            f"weights must be numbers, {must}; got {given}; leave out clients that "
            f"are never drawn or give numbers."
        )
    return tuple(listed)


def integers(weights: tuple[Scalar, ...]) -> list[int]:
    """Return the same ratios in the smallest integers, for rational weights.

    Examples
    --------
    >>> from fractions import Fraction
    >>> integers((Fraction(1, 2), Fraction(1, 3)))
    [3, 2]
    """
    scale = math.lcm(*(w.denominator for w in weights))
    scaled = [int(w * scale) for w in weights]
    common = math.gcd(*scaled)
    return [w // common for w in scaled]


def scaled_floats(weights: tuple[Scalar, ...]) -> Array:
    """Return the same ratios as floats, the largest one about 1.

    Floats are scaled by a power of 2, hence without rounding.

    Raises
    ------
    RefusedError
        If a ratio is too extreme for floats.
    """
    largest = max(weights)
    unit = (
        math.ldexp(1.0, math.frexp(largest)[1])
        if isinstance(largest, float)
        else largest
    )
    out = np.array([float(w / unit) for w in weights], dtype=np.float64)
    if any(w > 0 and scaled < TINIEST for w, scaled in zip(weights, out, strict=True)):
        raise RefusedError(
            f"in floats the largest weight must be below 1e307 times the smallest; "
            f"got {largest} and {min(w for w in weights if w > 0)}; leave out clients "
            f"that are practically never drawn."
        )
    return out


def logarithms(weights: tuple[Scalar, ...]) -> Array:
    """Natural logarithms of positive weights, however large or small."""
    logs = [
        math.log(w)
        if isinstance(w, float)
        else math.log(w.numerator) - math.log(w.denominator)
        for w in weights
    ]
    return np.array(logs, dtype=np.float64)
