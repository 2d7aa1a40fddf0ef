"""The last part of the proof of Theorem 4, mended: from the model v to the server's w.

Notation of `sg_focus_theorem4`. After R rounds F(v) - F* and the consensus error less
its noise are at most (1 - 11/10 x)^R (F(w_0) - F*), and noise; here F(w) - F* and the
consensus error itself are bounded by them, and by the stale noise d = w - v.
"""

from __future__ import annotations

from functools import cache

import sympy

from flverify.claims import judge
from flverify.claims import sg_focus_contraction as shared
from flverify.claims.focus_lemma3 import EVERY, L, N, eta
from flverify.claims.sg_focus_contraction import reached, stale, x
from flverify.claims.sg_focus_links import LOST, g_v, q
from flverify.claims.sg_focus_moves import LOUD
from flverify.claims.sg_focus_noise import S2
from flverify.claims.verdict import Finding
from flverify.claims.written import put_in

RATE = sympy.Rational(11, 10)
NOISE, MOVES = sympy.Rational(26, 5), sympy.Integer(20)  # of a round
KEPT = 1 - LOST * q  # of the consensus error, in a round
EARLY = sympy.Rational(2, 5)  # of x R
Z, rest = sympy.symbols("Z rest", nonnegative=True)
beta = sympy.Symbol("beta", positive=True)
n = sympy.Symbol("n", integer=True, nonnegative=True)
a, b = sympy.symbols("a b", real=True)


@cache
def server_value() -> Finding:
    """Bound F(w) - F* + B by F(v) - F* and E|d|^2; then the floor, early and later.

    In units of phi; L/2 E|d|^2 is stale/2, Y = x sums, and M/beta is `moved`.
    """
    Y, moved = sympy.symbols("Y moved", nonnegative=True)
    c, later = reached / 10, EARLY / 10
    noise, most = NOISE + MOVES * moved, 8 + 64 * moved
    early = (1 + c) * noise * Y + stale / 2 + stale / (2 * c)
    late = (1 + later) * noise * Y + (1 + 1 / later) * stale / 2
    first = [reached >= Y, stale <= reached, reached <= EARLY, reached > 0]
    last = [RATE * Y <= 1, 9 * stale <= 1]
    return judge.all_of(
        {
            "F(w)": _value_at_w(),
            "units": judge.identity(_units(), EVERY),
            "early": judge.implied(first, early <= most, EVERY),
            "late": judge.implied(last, late <= most, EVERY),
            "late, c": judge.implied([reached >= EARLY], later <= reached / 10, EVERY),
            "x/q": judge.implied([9 * x <= q, q * stale <= x], 9 * stale <= 1, EVERY),
            "64 M/beta": judge.implied([q <= 1], 64 * moved <= 64 / q * moved, EVERY),
            "together": shared.put_together(),
        }
    )


def _value_at_w() -> Finding:
    """F(w) - F* <= (1 + c) (F(v) - F*) + (1 + 1/c) L/2 |d|^2, one coordinate of w - v.

    `below` is F one step 1/L down from v: so |grad F(v)|^2 <= 2 L (F(v) - F*).
    """
    c = sympy.Symbol("c", positive=True)
    at_w, at_v, least, below, inner = sympy.symbols(
        "F_w F_v F_least below inner", real=True
    )
    square = sympy.Symbol("square", nonnegative=True)  # |d|^2
    held = [
        at_w <= at_v + inner + L / 2 * square,
        inner <= c / (2 * L) * g_v + L / (2 * c) * square,
        g_v <= 2 * L * (at_v - least),
    ]
    down = [below <= at_v - g_v / (2 * L), least <= below]
    right = (1 + c) * (at_v - least) + (1 + 1 / c) * L / 2 * square
    product = a * b <= c / (2 * L) * a**2 + L / (2 * c) * b**2
    return judge.all_of(
        {
            "Young": judge.implied([], product, EVERY),
            "slope": judge.implied(down, held[-1], EVERY),
            "value": judge.implied(held, at_w - least <= right, EVERY),
        }
    )


def _units() -> list[judge.Pair]:
    """Name eta N E, eta N M, L/2 x R eta sigma^2/(beta q), and eta N Z as rows."""
    phi = eta * L * S2 / (q * beta)
    moves, scale = (eta * L * n) ** 2 * S2, eta * beta * N
    printed = 8 * L / q + 64 / q * eta * L**2 * n**2
    return [
        ("E", eta * N * eta * L * S2 / q, scale * phi),
        ("M", eta * N * moves, scale * moves / beta),
        ("stale", L / 2 * reached * eta * S2 / (beta * q), reached / 2 * phi),
        ("rows", N / L**2 * (eta * L**2 * Z), eta * N * Z),
        ("floor", printed * eta * S2 / beta, 8 * phi + 64 / q * moves / beta),
    ]


@cache
def consensus() -> Finding:
    """13/30 q rest <= f is kept; N/L^2 rest <= 48 N (N + n^2) eta^2 sigma^2/q^2.

    And F(w) - F* + (1 - 4 eta L^2) (rows) is at most what is put together.
    """
    f, rows, weight = sympy.symbols("f rows weight", nonnegative=True)
    moves, noise = (eta * L * n) ** 2 * S2, 12 * (eta * L * N / q) ** 2 * q * S2 / N
    in_rows = 2 * LOUD * N * eta**2 * n**2 * S2 + 12 * eta**2 * N**2 * S2 / q
    lost = 1 - KEPT
    kept = lost * rest <= f
    unit = eta**2 * S2
    bound = 48 * N * (N + n**2) * unit / q**2
    least = 2 * LOUD * N * n**2 * unit + 12 * N**2 * unit / q
    error, value, stale_part, own, c = sympy.symbols(
        "error value stale_part own c", nonnegative=True
    )
    held = [
        error <= (1 + c) * value + stale_part + weight * rows,
        weight <= 1,
        rows <= Z + rest,
        value + Z <= own,
    ]
    return judge.all_of(
        {
            "start": judge.implied([], put_in(kept, {rest: 0}), EVERY),
            "kept": judge.implied(
                [kept, q <= 1], kept.subs(rest, KEPT * rest + f), EVERY
            ),
            "units": judge.identity(
                [("f", N / L**2 * (2 * LOUD * moves + noise), in_rows)], EVERY
            ),
            "rest": judge.implied(
                [lost * rest <= least, q <= 1, N >= 1], rest <= bound, EVERY
            ),
            "Omega": judge.implied(
                held, error <= (1 + c) * own + stale_part + rest, EVERY
            ),
        }
    )
