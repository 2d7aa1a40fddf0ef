r"""Theorem 3 of the FOCUS paper, mended: the server's error for convex f_i with noise.

With the model v = w - d of `sg_focus_virtual`, and in units

    u = L |v - x*|^2/(2 eta N), gap = L (F(v) - F*), s = |S/N|^2, x = eta mu N,
    B, A, E, M, e, push as in `sg_focus_theorem5`, C = L^2/N sum_i |v - z_i'|^2,

all in expectation over everything, one round gives

    u' = u - L <v - x*, S/N> + push, for E<v - x*, nu> = 0,
    L <v - x*, S/N> >= gap - C/2 + s/2,  gap >= x u,
    push <= (21/2) e s + (21/20) E,  C <= 5/4 B_new + 5 e E,  B_new <= B + LOUD M,
    A' <= A - 13/30 B + 2 LOUD M + 2 e^2 y,  e y <= 2 e s + 2 E,  q A <= B.

The second line is per client, at z = z_i': smoothness from z to v, and convexity with
what smoothness adds to it from z to x*,

    f(v) <= f(z) + <f'(z), v - z> + L/2 |v - z|^2,
    f(x*) >= f(z) + <f'(z), x* - z> + |f'(z) - f'(x*)|^2/(2 L).

So u + (5/3) A falls by the factor 1 - x, less 31/20 E. All models equal: A_0 = 0 and
d = 0, so that after R rounds E|v - x*|^2 <= (1 - x)^R |w_0 - x*|^2 + (31/10) Y phi with
phi = eta sigma^2/(mu q) and Y <= min(x R, 1). At last |w - x*|^2 <= (1 + c) |v - x*|^2
+ (1 + 1/c) |d|^2, with c = x R/2 while x R <= 2/5, and c = 1/5 later; then

    (1 + c) (1 - x)^R <= (1 - x/2)^R  and  (1 + c) (31/10) Y phi + (1 + 1/c) E|d|^2
    <= 4 phi <= 4 (q + N^2) eta sigma^2/(mu N q).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import sympy

from flverify.certify.gram import Function, Lemma, inner, square, vector
from flverify.claims import judge
from flverify.claims import sg_focus_contraction as shared
from flverify.claims import sg_focus_links as links
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_lemma3 import EVERY, L, N, eta, mu, sum_of_vectors
from flverify.claims.rationals import rational
from flverify.claims.sg_focus_contraction import phi, reached, stale, x
from flverify.claims.sg_focus_lemma6 import at_most_inclusion
from flverify.claims.sg_focus_links import (
    INSIDE,
    A,
    A_next,
    B,
    B_new,
    E,
    M,
    a,
    e,
    far,
    p,
    push,
    q,
    s,
    y,
)
from flverify.claims.sg_focus_moves import V, h2
from flverify.claims.sg_focus_noise import S2, last_gradients_come_last
from flverify.claims.sg_focus_virtual import (
    virtual_distance,
    virtual_noise,
    virtual_step,
)
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most

PUSH, EVEN = sympy.Integer(20), sympy.Integer(1)  # Young's weights of noise
RUNS = (
    "every N, tau, law, L-smooth convex f_i with F mu-strongly convex, and eta inside "
    "the caps"
)
FALL = sympy.Rational(5, 3)  # what A weighs in the sum that falls
NOISE = sympy.Rational(31, 20)
EARLY = sympy.Rational(2, 5)  # of x R
MONOMIALS = (
    "q/(N (16 L^2/mu + mu/2))",
    "q^(3/2)/(sqrt(2) L (tau-1))",
    "mu/((tau-1)^2 L^2 N)",
)
u, u_next, gap, C = sympy.symbols("u u_next gap C", nonnegative=True)
k, n = sympy.symbols("kappa n", nonnegative=True)


def theorem3(c: SimpleNamespace) -> Finding:
    """Judge the chain for the caps and the floor of a claim."""
    if not {*MONOMIALS} <= {*c.caps}:
        return judge.inconclusive("the proof needs other caps")
    return judge.all_of(
        {
            "caps": _caps(c.caps),
            "one step": _one_step(),
            "noise": virtual_noise(),
            "the model without stale noise": virtual_step(),
            "its distance": virtual_distance(),
            "convexity": _convexity(),
            "push": links.pushed(PUSH),
            "far": _far(),
            "rows": links.rows_followed(),
            "q A": _weights(),
            "tracker": links.tracked(EVEN),
            "one round": _one_round(),
            "R rounds": shared.rounds_added(),
            "units": _units(),
            "spare rate": shared.spare_rate(sympy.Rational(1, 2), sympy.Rational(1, 2)),
            "stale noise": shared.stale_noise(),
            "the server": _server(),
            "the floor": _floor(rational(c.floor)),
        },
        scope=RUNS,
        argument=__doc__,
    )


# Caps ----------------------------------------------------------------------------


def _caps(caps: dict[str, str]) -> Finding:
    """24 e <= 1, 24 x <= q, 128 h2 <= q^3 <= 1, 128 M <= E, and q <= p_i.

    kappa = L/mu, and t = eta L (tau-1)^2, so that M = t q E.
    """
    t = sympy.Symbol("t", nonnegative=True)
    stiff = rational(caps["q/(N (16 L^2/mu + mu/2))"])
    moves = rational(caps["q^(3/2)/(sqrt(2) L (tau-1))"]) ** 2 / 2
    quiet = rational(caps["mu/((tau-1)^2 L^2 N)"])
    first = [x * (16 * k**2 + sympy.Rational(1, 2)) <= stiff * q, k >= 1]
    kappa = L / mu
    named = [
        (
            "first cap",
            eta * N * (16 * L**2 / mu + mu / 2),
            eta * mu * N * (16 * kappa**2 + sympy.Rational(1, 2)),
        ),
        ("e q", eta * L * N / q * q, eta * mu * N * kappa),
        ("M", (eta * L * n) ** 2 * S2, eta * L * n**2 * q * (eta * L * S2 / q)),
    ]
    last = [t * L * N <= quiet * mu, mu <= L, N >= 1, q <= 1]
    moved = [sympy.Eq(M, t * q * E), 128 * t * q <= 1]
    return judge.all_of(
        {
            "q <= p": at_most_inclusion(Q_READINGS[0]),
            "named": judge.identity(named, INSIDE),
            "24 e q": judge.implied(first, 24 * x * k <= q, INSIDE),
            "24 e": judge.implied(
                [24 * x * k <= q, sympy.Eq(e * q, x * k)], 24 * e <= 1, INSIDE
            ),
            "24 x": judge.implied(first, 24 * x <= q, INSIDE),
            "h2": judge.implied([h2 <= moves * q**3], 128 * h2 <= q**3, INSIDE),
            "128 h2 <= 1": judge.implied(
                [128 * h2 <= q**3, q <= 1], 128 * h2 <= 1, INSIDE
            ),
            "t": judge.implied(last, 128 * t * q <= 1, INSIDE),
            "128 M": judge.implied(moved, 128 * M <= E, INSIDE),
        }
    )


# Links ---------------------------------------------------------------------------


@cache
def _one_step() -> Finding:
    """|v - x* - eta (S + nu)|^2 in one coordinate, times L/(2 eta N); a is v - x*."""
    S, nu = sympy.symbols("S nu", real=True)
    unit = L / (2 * eta * N)
    right = unit * a**2 - L * a * S / N - L / N * a * nu
    right += eta * L / (2 * N) * (S + nu) ** 2
    left = unit * (a - eta * (S + nu)) ** 2
    pair = ("coordinate", sympy.expand(left), sympy.expand(right))
    return judge.identity([pair], "every eta, L, N and all vectors")


@cache
def _convexity() -> Finding:
    """L <v - x*, S/N> >= gap - C/2 + s/2, and gap >= x u.

    Means over clients: f' at z_i' and x*, apart = |f'(z_i') - f'(x*)|^2, which is at
    least s on average as the f'(x*) add up to 0.
    """
    at_v, at_star, inner_, dist, apart = sympy.symbols(
        "f_v f_star inner dist apart", real=True
    )
    one = at_v - at_star - L / 2 * dist + apart / (2 * L) <= inner_
    mean = L * (at_v - at_star) - L**2 * dist / 2 + apart / 2 <= L * inner_
    total, U, value = sympy.symbols("total U value", nonnegative=True)
    jensen = [total <= N * apart * N]
    strong = [value >= mu / 2 * U]
    units = (L * mu / 2 * U, eta * mu * N * (L * U / (2 * eta * N)))
    return judge.all_of(
        {
            "one client": _three_points(),
            "times L": judge.implied([one], mean, EVERY),
            "Jensen": sum_of_vectors(),
            "s": judge.implied(jensen, total / N**2 <= apart, EVERY),
            "strong convexity": judge.implied(
                strong, L * value >= L * mu / 2 * U, EVERY
            ),
            "x u": judge.identity([("units", *units)], EVERY),
        }
    )


def _three_points() -> Finding:
    """Smoothness and convexity at z: <f'(z), v - x*> for one convex f.

    `below` is the value of f - <f'(z), .> one step 1/L down from x*, where the slope
    is f'(x*) - f'(z); it is at least the value at z, which minimises this function.
    """
    f_v, f_z, f_star, to_v, to_star = sympy.symbols(
        "f_v f_z f_star to_v to_star", real=True
    )
    below, dist, apart = sympy.symbols("below dist apart", real=True)
    held = [
        f_v <= f_z + to_v + L / 2 * dist,
        below <= f_star - to_star - apart / (2 * L),  # to_star = <f'(z), x* - z>
        f_z <= below,
    ]
    right = f_v - f_star - L / 2 * dist + apart / (2 * L)
    proof = judge.implied(held, right <= to_v - to_star, EVERY)
    return judge.proof_or_search(proof, _three_vectors())


def _three_vectors() -> Finding:
    v, z, star = vector("v"), vector("z"), vector("x*")

    def lemma(smooth: Fraction) -> Any:
        f = Function("f", smooth, Fraction(0))
        right = f.value(v) - f.value(star) - smooth / 2 * square(v - z)
        right = right + square(f.gradient(z) - f.gradient(star)) / (2 * smooth)
        return Lemma(right <= inner(f.gradient(z), v - star))

    listed = [({"L": k}, lemma(k)) for k in (Fraction(1), Fraction(3))]
    return judge.vectors(listed, "L = 1, 3")


@cache
def _far() -> Finding:
    """Split v - z_i' at w: C <= 5/4 B_new + 5 L^2 E|v - w|^2, which is <= e E."""
    near = sympy.Symbol("near", nonnegative=True)
    held = [5 * near + links.FOUR * B_new >= C, near <= far, far <= e * E]
    return judge.all_of(
        {
            "Young": links.young(sympy.Integer(4)),
            "C": judge.implied(held, links.GAP >= C, EVERY),
        }
    )


