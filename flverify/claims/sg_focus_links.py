"""Links of one round of SG-FOCUS that the mended Theorems 3, 4 and 5 share.

Symbols and units are those of `sg_focus_theorem5`. What a link shows and what a sum of
links uses is one expression: `FALLEN`, `push_bound`, `GAP`, `SLOPE`, `BEFORE`,
`rows_after`, `tracked_bound`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.focus_lemma3 import EVERY, L, N, eta, gradients_of_rows, n
from flverify.claims.sg_focus_moves import FAR, LOUD, V, h2, path_bounded
from flverify.claims.sg_focus_noise import (
    S2,
    last_gradients_come_last,
    sum_of_stored,
)
from flverify.claims.verdict import Finding

INSIDE = "every N, tau, L, law, L-smooth f_i and eta inside the caps"
q, p = sympy.symbols("q p", positive=True)
e, E, M, y, s, g, g_v = sympy.symbols("e E M y s g g_v", nonnegative=True)
off, push, far = sympy.symbols("off push far", nonnegative=True)
B, B_new, A, A_next = sympy.symbols("B B_new A A_next", nonnegative=True)
fall, fall_next = sympy.symbols("fall fall_next", nonnegative=True)
noise = sympy.Symbol("noise", nonnegative=True)
a, b = sympy.symbols("a b", real=True)

FALLEN = fall - g_v / 2 - s / 2 + off / 2 + push  # bounds fall', for E<., nu> = 0
FOUR = sympy.Rational(5, 4)
LOST = sympy.Rational(13, 30)  # of the distance of a row, in a round
GAP = FOUR * B_new + 5 * e * E  # bounds `off`
SLOPE = FOUR * g_v + 5 * e * E  # bounds g
BEFORE = B + LOUD * M  # bounds B_new


def rows_after(distance: Any, lost: Any, moves: Any, tracker: Any) -> Any:
    """Return what bounds A' from A, B, M and e^2 y."""
    return distance - LOST * lost + 2 * LOUD * moves + 2 * tracker


@cache
def descent_at_v() -> Finding:
    """F(v - eta (S + nu)) by smoothness; E<grad F(v), nu> = 0; divided by eta N.

    G_v, S and D are the gradient at v, the sum and N grad F(v) - S in one coordinate.
    """
    G_v, S, nu = sympy.symbols("G_v S nu", real=True)
    moved = G_v * (-eta * (S + nu)) + L / 2 * (eta * (S + nu)) ** 2
    split = -eta * N / 2 * G_v**2 - eta / (2 * N) * S**2
    split += eta / (2 * N) * (N * G_v - S) ** 2 - eta * G_v * nu
    split += eta**2 * L / 2 * (S + nu) ** 2
    named = {g_v: G_v**2, s: (S / N) ** 2, off: (G_v - S / N) ** 2, fall: 0}
    named[push] = eta * L / (2 * N) * (S + nu) ** 2
    units = eta * N * FALLEN.subs(named) - eta * G_v * nu
    pairs = [("split", moved, split), ("units", split, units)]
    expanded = [(k, sympy.expand(x), sympy.expand(z)) for k, x, z in pairs]
    return judge.identity(expanded, "every eta, L, N and all vectors")


def young(weight: Any) -> Finding:
    """Show |a + b|^2 <= (1 + weight) |a|^2 + (1 + 1/weight) |b|^2, by coordinates."""
    one = sympy.Integer(1)
    right = (one + weight) * a**2 + (one + one / weight) * b**2
    return judge.implied([], (a + b) ** 2 <= right, EVERY)


def push_bound(weight: Any) -> Any:
    """Return (1 + weight)/2 e s + (1 + 1/weight) E."""
    return (1 + weight) / 2 * e * s + (1 + 1 / weight) * E


def pushed(weight: Any) -> Finding:
    """(eta L/(2 N)) |S + nu|^2 is at most `push_bound`; eta L N = e q <= e."""
    square = sympy.Symbol("square", nonnegative=True)
    split = eta * L / (2 * N) * ((1 + weight) * square + (1 + 1 / weight) * noise)
    bound = eta * L / (2 * N) * (1 + weight) * square + (1 + 1 / weight) * E
    unit = sympy.Eq(eta * L * S2, q * E)
    small = (1 + weight) / 2 * e * q * s
    units = (
        eta * L / (2 * N) * (1 + weight) * a**2,
        (1 + weight) / 2 * (eta * L * N / q) * q * (a / N) ** 2,
    )
    held = [push <= small + (1 + 1 / weight) * E, q <= 1]
    return judge.all_of(
        {
            "Young": young(weight),
            "noise": judge.implied(
                [q * noise <= 2 * N * S2, unit], split <= bound, EVERY
            ),
            "units": judge.identity([("s", *units)], EVERY),
            "q <= 1": judge.implied(held, push <= push_bound(weight), INSIDE),
        }
    )


