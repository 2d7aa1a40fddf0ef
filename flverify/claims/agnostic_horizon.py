"""Where agnostic FedAvg ends as its step size vanishes, for every convex loss.

Let f be the objective of (3) and theta* its only minimiser on the compact C. For every
delta > 0 the least m of f - f(theta*) where |theta - theta*|^2 >= delta is positive, so
that with D^2 the largest |theta - theta*|^2 on C

    f(theta) - f(theta*) >= kappa (|theta - theta*|^2 - delta),   kappa = m/D^2.

So (8) and (9), which are about values, say where the models are: (8) for one model
after infinitely many rounds, then small steps; (9) for the mean of T models, T large.
"""

from __future__ import annotations

from functools import cache

import sympy

from flverify.claims import agnostic_rounds as rounds
from flverify.claims import judge
from flverify.claims.agnostic_rounds import ETA, STEPS
from flverify.claims.agnostic_terms import RATE, ROOM, coefficients
from flverify.claims.verdict import Finding

ONE = "every convex f with one minimiser on a compact C"
SCOPE = (
    "every convex f_i with one minimiser of (3) on C, every N, dimension, compact C, "
    "law of S and of the noise, and number k >= 1 of local steps; S independent of the "
    "models"
)
KAPPA = (
    "Let delta be positive, D^2 the largest |theta - theta*|^2 on C, m the least "
    "f - f(theta*) where |theta - theta*|^2 >= delta, positive as theta* is the only "
    "minimiser, and kappa = m/D^2. "
)
kappa, delta = sympy.symbols("kappa delta", positive=True)


@cache
def small_steps(power: int) -> Finding:
    """Judge the limit of E|model - theta*|^2 over rounds, as eta then vanishes.

    Parameters
    ----------
    power : int
        1 for the p_i of (2), E[1{i in S} / |S|^power].
    """
    return judge.all_of(
        {
            "weights": weights(power),
            "(8)": rounds.one_round(coefficients(ROOM)),
            "values and distances": values_and_distances(),
            **closer_rounds(),
        },
        scope=SCOPE,
        argument=f"{KAPPA}By (8) and kappa a round divides what E|model - theta*|^2 "
        "has above delta + eta (2 sigma^2 + 3 G^2 + 8 ell G k)/(2 kappa) by 1 + 2 eta "
        "k kappa or more. So its limits over rounds are at most that, which tends to "
        "delta with eta; and delta may be any positive number.",
    )


@cache
def at_the_horizon(power: int) -> Finding:
    """Judge the limit of E|mean of T models - theta*|^2 for eta = c/sqrt(TH).

    Parameters
    ----------
    power : int
        1 for the p_i of (2), E[1{i in S} / |S|^power].
    """
    T, H, c, D = sympy.symbols("T H c D", positive=True)
    side = rounds.rate_side(D**2, T, coefficients(RATE)).subs(
        ETA, c / sympy.sqrt(T * H)
    )
    gap, square, right = sympy.symbols("gap square side", real=True)
    return judge.all_of(
        {
            "weights": weights(power),
            "(9)": rounds.rate(coefficients(ROOM), coefficients(RATE)),
            "values and distances": values_and_distances(),
            "right side of (9)": judge.identity(
                [("over 1/sqrt(T)", side * sympy.sqrt(T), side.subs(T, 1))], SCOPE
            ),
            "distance": judge.implied(
                [gap <= right, gap >= kappa * (square - delta)],
                square <= delta + right / kappa,
                SCOPE,
            ),
        },
        scope=SCOPE,
        argument=f"{KAPPA}By (9) and kappa E|mean of T models - theta*|^2 is at most "
        "delta and the right side of (9) over kappa, which is that at T = 1 over "
        "sqrt(T); and delta may be any positive number.",
    )


@cache
def weights(power: int) -> Finding:
    """Judge that a member of a cohort of s has in p_i the share that line 5 gives."""
    s = 1 + sympy.Symbol("t", positive=True)
    return judge.identity([("a cohort of s", s**-power, 1 / s)], rounds.EVERY)


@cache
def values_and_distances() -> Finding:
    """Prove gap >= (m/D^2) (square - delta), far from theta* and near it."""
    gap, square = sympy.symbols("gap square", nonnegative=True)
    least, widest = sympy.symbols("m D_squared", positive=True)
    shown = gap * widest >= least * (square - delta)
    return judge.all_of(
        {
            "at least delta away": judge.implied(
                [gap >= least, square <= widest], shown, ONE
            ),
            "nearer": judge.implied([square <= delta], shown, ONE),
        }
    )


@cache
def closer_rounds() -> dict[str, Finding]:
    """Prove that rounds go on to `end`, and that end less delta is a multiple of eta.

    `far` is the distance at the start above end, `shrunk` the factor of the rounds
    done.
    """
    now, then, gap, far = sympy.symbols("now then gap far", real=True)
    shrunk = sympy.Symbol("shrunk", positive=True)
    room = rounds.round_room(coefficients(ROOM), STEPS)
    end = delta + room / (2 * ETA * kappa)
    factor = 1 + 2 * ETA * STEPS * kappa
    left, right = sympy.symbols("left right", real=True)
    times = 1 + sympy.Symbol("more", positive=True)
    return {
        "one round": judge.implied(
            [
                rounds.after_a_round(now, then, gap, coefficients(ROOM)),
                gap >= kappa * (now - delta),
            ],
            factor * (now - end) <= then - end,
            rounds.EVERY,
        ),
        "one round more": judge.implied(
            [times * right <= left, left <= shrunk * far],
            times * right <= shrunk * far,
            "every number of rounds",
        ),
        "eta to 0": judge.identity(
            [("end", end, delta + ETA * (end - delta).subs(ETA, 1))], SCOPE
        ),
    }
