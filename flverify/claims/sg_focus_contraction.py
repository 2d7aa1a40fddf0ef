"""What the proofs of Theorems 3 and 4 of the FOCUS paper, mended, share.

Notation of `sg_focus_theorem5`: v is the server's model w less its stale noise d,
S the sum of the gradients at the last points, nu the noise of v. Besides, m is mu or
beta, x = eta m N, and phi = eta sigma^2/(m q). At tau = 1 the sums over local moves
are empty, M = 0, and what bounds them is nonnegative.

The theorems bound the error of w, and the rounds that of v. So v contracts faster than
the theorem asks, by 1 - (k + j) x for 1 - k x, and after R rounds

    (1 + j x R) (1 - (k + j) x)^R <= (1 - k x)^R,     E|d|^2 <= x phi min(R, 1/q) :

a Young weight of j x R, or any less, costs nothing of the first error, and the stale
noise that it multiplies by 1/(j x R) is itself at most x R phi.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.focus_lemma3 import EVERY, L, N, eta
from flverify.claims.sg_focus_links import p, q
from flverify.claims.sg_focus_noise import (
    S2,
    VARIANCES,
    Q,
    m,
    stored_apart,
    stored_variance,
    weighted_sum,
)
from flverify.claims.sg_focus_virtual import virtual_distance
from flverify.claims.verdict import Finding
from flverify.claims.written import at_least, put_in

b = sympy.Symbol("b", real=True)
x, phi, modulus = sympy.symbols("x phi m", positive=True)
R, power, goal = sympy.symbols("R power goal", nonnegative=True)  # rates to the R
sums, reached = sympy.symbols("sums reached", nonnegative=True)  # reached: x R
stale = sympy.Symbol("stale", nonnegative=True)


# All rounds ----------------------------------------------------------------------


@cache
def rounds_added() -> Finding:
    """T' <= (1 - z) T + f in each of R rounds: T_R <= power T_0 + sums f.

    power and sums start at 1 and 0, and a round makes them (1 - z) power and
    1 + (1 - z) sums; so sums <= R and z sums <= 1.
    """
    T, T_0, T_next, f = sympy.symbols("T T_0 T_next f", nonnegative=True)
    z = sympy.Symbol("z", nonnegative=True)
    bound, longer = power * T_0 + sums * f, 1 + (1 - z) * sums
    held = [bound >= T, T_next <= (1 - z) * T + f, z <= 1]
    more = bound.subs({power: (1 - z) * power, sums: longer}, simultaneous=True)
    return judge.all_of(
        {
            "no round": judge.implied(
                [], at_least(bound.subs({power: 1, sums: 0}), T_0), EVERY
            ),
            "one more": judge.implied(held, more >= T_next, EVERY),
            "sums <= R": judge.implied([sums <= R, z <= 1], longer <= R + 1, EVERY),
            "z sums <= 1": judge.implied(
                [z * sums <= 1, z <= 1], z * longer <= 1, EVERY
            ),
        }
    )


def spare_rate(kept: Any, spare: Any) -> Finding:
    """(1 + j x R) (1 - (k + j) x)^R <= (1 - k x)^R, for k kept and j to spare.

    By a step from R to R + 1; `reached` is x R, and the powers are `power` and `goal`.
    """
    fast = 1 - (kept + spare) * x
    held = [(1 + spare * reached) * power <= goal, (kept + spare) * x <= 1]
    at_first = {reached: 0, power: 1, goal: 1}
    factor = (1 + spare * (reached + x)) * fast <= (1 + spare * reached) * (
        1 - kept * x
    )
    return judge.all_of(
        {
            "no round": judge.implied([], put_in(held[0], at_first), EVERY),
            "factors": judge.implied(held[1:], factor, EVERY),
            "one more": judge.implied(
                [*held, *_times_power(factor)],
                (1 + spare * (reached + x)) * fast * power <= (1 - kept * x) * goal,
                EVERY,
            ),
            "any less": judge.implied(
                [*held[:1], b <= spare * reached], (1 + b) * power <= goal, EVERY
            ),
        }
    )


def _times_power(relation: Any) -> list[Any]:
    return [relation.lhs * power <= relation.rhs * power]


# From v to w ---------------------------------------------------------------------


@cache
def stale_noise() -> Finding:
    """E|d|^2 <= x phi min(R, 1/q) after R rounds, d = eta sum ((1 - p_i)/p_i) n_i.

    For E|n_i|^2 <= R p_i sigma^2: it starts at 0, and a round takes a new noise with
    chance p_i. The 1/q is `virtual_distance`, L^2 E|d|^2 <= e E.
    """
    new = VARIANCES[m]
    held = [new <= S2, R * p * S2 >= Q, p <= 1]
    weight = ((1 - p) / p) ** 2 * Q
    N_phi = (eta**2 * N * R * S2 / q, eta * modulus * N * R * eta * S2 / (modulus * q))
    far = L**2 * eta * modulus * N * eta * S2 / (modulus * q) / q
    e_E = eta * L * N / q * eta * L * S2 / q
    return judge.all_of(
        {
            "a round": stored_variance(),
            "one round more": judge.implied(
                held, p * new + (1 - p) * Q <= (R + 1) * p * S2, EVERY
            ),
            "stored noises apart": stored_apart(),
            "sum": weighted_sum(),
            "one client": judge.implied(
                [R * p * S2 >= Q, p <= 1, q <= p], weight <= R * S2 / q, EVERY
            ),
            "N clients": judge.identity([("x R phi", *N_phi)], EVERY),
            "1/q": virtual_distance(),
            "units": judge.identity([("L^2 x phi/q", far, e_E)], EVERY),
        }
    )


def put_together() -> Finding:
    """Add up: the first error has the rate `goal`, the rest is at most the floor."""
    error, own, first, f, more, floor, c = sympy.symbols(
        "error own first f more floor c", nonnegative=True
    )
    held = [
        error <= (1 + c) * own + more,
        own <= power * first + f,
        (1 + c) * power <= goal,
        (1 + c) * f + more <= floor,
    ]
    return judge.implied(held, error <= goal * first + floor, EVERY)
