"""Numbers: which are exact, how text is read exactly, and arrays of either kind.

Three kinds of scalar run through the package: rationals (`fractions.Fraction`),
floats, and sympy expressions. Rational in, rational out: arrays of rationals are
numpy arrays of dtype object, arrays of floats have dtype float64.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, TypeAlias

import numpy as np

from flverify._core.errors import BeyondFloatsError, DomainError
from flverify._core.shown import plainly, shown

Scalar: TypeAlias = Any  # Fraction, float or sympy.Expr: arithmetic decides
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_NUMBER = re.compile(
    r"[+-]?(\d+/\d+|(\d+\.?\d*|\.\d+)([eE][+-]?(?P<exponent>\d+))?)", re.ASCII
)
_LONGEST_EXPONENT = 3  # digits: a longer one would be a number that fills the memory


def parse_number(text: str, name: str = "a number") -> Fraction:
    """Read a fraction or decimal text, with or without exponent, exactly.

    Raises
    ------
    DomainError
        If the text is not such a number, its exponent has more than 3 digits, or it has
        more digits than Python reads.

    Examples
    --------
    >>> parse_number("0.2"), parse_number("3/8"), parse_number("2e-4")
    (Fraction(1, 5), Fraction(3, 8), Fraction(1, 5000))
    """
    stripped = text.strip()
    read = _NUMBER.fullmatch(stripped)
    if not read or re.search(r"/0+$", stripped):
        raise DomainError(
            f"{name} must be a fraction such as 3/8 or decimal text such as "
            f"2e-4; got {shown(text)}; write it in one of these forms."
        )
    if len((read["exponent"] or "").lstrip("0")) > _LONGEST_EXPONENT:
        raise DomainError(
            f"the exponent of {name} must have at most {_LONGEST_EXPONENT} digits; "
            f"got {shown(text)}; choose a number nearer to 1."
        )
    try:
        return Fraction(stripped)
    except ValueError:  # Python reads no text that long
        raise DomainError(
            f"{name} must be text of at most {sys.get_int_max_str_digits()} digits; "
            f"got {shown(text)}; pass a Fraction."
        ) from None


def is_symbolic(value: object) -> bool:
    """Whether the value is a sympy expression (sympy is not imported to ask)."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.Expr)


def scalar(value: object, name: str) -> Scalar:
    """Normalise a number: exact where it can be, float otherwise.

    Integers, rationals and decimal text become `Fraction`; floats stay floats;
    sympy expressions pass through.

    Raises
    ------
    DomainError
        If the value is a boolean, not a number, NaN or infinite.

    Examples
    --------
    >>> scalar("0.2", "step_size"), scalar(0.25, "step_size")
    (Fraction(1, 5), 0.25)
    """
    if is_symbolic(value):
        return _settled(value, name)
    if isinstance(value, str):
        return parse_number(value, name)
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise DomainError(
            f"{name} must be a number; got {shown(value)}; pass a number."
        )
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    number = float(value)
    if not math.isfinite(number):
        raise DomainError(f"{name} must be finite; got {value!r}; pass a number.")
    return number


def within_floats(value: Scalar, name: str = "every number") -> float:
    """Return the nearest float of a number.

    Raises
    ------
    BeyondFloatsError
        If it is larger than all floats.

    Examples
    --------
    >>> within_floats(Fraction(1, 4), "step_size")
    0.25
    """
    try:
        return float(value)
    except OverflowError:
        raise BeyondFloatsError(
            f"{name} must lie within the range of floats, about 1e308, where floats "
            f"are computed with; got {shown(value)}; choose a smaller number."
        ) from None


def _settled(value: Any, name: str) -> Scalar:
    """Turn sympy numbers into ours; let expressions with free symbols pass."""
    if value.free_symbols:
        return value
    if value.is_Rational:
        return Fraction(int(value.p), int(value.q))
    if value.is_Float:
        return float(value)
    if not value.is_finite or not value.is_real:
        raise DomainError(f"{name} must be finite; got {value}; pass a number.")
    return value


def is_exact(value: object) -> bool:
    """Whether a normalised scalar is rational."""
    return isinstance(value, Fraction | int) and not isinstance(value, bool)


def common_kind(values: Iterable[Scalar]) -> list[Scalar]:
    """Bring normalised scalars to one kind: floats as soon as one is a float."""
    listed = list(values)
    if any(isinstance(value, float) for value in listed):
        if any(is_symbolic(value) for value in listed):
            raise DomainError(
                "floats must not be mixed with symbols; got both; give rationals or "
                "decimal text in place of floats."
            )
        return [within_floats(value, "a number beside floats") for value in listed]
    return listed


def array(values: object, name: str) -> Array:
    """Build an array of one kind from nested sequences of numbers.

    Raises
    ------
    DomainError
        If an entry is not a finite number.
    """
    # lists are read entry by entry: numpy would cast [True, 2] or [0.1, "0.2"] first
    raw = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    if raw.dtype.kind == "f":
        if not np.isfinite(raw).all():
            raise DomainError(f"{name} must be finite; got NaN or infinity; mend it.")
        return raw.astype(np.float64)
    if raw.dtype.kind not in "iuOU":
        raise DomainError(f"{name} must hold numbers; got {raw.dtype}; pass numbers.")
    flat = common_kind(scalar(entry, name) for entry in raw.ravel().tolist())
    if any(isinstance(v, float) for v in flat):
        return np.array(flat, dtype=np.float64).reshape(raw.shape)
    return objects(flat).reshape(raw.shape)


def objects(values: Iterable[Any]) -> Array:
    """Put numbers of any kind, formulas too, into an array of one dimension.

    Examples
    --------
    >>> objects([Fraction(1, 2), 3])
    array([Fraction(1, 2), 3], dtype=object)
    """
    listed = list(values)
    out = np.empty(len(listed), dtype=object)
    out[:] = listed
    return out


def zeros(shape: tuple[int, ...], exact: bool) -> Array:
    """Zeros of one kind: exact ones are Fractions."""
    return np.full(shape, Fraction(0), dtype=object) if exact else np.zeros(shape)


def identity(size: int, exact: bool) -> Array:
    """Build the identity matrix of one kind."""
    out = zeros((size, size), exact)
    np.fill_diagonal(out, Fraction(1) if exact else 1.0)
    return out


def text(value: Scalar) -> str:
    """Exact text of a scalar: `3/8` for a rational, the shortest repr for a float.

    A rational may have any number of digits; Python's own limit is for `str(int)`.
    """
    return plainly(value) if isinstance(value, Fraction) else str(value)
