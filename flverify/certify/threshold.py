"""Where a margin begins, found from above with few solves.

Above its threshold the margin of an inequality grows almost in proportion to the
distance; below, it is zero and says nothing of how far away the threshold is. Duals
give the slope of the margin with every solve; so the curves through points above say
where to look, and a solve below is spent only to confirm.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple, Protocol, TypeVar

PRECISION = Fraction(1, 10**5)  # of a smallest rate
WIDE_ENOUGH = 1e-11  # margin that lets rounding try
MISSED = 0.5  # how much the next curve may err, in terms of how the last two differ
UNSURE = 0.3  # how much a first tangent may err, in terms of the way it goes
WORTH = 0.6  # how far below, in terms of what is trusted, is worth another solve
LEAP = 4.0  # how much longer than the last a step is that must not leave so much


class Margin(NamedTuple):
    """How wide a margin is, and how fast it grows with the point."""

    width: float
    slope: float


class Rated(Protocol):
    """What was found for a rate."""

    @property
    def rate(self) -> Fraction | None:
        """The rate, if there is one."""


Found = TypeVar("Found", bound=Rated)


class _Point(NamedTuple):
    place: float
    width: float
    slope: float


def threshold(
    margin: Callable[[float], Margin],
    low: float,
    known: tuple[float, Margin],
    accuracy: Callable[[float], float],
    trusted: float = 0.0,
    short: Callable[[float], float] = float,
) -> float:
    """Return a point with a margin, at most `accuracy` above one without.

    Parameters
    ----------
    margin : callable
        Wider than WIDE_ENOUGH at every point from the threshold on, and nowhere below;
        its slope need not be right, which costs solves alone.
    low : float
        The threshold is above it.
    known : (float, Margin)
        A point with a margin, and what it is there.
    accuracy : callable
        Accuracy wanted, given the best point so far.
    trusted : float
        Where that is no finer, two curves in a row that meet zero within twice it of
        the best point are believed, and no solve below is spent to confirm them.
    short : callable
        The next place that is written in few digits, to be asked above a zero.

    Examples
    --------
    >>> asked = []
    >>> def rising(rho):
    ...     asked.append(rho)
    ...     width = max(0.0, (rho - 0.9) * (2 - rho))
    ...     return Margin(width, 2.9 - 2 * rho)
    >>> found = threshold(rising, 0.0, (1.0, rising(1.0)), lambda rho: 1e-6)
    >>> 0.9 < found < 0.900001, len(asked) < 8
    (True, True)
    """
    high, points = known[0], [_Point(known[0], *known[1])]
    zero, halve = None, False
    while high - low > accuracy(high):
        last, zero = zero, _zero(points)
        guess, further = low, _further(points)
        if zero is not None:
            step = _step(zero, last, high, accuracy(high))
            near = short(zero + step)
            if trusted <= accuracy(high) and _agree(last, zero, high, 2 * trusted):
                if high - near < WORTH * trusted:
                    break
                further = near
            # to the near side of a zero, or, from close by, to its other side
            guess = near if high - zero > 1.5 * step else zero - step
        guess = min(guess, further)
        if halve or not low < guess < high:
            guess = (low + high) / 2
        found = margin(guess)
        if found.width > WIDE_ENOUGH:
            high, halve = guess, False
            points.append(_Point(guess, *found))
        else:
            # a curve that failed above its own zero has nothing more to say
            low, halve = guess, zero is None or guess > zero or further < high
    return high


def descended(
    best: Found, asked: Callable[[Fraction], Found | None], floor: Fraction
) -> Found:
    """Go down from a certified rate until PRECISION less is not certified.

    Parameters
    ----------
    best : Rated
        What is certified; of no rate, it is returned.
    asked : callable
        What is certified at a lower rate, or None.
    floor : Fraction
        No rate at it or below is asked for.
    """
    step = PRECISION
    while best.rate is not None:
        lower = best.rate - step
        found = asked(lower) if lower > floor else None
        if found is None and step == PRECISION:
            break
        best, step = (best, PRECISION) if found is None else (found, 2 * step)
    return best


def _agree(last: float | None, zero: float | None, high: float, near: float) -> bool:
    """Whether two curves meet zero just below the best point."""
    if last is None or zero is None:
        return False
    return high - near <= min(last, zero) and max(last, zero) < high


def _further(points: list[_Point]) -> float:
    """Where to look at the latest if the last step left most of the margin."""
    if len(points) < 2 or points[-1].width <= points[-2].width / 2:
        return points[-1].place
    return points[-1].place - LEAP * (points[-2].place - points[-1].place)


def _zero(points: list[_Point]) -> float | None:
    """Where the curve through the last points meets zero."""
    last = points[-1]
    if len(points) > 1 and (zero := _inverse(points[-2], last)) is not None:
        return zero
    return last.place - last.width / last.slope if last.slope > 0 else None


def _inverse(far: _Point, near: _Point) -> float | None:
    """Place at width zero of the cubic through two points, as a function of width.

    Its slopes there are those of the margin, or where one of them is not positive the
    line through both points is taken.
    """
    rise, run = far.width - near.width, far.place - near.place
    if not rise > 0:
        return None
    chord = run / rise
    if not (far.slope > 0 and near.slope > 0):
        return near.place - near.width * chord
    at = -near.width / rise  # in units of the rise, from the near point
    bend = (1 / near.slope - chord) * (at - 1) ** 2 * at
    bend += (1 / far.slope - chord) * (at - 1) * at**2
    return near.place + rise * (chord * at + bend)


def _step(zero: float, last: float | None, high: float, accuracy: float) -> float:
    """Return how far beside a zero to look, given how much curves differed."""
    unsure = UNSURE * (high - zero) if last is None else MISSED * abs(zero - last)
    return max(0.4 * accuracy, unsure)
