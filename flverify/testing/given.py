"""Numbers that an assertion is given: checked on entry, of any size afterwards.

Rationals may lie beyond every float. What decides compares them as they are; what is
only shown, sampled or compared with floats takes them from here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from flverify._core.algebra import is_nought
from flverify._core.errors import DomainError, InputError
from flverify._core.exact import Array, Scalar, array, is_symbolic, scalar
from flverify.testing.written import number

BITS = 13_000  # of a numerator or denominator in a setting: Python writes no more out


def real(value: object, name: str) -> Scalar:
    """Return a number: a rational, a float or an irrational one of sympy.

    Raises
    ------
    DomainError
        If the value is no number, or holds symbols.

    Examples
    --------
    >>> real("3/8", "bound"), real(0.5, "bound")
    (Fraction(3, 8), 0.5)
    """
    found = scalar(value, name)
    _require_no_symbol(found, name)
    # a root that cancels is a rational, whose sign can be told
    plain = found.simplify() if is_symbolic(found) else found
    told = plain.is_Rational and is_nought(found - plain) if plain != found else False
    return scalar(plain, name) if told else found


def above_zero(value: object, name: str) -> Scalar:
    """Return a number above 0.

    Raises
    ------
    DomainError
        If the value is none.
    """
    found = real(value, name)
    if not found > 0:
        raise DomainError(
            f"{name} must be above 0; got {number(found)}; give a number above 0."
        )
    return found


def least_zero(value: object, name: str) -> Scalar:
    """Return a number of at least 0.

    Raises
    ------
    DomainError
        If the value is none.
    """
    found = real(value, name)
    if not found >= 0:
        raise DomainError(
            f"{name} must be at least 0; got {number(found)}; give a length."
        )
    return found


def vector(values: object, name: str) -> Array:
    """Return an array of numbers without symbols.

    Raises
    ------
    DomainError
        If an entry is no number.
    """
    try:
        found = array(values, name)
    except OverflowError:  # one entry is a float, hence all become floats
        raise DomainError(
            f"{name} must hold numbers within the range of floats where one is a "
            "float; got a larger one; pass rationals."
        ) from None
    for entry in found.flat:
        _require_no_symbol(entry, name)
    return found


def _require_no_symbol(found: Scalar, name: str) -> None:
    if is_symbolic(found) and found.free_symbols:
        raise DomainError(
            f"{name} must be a number; got {found}, which holds symbols; substitute "
            "numbers."
        )


def require_numbers(part: object, name: str, *, irrational: bool = False) -> None:
    """Refuse a part of a setting that holds symbols or numbers of other kinds.

    Parameters
    ----------
    irrational : bool
        Whether irrational numbers may stay; moments take none.

    Raises
    ------
    InputError
        If it holds symbols, irrational numbers, or rationals too long to be written.
    """
    for value in _leaves(part):
        if isinstance(value, Fraction):
            _require_short(value, name)
        elif value.free_symbols or not irrational:
            why = "symbols" if value.free_symbols else "an irrational number"
            raise InputError(
                f"{name} must hold rationals or floats; got {why}: {value}; pass "
                "numbers in place of it."
            )


def _require_short(value: Fraction, name: str) -> None:
    longest = max(value.numerator.bit_length(), value.denominator.bit_length())
    if longest > BITS:
        raise InputError(
            f"{name} must hold numerators and denominators of at most {BITS} bits; got "
            f"one of {longest}; round it."
        )


def _leaves(part: Any) -> Iterator[Any]:
    """Yield the rationals and expressions of sympy among the settings of a part."""
    if isinstance(part, Fraction) or is_symbolic(part):
        yield part
    elif is_dataclass(part) and not isinstance(part, type):
        for one in fields(part):
            yield from _leaves(getattr(part, one.name, None))
    elif isinstance(part, np.ndarray):
        yield from _leaves(part.ravel().tolist() if part.dtype == object else None)
    elif isinstance(part, Mapping):
        yield from _leaves(list(part.values()))
    elif isinstance(part, tuple | list):
        for entry in part:
            yield from _leaves(entry)


def as_float(value: Scalar) -> float:
    """Return the nearest float; infinite beyond the largest one.

    Examples
    --------
    >>> as_float(Fraction(1, 4)), as_float(10**400)
    (0.25, inf)
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def logarithm(value: Scalar) -> float:
    """Return the logarithm of a number above 0, of rationals of any size.

    Examples
    --------
    >>> logarithm(1 - Fraction(1, 10**30)), round(logarithm(Fraction(10) ** 400))
    (-1e-30, 921)
    """
    if not isinstance(value, Fraction):
        plain = as_float(value)
        return math.log(plain) if plain > 0 else -math.inf
    if Fraction(1, 2) < value < 2:  # the logarithms of both parts would cancel
        return math.log1p(float(value - 1))
    return math.log(value.numerator) - math.log(value.denominator)
