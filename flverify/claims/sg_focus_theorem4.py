r"""Theorem 4 of the FOCUS paper, mended: F under the PL condition, with noise.

With the model v = w - d of `sg_focus_virtual`, the units of `sg_focus_theorem5` and

    x = eta beta N <= q/9,  fall = (F(v) - F*)/(eta N),  phi = eta L sigma^2/(q beta),

the links of one round are those of Theorem 5, with 64 e^2 <= q, and besides

    2 x fall <= g_v              the PL condition,
    g_v <= 2 s + 2 off           so that s/2 is of use for the rate,
    push <= 3/4 e s + 3 E,  e y <= 3/2 e s + 3 E,  q A <= B.

The mean of the rows, B' <= (1 - 13/30 q) B + 2 LOUD M + 2 e^2 q y, is split, B <= eta
L^2 Z + rest. The rest takes the noise, and Z what 2 eta N^2/q <= 1/8 makes small:

    Z' <= (1 - 13/30 q) Z + 3/20 s,  13/30 q rest <= 2 LOUD M + 12 e^2 q sigma^2/N.

So fall + (17/7) A + (8/7) Z falls by the factor 1 - 11/10 x, less 26/5 E + 20 M, and so
does fall + (17/7) A with the Z of one round before. All models equal: A_0 = Z_0 = far_0
= 0 and d = 0. At last F(w) - F* <= (1 + c) (F(v) - F*) + (1 + 1/c) L/2 |d|^2, with c =
x R/10 while x R <= 2/5, and c = 1/25 later; then (1 + c) (1 - 11/10 x)^R <= (1 - x)^R,
and the floor is at most 8 phi + 64 eta L^2 (tau-1)^2 phi/L, beside 48 N (N + (tau-1)^2)
eta^2 sigma^2/q^2 for the rest of the consensus error.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims import sg_focus_contraction as shared
from flverify.claims import sg_focus_links as links
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_lemma3 import EVERY, L, N, eta
from flverify.claims.rationals import rational
from flverify.claims.sg_focus_contraction import x
from flverify.claims.sg_focus_lemma6 import at_most_inclusion
from flverify.claims.sg_focus_links import (
    INSIDE,
    A,
    A_next,
    B,
    B_new,
    E,
    M,
    e,
    fall,
    fall_next,
    g_v,
    off,
    p,
    push,
    q,
    s,
    y,
)
from flverify.claims.sg_focus_moves import FAR, LOUD, V, h2
from flverify.claims.sg_focus_noise import S2
from flverify.claims.sg_focus_theorem4_server import (
    KEPT,
    MOVES,
    NOISE,
    RATE,
    Z,
    a,
    beta,
    consensus,
    rest,
    server_value,
)
from flverify.claims.sg_focus_virtual import (
    virtual_distance,
    virtual_noise,
    virtual_step,
)
from flverify.claims.verdict import Finding

RUNS = "every N, tau, law, L-smooth f_i with F beta-PL, and eta inside the caps"
LAWS = dict.fromkeys(Q_READINGS, RUNS)
LAWS[Q_READINGS[1]] = RUNS.replace("law", "uniform cohorts of m clients")
HALF = sympy.Rational(1, 2)
FIFTH = sympy.Rational(1, 5)
WEIGHT, LAG = sympy.Rational(17, 7), sympy.Rational(8, 7)  # of A and of Z
MONOMIALS = (
    "q/(beta N (4-q))",
    "q/L^2",
    "q^(3/2)/(sqrt(2) L (tau-1))",
    "q/N^2",
    "q^(3/2)/(L N)",
)
Z_next = sympy.Symbol("Z_next", nonnegative=True)
Z_AFTER = KEPT * Z + sympy.Rational(3, 20) * s  # bounds Z_next


def mean_row_after(mean: Any, moves: Any, tracker: Any) -> Any:
    """Return what bounds B' from B, M and e^2 q y."""
    return KEPT * mean + 2 * LOUD * moves + 2 * tracker


