"""What was given, as a message shows it: short, whatever its size."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from types import FunctionType

LONGEST = 120  # characters of what was given that a message shows
_LONG = re.compile(r"\d{41,}")  # digits that tell a reader nothing


def shown(value: object) -> str:
    """Word what was given; numbers may have any number of digits.

    Examples
    --------
    >>> shown(10**5000), shown("abc"), shown(float), shown(shown)
    ('1000000000...(5001 digits)', "'abc'", 'the class float', 'the function shown')
    """
    if isinstance(value, type | FunctionType):
        kind = "class" if isinstance(value, type) else "function"
        return f"the {kind} {value.__name__}"
    if isinstance(value, Fraction | int) and not isinstance(value, bool):
        return fewer_digits(plainly(value))
    try:
        written = fewer_digits(" ".join(repr(value).split()))
    except ValueError:  # it holds an integer that Python does not write out
        return f"a {type(value).__name__} of very long numbers"
    return written if len(written) <= LONGEST else f"{written[: LONGEST - 3]}..."


def fewer_digits(written: str) -> str:
    """Cut runs of digits that are too long to be read.

    Examples
    --------
    >>> fewer_digits("at most " + "7" * 50)
    'at most 7777777777...(50 digits)'
    """
    return _LONG.sub(_cut, written)


def plainly(value: Fraction | int) -> str:
    """Write a rational out; Python's own limit of digits is for `str(int)`."""
    over = "" if value.denominator == 1 else f"/{Decimal(value.denominator)}"
    return f"{Decimal(value.numerator)}{over}"


def _cut(digits: re.Match[str]) -> str:
    found = digits.group()
    return f"{found[:10]}...({len(found)} digits)"