@cache
def _weights() -> Finding:
    """Show q A <= B and x A <= B/24, from q/p_i <= 1."""
    held = [q * A <= B, 24 * x <= q]
    return judge.all_of(
        {
            "a client": judge.implied([q <= p], q * (V / p) <= V, EVERY),
            "x A": judge.implied(held, 24 * x * A <= B, EVERY),
        }
    )


# Rounds --------------------------------------------------------------------------


@cache
def _one_round() -> Finding:
    """Add up the links: u + (5/3) A falls by 1 - x, less 31/20 E."""
    held = [
        u_next <= u - gap + C / 2 - s / 2 + push,
        push <= links.push_bound(PUSH),
        links.GAP >= C,
        B_new <= links.BEFORE,
        A_next <= links.rows_after(A, B, M, e**2 * y),
        gap >= x * u,
        24 * x * A <= B,
        128 * M <= E,
    ]
    # e y is bounded, times 2 e; and 24 e <= 1, times what it stands with
    small = [2 * e**2 * y <= 2 * e * links.tracked_bound(EVEN)]
    small += [24 * e * s <= s, 24 * e * E <= E, 24 * e**2 * s <= e * s]
    most = (1 - x) * (u + FALL * A) + NOISE * E
    scaled = [
        judge.implied([24 * e <= 1], 24 * e * one <= one, INSIDE) for one in (s, E)
    ]
    return judge.all_of(
        {
            "e s": scaled[0],
            "e E": scaled[1],
            "e^2 s": judge.implied([24 * e * s <= s], 24 * e**2 * s <= e * s, INSIDE),
            "the sum": judge.implied(
                [*held, *small], u_next + FALL * A_next <= most, INSIDE
            ),
        }
    )


