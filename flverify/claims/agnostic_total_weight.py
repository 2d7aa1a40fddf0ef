"""Means of rule (10) of the agnostic paper, and of its total weight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import sympy

from flverify.claims import agnostic_race as race
from flverify.claims import cohorts, judge
from flverify.claims.cohorts import Listed, people
from flverify.claims.judge import Case
from flverify.claims.verdict import Finding
from flverify.claims.written import unequal
from flverify.participation.successive_sampling import SuccessiveSampling

EVERY = "every law of cohorts of M out of N users with p_i not all 1/N"


def total_weight(temperature: str) -> Finding:
    """Judge E (N/M) sum_{i in S} p_i > 1, by proof unless the prior is uniform.

    Parameters
    ----------
    temperature : str
        Of the prior exp(-i/temperature) that is searched.

    Notes
    -----
    By cohorts it is N sum p_i^2, which is 1 + N sum (p_i - 1/N)^2.
    """
    search = judge.instances(totals(temperature), ">", "N = 3, 4, 5")
    if race.exact_ratio(temperature) == 1:
        return search
    N, M, chance, p = sympy.symbols("N M probability p_i", positive=True)
    squares, added = sympy.symbols("sum_p_squared sum_p", real=True)
    rest, gap = sympy.Symbol("rest", nonnegative=True), sympy.Symbol("gap", real=True)
    about = squares - 2 * added / N + 1 / N  # of squares of p_i - 1/N
    more = (p - 1 / N) ** 2 - (p**2 - 2 * p / N + 1 / N**2)
    pairs = [
        ("a member of a cohort", chance * N / M * p, N * p * (chance / M)),
        ("one square more", more, 0),
        ("sum p_i = 1", (1 + N * about).subs(added, 1), N * squares),
    ]
    above = judge.implied([unequal(gap, 0)], 1 + N * (gap**2 + rest) > 1, EVERY)
    proof = {"N sum p_i^2": judge.identity(pairs, EVERY), "one p_i not 1/N": above}
    return judge.proof_or_search(judge.all_of(proof), search)


def totals(temperature: str) -> Iterator[Case]:
    """N sum p_i^2, the mean of (N/M) sum_{i in S} p_i, against 1."""
    ratio = race.exact_ratio(temperature)
    for n, m in ((3, 1), (4, 2), (5, 3)):
        shares = [ratio**i for i in range(n)]
        p = SuccessiveSampling(shares, m).averaging_weights()
        law = cohorts.without_replacement(shares, m)
        q = [cohorts.averaging(law, i) for i in people(n)]
        at = {"N": n, "M": m, "weights": shares}
        again = cohorts.sides(mean_total(law, q), 1)
        yield Case(at, n * sum(v * v for v in p), 1, again)


def mean_total(law: Listed, p: Sequence[Any]) -> Any:
    """E (N/|S|) sum_{i in S} p_i, over listed outcomes.

    Examples
    --------
    >>> law = {frozenset({1}): Fraction(1, 3), frozenset({2}): Fraction(2, 3)}
    >>> mean_total(law, [Fraction(1, 3), Fraction(2, 3)])
    Fraction(10, 9)
    """
    n = len(p)
    return cohorts.mean(law, lambda s: sum(p[i - 1] for i in s) * Fraction(n, len(s)))


def mean_of_rule(law: Listed, p: Sequence[Any], models: Sequence[Any]) -> Any:
    """E (N/|S|) sum_{i in S} p_i theta_i, over listed outcomes.

    Examples
    --------
    >>> law = {frozenset({1}): Fraction(1, 3), frozenset({2}): Fraction(2, 3)}
    >>> mean_of_rule(law, [Fraction(1, 3), Fraction(2, 3)], [1, 10])
    Fraction(82, 9)
    """
    weighted = [v * x for v, x in zip(p, models, strict=True)]
    return mean_total(law, weighted)
