"""Sliders stand on exact numbers: each place of a slider has a text of its own.

A number is text wherever it is kept, so that 1/3 stays 1/3. A slider only has places
0, 1, ...; a scale says which text stands at each, and which place is nearest to a
number that was typed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log10

from flverify._core.errors import DomainError
from flverify._core.exact import parse_number

_DIGITS = 3  # significant digits of a number on a geometric scale


@dataclass(frozen=True)
class Scale:
    """The numbers that a slider can reach.

    Parameters
    ----------
    texts : tuple of str
        Exact numbers in increasing order, one for each place.
    geometric : bool
        Whether nearness is measured in ratios.

    Examples
    --------
    >>> scale = whole_numbers(1, 5)
    >>> scale.texts[scale.place("3")], scale.nearest(4.4)
    ('3', '4')
    """

    texts: tuple[str, ...]
    geometric: bool = False

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The numbers as floats."""
        return tuple(float(parse_number(text)) for text in self.texts)

    def place(self, text: str) -> int | None:
        """Return the place nearest to a number; None if the text is no number."""
        try:
            return self._place(float(parse_number(text)))
        except (DomainError, OverflowError):
            return None

    def nearest(self, value: float) -> str:
        """Return the text nearest to a number, as a click on a map gives one."""
        return self.texts[self._place(value)]

    def _place(self, value: float) -> int:
        after = bisect_left(self.values, value)
        if after == 0 or after == len(self.values):
            return min(after, len(self.values) - 1)
        low, high = self.values[after - 1], self.values[after]
        left = (
            value / low < high / value if self.geometric else value - low < high - value
        )
        return after - 1 if left else after


def whole_numbers(low: int, high: int) -> Scale:
    """Return the scale of the whole numbers between two."""
    return Scale(tuple(str(n) for n in range(low, high + 1)))


def listed(numbers: Sequence[int]) -> Scale:
    """Return a scale of some whole numbers in increasing order."""
    return Scale(tuple(str(n) for n in numbers), geometric=True)


def hundredths(low: int, high: int) -> Scale:
    """Return the scale of the hundredths between two, written as decimals.

    Examples
    --------
    >>> hundredths(9, 11).texts
    ('0.09', '0.1', '0.11')
    """
    return Scale(tuple(decimal(Fraction(k, 100)) for k in range(low, high + 1)))


def geometric(low: int, high: int, per_decade: int) -> Scale:
    """Return a geometric scale between two powers of ten, rounded to three digits.

    Examples
    --------
    >>> geometric(-2, 0, 4).texts[:5]
    ('0.01', '0.0178', '0.0316', '0.0562', '0.1')
    """
    steps = range(low * per_decade, high * per_decade + 1)
    return Scale(tuple(rounded(10 ** (k / per_decade)) for k in steps), geometric=True)


def rounded(value: float, digits: int = _DIGITS) -> str:
    """Return a positive number rounded to some digits, as exact decimal text.

    Examples
    --------
    >>> rounded(0.012345), rounded(123456.0), rounded(2.0)
    ('0.0123', '123000', '2')
    """
    places = digits - 1 - int(log10(value) // 1)
    scaled = round(Fraction(value) * Fraction(10) ** places)
    return decimal(Fraction(scaled) / Fraction(10) ** places)


def decimal(value: Fraction) -> str:
    """Return a fraction whose denominator divides a power of ten as a decimal.

    Examples
    --------
    >>> decimal(Fraction(1, 8)), decimal(Fraction(30)), decimal(Fraction(3, 10))
    ('0.125', '30', '0.3')
    """
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    digits = str(int(value * 10**places)).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits
