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
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_lemma3 import (
    EVERY,
    L,
    N,
    eta,
    gradients_of_rows,
    n,
    rational,
    split_in_two,
)
from flverify.claims.sg_focus_lemma6 import at_most_inclusion
from flverify.claims.sg_focus_moves import FAR, LOUD, V, h2, path_bounded
from flverify.claims.sg_focus_noise import (
    S2,
    last_gradients_come_last,
    sum_of_stored,
)
from flverify.claims.sg_focus_virtual import (
    virtual_distance,
    virtual_noise,
    virtual_step,
)
from flverify.claims.verdict import Finding

INSIDE = "every N, tau, L, law, L-smooth f_i and eta inside the caps"
FALL = sympy.Rational(75, 52)  # what A weighs in the sum that falls
NOISE, MOVES = sympy.Rational(9, 4), 12
q, p = sympy.symbols("q p", positive=True)
e, E, M, y, s, g, g_v = sympy.symbols("e E M y s g g_v", nonnegative=True)
off, push, far = sympy.symbols("off push far", nonnegative=True)
B, B_new, A, A_next = sympy.symbols("B B_new A A_next", nonnegative=True)
fall, fall_next = sympy.symbols("fall fall_next", nonnegative=True)


def theorem5(caps: dict[str, str], floor: tuple[Any, Any], first: Any) -> Finding:
    """Judge the chain, and that it bounds the mean of g over R rounds.

    By 8 (F(w_0) - F*)/(eta N R) + floor[0] E + floor[1] eta L n^2 E, and by `first`
    times L^2 sum_i |w_0 - z_i|^2/(N q R); it is 0 where all models start equal.
    """
    return judge.all_of(
        {
            "caps": _caps(caps),
            "descent": descent_at_v(),
            "noise": virtual_noise(),
            "the model without stale noise": virtual_step(),
            "its distance": virtual_distance(),
            "push": _pushed(),
            "off": gap_at_v(),
            "rows": rows_followed(),
            "tracker": _tracker(),
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
    units = (-(G_v**2) / 2 - (S / N) ** 2 / 2 + (G_v - S / N) ** 2 / 2) * eta * N
    units += eta * N * (eta * L / (2 * N) * (S + nu) ** 2) - eta * G_v * nu
    pairs = [("split", moved, split), ("units", split, units)]
    expanded = [(k, sympy.expand(x), sympy.expand(z)) for k, x, z in pairs]
    return judge.identity(expanded, "every eta, L, N and all vectors")


@cache
def _pushed() -> Finding:
    """(eta L/(2 N)) |S + nu|^2 <= (7/2) eta L N s + (7/6) E, E|nu|^2 <= 2 N sigma^2/q.

    By |S + nu|^2 <= 7 |S|^2 + 7/6 |nu|^2.
    """
    square, noise = sympy.symbols("square noise", nonnegative=True)
    young = (a + b) ** 2 <= 7 * a**2 + sympy.Rational(7, 6) * b**2
    held = [noise <= 2 * N * S2 / q]
    right = eta * L / (2 * N) * (7 * square + sympy.Rational(7, 6) * noise)
    bound = sympy.Rational(7, 2) * eta * L / N * square
    bound += sympy.Rational(7, 6) * eta * L * S2 / q
    units = (7 * eta * L / (2 * N) * a**2, 7 * eta * L * N / 2 * (a / N) ** 2)
    return judge.all_of(
        {
            "Young": judge.implied([], young, EVERY),
            "noise": judge.implied(held, right <= bound, EVERY),
            "units": judge.identity([("s", *units)], EVERY),
        }
    )


@cache
def gap_at_v() -> Finding:
    """Split grad F(v) - S/N at grad F(w), and grad F(w) at grad F(v).

    far = L^2 E|v - w|^2 <= e E, and |N grad F(w) - S|^2 <= N^2 B_new by the rows.
    """
    near = sympy.Symbol("near", nonnegative=True)
    four = sympy.Rational(5, 4)
    young = (a + b) ** 2 <= 5 * a**2 + four * b**2
    held = [off <= 5 * near + four * B_new, near <= far, far <= e * E]
    slope = [g <= 5 * near + four * g_v, near <= far, far <= e * E]
    return judge.all_of(
        {
            "Young": judge.implied([], young, EVERY),
            "rows": gradients_of_rows(),
            "off": judge.implied(held, off <= four * B_new + 5 * e * E, EVERY),
            "g": judge.implied(slope, g <= four * g_v + 5 * e * E, EVERY),
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
    fallen = (1 - sympy.Rational(13, 30) * p) * V + 2 * p * LOUD * M + 2 / p * Y2
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
                moved, (1 - p) * V + p * path <= V + LOUD * M, INSIDE
            ),
            "A": _weighted(),
        }
    )


def _weighted() -> Finding:
    """Divide by p_i and add up: sum 1/p_i^2 <= N/q^2; (eta L N/q)^2 y = e^2 y."""
    Y2 = sympy.Symbol("Y2", nonnegative=True)
    one = (1 - sympy.Rational(13, 30) * p) * V + 2 * p * LOUD * M + 2 / p * Y2
    split = V / p - sympy.Rational(13, 30) * V + 2 * LOUD * M + 2 / p**2 * Y2
    square = 2 * N / q**2 * (eta * L) ** 2 * (N * a) ** 2 / N
    units = square, 2 * (eta * L * N / q) ** 2 * a**2
    return judge.all_of(
        {
            "divided": judge.identity([("a client", one / p, split)], EVERY),
            "1/p": judge.implied([q <= p], 2 / p**2 * Y2 <= 2 / q**2 * Y2, EVERY),
            "y": judge.identity([("units", *units)], EVERY),
        }
    )


@cache
def _tracker() -> Finding:
    """Show e y <= 2 e s + 2 E from |S + n'|^2 <= 2 |S|^2 + 2 |n'|^2, N noises."""
    noise = sympy.Symbol("noise", nonnegative=True)
    held = [y <= 2 * s + 2 * noise / N**2, noise <= N * S2]
    named = (eta * L * N / q * S2 / N, eta * L * S2 / q)
    unit = [sympy.Eq(e * S2, N * E)]
    return judge.all_of(
        {
            "the server moves by the sum": last_gradients_come_last(),
            "two terms": split_in_two(),
            "noises": sum_of_stored(),
            "E": judge.identity([("e sigma^2/N", *named)], EVERY),
            "y": judge.implied([*held, *unit], e * y <= 2 * e * s + 2 * E, EVERY),
        }
    )


# Rounds --------------------------------------------------------------------------


@cache
def _one_round() -> Finding:
    """Add up the links: the sum falls by 2/5 g, less the noise. eta L N = e q <= e."""
    small = sympy.Rational(7, 2) * e * s + sympy.Rational(7, 6) * E
    held = [
        fall_next <= fall - g_v / 2 - s / 2 + off / 2 + push,
        push <= small,
        off <= sympy.Rational(5, 4) * B_new + 5 * e * E,
        g <= sympy.Rational(5, 4) * g_v + 5 * e * E,
        B_new <= B + LOUD * M,
        A_next <= A - sympy.Rational(13, 30) * B + 2 * LOUD * M + 2 * e**2 * y,
    ]
    # e y <= 2 e s + 2 E, times 2 e
    tracker = [2 * e**2 * y <= 2 * e * (2 * e * s + 2 * E)]
    scale = [48 * e <= 5]
    falls = fall_next + FALL * A_next
    most = fall + FALL * A - sympy.Rational(2, 5) * g + NOISE * E + MOVES * M
    smaller = judge.implied([q <= 1], e * q * s <= e * s, EVERY)
    return judge.all_of(
        {
            "eta L N <= e": smaller,
            "the sum": judge.implied([*held, *tracker, *scale], falls <= most, INSIDE),
        }
    )


@cache
def _added() -> Finding:
    """Show W_R + 2/5 (g_0 + ... + g_{R-1}) <= W_0 + R x: no round, and one more."""
    W, W_0, more, total, x, R = sympy.symbols("W W_0 more total x R", nonnegative=True)
    rate = sympy.Rational(2, 5)
    held = [W + rate * total <= W_0 + R * x, more <= W - rate * g + x]
    one = more + rate * (total + g) <= W_0 + (R + 1) * x
    return judge.all_of(
        {
            "no round": judge.implied([], sympy.Le(W_0, W_0, evaluate=False), EVERY),
            "one more": judge.implied(held, one, EVERY),
        }
    )


def _bounded(floor: tuple[Any, Any], first: Any) -> Finding:
    """Divide by R; M = E q eta L n^2; A_0 <= L^2 B_0/(N q); n_i = 0 at first, v = w."""
    gap, spread, total, R, slow = sympy.symbols(
        "gap spread total R slow", nonnegative=True
    )
    rate = sympy.Rational(2, 5)
    kept = rational(first) * spread
    bound = 8 * gap + kept + R * (floor[0] * E + floor[1] * slow * E)
    start = 0 if first == 0 else FALL * A
    held = [
        rate * total <= gap + start + R * (NOISE * E + MOVES * M),
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
