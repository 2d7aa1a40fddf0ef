"""A proof of Theorem 2 of the FOCUS paper and its corollaries, with better constants.

Rounds are independent, of one law, and never empty, so that the q_i sum to 1. Let the
clients agree on w, and let z take steps of eta grad F from w. After t local steps every
client is at most nu S_t from z, nu = eta sigma_G (`fedavg_stationary`); so
sum_i q_i |xbar - x_i|^2 <= (nu S_t)^2, whatever q is. At the end of a round the mean
over the cohort has the mean sum_i q_i x_i and a variance of at most (nu S_tau)^2.

Let e = xbar - x* and g_i = grad f_i(x_i) - grad f_i(x*). Before that mean is taken, the
next xbar is x* + sum_i q_i (e - eta g_i) - eta b with b = sum_i q_i grad f_i(x*). By
Jensen, and a step elsewhere (`fedavg_client_step`), |e|^2 is followed by at most

    (1 - eta mu) |e|^2 + eta L (nu S_t)^2      where b = 0, as if q = u,
    (1 + s) of that + (1 + 1/s) eta^2 |b|^2    with s = eta mu/2 otherwise.

|b| <= delta_q by (29) at x*. With alpha = eta mu, or eta mu/2, `stationary()` gives
limsup E|xbar - x*|^2 <= B/alpha + tau nu^2/alpha. For tau = 1 and q = u no gradient is
taken elsewhere: B = 0 and alpha = 1 - (1 - eta mu)^2, hence 3/5 eta sigma_G^2/mu.

The first index does not matter: rounds count from the first communication on, before
which mean squares are finite.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.fedavg_averages import EVERY, ONE_STEP, averages
from flverify.claims.fedavg_client_step import one_client
from flverify.claims.fedavg_stationary import drifted, stationary, vanishes
from flverify.claims.verdict import Finding

eta, L, mu, tau = sympy.symbols("eta L mu tau", positive=True)
sigma, delta = sympy.symbols("sigma delta", nonnegative=True)  # both squared
n = sympy.Symbol("n", nonnegative=True)  # tau - 1
near, bias, spread, after = sympy.symbols("E b V after", nonnegative=True)
A, B, C, D = sympy.symbols("a b c d", real=True)
quarter, third = sympy.Rational(1, 4), sympy.Rational(1, 3)
INSIDE = [mu <= L, eta * L <= third, eta * L * (tau - 1) <= quarter]


def terms(c: Any, eta: Any, tau: Any, big: Any, mu: Any, sigma: Any, delta: Any) -> Any:
    """List the three terms of Theorem 2; sigma and delta are squared.

    `drift_L` is the power of L beside kappa^2 in the first, `bias_Lmu` that of
    1/(L mu) beside kappa in the second: 2 and 0 in print. A drift of None is 0.
    """
    kappa = big / mu
    drift = (c.drift or 0) * eta**2 * kappa**2 * big**c.drift_L * (tau - 1) ** 2
    bias = c.bias * kappa / (big * mu) ** c.bias_Lmu * delta
    noise = c.variance * eta * tau**2 / mu
    return [drift * (delta + sigma), bias, noise * (delta + sigma)]


# the argument up to the limsup ---------------------------------------------------


@cache
def _links() -> Finding:
    """Judge what both cases share."""
    return judge.all_of(
        {
            "one step of a client": one_client(),
            **averages(),
            "drift": drifted(),
            "recursion": stationary(),
        }
    )


@cache
def unbiased() -> Finding:
    """Judge B/alpha + tau nu^2/alpha where b = 0: one local step, and several."""
    nu_2, one = eta**2 * sigma, eta * mu * (2 - eta * mu)
    limit = (eta * L * nu_2 * (tau - 1) ** 2 + tau * nu_2) / (eta * mu)
    pairs = [
        ("alpha at tau = 1", 1 - (1 - eta * mu) ** 2, one),
        ("limit at tau = 1", nu_2, alone() * one),
        ("limit", limit, several()),
    ]
    return judge.all_of({"links": _links(), "limits": judge.identity(pairs, EVERY)})


def alone() -> Any:
    """Bound of the limsup at tau = 1 and b = 0."""
    return eta * sigma / (mu * (2 - eta * mu))


def several() -> Any:
    """Bound of the limsup for every tau where b = 0."""
    return eta * sigma / mu * (tau + eta * L * (tau - 1) ** 2)


@cache
def biased() -> Finding:
    """Judge the recursion and its B/alpha + tau nu^2/alpha for every b."""
    s, nu_2 = eta * mu / 2, eta**2 * sigma
    split = (1 + s) * A**2 + (1 + 1 / s) * B**2
    drift = (1 + s) * eta * L * spread + (1 + 1 / s) * eta**2 * bias
    whole = (1 + s) * ((1 - 2 * s) * near + eta * L * spread)
    held = [eta * mu <= third, after <= whole + (1 + 1 / s) * eta**2 * bias]
    at_most = {spread: nu_2 * (tau - 1) ** 2, bias: delta}
    limit = (drift.subs(at_most) + tau * nu_2) / s
    return judge.all_of(
        {
            "links": _links(),
            "b apart": judge.implied([], split >= (A - B) ** 2, EVERY),
            "alpha = eta mu/2": judge.implied(
                held, after <= (1 - s) * near + drift, EVERY
            ),
            "limit": judge.identity([("limit", limit, with_bias())], EVERY),
        }
    )


def with_bias() -> Any:
    """Bound of the limsup for every q of sum 1."""
    drift = (2 + eta * mu) * eta * L * (tau - 1) ** 2
    return (
        4 * delta / mu**2 + 2 * eta * delta / mu + eta * sigma / mu * (2 * tau + drift)
    )


# what (29) leaves ----------------------------------------------------------------


@cache
def finite_mismatch() -> Finding:
    """Judge that a finite delta_q leaves q = u over all x, sum q_i = 1 over x = 1x.

    Over all x, move the model of client j alone, by R^(1/2): the left side of (29)
    moves by (q_j - 1/N) g, |g| >= mu R^(1/2). Over x = 1x, it is a sum of q_i (grad
    f_i - grad F), at most sigma_G long, and of (sum_i q_i - 1) grad F. So R would be
    bounded, unless the factor w of the gradient is 0.
    """
    w, slope, reach = sympy.symbols("w G R", positive=True)
    grown = slope >= mu**2 * reach
    own = w**2 * slope <= 4 * delta
    common = w**2 * slope <= 8 * (delta + sigma)
    four = (A + B + C + D) ** 2 <= 4 * (A**2 + B**2 + C**2 + D**2)
    bounded = reach <= 4 * delta / (w * mu) ** 2
    also = reach <= 8 * (delta + sigma) / (w * mu) ** 2
    return judge.all_of(
        {
            "|g| >= mu |v|": one_client(),
            "two": judge.implied([], (A + B) ** 2 <= 2 * A**2 + 2 * B**2, EVERY),
            "four": judge.implied([], four, EVERY),
            "one client": judge.implied([own, grown], bounded, EVERY),
            "all clients": judge.implied([common, grown], also, EVERY),
        }
    )


# against the print ---------------------------------------------------------------


def uniform_below(c: Any, *, more_steps: bool) -> Finding:
    """Prove that the bound for q = u is at most the printed terms.

    The first term is not needed, whichever its power of L; so it must not be negative.
    """
    drift, _, noise = terms(c, eta, tau, L, mu, sigma, sympy.Integer(0))
    at_one = alone() <= noise.subs(tau, 1)
    parts = {
        "b = 0": unbiased(),
        "tau = 1": judge.implied(INSIDE[:2], at_one, EVERY),
    }
    if more_steps:
        longer = [*INSIDE, tau >= 2]
        parts["tau >= 2"] = judge.implied(longer, several() <= noise, EVERY)
        parts["first term"] = _not_negative(drift)
    return judge.all_of(
        parts,
        scope=EVERY if more_steps else ONE_STEP,
        argument=__doc__,
    )


def biased_below(c: Any) -> Finding:
    """Prove that the bound for every q is at most the printed terms."""
    drift, bias, noise = terms(c, eta, tau, L, mu, sigma, delta)
    parts = {
        "q": finite_mismatch(),
        "limsup": biased(),
        "first term": _not_negative(drift),
    }
    inside = [*INSIDE, tau >= 1]
    for name, kept in (("delta_q", {sigma: 0}), ("sigma_G", {delta: 0})):
        compared = with_bias().subs(kept) <= (bias + noise).subs(kept)
        parts[f"terms in {name}"] = judge.implied(inside, compared, EVERY)
    return judge.all_of(
        parts,
        scope=EVERY,
        argument=__doc__,
    )


def everywhere_below(c: Any) -> Finding:
    """Prove the bound where (29) has a finite delta_q over all x, so that q = u."""
    return judge.all_of(
        {"q = u": finite_mismatch(), "bound": uniform_below(c, more_steps=True)},
        scope=EVERY,
        argument=__doc__,
    )


def _not_negative(drift: Any) -> Finding:
    return judge.nonnegative([("first", sympy.expand(drift.subs(tau, 1 + n)))], EVERY)


# equal clients -------------------------------------------------------------------


def equal_clients(shift: Any) -> Finding:
    """Prove that clients with f_i = f reach x*; `shift` sets their f_i apart.

    They stay equal, so that their mean is any of them, and |e| shrinks by 1 - eta mu at
    each step, where rounds are never empty. An empty round restores the model of its
    start: with P(S empty) = share < 1, E|e|^2 shrinks by share + (1 - share) p over
    one, p <= (1 - eta mu)^2; inside rounds it does not grow.
    """
    slope = sympy.Function("g")
    x, size, p, share = sympy.symbols("x s p share", positive=True)
    moved = [x - eta * slope(x - sympy.Rational(shift) * i) for i in (1, 2)]
    rate = (1 - share) * eta * mu
    kept = share + (1 - share) * p <= 1 - rate
    held = [share < 1, eta * mu <= third, p <= (1 - eta * mu) ** 2]
    pairs = [("clients", *moved), ("mean over S", size * x / size, x)]
    return judge.all_of(
        {
            "clients stay equal": judge.identity(pairs, EVERY),
            "one step of a client": one_client(),
            "a round": judge.implied(held, kept, EVERY),
            "a step": judge.implied(
                [eta * mu <= third, after <= (1 - eta * mu) ** 2 * near],
                after <= (1 - eta * mu) * near,
                EVERY,
            ),
            "to 0": vanishes(sympy.Symbol("rate", positive=True)),
        }
    )
