"""Where the mean of agnostic FedAvg tends on quadratics, at a constant step size.

k local steps take client i from x to b_i + M_i (x - b_i), M_i = (I - eta A_i)^k. A_i
is symmetric, so this is judged for a coordinate in an eigenbasis of A_i, in which M_i
is a power w of 1 - eta a, with mu <= a and eta a <= 1; lengths are the same in each.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.fedavg_averages import below_a_bound, weighted_mean
from flverify.claims.fedavg_stationary import vanishes
from flverify.claims.verdict import Finding

eta, mu, a = sympy.symbols("eta mu a", positive=True)
x, y, b, v = sympy.symbols("x y b v", real=True)
w = sympy.Symbol("w", real=True)
loss = eta * mu
ONE_STEP = [mu <= a, eta * a <= 1]
POWER = [w >= 0, w <= 1 - loss]
EVERY = (
    "every N, dimension, law of S of independent rounds, A_i between mu I and L I, b_i "
    "and eta <= 1/L, no active constraint, {}"
)
ANY_K, ONE_K = EVERY.format("every k >= 1"), EVERY.format("k = 1")


@cache
def mean_converges() -> Finding:
    """Prove that the means from any two starts approach one another."""
    after = b + w * (x - b)
    steps = [
        ("no step", b + 1 * (x - b), x),
        ("a step more", after - eta * a * (after - b), b + (1 - eta * a) * w * (x - b)),
        ("two starts", after - (b + w * (y - b)), w * (x - y)),
    ]
    keep, P, far, near = sympy.symbols("keep P far near", nonnegative=True)
    apart = sympy.Symbol("apart", real=True)
    known = [apart**2 <= P * near, near <= P * keep**2 * far, sympy.Eq(P, 1)]
    return judge.all_of(
        {
            "k steps": judge.identity(steps, ANY_K),
            **_powers(),
            "a coordinate": judge.implied(
                POWER, (w * v) ** 2 <= (1 - loss) ** 2 * v**2, ANY_K
            ),
            "Jensen": weighted_mean(ANY_K),
            "mean of squares": below_a_bound(ANY_K),
            "a round": judge.implied(known, apart**2 <= keep**2 * far, ANY_K),
            "a square": judge.implied([loss <= 1], (1 - loss) ** 2 <= 1 - loss, ANY_K),
            "many rounds": vanishes(loss),
        },
        scope=ANY_K,
        argument="By (2) the mean of line 5 weighs the models with p_i, of sum 1, S "
        "being independent of them. So the difference e of the means from two starts "
        "goes to sum p_i M_i e, and |e|^2 is multiplied by (1 - eta mu)^2 or less.",
    )


def _powers() -> dict[str, Finding]:
    """Prove 0 <= (1 - eta a)^k <= 1 - eta mu, by induction over k."""
    kept = 1 - eta * a
    return {
        "k = 1, at least 0": judge.implied(ONE_STEP, kept >= 0, ANY_K),
        "k = 1, at most 1 - eta mu": judge.implied(ONE_STEP, kept <= 1 - loss, ANY_K),
        "k + 1, at least 0": judge.implied([*ONE_STEP, *POWER], kept * w >= 0, ANY_K),
        "k + 1, at most 1 - eta mu": judge.implied(
            [*ONE_STEP, *POWER], kept * w <= 1 - loss, ANY_K
        ),
    }


@cache
def limit_is(target: str, most_local_steps: int) -> Finding:
    """Judge that the limit solves sum p_i (I - M_i)(x - b_i) = 0, or minimises (3)."""
    form, one, P, p, size = sympy.symbols("form one P p size", nonnegative=True)
    added = form + p * one >= loss * (P + p) * size
    parts = {
        "fixed": judge.identity(
            [("a client's share", b + w * (x - b), x - (1 - w) * (x - b))], ANY_K
        ),
        **_powers(),
        "a coordinate": judge.implied(POWER, (1 - w) * v**2 >= loss * v**2, ANY_K),
        "one client more": judge.implied(
            [form >= loss * P * size, one >= loss * size], added, ANY_K
        ),
    }
    if target == "(3)":
        parts["gradient of (3)"] = _as_gradients(most_local_steps)
    return judge.all_of(
        parts,
        scope=ONE_K if target == "(3)" else ANY_K,
        argument="x is kept by the mean of a round if sum p_i (I - M_i)(x - b_i) = 0. "
        "That has one solution, as the form of sum p_i (I - M_i) is at least eta mu "
        "|x|^2: form and one are those of some clients and of one more, P the sum of "
        "their p_i. The mean tends to what it is kept at.",
    )


def _as_gradients(most_local_steps: int) -> Finding:
    """Judge whether (I - M_i)(x - b_i) is k eta A_i (x - b_i), a gradient of f_i."""
    pairs: list[Any] = [
        (f"k = {k}", 1 - (1 - eta * a) ** k, k * eta * a)
        for k in range(1, most_local_steps + 1)
    ]
    return judge.identity(pairs, ONE_K)


@cache
def leading_term() -> Finding:
    """Judge d(theta^o)/d(eta) at eta = 0 for two scalar clients.

    1 - (1 - eta a)^k vanishes with eta; divided by it, it has there the value of its
    first derivative and the slope of half of its second.
    """
    k = sympy.Symbol("k", positive=True)
    power = 1 - (1 - eta * a) ** k
    value, slope = k * a, -k * (k - 1) * a**2 / 2
    derivatives = [
        ("first", sympy.diff(power, eta).subs(eta, 0), value),
        ("half of the second", sympy.diff(power, eta, 2).subs(eta, 0) / 2, slope),
    ]
    a1, a2, p1, p2 = sympy.symbols("A1 A2 p1 p2", positive=True)
    b1, b2 = sympy.symbols("b1 b2")
    pulls = [p * (value + eta * slope).subs(a, h) for p, h in ((p1, a1), (p2, a2))]
    fixed = (pulls[0] * b1 + pulls[1] * b2) / sum(pulls)
    best = (p1 * a1 * b1 + p2 * a2 * b2) / (p1 * a1 + p2 * a2)
    printed = p1 * p2 * a1 * a2 * (a1 - a2) * (b1 - b2) / (p1 * a1 + p2 * a2) ** 2
    ends = [
        ("value", fixed.subs(eta, 0), best),
        ("slope", sympy.diff(fixed, eta).subs(eta, 0), -(k - 1) / 2 * printed),
    ]
    scope = "two scalar clients, every k, p, A and b"
    return judge.all_of(
        {
            "derivatives": judge.identity(derivatives, scope),
            "quotient": judge.identity(ends, scope),
        }
    )
