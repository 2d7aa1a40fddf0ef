"""Where values cease to hold: a bracket, narrowed by asking about values between.

That one direction is the weaker one is used to choose where to look and never taken
for granted: both sides are asked, values about which nothing is known are kept apart,
and a value that holds beyond one that fails is reported. What is said is what was seen
at the values tried: between two of them that hold, others may fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np

from flverify._core.checks import choice
from flverify._core.errors import DomainError, InputError
from flverify._core.exact import Scalar, is_exact, scalar
from flverify._core.shown import shown
from flverify.certify.counterexample.parameters import simplest_between

Gap: TypeAlias = tuple[Fraction, Fraction]

PRECISION = Fraction(1, 1000)
FINEST = Fraction(1, 10**30)  # share of the range that a precision is at least
PROBES = 3  # values asked about between the ends before the bracket is narrowed
SECOND_LOOKS = 3  # and afterwards, in each stretch where all are expected to be alike


class Side(Enum):
    """On which side of the sharp value a value was seen to be."""

    HOLDS = "holds"
    OPEN = "open"
    FAILS = "fails"


@dataclass(frozen=True)
class Tried:
    """A value, on which side it is, and what shows that."""

    value: Fraction
    side: Side
    shown: Any


@dataclass(frozen=True)
class Bracket:
    """What is known about where values cease to hold.

    Parameters
    ----------
    tried : tuple of Tried
        All values tried, the weakest first.
    precision : Fraction
        How close `best` and `beyond` are, unless values between are open.
    start : Fraction, optional
        One of the values, from which to look for stronger ones if it holds.
    """

    tried: tuple[Tried, ...]
    precision: Fraction
    start: Fraction | None = None

    @property
    def beyond(self) -> Tried | None:
        """The weakest value that fails, of those stronger than a start that holds."""
        return next((t for t in self._after() if t.side is Side.FAILS), None)

    @property
    def best(self) -> Tried | None:
        """The strongest value that holds, weaker than `beyond`."""
        return next((t for t in reversed(self._before()) if t.side is Side.HOLDS), None)

    @property
    def between(self) -> tuple[Tried, ...]:
        """Open values between the best and the one that fails."""
        after = self._before()
        if self.best is not None:
            after = after[after.index(self.best) + 1 :]
        return tuple(t for t in after if t.side is Side.OPEN)

    @property
    def undecided(self) -> tuple[Tried, ...]:
        """All values about which nothing is known, wherever they are."""
        return tuple(t for t in self.tried if t.side is Side.OPEN)

    @property
    def strays(self) -> tuple[Tried, ...]:
        """Values that hold although `beyond`, a weaker one, fails."""
        rest = self._after()[len(self._before()) :]
        return tuple(t for t in rest if t.side is Side.HOLDS)

    @property
    def dents(self) -> tuple[Tried, ...]:
        """Values that fail although the start, a stronger one, holds."""
        weaker = self.tried[: len(self.tried) - len(self._after())]
        return tuple(t for t in weaker if t.side is Side.FAILS)

    @property
    def closed(self) -> bool:
        """Whether best and beyond are known and within the precision."""
        if self.best is None or self.beyond is None:
            return False
        return abs(self.best.value - self.beyond.value) <= self.precision

    def _after(self) -> tuple[Tried, ...]:
        """Return all values, or those from the start on if that holds."""
        held = (t.value == self.start and t.side is Side.HOLDS for t in self.tried)
        return self.tried[next((k for k, holds in enumerate(held) if holds), 0) :]

    def _before(self) -> tuple[Tried, ...]:
        beyond, after = self.beyond, self._after()
        return after if beyond is None else after[: after.index(beyond)]


def sharpest_step_size(
    certified: Callable[[Fraction], bool],
    refuted: Callable[[Fraction], object | None],
    low: Scalar,
    high: Scalar,
    precision: Scalar = PRECISION,
) -> Bracket:
    """Find the largest step size that is certified, and one just beyond that fails.

    Parameters
    ----------
    certified : callable
        Whether there is a certificate at a step size: True or False, no result of a
        search, which is true as an object.
    refuted : callable
        A counterexample at a step size, or None, and no False; asked where nothing is
        certified, and at the best step size found.
    low, high : rational
        Where to search.
    precision : rational

    Raises
    ------
    DomainError
        If the numbers are not rational, out of order, or the precision not positive or
        too fine for the range.
    InputError
        If the best step size is both certified and refuted, or an answer is of another
        kind.

    Examples
    --------
    Gradient descent on curvatures from 1/10 to 1 contracts below 2.

    >>> def slow(step):
    ...     return max(abs(1 - step / 10), abs(1 - step))
    >>> found = sharpest_step_size(lambda step: slow(step) < 1,
    ...     lambda step: slow(step) if slow(step) >= 1 else None, "1/10", 10, "1/100")
    >>> found.beyond.value, found.beyond.shown, found.best.value > Fraction("1.98")
    (Fraction(2, 1), Fraction(1, 1), True)
    """

    def counterexample(step: Fraction) -> object:
        found = refuted(step)
        if isinstance(found, bool | np.bool_):
            raise InputError(
                f"refuted must return a counterexample or None; got {found} at "
                f"{shown(step)}; return what violates, or None."
            )
        return found

    def ask(step: Fraction) -> tuple[Side, object]:
        passed: object = certified(step)
        if not isinstance(passed, bool | np.bool_):
            raise InputError(
                f"certified must return True or False; got {shown(passed)} at "
                f'{shown(step)}; write found.status == "certified" of a result.'
            )
        if passed:
            return Side.HOLDS, None
        found = counterexample(step)
        return (Side.OPEN if found is None else Side.FAILS), found

    found = bracket(ask, low, high, precision, weaker="smaller")
    if found.best and counterexample(found.best.value) is not None:
        raise InputError(
            "a step size must not be both certified and refuted; got both at "
            f"{shown(found.best.value)}; mend one of them."
        )
    return found


def bracket(
    ask: Callable[[Fraction], tuple[Side, Any]],
    low: Scalar,
    high: Scalar,
    precision: Scalar = PRECISION,
    *,
    weaker: Literal["smaller", "larger"],
    whole: bool = False,
    start: Fraction | None = None,
) -> Bracket:
    """Narrow down between which values something ceases to hold.

    The start, both ends and some values between are tried first. Then the gap between
    the best value that holds and the weakest that fails is narrowed to the precision;
    if values between stay open, so are the gaps on either side of these. In the end a
    few more values are tried, in the widest gaps between the start and what was found
    and of what is weaker than both; one that fails there is the new end of the search,
    or a dent.

    Parameters
    ----------
    ask : callable
        From a value to its side and to what shows that.
    low, high : rational
    precision : rational
    weaker : {"smaller", "larger"}
        The values that are expected to hold.
    whole : bool
        Whether to try integers only, to the precision 1.
    start : rational, optional
        A value to try too, and from which to look for stronger ones if it holds; left
        out where it is not between the ends.

    Raises
    ------
    DomainError
        If the numbers are not rational, out of order, the precision not positive or
        too fine for the range, or one is no integer where all are to be.

    Examples
    --------
    (a + b)^2 <= c (a^2 + b^2) holds for all a and b if c is at least 2.

    >>> def ask(c):
    ...     return (Side.HOLDS if c >= 2 else Side.FAILS), None
    >>> found = bracket(ask, 1, 4, "1/100", weaker="larger")
    >>> found.best.value, found.closed
    (Fraction(2, 1), True)
    """
    choice(weaker, "weaker", ("smaller", "larger"))
    ends = _ends(low, high)
    fine = _precision(Fraction(1) if whole else precision, *ends)
    sign = 1 if weaker == "smaller" else -1
    known: dict[Fraction, Tried] = {}

    def judged() -> Bracket:
        ordered = sorted(known.values(), key=lambda tried: sign * tried.value)
        return Bracket(tuple(ordered), fine, start)

    inside = [] if start is None or not ends[0] <= start <= ends[1] else [start]
    _require_integers([*ends, *inside], whole)
    for value in dict.fromkeys([*inside, *_spread(*ends, whole)]):
        known[value] = Tried(value, *ask(value))
    for gap in _gaps(judged, Fraction(1 if whole else 0)):
        value = _inside(*gap, whole)
        known[value] = Tried(value, *ask(value))
    return judged()


def _ends(low: Scalar, high: Scalar) -> tuple[Fraction, Fraction]:
    ends = scalar(low, "low"), scalar(high, "high")
    if not all(map(is_exact, ends)) or ends[0] >= ends[1]:
        raise DomainError(
            f"a search must have rational ends low < high; got {shown(low)} and "
            f"{shown(high)}; choose such ends."
        )
    return ends


def _require_integers(values: Sequence[Fraction], whole: bool) -> None:
    wrong = [value for value in values if whole and value.denominator != 1]
    if wrong:
        raise DomainError(
            f"a search among integers must begin and end at integers; got "
            f"{shown(wrong[0])}; choose such numbers."
        )


def _precision(value: Scalar, low: Fraction, high: Fraction) -> Fraction:
    found = scalar(value, "precision")
    if not is_exact(found) or found <= 0:
        raise DomainError(
            f"precision must be a rational above 0; got {shown(value)}; give one such "
            "as 1/1000."
        )
    if found < FINEST * (high - low):
        raise DomainError(
            f"precision must be at least 1/10^30 of the range searched, which is from "
            f"{shown(low)} to {shown(high)}; got {shown(found)}; give a larger one, or "
            "a shorter range."
        )
    return Fraction(found)


def _spread(low: Fraction, high: Fraction, whole: bool) -> list[Fraction]:
    """Return the ends and simple values spread between them."""
    step = (high - low) / (PROBES + 1)
    inner = (low + step * k for k in range(1, PROBES + 1))
    near = (_near(value, step / 4, whole) for value in inner)
    return list(dict.fromkeys([low, high, *near]))


def _near(value: Fraction, slack: Fraction, whole: bool) -> Fraction:
    if whole:
        return Fraction(round(value))
    return simplest_between(value - slack, value + slack)


def _gaps(judged: Callable[[], Bracket], least: Fraction) -> Iterator[Gap]:
    """Yield the gaps to ask about, as long as what is known asks for one."""

    def narrowing() -> Iterator[Gap]:
        while (gap := _widest_gap(judged())) is not None:
            yield gap

    yield from narrowing()
    for stretch in (_to_start, _weaker):
        for _ in range(SECOND_LOOKS):
            if (gap := _widest(stretch(judged()), least)) is not None:
                yield gap
                yield from narrowing()


def _widest_gap(found: Bracket) -> Gap | None:
    """Return the widest gap that is still to be narrowed."""
    best, beyond = found.best, found.beyond
    if best is None:
        return None
    chain = [t.value for t in (best, *found.between, beyond) if t is not None]
    pairs = list(pairwise(chain))
    # among open values only the outer gaps tell more about where holding ends
    outer = {pairs[0], pairs[-1]} if beyond else {*pairs[:1]}
    gaps = [(abs(b - a), a, b) for a, b in pairs if (a, b) in outer]
    wide = [gap for gap in gaps if gap[0] > found.precision]
    if not wide:
        return None
    _, a, b = max(wide)
    return min(a, b), max(a, b)


def _to_start(found: Bracket) -> tuple[Tried, ...]:
    """Return the values from the start to what was found, where all should be alike."""
    places = {t.value: k for k, t in enumerate(found.tried)}
    if found.best is None or found.start not in places:
        return ()
    start, best = places[found.start], places[found.best.value]
    if start <= best or found.beyond is None:
        return found.tried[start : best + 1]
    return found.tried[places[found.beyond.value] : start + 1]


def _weaker(found: Bracket) -> tuple[Tried, ...]:
    """Return the values that are weaker than the start and the best, and the first."""
    values = [t.value for t in found.tried]
    if found.best is None:
        return ()
    ends = {values.index(found.best.value)}
    ends |= {values.index(found.start)} if found.start in values else set()
    return found.tried[: min(ends) + 1]


def _widest(stretch: tuple[Tried, ...], least: Fraction) -> Gap | None:
    """Return the widest gap between two values, wider than some; None without one."""
    pairs = ((a.value, b.value) for a, b in pairwise(stretch))
    gaps = [(abs(b - a), min(a, b), max(a, b)) for a, b in pairs]
    wide, low, high = max(gaps, default=(least, least, least))
    return (low, high) if wide > least else None


def _inside(low: Fraction, high: Fraction, whole: bool) -> Fraction:
    """Return a simple value in the middle half of a gap."""
    if whole:
        return Fraction((low + high) // 2)
    quarter = (high - low) / 4
    return simplest_between(low + quarter, high - quarter)