@cache
def _units() -> Finding:
    """E is 2 x phi in units of |v - x*|^2; the server moves by its tracker."""
    E_named = eta * L * S2 / q
    pair = (2 * eta * N / L * E_named, 2 * eta * mu * N * (eta * S2 / (mu * q)))
    return judge.all_of(
        {
            "the server moves by the sum": last_gradients_come_last(),
            "E": judge.identity([("2 x phi", *pair)], EVERY),
        }
    )


# From v to w ---------------------------------------------------------------------


@cache
def _server() -> Finding:
    """Show that (1 + c) (31/10) Y phi + (1 + 1/c) E|d|^2 <= 4 phi, early and later.

    Y = x sums is at most x R and at most 1; phi is 1.
    """
    Y = sympy.Symbol("Y", nonnegative=True)
    c, later = reached / 2, EARLY / 2
    early = (1 + c) * 2 * NOISE * Y + stale + stale / c
    late = (1 + later) * 2 * NOISE * Y + (1 + 1 / later) * stale
    first = [reached >= Y, stale <= reached, reached <= EARLY]
    return judge.all_of(
        {
            "w - x*": links.young(sympy.Symbol("c", positive=True)),
            "early": judge.implied([*first, reached > 0], early <= 4, EVERY),
            "late": judge.implied([Y <= 1, 24 * stale <= 1], late <= 4, EVERY),
            "late, c": judge.implied([reached >= EARLY], later <= reached / 2, EVERY),
            "x/q": judge.implied([24 * x <= q, q * stale <= x], 24 * stale <= 1, EVERY),
            "together": shared.put_together(),
        }
    )


