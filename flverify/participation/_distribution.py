"""Finite distributions: their check, and drawing from them by one uniform."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from flverify._core.checks import is_listed, numbers, probability
from flverify._core.errors import DomainError
from flverify._core.exact import Array, Scalar, is_symbolic
from flverify._core.shown import shown
from flverify.participation._law import all_exact, floats

TOLERANCE = 1e-12  # how far floats may be from summing to 1


def probabilities(values: object, name: str) -> tuple[Scalar, ...]:
    """Return a nonempty tuple of probabilities of one kind.

    Raises
    ------
    ShapeError
        If the value is not a nonempty list of numbers.
    DomainError
        If an entry is not a number in [0, 1].
    """
    listed = numbers(_plain_list(values, name), name)
    if all(type(v) is float and 0.0 <= v <= 1.0 for v in listed):
        return tuple(listed)
    return tuple(chance(v, f"{name}[{i}]") for i, v in enumerate(listed))


def chance(value: object, name: str) -> Scalar:
    """Return one probability; a symbolic number counts as the number it is.

    Raises
    ------
    DomainError
        If the value is not a number in [0, 1] or an expression in symbols.
    """
    number: Any = _plain(value)
    constant = is_symbolic(number) and not number.free_symbols
    if constant and not (number.is_real and 0 <= number <= 1):
        raise DomainError(
            f"{name} must lie in [0, 1]; got {number}; give a probability."
        )
    return probability(number, name)


def _plain(value: Any) -> Any:
    """Return a symbolic number as a Fraction or float, all else as it is."""
    if not is_symbolic(value):
        return value
    if value.is_Rational:
        return Fraction(int(value.p), int(value.q))
    return float(value) if value.is_Float else value


def _plain_list(values: Any, name: str) -> Any:
    if not is_listed(values):
        return values
    listed = [_plain(value) for value in values]
    if any(is_symbolic(v) for v in listed) and not all_exact(listed):
        raise DomainError(
            f"{name} must not mix symbols and floats; got {listed}; write the floats "
            f"as fractions or as decimal text."
        )
    return listed


def distribution(values: object, name: str) -> tuple[Scalar, ...]:
    """Return probabilities that sum to 1: exactly, or within 1e-12 for floats.

    Raises
    ------
    ShapeError
        If the value is not a nonempty list of numbers.
    DomainError
        If an entry is not a number in [0, 1] or they do not sum to 1.
    """
    listed = probabilities(values, name)
    total = sum(listed) if all_exact(listed) else math.fsum(listed)
    if not _is_one(total):
        raise DomainError(
            f"{name} must sum to 1; got the sum {shown(total)}; give every outcome its "
            f"probability."
        )
    return listed


def numeric_distribution(values: object, name: str) -> tuple[Scalar, ...]:
    """Return a distribution without symbols.

    Raises
    ------
    ShapeError
        If the value is not a nonempty list of numbers.
    DomainError
        If an entry is a symbol or not in [0, 1], or they do not sum to 1.
    """
    listed = distribution(values, name)
    if any(is_symbolic(chance) for chance in listed):
        raise DomainError(
            f"{name} must be numbers; got {listed}; substitute numbers for the symbols."
        )
    return listed


def _is_one(total: Scalar) -> bool:
    if is_symbolic(total):
        return bool((total - 1).cancel() == 0)  # equal as quotients of polynomials
    if isinstance(total, float):
        return abs(total - 1.0) <= TOLERANCE
    return bool(total == 1)


def thresholds(chances: Iterable[Scalar]) -> Array:
    """Upper ends of the intervals of [0, 1) that stand for the outcomes.

    Everything from the last possible outcome on ends at 1, so that rounding never
    hands a uniform to an outcome of probability 0.
    """
    listed = list(chances)
    ends = floats(accumulate(listed))
    last = max(k for k, chance in enumerate(listed) if chance != 0)
    ends[last:] = 1.0
    return ends


def pick(ends: Array, uniforms: Array) -> Array:
    """Which outcome each uniform stands for, shape of the uniforms."""
    return np.searchsorted(ends, uniforms, side="right")
