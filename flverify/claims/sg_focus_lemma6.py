"""Lemma 6 of the FOCUS paper, mended: its proof, for every q that is at most all p_i.

With w = w_{r-1}, z_i its rows, s_i the sum of the local moves of client i, Y the
tracker and B the distances, before a round and after it (B'), the links are

    a row is w - z_i - eta Y if i is absent, and eta s_i - eta Y else,
    E|row|^2 <= (1 - q/2) E|w - z_i|^2 + 2 eta^2 p_i E|s_i|^2 + (2/q) eta^2 E|Y|^2,
    E|s_i|^2 <= FAR n^2 L^2 E|w - z_i|^2 + LOUD n^2 sigma^2,      n = tau - 1,
    E|Y|^2 <= 3 (N sigma^2 + N L^2 B' + N^2 E|grad F(w')|^2),

w' = w_r. Their sum over i has B' on both sides; the caps on eta make its factor on the
right at most 3 q^2/32. That |w - z_i| is not smaller or larger for a client that takes
part is Assumption 1: the cohort of a round is independent of all earlier ones.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_lemma3 import EVERY, N, eta, gradients_of_rows
from flverify.claims.rationals import rational
from flverify.claims.sg_focus_moves import FAR, LOUD, V, h2, path_bounded
from flverify.claims.sg_focus_noise import S2, last_gradients_come_last, sum_of_stored
from flverify.claims.sg_focus_search import remembered
from flverify.claims.verdict import Finding

UNIT = "every q in (0, 1] and p_i >= q"
INSIDE = "every N, tau, L, q and eta inside the caps"
q, p = sympy.symbols("q p", positive=True)
x, y, moved = sympy.symbols("x y moved", real=True)
a, b, e = sympy.symbols("a b e", real=True)
B, OLD, G, near, path = sympy.symbols("B B_old G near path", nonnegative=True)
eps2 = sympy.Symbol("eps2", nonnegative=True)  # (eta L N)^2

# squares of the monomials in the caps, in units of q^3; None: on eps2, over N
ON_MOVES = {"q^(3/2)/(L (tau-1))": 1, "q^(3/2)/(sqrt(2) L (tau-1))": 2}
ON_ROWS = {"q^(3/2)/(L N)": 1}


def lemma6(c: SimpleNamespace, reading: str) -> Finding:
    """Judge every link of the chain, for the constants of a claim and a q."""
    return judge.all_of(
        {
            "q is at most p_i": at_most_inclusion(reading, c.case_3a),
            "rows": _rows(),
            "the server moves by the sum": last_gradients_come_last(),
            "moves": path_bounded(),
            "moves, caps": _moves_fit(c),
            "moves, one client": _moves_of_client(),
            "noises": sum_of_stored(),
            "rows of gradients": gradients_of_rows(),
            "three terms": _three_terms(),
            "N clients": judge.identity(_summed(), INSIDE),
            **_coefficients(c),
        },
        scope=INSIDE,
        argument=__doc__,
    )


def _caps(c: SimpleNamespace) -> list[Any]:
    """Return what the caps say of h2 and eps2; a monomial without a name says none."""
    held = []
    for name, factor in c.caps.items():
        square = rational(factor) ** 2 * q**3
        if name in ON_MOVES:
            held.append(h2 <= square / ON_MOVES[name])
        if name in ON_ROWS:
            held.append(eps2 <= square)
    return held


@cache
def at_most_inclusion(reading: str, case_3a: str = "1/m") -> Finding:
    """Judge q <= p_i: E[I_i/|S|] <= E[I_i]; Case 3a has p_i = m/N."""
    take, size, m = sympy.symbols("I size m", nonnegative=True)
    there = [sympy.Ge(take, 0, evaluate=False), take <= 1]
    if reading == Q_READINGS[0]:
        return judge.implied([*there, size >= 1], take / size <= take, EVERY)
    if reading == Q_READINGS[2]:
        return judge.implied([q <= p], q <= p, "q = min p_i")
    own = 1 / m if case_3a == "1/m" else 1 / N
    return judge.implied([m >= 1, m <= N], own <= m / N, "uniform cohorts of m")


@remembered
def _moves_fit(c: SimpleNamespace) -> Finding:
    return judge.implied([*_caps(c), q <= 1], 128 * h2 <= 1, INSIDE)


@cache
def _three_terms() -> Finding:
    return judge.implied([], (a + b + e) ** 2 <= 3 * (a**2 + b**2 + e**2), EVERY)


@cache
def _rows() -> Finding:
    """Square a row, present or not; take the mean with p_i >= q; x, y, moved as there.

    An absent row has q < 1. x = w - z_i, moved = eta s_i, y = eta Y.
    """
    weight = (1 - q / 2) / (1 - q)
    absent = (x - y) ** 2 <= weight * x**2 + 2 / q * y**2
    present = (moved - y) ** 2 <= 2 * moved**2 + 2 / q * y**2
    mean = (1 - p) * weight * near <= (1 - q / 2) * near
    always = (1 - p) * near <= (1 - q / 2) * near
    return judge.all_of(
        {
            "absent": judge.implied([q < 1], absent, UNIT),
            "present": judge.implied([q <= 1], present, UNIT),
            "mean": judge.implied([q < 1, q <= p, p <= 1], mean, UNIT),
            "mean, q = 1": judge.implied([q <= 1, q <= p, p <= 1], always, UNIT),
        }
    )


@cache
def _moves_of_client() -> Finding:
    """2 eta^2 p E|s|^2 <= 2 FAR h2 E|w - z|^2 + 2 LOUD eta^2 n^2 sigma^2.

    In units of eta^2 n^2: `near` is E|w - z|^2 and V = L^2 E|w - z|^2, so that
    eta^2 n^2 V = h2 near.
    """
    n, L = sympy.symbols("n L", positive=True)
    held = [path <= FAR * V + LOUD * S2, p <= 1]
    units = (eta**2 * n**2 * (L**2 * near), (eta * L * n) ** 2 * near)
    return judge.all_of(
        {
            "units": judge.identity([("h2", *units)], UNIT),
            "p <= 1": judge.implied(
                held, 2 * p * path <= 2 * FAR * V + 2 * LOUD * S2, UNIT
            ),
        }
    )


def _summed() -> list[judge.Pair]:
    """(2/q) eta^2 N E|Y|^2 in units of eta^2 N^3 G, eta^2 N^2 sigma^2 and eps2 B'."""
    L = sympy.Symbol("L", positive=True)
    tracker = 3 * (N * S2 + N * L**2 * B + N**2 * G)
    left = 2 / q * eta**2 * N * tracker
    units = (eta * L * N) ** 2 * B + eta**2 * N**3 * G + eta**2 * N**2 * S2
    return [("tracker", sympy.expand(left), sympy.expand(6 / q * units))]