def tracked(weight: Any) -> Finding:
    """Show e y <= `tracked_bound`, y = |S + n'|^2/N^2."""
    named = (eta * L * N / q * S2 / N, eta * L * S2 / q)
    held = [y <= tracker_bound(weight), sympy.Eq(e * S2, N * E)]
    return judge.all_of(
        {
            "y": tracker(weight),
            "e sigma^2/N": judge.identity([("E", *named)], EVERY),
            "e y": judge.implied(held, e * y <= tracked_bound(weight), EVERY),
        }
    )


def tracked_bound(weight: Any) -> Any:
    """Return (1 + weight) e s + (1 + 1/weight) E."""
    return (1 + weight) * e * s + (1 + 1 / weight) * E


def tracker_bound(weight: Any) -> Any:
    """Return (1 + weight) s + (1 + 1/weight) sigma^2/N."""
    return (1 + weight) * s + (1 + 1 / weight) * S2 / N


def tracker(weight: Any) -> Finding:
    """Show y <= `tracker_bound`: N stored noises, of sigma^2 each and apart."""
    held = [
        y <= (1 + weight) * s + (1 + 1 / weight) * noise / N**2,
        noise <= N * S2,
    ]
    return judge.all_of(
        {
            "the server moves by the sum": last_gradients_come_last(),
            "two terms": young(weight),
            "noises": sum_of_stored(),
            "bound": judge.implied(held, y <= tracker_bound(weight), EVERY),
        }
    )


@cache
def gap_at_v() -> Finding:
    """Split grad F(v) - S/N at grad F(w), and grad F(w) at grad F(v).

    far = L^2 E|v - w|^2 <= e E, and |N grad F(w) - S|^2 <= N^2 B_new by the rows.
    """
    near = sympy.Symbol("near", nonnegative=True)
    held = [off <= 5 * near + FOUR * B_new, near <= far, far <= e * E]
    slope = [g <= 5 * near + FOUR * g_v, near <= far, far <= e * E]
    return judge.all_of(
        {
            "Young": young(sympy.Integer(4)),
            "rows": gradients_of_rows(),
            "off": judge.implied(held, off <= GAP, EVERY),
            "g": judge.implied(slope, g <= SLOPE, EVERY),
        }
    )


@cache
def rows_followed() -> Finding:
    """Follow the row of a client with chance p, at a distance of d2 = E|w - z|^2.

    Absent, with weight 1 + p/(2 (1-p)) for w - z; present, with 2 and 2; Y the tracker,
    path = E|s_i|^2 for a participant, x = w - z, z = eta s_i, and all times L^2.
    """
    x, z, t = sympy.symbols("x z t", real=True)  # t = eta Y
    d2, path, Y2 = sympy.symbols("d2 path Y2", nonnegative=True)
    weight = (1 - p / 2) / (1 - p)
    absent = (x - t) ** 2 <= weight * x**2 + 2 / p * t**2
    present = (z - t) ** 2 <= 2 * z**2 + 2 / p * t**2
    # in units: V = L^2 d2, (eta L)^2 path <= FAR h2 V + LOUD M
    moved = [path <= FAR * h2 * V + LOUD * M, 128 * h2 <= q**3, q <= p, p <= 1]
    grown = (eta * L) ** 2 * n**2 * (FAR * V + LOUD * S2)
    units = (eta * L * n) ** 2 * FAR * V + LOUD * ((eta * L * n) ** 2 * S2)
    after = (1 - p / 2) * V + 2 * p * path + 2 / p * Y2
    fallen = p * rows_after(V / p, V, M, Y2 / p**2)
    return judge.all_of(
        {
            "absent": judge.implied([p < 1], absent, INSIDE),
            "present": judge.implied([p <= 1], present, INSIDE),
            "absent, mean": judge.identity(
                [("weight", sympy.cancel((1 - p) * weight), 1 - p / 2)], "p < 1"
            ),
            "p = 1": judge.implied([p <= 1], (1 - p) * d2 <= (1 - p / 2) * d2, EVERY),
            "moves": path_bounded(),
            "h2 and M": judge.identity([("units", grown, units)], EVERY),
            "after the push": judge.implied(moved, after <= fallen, INSIDE),
            "before the push": judge.implied(
                moved, (1 - p) * V + p * path <= BEFORE.subs(B, V), INSIDE
            ),
            "A": _weighted(),
        }
    )


def _weighted() -> Finding:
    """Add up over clients: sum 1/p_i^2 <= N/q^2; (eta L N/q)^2 y = e^2 y."""
    Y2 = sympy.Symbol("Y2", nonnegative=True)
    own, all_ = (rows_after(V / p, V, M, Y2 / c**2) for c in (p, q))
    square = N / q**2 * (eta * L) ** 2 * (N * a) ** 2 / N
    units = square, (eta * L * N / q) ** 2 * a**2
    return judge.all_of(
        {
            "1/p": judge.implied([q <= p], own <= all_, EVERY),
            "y": judge.identity([("units", *units)], EVERY),
        }
    )
