"""Domain checks used at construction; every message says what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from numbers import Integral
from typing import Any, TypeGuard

import numpy as np

from flverify._core.errors import DomainError, InputError, ShapeError
from flverify._core.exact import Scalar, common_kind, is_symbolic, scalar, text
from flverify._core.shown import fewer_digits, shown


def instance(value: object, name: str, kind: type, like: str) -> Any:
    """Return a value, if it is an instance of a class.

    Parameters
    ----------
    like : str
        How one is come by, to imitate.

    Raises
    ------
    InputError
        If it is anything else, the class itself included.

    Examples
    --------
    >>> instance(3, "claim", dict, "{}")
    Traceback (most recent call last):
    flverify._core.errors.InputError: claim must be of the kind dict; got 3; pass ...
    """
    if not isinstance(value, kind):
        raise InputError(
            f"{name} must be of the kind {kind.__name__}; got {shown(value)}; pass one "
            f"such as {like}."
        )
    return value


def positive(value: object, name: str) -> Scalar:
    """Return a number above zero.

    Raises
    ------
    DomainError
        If the value is not a number above zero.

    Examples
    --------
    >>> positive("1/8", "step_size")
    Fraction(1, 8)
    """
    number = scalar(value, name)
    if not _is_open(number) and not number > 0:
        raise DomainError(
            f"{name} must be positive; got {_given(number)}; choose a value above 0."
        )
    return number


def probability(value: object, name: str) -> Scalar:
    """Return a number in [0, 1].

    Raises
    ------
    DomainError
        If the value is not a number in [0, 1].
    """
    number = scalar(value, name)
    if not _is_open(number) and not 0 <= number <= 1:
        raise DomainError(
            f"{name} must lie in [0, 1]; got {_given(number)}; give a probability."
        )
    return number


def whole(value: object, name: str, least: int = 1, most: int | None = None) -> int:
    """Return an integer in [least, most].

    Raises
    ------
    DomainError
        If the value is not an integer of that range.
    """
    limit = f"at least {least}" if most is None else f"between {least} and {most}"
    wanted = str(least) if least == most else f"an integer {limit}"
    number = None
    if isinstance(value, Integral) and not isinstance(value, bool | np.bool_):
        number = int(value)
    if number is None or number < least or (most is not None and number > most):
        a_fraction = "the fraction " if isinstance(value, Fraction) else ""  # 2/1 too
        raise DomainError(
            f"{name} must be {wanted}; got {a_fraction}{shown(value)}; pass one."
        )
    return number


def choice(value: object, name: str, allowed: Sequence[str]) -> str:
    """Return one of the allowed words.

    Raises
    ------
    DomainError
        If the value is not one of them.
    """
    if not isinstance(value, str) or value not in allowed:
        raise DomainError(
            f"{name} must be one of {', '.join(allowed)}; got {shown(value)}; pick one."
        )
    return str(value)


def closed(number: Scalar, name: str) -> Scalar:
    """Return a number in which no symbols are left.

    Raises
    ------
    DomainError
        If it is an expression in symbols.
    """
    if _is_open(number):
        raise DomainError(
            f"{name} must be numbers; got the symbols of {number}; insert values."
        )
    return number


def flag(value: object, name: str) -> bool:
    """Return True or False.

    Raises
    ------
    DomainError
        If the value is anything else, which a condition would take for one of them.

    Examples
    --------
    >>> flag("no", "keep_models")
    Traceback (most recent call last):
    flverify._core.errors.DomainError: keep_models must be True or False; got 'no'; ...
    """
    if not isinstance(value, bool | np.bool_):
        raise DomainError(
            f"{name} must be True or False; got {shown(value)}; pass one of them."
        )
    return bool(value)


def is_listed(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether a value has entries: no text, and no array without axes.

    Examples
    --------
    >>> is_listed((0, 1)), is_listed("01"), is_listed(np.array(3))
    (True, False, False)
    """
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _is_open(number: Scalar) -> bool:
    """Whether symbols leave open which number it is."""
    return is_symbolic(number) and bool(number.free_symbols)


def _given(number: Scalar) -> str:
    return fewer_digits(text(number))


def _entries(values: object) -> list[Any]:
    return [] if isinstance(values, Mapping) or not is_listed(values) else [*values]


def numbers(values: object, name: str) -> list[Scalar]:
    """Return a nonempty list of numbers of one kind.

    Raises
    ------
    ShapeError
        If the value is not a nonempty one-dimensional sequence.
    DomainError
        If an entry is not a number.
    """
    listed = _entries(values)
    if not listed or any(np.ndim(v) != 0 for v in listed):
        raise ShapeError(
            f"{name} must be a nonempty list of numbers; got {shown(values)}; "
            "pass a list."
        )
    return common_kind(scalar(v, f"{name}[{i}]") for i, v in enumerate(listed))
