"""Rates are written in few digits: what is asked, tried and told is a short number."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import floor, log10

UNIT = Fraction(1, 10**6)  # in which rates are written, slow ones finer
SLACK = Fraction(5, 10**6)  # how far above a lower bound a rate has reached it
SHARE = Fraction(1, 200)  # the same as a share of 1 less the bound, for slow rates


def just_above(lower_bound: Fraction) -> Fraction:
    """Return a short rational a little above a lower bound: what to try first.

    Examples
    --------
    >>> str(just_above(Fraction(9, 10))), str(just_above(1 - Fraction(1, 10**4)))
    ('180001/200000', '1999801/2000000')
    """
    slack = min(SLACK, (1 - lower_bound) * SHARE)
    if slack <= 0:
        return lower_bound
    # as a float it may be 0
    digits = log10(slack.numerator) - log10(slack.denominator)
    unit = Fraction(10) ** floor(digits)
    return rounded_up(lower_bound + slack, unit)


def nearest(rho: float) -> Iterator[Fraction]:
    """Yield what floats found, if it is a short rate, then those above it.

    Examples
    --------
    >>> [str(rate) for rate in nearest(0.99)][:2], str(next(nearest(0.99 - 1e-9)))
    (['99/100', '990001/1000000'], '990001/1000000')
    """
    here = _beside(rho)
    if float(here) == rho:
        yield here
    yield from trials(rho)


def trials(rho: float, first: int = 1) -> Iterator[Fraction]:
    """Yield short rates below 1, from just above what floats found, ever further up.

    Examples
    --------
    >>> [str(rate) for rate in trials(0.99)]
    ['990001/1000000', '99001/100000', '9901/10000', '991/1000']
    """
    unit = _unit(rho)
    gap = first * unit
    while (rate := rounded_up(Fraction(rho) + gap, unit)) < 1:
        yield rate
        gap *= 10


def rounded_up(value: Fraction, step: Fraction = UNIT) -> Fraction:
    """Round up to a multiple of a step."""
    return -((-value) // step) * step


def short(rho: float) -> float:
    """Return the next short rate, where there is one between 0 and 1.

    Examples
    --------
    >>> short(0.12345678), short(1 - 1e-9), short(float("inf"))
    (0.123457, 0.999999999, inf)
    """
    if not 0 < rho < 1:
        return rho
    near = _beside(rho)
    rate = float(near if float(near) >= rho else near + _unit(rho))
    return rate if rate < 1 else rho


def _beside(rho: float) -> Fraction:
    """Return the short rate that is closest, which is the float itself or is not."""
    unit = _unit(rho)
    return round(Fraction(rho) / unit) * unit


def _unit(rho: float) -> Fraction:
    """Return the unit of short rates near one below 1."""
    return min(UNIT, Fraction(10) ** floor(log10((1 - rho) * float(SHARE))))
