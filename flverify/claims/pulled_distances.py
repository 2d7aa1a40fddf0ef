"""What a pull changes on average: sums over a cohort with weights p_i, q_i or 1/m."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import sympy

from flverify.claims import cohorts, judge
from flverify.claims.laws import Setting
from flverify.claims.mixing_cases import LAWS, some_laws, table_of
from flverify.claims.verdict import Finding


def means(weight: str, factor: int, *, absent: bool, server: bool = False) -> Finding:
    """Judge E sum over S (or its complement) of d_i = factor sum of weights times d_i.

    Cohort by cohort the left side is 1{i in S} d_i; so the weights have to be p_i.
    """
    cases = (
        judge.Case(
            {**one.where, "w - x_i": gaps_of(one), "server moved by": int(server)},
            *sides(one, weight, factor, absent=absent, server=server, listed=False),
            partial(
                sides, one, weight, factor, absent=absent, server=server, listed=True
            ),
        )
        for one in laws_of(weight)
    )
    search = judge.instances(cases, "==", LAWS)
    if weight != "p_i" or server:
        nothing = judge.inconclusive("no proof is tried")
        return judge.proof_or_search(nothing, search)
    pairs = []
    for n in (1, 2, 3):
        law = cohorts.any_law(n, empty=True)
        d = sympy.symbols(f"d1:{n + 1}", nonnegative=True)
        left = cohorts.mean(law, partial(_kept_of, d=d, absent=absent))
        p = [cohorts.inclusion(law, i) for i in cohorts.people(n)]
        right = sum((1 - v if absent else v) * w for v, w in zip(p, d, strict=True))
        pairs.append((f"N = {n}", left, factor * right))
    small = judge.identity(pairs, "N = 1..3, every law, all rows")
    proof = judge.all_of(
        {"small": small, "one client more": _one_more(factor, absent)},
        scope="every N, law, all rows",
        argument="the mean of a sum over clients is the sum of the means, and of a "
        "client's term only the cohorts with it, or without it, are left",
    )
    return judge.proof_or_search(proof, search)


def _one_more(factor: int, absent: bool) -> Finding:
    """Add a client of any law: `there` and `away` are cohorts with and without it."""
    there, away, d, total = sympy.symbols("there away d total", positive=True)
    p = there / (there + away)
    left = (away if absent else there) / (there + away) * d
    right = factor * (total + (1 - p if absent else p) * d)
    return judge.identity([("the sum", factor * total + left, right)], "every law")


def _kept_of(s: Any, d: Any, *, absent: bool) -> Any:
    chosen = [v for i, v in enumerate(d, start=1) if (i in s) != absent]
    return sum(chosen, sympy.Integer(0))


def laws_of(weight: str) -> Iterator[Setting]:
    """Yield the listed laws inside Assumption 1, uniform ones where 1/m is meant."""
    for one in some_laws():
        uniform = len(set(one.shares)) == 1
        if one.admissible() and (weight != "1/m" or uniform):
            yield one


def gaps_of(one: Setting) -> list[int]:
    """Return w - x_i of the clients: 1, ..., N."""
    return [i + 1 for i in range(one.n_clients)]


def sides(
    one: Setting,
    weight: str,
    factor: int,
    *,
    absent: bool,
    server: bool,
    listed: bool,
) -> tuple[Fraction, Fraction]:
    """Both sides at w - x_i = i; the server's own move is 1."""
    squares = [Fraction(gap) ** 2 for gap in gaps_of(one)]
    if listed:
        law = {frozenset(i - 1 for i in s): Fraction(p) for s, p in one.listed.items()}
    else:
        law = {s: Fraction(p) for s, p in one.law.support().items()}
    left = Fraction(int(server))
    for s, chance in law.items():
        chosen = (v for i, v in enumerate(squares) if (i in s) != absent)
        left += Fraction(chance) * sum(chosen, Fraction(0))
    table = table_of(weight, one, listed=listed).tolist()
    kept = [1 - w if absent else w for w in table]
    right = sum(
        (Fraction(w) * v for w, v in zip(kept, squares, strict=True)), Fraction(0)
    )
    return left, factor * right
