"""Case 2 of the FOCUS paper: q_i beside p_i / sum_j p_j, for any number of clients.

Clients decide independently. Let M be the number of participants other than i and M_k
that of those other than i and k, so that M = M_k + I_k; let U = E[1{M >= 1}/(1+M)],
T_k = E[1/((1+M_k)(2+M_k))] and P_0 = P(S empty). Given that S is not empty, q_i is
p_i E[1/(1+M)]/(1-P_0). As I_k is independent of M_k, and sum_k I_k = M,

    E[1/(1+M)] = E[1/(1+M_k)] - p_k T_k,    sum_k p_k E[1/(1+M_k)] = P(M >= 1),
    E[1/(1+M)] = U + P(M = 0),              sum_k p_k T_k = U,
    1 - P_0 = P(M >= 1) + p_i P(M = 0).

So E[1/(1+M)] sum_j p_j - (1-P_0), the error of q_i relative to p_i / sum_j p_j times
1 - P_0, is sum_k (p_i - p_k) p_k T_k. It is at most U max |p_i - p_k|, and U is at most
P(M >= 1)/2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import sympy

from flverify.claims import cohorts, judge
from flverify.claims.fedavg_averages import below_a_bound
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.participation import Bernoulli

SCOPE = "every N and every p_i that the convention allows"
LISTED = "N = 1..4, every p_i"

M, below = sympy.symbols("M M_k", positive=True)  # M where somebody else comes
p, own, others = sympy.symbols("p_k p_i sum_p", positive=True)
U, V, T, nobody, somebody = sympy.symbols("U V T_k Z W", nonnegative=True)


def closeness(factor: Fraction) -> Finding:
    """Judge that the error is at most the factor times max |p_i - p_k|.

    Parameters
    ----------
    factor : Fraction

    Examples
    --------
    >>> print(closeness(Fraction(1, 2)).verdict, closeness(Fraction(1, 3)).passes())
    PROVED False
    """
    most = rational(factor)
    spread, error, likely = sympy.symbols("spread error likely", nonnegative=True)
    small = [error <= spread * U, most * somebody >= U, somebody <= likely]
    return judge.all_of(
        {
            "means": judge.identity(_means(), SCOPE),
            "the error": judge.identity(_error(), SCOPE),
            "the same, listed": judge.identity(_listed(), LISTED),
            "U max |p_i - p_k|": below_a_bound(SCOPE),
            "1/(1+M)": judge.implied([M >= 1], most >= 1 / (1 + M), SCOPE),
            "together": judge.implied(small, error <= most * spread * likely, SCOPE),
        },
        scope=SCOPE,
        argument=__doc__,
    )


def _means() -> Iterator[judge.Pair]:
    """With client k or without; then k by k, M terms where M >= 1 others come."""
    apart = 1 / ((1 + below) * (2 + below))
    mixed = (1 - p) / (1 + below) + p / (2 + below)
    yield "E[1/(1+M)], client k or not", mixed, 1 / (1 + below) - p * apart
    yield "sum of I_k/(1+M_k)", M * (1 / (1 + below)).subs(below, M - 1), 1
    yield "sum of I_k/((1+M_k)(2+M_k))", M * apart.subs(below, M - 1), 1 / (1 + M)


def _error() -> Iterator[judge.Pair]:
    """V is the sum of p_k^2 T_k; E[1/(1+M)] times the other p_k adds up to W - V."""
    mine, theirs = own * (U + nobody), somebody - V
    likely = somebody + own * nobody
    yield "in all", mine + theirs - likely, own * U - V
    more = own * U - V + (own - p) * p * T
    yield "one more client", more, own * (U + p * T) - (V + p**2 * T)


def _listed() -> Iterator[judge.Pair]:
    """Error of q_1 as a function of all p_i, by the law's own weights."""
    for n in (1, 2, 3, 4):
        chances = list(sympy.symbols(f"p_1:{n + 1}", positive=True))
        first, rest = chances[0], chances[1:]
        q = Bernoulli(chances).averaging_weights()[0]
        split = sum(
            ((first - v) * v * _meetings([*rest[:k], *rest[k + 1 :]]))
            for k, v in enumerate(rest)
        )
        likely = 1 - prod(1 - v for v in chances)
        error = sympy.cancel(q / first) * sum(chances) - likely
        yield f"error of q_1, N = {n}", sympy.expand(error), sympy.expand(split)


def _meetings(rest: Sequence[Any]) -> Any:
    """T_k, from those that are neither i nor k."""
    law = cohorts.independent(rest)
    return cohorts.mean(law, lambda s: Fraction(1, (1 + len(s)) * (2 + len(s))))
