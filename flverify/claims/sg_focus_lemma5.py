"""Lemma 5 of the FOCUS paper, mended: its proof for clients that all take part.

With w = w_r, u = w - x*, g = grad F(w), S the sum of the gradients at x_{(r+1) tau},
D = S - N g and E over cohorts and samples, the links are

    E|u - eta (S + n)|^2 <= E|u - eta S|^2 + N eta^2 sigma^2       new noises,
    -2 eta <u, S> <= -2 eta N gap - (eta mu N/2) |u|^2 + (2 eta/mu) |D|^2      (124),
    |S|^2 <= 2 |D|^2 + 2 N^2 |g|^2 <= 2 |D|^2 + 4 N^2 L gap                 (123),
    E|D|^2 <= (2 + 16 h2) L^2 N B + 32 h2 N^2 sigma^2,  h2 = (eta L (tau-1))^2   (128),

gap = F(w) - F*. Their sum is the lemma, with the step sizes for the last numbers. At
tau = 1 every row is w, so that D = 0, and nothing is asked of eta. A proof for a wrong
constant, or for laws that are any, does not go through.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.focus_lemma3 import (
    EVERY,
    L,
    N,
    eta,
    gradient_and_gap,
    mu,
    n,
    split_in_two,
)
from flverify.claims.rationals import rational
from flverify.claims.sg_focus_moves import drift_bounded, h2, unrolled
from flverify.claims.sg_focus_noise import added_squares, inner_product
from flverify.claims.verdict import Finding
from flverify.claims.written import at_least

STEPS = "every L >= mu > 0, N, tau and eta inside the caps"
U, GAP, D2, SS, G2, S2 = sympy.symbols("U gap D2 SS G2 sigma2", nonnegative=True)
u, s, g = sympy.symbols("u s g", real=True)
inner, away = sympy.symbols("inner away", real=True)  # <u, g> and <u, D>
p, t = sympy.symbols("p t", positive=True)  # eta mu; eta (tau-1)^2 L^2 N/mu
NOISES = {"1": sympy.Integer(1), "2": sympy.Integer(2), "N": N, "2 N": 2 * N}


def new_noise_has_no_part(c: SimpleNamespace) -> Finding:
    """E<u, S + stored n> = E<u, S>, if the noises are new."""
    return inner_product(c.laws, c.stored)


def square_of_gradients(c: SimpleNamespace) -> Finding:
    """E|S + n|^2 <= noise sigma^2 + 2 E|D|^2 + 2 N^2 E|g|^2."""
    noises = at_least(NOISES[c.noise] * S2, N * S2)
    return judge.all_of(
        {
            "noises": added_squares(c.laws),
            "two terms": split_in_two(),
            "N noises": judge.implied([N >= 1], noises, EVERY),
        }
    )


def lemma5(c: SimpleNamespace) -> Finding:
    """Judge every link of the chain, for the constants of a claim."""
    plugged = SimpleNamespace(far="2", moved="16", noise="32", clients=1)
    capped = [2 * h2 <= rational(c.caps["1/(sqrt(2) (tau-1) L)"]) ** 2]
    return judge.all_of(
        {
            "noises": added_squares(c.laws, eta),
            "the square": judge.identity([_square()], EVERY),
            "two terms": split_in_two(),
            "|grad F|^2": gradient_and_gap(2),
            "Young": judge.implied([], _young(), EVERY),
            "(125)": _collected(),
            "(128)": drift_bounded(plugged, capped),
            "scales": judge.identity(_scales(), STEPS),
            "last step": _last(c, capped),
            "tau = 1": _one_gradient(c),
        },
        scope=STEPS,
        argument=__doc__,
    )


def _square() -> judge.Pair:
    right = u**2 - 2 * eta * (N * u * g + u * (s - N * g)) + eta**2 * s**2
    return "coordinate", sympy.expand((u - eta * s) ** 2), sympy.expand(right)


def _young() -> Any:
    d = sympy.Symbol("d", real=True)
    return -2 * eta * u * d <= eta * mu / 2 * u**2 + 2 * eta / mu * d**2


def _collected() -> Finding:
    """Add up: convexity, Young, and both bounds of |S|^2; the noise stands on both."""
    held = [
        inner >= GAP + mu / 2 * U,
        -2 * eta * away <= eta * mu / 2 * U + 2 * eta / mu * D2,
        SS <= 2 * D2 + 2 * N**2 * G2,
        G2 <= 2 * L * GAP,
        N >= 1,
    ]
    left = U - 2 * eta * (N * inner + away) + eta**2 * SS
    right = (1 - eta * mu * N / 2) * U - 2 * eta * N * (1 - 2 * eta * N * L) * GAP
    right += 2 * eta * (1 / mu + eta) * D2
    return judge.implied(held, left <= right, EVERY)


def _scales() -> list[judge.Pair]:
    """Write what (128) adds in units of eta L^2 N/mu for B, N eta^2 for sigma^2."""
    named = {p: eta * mu, t: eta * n**2 * L**2 * N / mu}
    real = (eta * L * n) ** 2
    first = 2 * eta * (1 / mu + eta)
    rows = first * (2 + 16 * real) * L**2 * N, (1 + p) * (4 + 32 * p * t / N)
    noise = first * 32 * real * N**2, 64 * (1 + p) * t
    return [
        ("h2", real, (p * t / N).subs(named)),
        ("rows", rows[0], eta * L**2 * N / mu * rows[1].subs(named)),
        ("noise", noise[0], N * eta**2 * noise[1].subs(named)),
    ]


def _last(c: SimpleNamespace, capped: list[Any]) -> Finding:
    """Compare both sums with the lemma; tau >= 2, so that eta mu <= t/N."""
    first = rational(c.caps["mu/((tau-1)^2 L^2 N)"])
    square = p * t / N
    held = [t <= first, t >= p * N, N >= 1, *(cap.subs(h2, square) for cap in capped)]
    kappa = sympy.Symbol("kappa", positive=True)
    scale = p * kappa**2 * N * n**2 >= p * N
    rows = (1 + p) * (4 + 32 * square) <= rational(c.consensus)
    noise = N * (1 + 64 * (1 + p) * t) <= NOISES[c.noise]
    return judge.all_of(
        {
            "t >= eta mu N": judge.implied([kappa >= 1, n >= 1], scale, STEPS),
            "rows": judge.implied(held, rows, STEPS),
            "noise": judge.implied(held, noise, STEPS),
        }
    )


def _one_gradient(c: SimpleNamespace) -> Finding:
    """At tau = 1 a participant's only gradient is at w: D = 0 if all take part."""
    consensus = at_least(rational(c.consensus), 0)
    noises = at_least(NOISES[c.noise] * S2, N * S2)
    return judge.all_of(
        {
            "every row is w": unrolled(),
            "rows": judge.implied([], consensus, "tau = 1"),
            "noise": judge.implied([N >= 1], noises, "tau = 1"),
        }
    )
