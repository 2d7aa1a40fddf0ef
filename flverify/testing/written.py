"""Settings in words: algorithms, laws and vectors, and numbers for a message."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from fractions import Fraction
from math import floor
from typing import Any

from flverify._core.exact import Scalar, is_symbolic
from flverify._core.sentences import number_of
from flverify.engines.own_laws import how_compared
from flverify.participation._law import Participation

LONGEST = 24  # characters of a rational that is written out
CUT_AFTER = 6  # digits after the point of a lower bound, and more where it is close
MOST = 8  # entries of a vector that are written out


def number(value: Scalar) -> str:
    """Text of a number; a long rational is a decimal marked with `~`.

    Examples
    --------
    >>> number(Fraction(3, 8)), number(0.1), number(Fraction(1, 3**60))
    ('3/8', '0.1', '~2.3589824875925728e-29')
    """
    if isinstance(value, Fraction | int):
        short = max(value.numerator.bit_length(), value.denominator.bit_length()) < 128
        exact = str(value) if short else ""
        return exact if 0 < len(exact) <= LONGEST else f"~{_decimal(Fraction(value))}"
    return _expression(value) if is_symbolic(value) else f"{float(value):.12g}"


def cut(bound: Fraction, claimed: Fraction) -> str:
    """Text of a lower bound, cut after so many digits that it is above what is claimed.

    Examples
    --------
    >>> cut(Fraction(2, 3), Fraction(1, 2)), cut(Fraction(2, 3), Fraction("0.6666666"))
    ('0.666666', '0.66666666')
    """
    digits = CUT_AFTER
    while Fraction(whole := floor(bound * 10**digits), 10**digits) <= claimed:
        digits += 1
    front, rest = divmod(whole, 10**digits)
    return f"{front}.{rest:0{digits}d}".rstrip("0").rstrip(".")


def enclosed(interval: tuple[Scalar, Scalar]) -> str:
    """Text of a number that lies in an interval: its upper end, marked if not exact.

    Examples
    --------
    >>> enclosed((Fraction(1, 4), Fraction(1, 4))), enclosed((0, Fraction(1, 4)))
    ('1/4', '~0.25')
    """
    low, high = interval
    if low == high or not isinstance(high, Fraction):
        return number(high)
    return f"~{_decimal(high)}"


def _decimal(value: Fraction) -> str:
    """Text of a rational as a decimal, also beyond the range of floats."""
    try:
        plain = float(value)
    except OverflowError:
        plain = math.inf
    if value == 0 or sys.float_info.min <= abs(plain) < math.inf:
        return repr(plain)
    # Python writes no integer of more than 4300 digits out
    size = math.log10(abs(value.numerator)) - math.log10(value.denominator)
    exponent = math.floor(round(size, 9))
    sign = "-" if value < 0 else ""
    return f"{sign}{10 ** (size - exponent):.6g}e{exponent}"


def _expression(value: Any) -> str:
    """Text of an expression; a long number is a decimal, as a rational is."""
    try:
        shown = str(value)
    except ValueError:  # an integer in it is too long for Python
        shown = ""
    if shown and (value.free_symbols or len(shown) <= LONGEST):
        return shown
    return f"~{value.evalf(12)}"


def vector(values: Any) -> str:
    """Text of a vector; what is left out is said."""
    listed = list(values)
    shown = ", ".join(number(v) for v in listed[:MOST])
    more = f", and {len(listed) - MOST} more" if len(listed) > MOST else ""
    return f"({shown}{more})"


def algorithm(given: Any) -> str:
    """Text of an algorithm: its name and the settings that are not defaults."""
    if not is_dataclass(given):
        home = getattr(given, "__module__", "")
        name = getattr(given, "__qualname__", type(given).__name__)
        return f"the function {home}.{name}" if home else f"the function {name}"
    return call(given, text=_plain)


def law(given: Participation) -> str:
    """Text of a law: its notation, its number of clients, and what is known of it."""
    spec = given.spec
    shown = spec if len(spec) <= 60 else f"{spec[:57]}..."
    known = how_compared(given)
    note = f" (a law of your own, {known})" if known else ""
    return f"{shown} on {number_of(given.n_clients, 'client')}{note}"


def call(made: Any, text: Callable[[Any], str]) -> str:
    """Write a dataclass as the call that makes it, without its defaults."""
    values = [(f, getattr(made, f.name)) for f in fields(made) if f.init]
    own = [(f, value) for f, value in values if not _is_same(value, f.default)]
    parts = [f"{f.name}={text(value)}" for f, value in own]
    return f"{type(made).__name__}({', '.join(parts)})"


def _is_same(value: Any, default: Any) -> bool:
    try:
        return bool(value == default)
    except ValueError:  # of arrays, entry by entry
        return False


def _plain(value: Any) -> str:
    if isinstance(value, tuple | list):
        return vector(value) if all(_is_number(v) for v in value) else repr(value)
    if _is_number(value):
        return number(value)
    return call(value, _plain) if is_dataclass(value) else repr(value)


def _is_number(value: Any) -> bool:
    plain = isinstance(value, Fraction | int | float) and not isinstance(value, bool)
    return plain or is_symbolic(value)