def theorem4(c: SimpleNamespace, reading: str) -> Finding:
    """Judge the chain for the caps of a claim and a q, and the floor with it."""
    if c.floor != "wider" or not {*MONOMIALS} <= {*c.caps} or reading not in Q_READINGS:
        return judge.inconclusive("the proof has other caps and another floor")
    return judge.all_of(
        {
            "q is at most p_i": at_most_inclusion(reading, c.case_3a),
            "caps": _caps(c.caps),
            **_round(),
            "R rounds": shared.rounds_added(),
            "from Z to the next": _one_behind(),
            "spare rate": shared.spare_rate(sympy.Integer(1), RATE - 1),
            "stale noise": shared.stale_noise(),
            "the server": server_value(),
            "consensus": consensus(),
        },
        scope=LAWS[reading],
        argument=__doc__,
    )


@cache
def _round() -> dict[str, Finding]:
    return {
        "descent": links.descent_at_v(),
        "noise": virtual_noise(),
        "the model without stale noise": virtual_step(),
        "its distance": virtual_distance(),
        "PL": _slopes(),
        "push": links.pushed(HALF),
        "off": links.gap_at_v(),
        "rows": links.rows_followed(),
        "q A": _weights(),
        "tracker": links.tracked(HALF),
        "mean row": _mean_row(),
        "split": _split(),
        "one round": _one_round(),
    }


# Caps ----------------------------------------------------------------------------


def _caps(caps: dict[str, str]) -> Finding:
    """64 e^2 <= q, 128 h2 <= q^3 <= 1, 9 x <= q, 4 eta L^2 <= 1, 16 eta N^2 <= q."""
    first = rational(caps["q/(beta N (4-q))"])
    weight = rational(caps["q/L^2"])
    moves = rational(caps["q^(3/2)/(sqrt(2) L (tau-1))"]) ** 2 / 2
    rows = rational(caps["q^(3/2)/(L N)"]) ** 2
    lag = rational(caps["q/N^2"])
    square, t = sympy.symbols("square t", nonnegative=True)  # (eta L N)^2; eta (...)
    return judge.all_of(
        {
            "e": judge.implied(
                [square <= rows * q**3, sympy.Eq(square, e**2 * q**2)],
                64 * e**2 <= q,
                INSIDE,
            ),
            "8 e": judge.implied([64 * e**2 <= q, q <= 1], 8 * e <= 1, INSIDE),
            "h2": judge.implied([h2 <= moves * q**3], 128 * h2 <= q**3, INSIDE),
            "128 h2 <= 1": judge.implied(
                [128 * h2 <= q**3, q <= 1], 128 * h2 <= 1, INSIDE
            ),
            "9 x": judge.implied(
                [x * (4 - q) <= first * q, q <= 1], 9 * x <= q, INSIDE
            ),
            "weight": judge.implied([t <= weight * q, q <= 1], 1 - 4 * t >= 0, INSIDE),
            "16 eta N^2": judge.implied([t <= lag * q], 16 * t <= q, INSIDE),
        }
    )


# Links ---------------------------------------------------------------------------


@cache
def _slopes() -> Finding:
    """2 x fall <= g_v, by the PL condition; g_v <= 2 s + 2 off."""
    value, S = sympy.Symbol("value", nonnegative=True), sympy.Symbol("S", real=True)
    named = (2 * beta * value, 2 * eta * beta * N * (value / (eta * N)))
    split = a**2 <= 2 * S**2 + 2 * (a - S) ** 2
    return judge.all_of(
        {
            "PL": judge.identity([("units", *named)], EVERY),
            "at S/N": judge.implied([], split, EVERY),
        }
    )


@cache
def _weights() -> Finding:
    """Show q A <= B and 9 x A <= B, from q/p_i <= 1."""
    return judge.all_of(
        {
            "a client": judge.implied([q <= p], q * (V / p) <= V, EVERY),
            "x A": judge.implied([q * A <= B, 9 * x <= q], 9 * x * A <= B, EVERY),
        }
    )


@cache
def _mean_row() -> Finding:
    """B' <= (1 - 13/30 q) B + 2 LOUD M + 2 e^2 q y, the mean of the clients' rows."""
    Y2, path = sympy.symbols("Y2 path", nonnegative=True)  # of L^2 eta^2
    moved = [path <= FAR * h2 * V + LOUD * M, 128 * h2 <= q**3, q <= p, p <= 1]
    after = (1 - p / 2) * V + 2 * p * path + 2 / p * Y2
    bound = mean_row_after(V, M, Y2 / q)
    # the tracker |Y|^2 is N^2 y
    units = (
        (eta * L) ** 2 * (N * a) ** 2 / q,
        (eta * L * N / q) ** 2 * q * a**2,
    )
    return judge.all_of(
        {
            "a client": judge.implied(moved, after <= bound, INSIDE),
            "y": judge.identity([("units", *units)], EVERY),
        }
    )


