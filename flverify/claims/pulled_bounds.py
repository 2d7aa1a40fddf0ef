"""What a pull changes on average, as a bound: weights that are p_i, q_i or 1/m.

Cohort by cohort a client counts 1 for p_i and 1/|S| <= 1 for q_i = E[I_i/|S|], so that
q_i <= p_i for every law. With d_i >= 0 the sum of p_i d_i is thus at least that of
q_i d_i, and the sum of (1 - p_i) d_i is at most that of (1 - q_i) d_i.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.mixing_cases import LAWS
from flverify.claims.pulled_distances import gaps_of, laws_of, sides
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most

EVERY = "every N, law, all rows"
total, bound, gap = sympy.symbols("total bound d", nonnegative=True)
p, q = sympy.symbols("p q", nonnegative=True)


def shares_are_below() -> dict[str, Finding]:
    """Judge q_i <= p_i by adding the cohorts with the client, from 0 <= 0 on.

    Examples
    --------
    >>> [one.verdict.name for one in shares_are_below().values()]
    ['PROVED']
    """
    chance = sympy.Symbol("chance", nonnegative=True)
    size = sympy.Symbol("size", positive=True)
    held = [size >= 1, q <= p]
    longer = at_most(q + chance / size, p + chance)
    return {"q_i <= p_i, one cohort more": judge.implied(held, longer, EVERY)}


def ends(factor: object) -> Finding:
    """Judge sum (1 - p_i) d_i <= factor (1 - q_min) sum d_i for q_i = E[I_i/|S|].

    Examples
    --------
    >>> ends(1).verdict.name, ends("1/2").passes()
    ('PROVED', False)
    """
    least = sympy.Symbol("q_min", nonnegative=True)
    held = [p <= 1, q <= p, least <= q, total <= bound]
    right = rational(factor) * (1 - least) * gap
    return _added(shares_are_below(), held, (1 - p) * gap, right)


def bounds(
    weight: str, factor: object, *, absent: bool, server: bool = False
) -> Finding:
    """Judge E sum over S (or its complement) of d_i <= factor sum of weights times d_i.

    Parameters
    ----------
    weight : {"p_i", "q_i", "1/m"}
    factor : rational
    absent : bool
        Whether the sum is over the complement, and the weights are 1 less theirs.
    server : bool
        Whether the server's own move, 1, is added on the left.

    Examples
    --------
    >>> bounds("q_i", 1, absent=True).verdict.name
    'PROVED'
    >>> bounds("q_i", 1, absent=False).reason
    '5 <= 5/2 fails at N = 2, law = full, w - x_i = [1, 2], server moved by = 0'
    """
    search = judge.instances(_cases(weight, factor, absent, server), "<=", LAWS)
    if weight == "1/m" or server:
        return judge.proof_or_search(judge.inconclusive("no proof is tried"), search)
    return judge.proof_or_search(_proof(weight, factor, absent), search)


def _proof(weight: str, factor: object, absent: bool) -> Finding:
    kept = (1 - p, 1 - q) if absent else (p, q)
    left, right = (kept[0], kept[0]) if weight == "p_i" else kept
    held = [p <= 1, q <= p, total <= bound]
    parts = shares_are_below() if weight == "q_i" else {}
    return _added(parts, held, left * gap, rational(factor) * right * gap)


def _added(
    parts: dict[str, Finding], held: list[Any], left: Any, right: Any
) -> Finding:
    """Add the clients one after the other."""
    longer = at_most(total + left, bound + right)
    return judge.all_of(
        {**parts, "one client more": judge.implied(held, longer, EVERY)},
        scope=EVERY,
        argument="the mean of a sum over clients is the sum of the means; a client's "
        "term is kept in the cohorts with it, or without it; sums of nothing are 0",
    )


def _cases(
    weight: str, factor: object, absent: bool, server: bool
) -> Iterator[judge.Case]:
    times: Any = Fraction(str(factor))
    for one in laws_of(weight):
        both = partial(sides, one, weight, times, absent=absent, server=server)
        where = {**one.where, "w - x_i": gaps_of(one), "server moved by": int(server)}
        yield judge.Case(where, *both(listed=False), partial(both, listed=True))
