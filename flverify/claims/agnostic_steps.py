"""One local step of the agnostic paper: the mean-square error after it, listed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flverify.claims.nonsmooth import Nonsmooth
from flverify.claims.nonsmooth_losses import (
    SILENT,
    Capped,
    Client,
    Point,
    squared_distance,
)


def sigma_squared(one: Nonsmooth) -> Fraction:
    """sum_k p_k sigma_k^2."""
    rows = zip(one.weights(), one.clients, strict=True)
    return sum((p * client.variance for p, client in rows), Fraction(0))


def again(one: Nonsmooth, i: int, start: Point, best: Point, right: Any) -> Any:
    """Recheck by the plain loop that takes one step of client i, outcome by outcome."""
    return lambda: (step_error(one, i, start, best, plain_step), right)


def listed_step(one: Nonsmooth, i: int, start: Point, draw: Fraction) -> Point:
    """One local step of a client."""
    return one.track(i, start, [draw])[-1]


def plain_step(one: Nonsmooth, i: int, start: Point, draw: Fraction) -> Point:
    """Take the same step by the plain loop."""
    draws = tuple((draw,) if j == i else (Fraction(0),) for j in range(one.n_clients))
    return one.plain_local(i, 1, start, draws)


def step_error(
    one: Nonsmooth, i: int, start: Point, best: Point, step: Callable[..., Point]
) -> Fraction:
    """E|theta_i^t - theta*|^2 after one step, over the listed noise."""
    law = one.clients[i].noise.items()
    return sum(
        (p * squared_distance(step(one, i, start, v), best) for v, p in law),
        Fraction(0),
    )


def corners(one: Nonsmooth) -> list[Point]:
    """Points of C to start from: its ends, the minimiser, 0 and one between."""
    low, high = one.ends()
    listed = {low, high, *one.minimiser(), Fraction(0), high / 2}
    return [(x,) for x in sorted(listed) if low <= x <= high]


ALONE = {frozenset({1}): Fraction(1)}


def tent() -> Nonsmooth:
    """Return a client that starts on a plateau, with sigma = 0 and G = 1.

    Its gradient at theta^0 = 0 exists and vanishes; Assumptions 2 and 3 hold, 1 fails.
    """
    client = Client(Capped(Fraction(3)), SILENT)
    box = ("box", Fraction(0), Fraction(3))
    return Nonsmooth((client,), ALONE, box, Fraction(1, 4), 2, "literal")