@cache
def _split() -> Finding:
    """B <= eta L^2 Z + rest in every round; t = eta L^2, wide = eta N^2.

    lag is 2 e^2 q/t = 2 wide/q.
    """
    t, lag, B_next, wide = sympy.symbols("t lag B_next wide", nonnegative=True)
    own = (2 * (eta * L * N / q) ** 2 * q / (eta * L**2), 2 * eta * N**2 / q)
    tracker = links.tracker_bound(FIFTH)
    noise = 2 * LOUD * M + 2 * e**2 * q * 6 * S2 / N
    held = [Z * t + rest >= B, B_next <= mean_row_after(B, M, e**2 * q * y)]
    held += [2 * e**2 * q * y <= 2 * e**2 * q * tracker, q <= 1]
    scaled = sympy.Eq(2 * e**2 * q * s, lag * t * s)
    new = (KEPT * Z + sympy.Rational(6, 5) * lag * s) * t + KEPT * rest + noise
    return judge.all_of(
        {
            "y": links.tracker(FIFTH),
            "lag": judge.identity([("units", *own)], EVERY),
            "lag <= 1/8": judge.implied(
                [16 * wide <= q, sympy.Eq(lag * q, 2 * wide)], 8 * lag <= 1, INSIDE
            ),
            "kept": judge.implied([*held, scaled], B_next <= new, INSIDE),
            "Z": judge.implied(
                [Z_next <= KEPT * Z + sympy.Rational(6, 5) * lag * s, 8 * lag <= 1],
                Z_next <= Z_AFTER,
                INSIDE,
            ),
        }
    )


# Rounds --------------------------------------------------------------------------


def _links() -> list[Any]:
    """List what holds of one round, products with e and x written out."""
    return [
        fall_next <= links.FALLEN,
        g_v <= 2 * s + 2 * off,
        g_v >= 2 * x * fall,
        push <= links.push_bound(HALF),
        off <= links.GAP,
        B_new <= links.BEFORE,
        A_next <= links.rows_after(A, B, M, e**2 * y),
        9 * x * A <= B,
        2 * e**2 * y <= 2 * e * links.tracked_bound(HALF),
        8 * e * s <= s,
        8 * e * E <= E,
        8 * e**2 * s <= e * s,
    ]


@cache
def _one_round() -> Finding:
    """Add up the links; Z may be of this round, or stay where it was."""
    last = [
        Z_next <= Z_AFTER,
        9 * x * Z <= q * Z,
    ]
    noise = NOISE * E + MOVES * M
    falls = fall_next + WEIGHT * A_next
    kept = 1 - RATE * x
    most = kept * (fall + WEIGHT * A) + noise
    products = [(8 * e * s <= s), (8 * e * E <= E)]
    return judge.all_of(
        {
            "e s": judge.implied([8 * e <= 1], products[0], INSIDE),
            "e E": judge.implied([8 * e <= 1], products[1], INSIDE),
            "e^2 s": judge.implied(products[:1], 8 * e**2 * s <= e * s, INSIDE),
            "x Z": judge.implied([9 * x <= q], 9 * x * Z <= q * Z, INSIDE),
            "with Z": judge.implied(
                [*_links(), *last],
                falls + LAG * Z_next <= most + kept * LAG * Z,
                INSIDE,
            ),
            "without Z": judge.implied(_links(), falls <= most, INSIDE),
        }
    )


@cache
def _one_behind() -> Finding:
    """Show fall' + W A' + Z <= (1 - 11/10 x) (fall + W A + 8/7 Z) + noise.

    So the rounds before leave the bound at R for fall and A with the Z of R - 1.
    """
    falls, before, noise = sympy.symbols("falls before noise", nonnegative=True)
    kept = 1 - RATE * x
    held = [falls <= kept * before + noise, 9 * x <= q, q <= 1]
    right = kept * (before + LAG * Z) + noise
    return judge.all_of(
        {
            "9 x <= 1": judge.implied(held[1:], 9 * x <= 1, INSIDE),
            "Z": judge.implied([9 * x <= 1], kept * LAG * Z >= Z, INSIDE),
            "sum": judge.implied(
                [held[0], kept * LAG * Z >= Z], falls + Z <= right, INSIDE
            ),
        }
    )