def _floor(square: Any) -> Finding:
    """4 phi <= 4 (q + square N^2) eta sigma^2/(mu N q), where N phi = N^2 (...)."""
    unit = phi / N  # eta sigma^2/(mu N q)
    return judge.implied([N >= 1], 4 * phi <= 4 * (q + square * N**2) * unit, EVERY)


def level(caps: dict[str, str], contraction: Any, power: int) -> Finding:
    """Judge a rate of 1 - t x to a level of order eta^m, for t and m of a claim.

    E|w_R - x*|^2 <= (1 - t x)^R |w_0 - x*|^2 + 4 (q + 4 N^2)/(mu N q) L^(m-1) eta^m
    sigma^2 follows from the bound of `theorem3` if t <= 1/2 and m = 1.
    """
    unit = phi / N
    slower = at_most(1 - x / 2, 1 - rational(contraction) * x)
    raised = at_most(unit, unit * (L * eta) ** (power - 1))
    return judge.all_of(
        {
            "Theorem 3": theorem3(SimpleNamespace(caps=caps, floor="4")),
            "rate": judge.implied([24 * x <= q, q <= 1], slower, INSIDE),
            "order in eta": judge.implied([24 * eta * L * N <= q], raised, INSIDE),
        },
        scope=RUNS,
        argument="Theorem 3, and what is larger than its bound.",
    )
