"""Where a margin begins, found from above with few solves.

Above its threshold the margin of an inequality grows almost in proportion to the
distance; below, it is zero and says nothing of how far away the threshold is. So lines
through points above say where to look, and a solve below is spent only to confirm.
"""

from __future__ import annotations

from collections.abc import Callable

WIDE_ENOUGH = 1e-11  # margin that lets rounding try
NEAR = 1e-4  # distance of two points, well above what a solver errs
MISSED = 3.0  # by how much more the next line may err than the last two differ

Points = list[tuple[float, float]]


def threshold(
    margin: Callable[[float], float],
    low: float,
    known: tuple[float, float],
    width: Callable[[float], float],
) -> float:
    """Return a point with a margin, at most `width` above one without.

    Parameters
    ----------
    margin : callable
        Above WIDE_ENOUGH at every point from the threshold on, and nowhere below.
    low : float
        The threshold is above it.
    known : (float, float)
        A point with a margin, and how wide it is there.
    width : callable
        Accuracy wanted, given the best point so far.

    Examples
    --------
    >>> asked = []
    >>> def rising(rho):
    ...     asked.append(rho)
    ...     return max(0.0, (rho - 0.9) * (2 - rho))
    >>> found = threshold(rising, 0.0, (1.0, rising(1.0)), lambda rho: 1e-6)
    >>> 0.9 < found < 0.900001, len(asked) < 12
    (True, True)
    """
    high, points = known[0], [known]
    gap, zero, halve = _first_gap(high), None, False
    while high - low > width(high):
        last, zero = zero, _zero(points)
        if zero is None:
            guess, gap = high - gap, 8 * gap
        else:
            guess = _beside(zero, last, high, width(high))
        if halve or not low < guess < high:
            guess = (low + high) / 2
        value = margin(guess)
        if value > WIDE_ENOUGH:
            high, halve = guess, False
            points.append((guess, value))
        else:
            # a line that failed above its own zero has nothing more to say
            low, halve = guess, zero is None or guess > zero
    return high


def _first_gap(high: float) -> float:
    """Return the distance to the second point; slow rates lie close together."""
    return NEAR if 1 - high < NEAR else min(NEAR, (1 - high) / 50)


def _zero(points: Points) -> float | None:
    """Where the line through the last two points meets zero."""
    if len(points) < 2:
        return None
    (far, most), (near, least) = points[-2:]
    rise = most - least
    return near - least * (far - near) / rise if rise > 0 else None


def _beside(zero: float, last: float | None, high: float, width: float) -> float:
    """Step to the near side of a zero, or, from close by, to its other side."""
    unsure = (high - zero) / 20 if last is None else MISSED * abs(zero - last)
    step = max(0.4 * width, unsure)
    return zero + step if high - zero > 1.5 * step else zero - step
