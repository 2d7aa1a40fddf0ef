r"""Theorem 5 of the FOCUS paper, mended: its proof by a model without stale noise.

With w = w_r, S the sum of the gradients at x_{(r+1) tau}, n_i and n_i' the stored
noises before and after round r, m_i a new noise, I_i = 1 for a participant, let

    v = w - eta sum_i (1/p_i - 1) n_i :  what w becomes if all stored noises die out,
    nu = sum_i nu_i,   nu_i = (I_i (m_i - n_i) + p_i n_i)/p_i .

Then v' = v - eta (S + nu), and nu has mean 0 given the past, which v is part of. So the
descent lemma for F at v has no stale noise in its inner product. Per round, in units

    fall = (F(v) - F*)/(eta N), g = |grad F(w)|^2, g_v = |grad F(v)|^2, s = |S/N|^2,
    B = L^2/N sum_i |w - z_i|^2,  A = L^2/N sum_i |w - z_i|^2/p_i,  B_new: z_i' for z_i,
    E = eta L sigma^2/q, M = (eta L n)^2 sigma^2, n = tau - 1, e = eta L N/q <= 5/48,

all in expectation over everything, the links are

    fall' <= fall - g_v/2 - s/2 + off/2 + push,  off = |grad F(v) - S/N|^2,
    push = (eta L/(2 N)) |S + nu|^2 <= (7/2) eta L N s + (7/6) E,
    off <= 5/4 B_new + 5 e E,   g <= 5/4 g_v + 5 e E,   B_new <= B + LOUD M,
    A' <= A - 13/30 B + 2 LOUD M + 2 e^2 y,   y = |S + n'|^2/N^2,   e y <= 2 e s + 2 E.

So fall + (75/52) A falls by 2/5 g less 9/4 E + 12 M in every round, q <= p_i, q <= 1/N.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims import sg_focus_links as links
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_lemma3 import EVERY, L, N, eta, n
from flverify.claims.rationals import rational
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
    g,
    off,
    p,
    push,
    q,
    y,
)
from flverify.claims.sg_focus_moves import V, h2
from flverify.claims.sg_focus_noise import S2
from flverify.claims.sg_focus_virtual import (
    virtual_distance,
    virtual_noise,
    virtual_step,
)
from flverify.claims.verdict import Finding
from flverify.claims.written import put_in

FALL = sympy.Rational(75, 52)  # what A weighs in the sum that falls
PAID = sympy.Rational(2, 5)  # of g, in every round
NOISE, MOVES = sympy.Rational(9, 4), 12
PUSH, EVEN = sympy.Integer(6), sympy.Integer(1)  # Young's weights of noise


def theorem5(caps: dict[str, str], floor: tuple[Any, Any], first: Any) -> Finding:
    """Judge the chain, and that it bounds the mean of g over R rounds.

    By 8 (F(w_0) - F*)/(eta N R) + floor[0] E + floor[1] eta L n^2 E, and by `first`
    times L^2 sum_i |w_0 - z_i|^2/(N q R); it is 0 where all models start equal.
    """
    return judge.all_of(
        {
            "caps": _caps(caps),
            "descent": links.descent_at_v(),
            "noise": virtual_noise(),
            "the model without stale noise": virtual_step(),
            "its distance": virtual_distance(),
            "push": links.pushed(PUSH),
            "off": links.gap_at_v(),
            "rows": links.rows_followed(),
            "tracker": links.tracked(EVEN),
            "one round": _one_round(),
            "R rounds": _added(),
            "the bound": _bounded(floor, first),
        },
        scope=INSIDE,
        argument=__doc__,
    )


# Caps ----------------------------------------------------------------------------


def _caps(caps: dict[str, str]) -> Finding:
    """e^2 <= 1/96 and 128 h2 <= q^3 from the caps, for q_i = E[I_i/|S|].

    The q_i add up to at most 1, so that N q <= 1; and q_i <= p_i.
    """
    total = sympy.Symbol("total", nonnegative=True)
    rows = rational(caps["q^(3/2)/(L sqrt(6 N))"]) ** 2 / 6
    moves = rational(caps["q^(3/2)/(sqrt(2) L (tau-1))"]) ** 2 / 2
    r = sympy.Symbol("r", nonnegative=True)  # (eta L)^2 N; e^2 = r N/q^2
    small = [r <= rows * q**3, N * q <= 1]
    return judge.all_of(
        {
            "q <= p": at_most_inclusion(Q_READINGS[0]),
            "N q <= 1": judge.implied([N * q <= total, total <= 1], N * q <= 1, EVERY),
            "e": judge.implied(small, 96 * r * N <= q**2, INSIDE),
            "e <= 5/48": judge.implied([96 * e**2 <= 1], 48 * e <= 5, INSIDE),
            "h2": judge.implied([h2 <= moves * q**3], 128 * h2 <= q**3, INSIDE),
            "128 h2 <= 1": judge.implied(
                [128 * h2 <= q**3, q <= 1], 128 * h2 <= 1, INSIDE
            ),
        }
    )


# Links ---------------------------------------------------------------------------

a, b, d = sympy.symbols("a b d", real=True)


# Rounds --------------------------------------------------------------------------


@cache
def _one_round() -> Finding:
    """Add up the links: the sum falls by PAID g, less the noise."""
    held = [
        fall_next <= links.FALLEN,
        push <= links.push_bound(PUSH),
        off <= links.GAP,
        g <= links.SLOPE,
        B_new <= links.BEFORE,
        A_next <= links.rows_after(A, B, M, e**2 * y),
    ]
    # e y is bounded, times 2 e
    tracker = [2 * e**2 * y <= 2 * e * links.tracked_bound(EVEN)]
    scale = [48 * e <= 5]
    falls = fall_next + FALL * A_next
    most = fall + FALL * A - PAID * g + NOISE * E + MOVES * M
    return judge.implied([*held, *tracker, *scale], falls <= most, INSIDE)


@cache
def _added() -> Finding:
    """Show W_R + PAID (g_0 + ... + g_{R-1}) <= W_0 + R x: no round, and one more."""
    W, W_0, more, total, x, R = sympy.symbols("W W_0 more total x R", nonnegative=True)
    bound = W + PAID * total <= W_0 + R * x
    held = [bound, more <= W - PAID * g + x]
    one = put_in(bound, {W: more, total: total + g, R: R + 1})
    at_first = {W: W_0, total: 0, R: 0}
    return judge.all_of(
        {
            "no round": judge.implied([], put_in(bound, at_first), EVERY),
            "one more": judge.implied(held, one, EVERY),
        }
    )


def _bounded(floor: tuple[Any, Any], first: Any) -> Finding:
    """Divide by R; M = E q eta L n^2; A_0 <= L^2 B_0/(N q); n_i = 0 at first, v = w."""
    gap, spread, total, R, slow = sympy.symbols(
        "gap spread total R slow", nonnegative=True
    )
    kept = rational(first) * spread
    bound = 8 * gap + kept + R * (floor[0] * E + floor[1] * slow * E)
    start = 0 if first == 0 else FALL * A
    held = [
        PAID * total <= gap + start + R * (NOISE * E + MOVES * M),
        spread >= A,
        slow * E >= M,
    ]
    units = ((eta * L * n) ** 2 * S2, eta * L * S2 / q * q * (eta * L * n**2))
    return judge.all_of(
        {
            "M": judge.identity([("units", *units)], EVERY),
            "q <= 1": judge.implied([q <= 1, q * slow * E >= M], slow * E >= M, EVERY),
            "A_0": judge.implied([q <= p], V / p <= V / q, EVERY),
            "sum": judge.implied(held, total <= bound, INSIDE),
        }
    )


WIDER = "8 L eta/q + 64 (L eta (tau-1))^2/q"
EQUAL, APART = "0, all models equal", "48 L^2/(N q R)"
FLOORS = {WIDER: (8, 64)}  # of eta L sigma^2/q, and of that times eta L (tau-1)^2
FIRST = {EQUAL: 0, APART: 48}


def mended(c: SimpleNamespace, first: str) -> Finding:
    """Judge the theorem for a claim's caps, floor and first error, by their names."""
    if c.floor not in FLOORS or first not in FIRST:
        return judge.inconclusive(f"the proof has no floor {c.floor}, {first}")
    return theorem5(c.caps, FLOORS[c.floor], FIRST[first])
