"""Search instances of FOCUS for the round at which an inequality fails most."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from flverify._core.exact import Array
from flverify.claims import judge
from flverify.claims.focus_families import starts
from flverify.claims.focus_moments import Clients, Curves, Start, curves, recomputation

NOTICEABLE = 1e-6  # relative excess at which a round is worth recomputing
CLOSE = 1e-7  # relative gap below which the sides are taken in rationals


@dataclass(frozen=True)
class Instance:
    """Clients, a step, a start, and the value of q_min that the step was taken for."""

    clients: Clients
    step: Fraction
    start: Start
    q: Fraction

    @property
    def equal_start(self) -> bool:
        """Whether server and clients start at one model."""
        return {*self.start[1]} == {self.start[0]}

    def where(self, r: int) -> dict[str, Any]:
        """Return the instance at round r, for a report; the caps hold exactly."""
        w, z = self.start
        return {
            **self.clients.where(),
            "q_min": self.q,
            "step size": self.step,
            "x*": 0,
            "xbar_1": w,
            "rows of x_0": f"all {z[0]}" if len({*z}) == 1 else list(z),
            "R": r,
        }


class Sides(NamedTuple):
    """Both sides of an inequality for R = first, first + 1, ..."""

    first: int
    left: Array
    right: Array


Inequality = Callable[[Instance, Curves], Sides]
Chosen = Iterable[tuple[Clients, Fraction, Fraction]]  # with step and q_min


def searched(
    chosen: Chosen, inequality: Inequality, rounds: int, *, equal: bool = False
) -> Iterator[judge.Case]:
    """Yield for every instance and start the round at which left exceeds right most.

    The first round of a noticeable excess is taken instead, if there is one: it has
    the shortest rationals. With `equal`, all models start equal.

    Parameters
    ----------
    chosen : iterable of (Clients, step, q_min)
    inequality : callable
        From an instance and its moments to left and right, for floats and rationals.
    rounds : int
    equal : bool
    """
    for clients, step, q in chosen:
        begun = [s for s in starts(clients) if not equal or {*s[1]} == {s[0]}]
        every = _moments(clients, step, tuple(begun), rounds)
        for k, start in enumerate(begun):
            one = Instance(clients, step, start, q)
            first, left, right = inequality(one, _row(every, k))
            place = _worst(left, right)
            sides: tuple[Any, Any] = (float(left[place]), float(right[place]))
            again = None
            size = CLOSE * max(map(abs, sides))
            if sides[0] > sides[1] - size:  # violated, or too close for floats
                again = _again(one, inequality, first + place)
                if again is not None and sides[0] <= sides[1] + size:
                    sides = again()
            yield judge.Case(one.where(first + place), *sides, again)


@cache
def _moments(
    clients: Clients, step: Fraction, begun: tuple[Start, ...], rounds: int
) -> Curves:
    return curves(clients, step, begun, rounds)


def _row(every: Curves, k: int) -> Curves:
    return Curves(every.server[k], every.behind[k], every.lagged[k])


def _worst(left: Array, right: Array) -> int:
    size = np.maximum(np.abs(left) + np.abs(right), 1e-300)
    excess = (left - right) / size
    noticed = np.flatnonzero(excess > NOTICEABLE)
    return int(noticed[0] if len(noticed) else np.argmax(excess))


def _again(
    one: Instance, inequality: Inequality, r: int
) -> Callable[[], tuple[Any, Any]] | None:
    """Return a function for both sides at round r in rationals, if there is a way."""
    way = recomputation(one.clients, one.start, r)
    if way is None:
        return None

    def sides() -> tuple[Any, Any]:
        found = way(one.clients, one.step, one.start, r)
        _, left, right = inequality(one, found)
        return left[-1], right[-1]

    return sides


def small_exact(
    chosen: Chosen, inequality: Inequality, rounds: int
) -> Iterator[judge.Case]:
    """Yield small instances at every round, in rationals, from two starts."""
    for clients, step, q in chosen:
        if len(clients.curvatures) > 2 or clients.local_steps > 2:
            continue
        begun = starts(clients)[:2]
        every = curves(clients, step, begun, rounds, exact=True)
        for k, start in enumerate(begun):
            one = Instance(clients, step, start, q)
            first, left, right = inequality(one, _row(every, k))
            for place, sides in enumerate(zip(left, right, strict=True)):
                again = _again(one, inequality, first + place)
                yield judge.Case(one.where(first + place), *sides, again)


def number(value: Fraction, like: Array) -> Any:
    """Return the value in the arithmetic of an array."""
    return value if like.dtype == object else float(value)


def powers(base: Fraction, like: Array) -> Array:
    """Return 1, base, base^2, ... as long as the array, in its arithmetic."""
    factor = number(base, like)
    out = np.empty(len(like), dtype=like.dtype)
    out[:] = [factor**k for k in range(len(like))]
    return out
