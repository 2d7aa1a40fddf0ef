"""The model of SG-FOCUS without its stale noise, as the proof of Theorem 5 uses it.

A stored noise n_i stays in the tracker until its client comes again, (1 - p_i)/p_i
rounds on average, and moves the server by -eta n_i in each. So let

    v = w - eta sum_i ((1 - p_i)/p_i) n_i,     nu_i = (I_i (m_i - n_i) + p_i n_i)/p_i.

A round moves v by -eta (S + sum_i nu_i), E nu_i = 0 given the past, E<nu_i, nu_j> = 0
and E|nu_i|^2 <= 2 sigma^2/p_i. Clients may come together in any way: the products of
two stored noises have mean 0.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.focus_lemma3 import EVERY, L, N, eta
from flverify.claims.sg_focus_noise import (
    S2,
    VARIANCES,
    Q,
    known,
    last_gradients_come_last,
    m,
    m_other,
    mean,
    old,
    old_other,
    stored_apart,
    stored_variance,
    weighted_sum,
)
from flverify.claims.verdict import Finding

LAWS = "every law of two of N clients, all past noises"
p, q = sympy.symbols("p q", positive=True)


def _nu(take: Any, new: Any, stored: Any, chance: Any) -> Any:
    return (take * (new - stored) + chance * stored) / chance


@cache
def virtual_step() -> Finding:
    """Show v' = v - eta (S + sum nu_i), in the part of one client; S is the server's.

    n' = n + I (m - n), and w' = w - eta (S + sum n_i').
    """
    take = sympy.Symbol("I", real=True)
    new = old + take * (m - old)
    weight = (1 - p) / p
    left = -eta * new - eta * weight * new
    right = -eta * weight * old - eta * _nu(take, m, old, p)
    return judge.all_of(
        {
            "w' = w - eta (S + sum n_i')": last_gradients_come_last(),
            "one client": judge.identity(
                [("coordinate", sympy.expand(left), sympy.expand(right))], EVERY
            ),
        }
    )


@cache
def virtual_noise() -> Finding:
    """E <known, nu> = 0, known of the past, and E|nu|^2 <= 2 N sigma^2/q, p_i >= q."""
    return judge.all_of(
        {
            "mean": judge.identity([("coordinate", _mean_of_nu(), 0)], EVERY),
            "variance": _variance_of_nu(),
            "stored noises apart": stored_apart(),
            "apart": judge.identity(_two_nu(), LAWS),
            "sum": weighted_sum(),
            "N clients": judge.implied([q <= p], 2 * S2 / p <= 2 * S2 / q, EVERY),
        }
    )


def _mean_of_nu() -> Any:
    """E <known, nu>, in a coordinate, for what is known before the round."""
    there = p * mean(known * _nu(1, m, old, p), m)
    return sympy.cancel(there + (1 - p) * known * _nu(0, m, old, p))


def _variance_of_nu() -> Finding:
    """E|nu_i|^2 = (E|m_i|^2 + (1 - p) E|n_i|^2)/p <= 2 sigma^2/p."""
    square = p * mean(_nu(1, m, old, p) ** 2, m) + (1 - p) * _nu(0, m, old, p) ** 2
    found = (VARIANCES[m] + (1 - p) * old**2) / p
    held = [VARIANCES[m] <= S2, Q <= S2, p <= 1]
    return judge.all_of(
        {
            "expanded": judge.identity([("coordinate", square, found)], EVERY),
            "stored": stored_variance(),
            "bound": judge.implied(
                held, (VARIANCES[m] + (1 - p) * Q) / p <= 2 * S2 / p, EVERY
            ),
        }
    )


def _two_nu() -> list[judge.Pair]:
    """E nu_i nu_j is a multiple of n_i n_j, whose mean is 0; p, r the two chances."""
    both = sympy.Symbol("P_both", nonnegative=True)
    first, second = sympy.symbols("p r", positive=True)
    chances = {(1, 1): both, (1, 0): first - both, (0, 1): second - both}
    chances[0, 0] = 1 - sum(chances.values())
    total = sum(
        chance
        * mean(
            _nu(one, m, old, first) * _nu(other, m_other, old_other, second), m_other, m
        )
        for (one, other), chance in chances.items()
    )
    apart = chances[1, 1] - first * second
    right = apart * old * old_other / (first * second)
    return [("coordinate", sympy.cancel(total), sympy.cancel(right))]


@cache
def virtual_distance() -> Finding:
    """L^2 E|v - w|^2 <= (eta L)^2 N sigma^2/q^2, which is e E: e = eta L N/q.

    E = eta L sigma^2/q.
    """
    weight = (1 - p) / p
    held = [q <= p, p <= 1, Q <= S2]
    units = (eta * L * N / q * (eta * L * S2 / q), (eta * L) ** 2 * N * S2 / q**2)
    return judge.all_of(
        {
            "stored noises apart": stored_apart(),
            "variance": stored_variance(),
            "sum": weighted_sum(),
            "one client": judge.implied(held, weight**2 * Q <= S2 / q**2, EVERY),
            "units": judge.identity([("e E", *units)], EVERY),
        }
    )
