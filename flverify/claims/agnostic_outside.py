"""(7) of the agnostic paper from theta^0 = 0 outside of C, after k >= 2 local steps.

Let b = |theta^0 - theta^1| in the first step, theta^1 being in C. With s = theta* the
projection gives |theta^1 - s|^2 <= |theta^0 - s|^2 - b^2 - 2 eta <g, theta^1 - s>. In
the mean, with f_i convex and E |g| b <= G B, that is

    |theta^1 - s|^2 <= |theta^0 - s|^2 - B^2 + 2 eta G B - 2 eta v_0,

B^2 = E b^2, v_0 = f_i(theta^0) - f_i(s). The projection z of theta^0 is at most B away,
and f_i falls by at most G B from z to theta^0. From z on all is as from a start in C: a
model is at most eta G away from it per step, and f_i has the constant ell on C. So v_0
is at least v - ell k eta G - G B, where v is of the next server model, and 4 eta G B -
B^2 <= 4 eta^2 G^2. The other k - 1 steps cost eta^2 G^2 each, their values 2 ell k eta
G. That is k + 3 times eta^2 G^2 in all, at most the 3 k of (7) if k >= 2.

With k = 1 it can be more: f = |200 x - 9999 y + 1|/10001 has gradients of length 1 and
is 0 on a line, which passes by 0 and meets C, the segment from (-50, 1) to (50, 1), far
away, at theta* = (49.99, 1). So theta* minimises f in the whole plane; ell = 200/10001
is small, and the step from 0 leads away from theta* on C.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial

import sympy

from flverify.claims import judge
from flverify.claims.agnostic_rounds import (
    BOUND,
    ELL,
    ETA,
    STEPS,
    Room,
    added_steps,
    after_a_round,
    coupling,
    one_step,
)
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding

SCOPE = (
    "every N, dimension, C, law of S and of the noise, step size, k >= {}; "
    "S independent of the models"
)
Vector = tuple[Fraction, Fraction]
SLOPE = (Fraction(200, 10001), Fraction(-9999, 10001))  # of length 1
OFFSET, END, BEST = Fraction(1, 10001), Fraction(50), Fraction(4999, 100)


@cache
def first_period(room: Room, least: int) -> Finding:
    """Judge (7) in the first period, of at least so many steps, from outside of C.

    Examples
    --------
    >>> print(first_period((2, 3, 8), 2).verdict)
    PROVED
    >>> first_period((2, 3, 8), 1).passes()
    False
    """
    scope = SCOPE.format(least)
    return judge.all_of(
        {
            "projection": _three_points(scope),
            "first step": _first_step(scope),
            "steps in C": judge.all_of(
                {
                    "one step": one_step(0, 1),
                    "values": coupling(2),
                    "sum": added_steps(),
                }
            ),
            "(7)": _collected(room, least, scope),
        },
        scope=scope,
        argument=__doc__,
    )


def _three_points(scope: str) -> Finding:
    """<theta^0 - eta g - theta^1, s - theta^1> <= 0, in coordinates and summed."""
    x, z, s, g = sympy.symbols("x z s g", real=True)
    far = (x - z) ** 2 + (z - s) ** 2 + 2 * (x - z) * (z - s)
    turned = (x - ETA * g - z) * (s - z)
    pairs = [
        ("|x - s|^2", (x - s) ** 2, far),
        ("a coordinate", turned, ETA * g * (z - s) - (x - z) * (z - s)),
    ]
    before, after, moved, cross, slope = sympy.symbols(
        "before after moved cross slope", real=True
    )
    held = [sympy.Eq(before, moved + after + 2 * cross), ETA * slope - cross <= 0]
    least = judge.implied(held, after <= before - moved - 2 * ETA * slope, scope)
    return judge.all_of({"squares": judge.identity(pairs, scope), "signs": least})


def _first_step(scope: str) -> Finding:
    """Take means, and compare the value at theta^0 with that of the next server."""
    before, after, slope = sympy.symbols("before after slope", real=True)
    start, v = sympy.symbols("v_0 v", real=True)
    B, near = sympy.symbols("B near", nonnegative=True)  # near: of z and theta_hat
    steep = [after <= before - B**2 - 2 * ETA * slope, slope >= start - BOUND * B]
    one = after <= before - B**2 + 2 * ETA * BOUND * B - 2 * ETA * start
    low = [start >= v - ELL * near - BOUND * B, near <= STEPS * ETA * BOUND]
    value = start >= v - ELL * STEPS * ETA * BOUND - BOUND * B
    paid = 4 * ETA * BOUND * B - B**2 <= 4 * ETA**2 * BOUND**2
    return judge.all_of(
        {
            "|g| b": judge.implied(steep, one, scope),
            "value": judge.implied(low, value, scope),
            "B": judge.implied([], paid, scope),
        }
    )


def _collected(room: Room, least: int, scope: str) -> Finding:
    """Add the first step to k - 1 others and compare with (7), term by term."""
    before, after, then, v = sympy.symbols("before after then v", real=True)
    unit = ETA**2 * BOUND
    first = then <= before - 2 * ETA * v + 4 * unit * BOUND + 2 * ELL * STEPS * unit
    others = STEPS - 1
    rest = then - 2 * ETA * others * v + 4 * others * ELL * STEPS * unit
    held = [first, after <= rest + others * unit * BOUND, least <= STEPS]
    none = (0, *map(rational, room[1:]))  # nothing of sigma is needed
    return judge.implied(held, after_a_round(after, before, v, none), scope)


# one client ----------------------------------------------------------------------


def led_away(room: Room, least: int) -> Iterator[judge.Case]:
    """Yield both sides of (7) for the client above, from theta^0 = 0."""
    ell = SLOPE[0]
    for steps in (least, least + 1):
        for eta in (Fraction(1, 2), Fraction(3, 5)):
            where = {"f_1": "|200 x - 9999 y + 1|/10001", "N": 1, "H": steps}
            where |= {"C": ["-50..50", 1], "theta^0": [0, 0], "theta*": [BEST, 1]}
            where |= {"eta": eta, "sigma": 0, "G": 1, "ell": ell}
            left_to_go = BEST - (steps - 2) * eta * ell  # one step away, then towards
            right = BEST**2 + 1 - 2 * eta * steps * left_to_go * ell
            right += _room(room, eta, steps)
            recheck = partial(_again, room, eta, steps)
            yield judge.Case(where, left_to_go**2, right, recheck)


def _room(room: Room, eta: Fraction, steps: int) -> Fraction:
    """Return what (7) allows for sigma = 0 and G = 1."""
    _, square, cross = map(Fraction, room)
    return Fraction(steps * eta**2 * (square + cross * SLOPE[0] * steps))


def _again(room: Room, eta: Fraction, steps: int) -> tuple[Fraction, Fraction]:
    """Return the same by subgradient steps and projections."""
    model = (Fraction(0), Fraction(0))
    for _ in range(steps):
        x = model[0] - eta * (SLOPE[0] if _line(model) > 0 else -SLOPE[0])
        model = (max(-END, min(END, x)), Fraction(1))
    best = (BEST, Fraction(1))
    gap = abs(_line(model)) - abs(_line(best))
    left = sum((a - b) ** 2 for a, b in zip(model, best, strict=True))
    right = sum(b**2 for b in best) - 2 * eta * steps * gap + _room(room, eta, steps)
    return Fraction(left), Fraction(right)


def _line(at: Vector) -> Fraction:
    return SLOPE[0] * at[0] + SLOPE[1] * at[1] + OFFSET
