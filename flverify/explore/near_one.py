"""Rates next to 1, in rationals: there floats may tell the wrong side of it.

In floats a rate is off by its rounding, and by far more where eigenvalues meet, as
those of FOCUS do around eta L = 1 or of rare clients do. Rounds follow from what is
left to 1, so that is asked of the same quadratics in rationals where it is little.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from flverify.certify.quadratics import Group, Instance, QuadraticRates
from flverify.explore.corners import (
    Corner,
    all_tried,
    corner_batch,
    corner_of,
    law_of,
    radii,
    scaled,
    unit_rates,
    worst_corner,
)
from flverify.explore.instance import instance_rate, stands_alone
from flverify.explore.view import View
from flverify.report.numbers import bound

Rate: TypeAlias = float | Fraction

NEAR = 1e-3  # from 1: a float rate beyond has eight digits of what is left to 1
MEET = 1e-5  # by how much floats may be off where eigenvalues meet
MOST, MOST_OF_TWO = 20, 8  # corners asked in rationals, of one class and of more
DIGITS = 36  # of an enclosure
TOLD = Fraction(1, 10**9)  # from 1: beyond, decimals of a rate tell it apart
TOLD_ABOVE = Fraction(1, 10**5)


@lru_cache(maxsize=512)
def worst_rate(view: View) -> tuple[Rate, Corner, bool]:
    """Return the largest rate over corners, the first that has it, and if all count.

    Examples
    --------
    >>> view = View("focus", 3, "full", local_steps=8, step_size="0.99")
    >>> rate, corner, every = worst_rate(view)
    >>> f"{float(1 - rate):.3g}", str(corner), every
    ('1e-14', '3 of 3 clients at L', True)
    """
    law, (ratio, scale) = law_of(view), scaled(view)
    rate, corner = worst_corner(law, ratio, scale)
    every = all_tried(law, ratio)
    if not abs(rate - 1) < NEAR:
        return rate, corner, every
    rates = unit_rates(law)
    batch = corner_batch(rates, ratio, np.array([scale]))
    found = radii(rates, batch)
    order = np.argsort(-found, kind="stable")
    near = order[found[order] > found.max() - MEET]
    most = MOST if len(rates.classes.sizes) == 1 else MOST_OF_TWO
    asked = np.sort(near[:most]).tolist()
    corners = [corner_of(rates, batch, k, scale) for k in asked]
    exact = [_enclosed(rates, _at_corner(view, one)) for one in corners]
    best = exact.index(max(exact))
    return exact[best], corners[best], every and len(near) <= most


@lru_cache(maxsize=512)
def curves_rate(view: View) -> Rate:
    """Return the rate of the quadratics that curves are drawn on.

    Examples
    --------
    >>> view = View("focus", probability="9/10", local_steps=3, step_size="1.001")
    >>> f"{1 - float(curves_rate(view)):.3g}"
    '1.8e-06'
    """
    law = law_of(view)
    rate = instance_rate(law, *scaled(view))
    if not abs(rate - 1) < NEAR:
        return rate
    rates, instance = unit_rates(law), _of_curves(view)
    if stands_alone(*scaled(view)):
        whole = QuadraticRates.of(rates.reading.algorithm, rates.classes.law)
        return _beside_one(*map(Fraction, whole.occurring(instance, DIGITS)))
    return _enclosed(rates, instance)


def in_floats(rate: Rate) -> float:
    """Return a float on the side of 1 on which the rate lies.

    Examples
    --------
    >>> in_floats(1 - Fraction(1, 10**30)) < 1 < in_floats(1 + Fraction(1, 10**30))
    True
    """
    value = float(rate)
    if rate < 1 <= value:
        return math.nextafter(1, 0)
    return math.nextafter(1, 2) if value <= 1 < rate else value


def beside_one(rate: Fraction, *, up: bool | None = None) -> str | None:
    """Write a rate that decimals do not tell from 1; None where they do.

    Parameters
    ----------
    rate : Fraction
    up : bool, optional
        Whether it is an upper bound, or a lower one, and rounded as such.

    Examples
    --------
    >>> beside_one(1 - Fraction(1, 10**30)), beside_one(Fraction(1, 2))
    ('1 - 1e-30', None)
    >>> beside_one(1 + Fraction(1, 3 * 10**6), up=True)
    '1 + 3.33334e-07'
    """
    gap = abs(1 - rate)
    if not 0 < gap < (TOLD if rate < 1 else TOLD_ABOVE):
        return None
    outward = (up is True) == (rate > 1)
    return f"1 {'-' if rate < 1 else '+'} {bound(gap, 6, up=outward)}"


def _enclosed(rates: QuadraticRates, instance: Instance) -> Fraction:
    return _beside_one(*map(Fraction, rates.enclosure(instance, DIGITS)))


def _beside_one(low: Fraction, high: Fraction) -> Fraction:
    """Return the end of an enclosure that is nearer to 1; 1 where it holds 1."""
    return low if low > 1 else min(high, Fraction(1))


def _at_corner(view: View, corner: Corner) -> Instance:
    """Return the quadratics of a corner, with eta h for h."""
    high, low = _scaled(view)
    groups = []
    for r, (k, n) in enumerate(zip(corner.at_most, corner.sizes, strict=True)):
        groups += [Group(r, k, high), Group(r, n - k, low)]
    return Instance.of(groups)


def _of_curves(view: View) -> Instance:
    """Return those of the curves, with eta h for h: L and mu take turns."""
    high, low = _scaled(view)
    groups, first = [], 0
    for r, n in enumerate(unit_rates(law_of(view)).classes.sizes):
        odd = sum(i % 2 for i in range(first, first + n))
        groups += [Group(r, n - odd, high), Group(r, odd, low)]
        first += n
    return Instance.of(groups)


def _scaled(view: View) -> tuple[Fraction, Fraction]:
    step = view.number("step_size")
    return step * view.number("smoothness"), step * view.number("strong_convexity")
