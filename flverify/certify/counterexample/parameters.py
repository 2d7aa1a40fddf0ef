"""Parameters walked in rationals: intervals, whole numbers, words.

A place in an interval is a rational position in [0, 1], on a linear or on a doubling
scale. The doubling scale is linear between powers of 2, so that places are exact and
the same on every machine. Values are the simplest rationals near the place asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import TypeAlias

from flverify._core.checks import whole
from flverify._core.errors import DomainError, InputError
from flverify._core.exact import Scalar, is_exact, scalar
from flverify._core.shown import shown

Value: TypeAlias = Fraction | int | str

NEAR = Fraction(1, 2**10)  # position of the point that stands in for an open end
NEAREST = Fraction(1, 2**30)  # how near to an open end a walk may come
FINEST = 40  # halvings of the neighbourhood in which a simpler value is sought


def simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """Return the rational of least denominator in [low, high], nearest to 0 of these.

    Raises
    ------
    InputError
        If low is above high.

    Examples
    --------
    >>> simplest_between(Fraction(31, 100), Fraction(34, 100))
    Fraction(1, 3)
    >>> simplest_between(Fraction(-7, 2), Fraction(-5, 2))
    Fraction(-3, 1)
    """
    if low > high:
        raise InputError(
            f"an interval must have its lower end first; got {shown(low)} and "
            f"{shown(high)}; exchange them."
        )
    if low <= 0 <= high:
        return Fraction(0)
    if high < 0:
        return -simplest_between(-high, -low)
    parts = []
    while ceil(low) > high:  # both ends have this whole part: expand what is left
        base = floor(low)
        parts.append(base)
        low, high = 1 / (high - base), 1 / (low - base)
    found = Fraction(ceil(low))
    for base in reversed(parts):
        found = base + 1 / found
    return found


def _level(value: Fraction) -> Fraction:
    """Return k + m for the positive value 2^k (1 + m), 0 <= m < 1."""
    k = value.numerator.bit_length() - value.denominator.bit_length()
    if value < Fraction(2) ** k:
        k -= 1
    return k + value / Fraction(2) ** k - 1


def _from_level(level: Fraction) -> Fraction:
    """Return 2^k (1 + m) for the level k + m."""
    k = floor(level)
    return Fraction(2) ** k * (1 + level - k)


def _place(value: Fraction, low: Fraction, high: Fraction, log: bool) -> Fraction:
    """Position of a value between low and high, which differ."""
    if log:
        value, low, high = _level(value), _level(low), _level(high)
    return (value - low) / (high - low)


def _value(position: Fraction, low: Fraction, high: Fraction, log: bool) -> Fraction:
    """Value at a position between low and high."""
    if not log:
        return low + position * (high - low)
    return _from_level(_value(position, _level(low), _level(high), log=False))


def _rational(value: object, name: str) -> Fraction:
    number = scalar(value, name)
    if not is_exact(number):
        raise DomainError(
            f"{name} must be rational; got {shown(number)}; give a fraction or decimal "
            "text."
        )
    return Fraction(number)


@dataclass(frozen=True)
class Real:
    """An interval of rationals.

    Parameters
    ----------
    low, high : rational
        Ends, as number or text; low below high.
    log : bool
        Whether to walk by factors of 2; low is then positive.
    open_low, open_high : bool
        Whether the end itself is left out.

    Raises
    ------
    DomainError
        If the ends are not rational, in the wrong order, or unfit for the scale.

    Examples
    --------
    >>> [str(v) for v in Real("1/10", 10, log=True, open_low=True).ends()]
    ['17/169', '10']
    """

    low: Scalar
    high: Scalar
    log: bool = False
    open_low: bool = False
    open_high: bool = False

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, _rational(getattr(self, name), name))
        _require_order(self.low, self.high, self.log)

    def contains(self, value: object) -> bool:
        """Whether a value is a rational of the interval."""
        if not isinstance(value, Fraction):
            return False
        above = value > self.low or (value == self.low and not self.open_low)
        below = value < self.high or (value == self.high and not self.open_high)
        return above and below

    def position(self, value: Value) -> Fraction:
        """Return where a value lies, in [0, 1]."""
        return _place(Fraction(value), self.low, self.high, self.log)

    def at(self, position: Fraction, slack: Fraction) -> Fraction:
        """Return the simplest value within slack of a position."""
        first, last = NEAREST * self.open_low, 1 - NEAREST * self.open_high
        place = min(max(position, first), last)
        near = max(first, place - slack), min(last, place + slack)
        low, high = (_value(p, self.low, self.high, self.log) for p in near)
        return simplest_between(low, high)

    def ends(self) -> list[Value]:
        """Return both ends, or values close to them where they are left out."""
        low = self.at(NEAR, NEAR / 2) if self.open_low else self.low
        high = self.at(1 - NEAR, NEAR / 2) if self.open_high else self.high
        return [low, high]

    def moves(self, value: Value, size: Fraction) -> list[Value]:
        """Return values about one step above and below."""
        place = self.position(value)
        return [self.at(place + step, size / 4) for step in (size, -size)]

    def simpler(self, value: Value) -> Iterator[Value]:
        """Yield simpler values, the simplest first, then ever closer ones."""
        place = self.position(value)
        for halvings in range(0, FINEST, 2):
            yield self.at(place, Fraction(1, 2**halvings))


@dataclass(frozen=True)
class Whole:
    """A range of integers, ends included.

    Parameters
    ----------
    low, high : int
        low below high.
    log : bool
        Whether to walk by factors of 2; low is then positive.

    Raises
    ------
    DomainError
        If the ends are no integers, in the wrong order, or unfit for the scale.

    Examples
    --------
    >>> Whole(1, 100, log=True).moves(10, Fraction(1, 8))
    [17, 6]
    """

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            least = -(10**30)
            object.__setattr__(self, name, whole(getattr(self, name), name, least))
        _require_order(Fraction(self.low), Fraction(self.high), self.log)

    def contains(self, value: object) -> bool:
        """Whether a value is an integer of the range."""
        if isinstance(value, bool) or not isinstance(value, int):
            return False
        return self.low <= value <= self.high

    def position(self, value: Value) -> Fraction:
        """Return where a value lies, in [0, 1]."""
        ends = Fraction(self.low), Fraction(self.high)
        return _place(Fraction(value), *ends, self.log)

    def at(self, position: Fraction, slack: Fraction) -> int:
        """Return the integer nearest to a position, whatever the slack."""
        del slack
        place = min(max(position, Fraction(0)), Fraction(1))
        found = _value(place, Fraction(self.low), Fraction(self.high), self.log)
        return floor(found + Fraction(1, 2))

    def ends(self) -> list[Value]:
        """Return both ends."""
        return [self.low, self.high]

    def moves(self, value: Value, size: Fraction) -> list[Value]:
        """Return integers at least 1 and about one step above and below."""
        here, place = int(value), self.position(value)
        above = max(here + 1, self.at(place + size, size))
        below = min(here - 1, self.at(place - size, size))
        return [v for v in (above, below) if self.low <= v <= self.high]

    def simpler(self, value: Value) -> Iterator[Value]:
        """Yield integers from the lower end on, in growing gaps."""
        step = 0
        while self.low + step < int(value):
            yield self.low + step
            step = 2 * step or 1


@dataclass(frozen=True)
class Choice:
    """Words to choose from, the simplest first.

    Parameters
    ----------
    options : sequence of str

    Raises
    ------
    InputError
        If there is no option, one that is no text, or one that stands twice.
    """

    options: Sequence[str]

    def __post_init__(self) -> None:
        given = isinstance(self.options, Iterable)
        listed = tuple(self.options) if given else ()
        texts = all(isinstance(option, str) for option in listed)
        if isinstance(self.options, str) or not listed or not texts:
            raise InputError(
                f"options must be a nonempty list of words; got "
                f"{shown(self.options)}; give them."
            )
        if len({*listed}) < len(listed):
            raise InputError(
                f"each option must stand once; got {shown(listed)}; remove the repeats."
            )
        object.__setattr__(self, "options", listed)

    def contains(self, value: object) -> bool:
        """Whether a value is one of the options."""
        return value in self.options

    def position(self, value: Value) -> Fraction:
        """Return where an option lies, in [0, 1]."""
        place = self.options.index(str(value))
        return Fraction(2 * place + 1, 2 * len(self.options))

    def at(self, position: Fraction, slack: Fraction) -> str:
        """Return the option at a position, whatever the slack."""
        del slack
        place = floor(position * len(self.options))
        return self.options[min(max(place, 0), len(self.options) - 1)]

    def ends(self) -> list[Value]:
        """Return every option."""
        return list(self.options)

    def moves(self, value: Value, size: Fraction) -> list[Value]:
        """Return every other option."""
        del size
        return [option for option in self.options if option != value]

    def simpler(self, value: Value) -> Iterator[Value]:
        """Yield the options before this one."""
        yield from self.options[: self.options.index(str(value))]


def _require_order(low: Fraction, high: Fraction, log: bool) -> None:
    if low >= high or (log and low <= 0):
        wanted = "0 < low < high" if log else "low < high"
        raise DomainError(
            f"a range must have {wanted}; got {shown(low)} and {shown(high)}; choose "
            "such ends, or a constant in place of a range of one value."
        )


Parameter: TypeAlias = Real | Whole | Choice