@remembered
def _coefficients(c: SimpleNamespace) -> dict[str, Finding]:
    """B' <= (1 - q/2 + 2 FAR h2) B + 2 LOUD MOVES + (6/q)(eps2 B' + GRAD + NOISE).

    Divided by 1 - 6 eps2/q. GRAD is eta^2 N^3 |grad F|^2, NOISE eta^2 N^2 sigma^2,
    MOVES eta^2 N n^2 sigma^2; the lemma may have other powers of N.
    """
    held = [*_caps(c), q <= 1, N >= 1]
    left = 1 - 6 * eps2 / q
    lost = rational(c.contraction) * q
    kept = 1 - q / 2 + 2 * FAR * h2 <= (1 - lost) * left
    slope = rational(c.gradient) * N ** (c.power - 3) * left >= 6
    noise = rational(c.noise) * N ** (c.noise_power - 2) * left >= 6
    moves = sympy.Le(2 * LOUD * q, rational(c.moves) * left, evaluate=False)
    return {
        "positive": judge.implied(held, left > 0, INSIDE),
        "B": judge.implied(held, kept, INSIDE),
        "gradient": judge.implied(held, slope, INSIDE),
        "noise": judge.implied(held, noise, INSIDE),
        "noise of moves": judge.implied(held, moves, INSIDE),
        "divided": _divided(),
    }


@cache
def _divided() -> Finding:
    """Divide B' left <= alpha B + beta by `left`: alpha <= alpha' left, beta too."""
    alpha, beta, more, most = sympy.symbols("alpha beta more most", nonnegative=True)
    left = sympy.Symbol("left", positive=True)
    held = [B * left <= alpha * OLD + beta, alpha <= more * left, beta <= most * left]
    return judge.implied(held, more * OLD + most >= B, EVERY)
