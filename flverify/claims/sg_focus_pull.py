"""(130) of the FOCUS paper: what is left of the rows' distances after a pull.

Participants are at distance 0 then, and the others at d_i as before. E over the pull
has one term for each client, so a line on one client of any law is one on their sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import sympy

from flverify.claims import cohorts, judge
from flverify.claims.verdict import Finding


def one_client(c: SimpleNamespace) -> Finding:
    """Judge E over the pull of the distance of a client that comes with chance p_i."""
    d, chance = sympy.symbols("d p_i", nonnegative=True)
    left = chance * 0 + (1 - chance) * d  # pulled, and not
    pair = ("client i, in S with chance p_i", left, (c.absent - chance) * d)
    return judge.identity([pair], "every N and law, all models")


def listed_laws(c: SimpleNamespace, weight: Any) -> Finding:
    """Judge the equality for every law of up to three clients, with any weights q_i."""
    pairs = []
    for size in (1, 2, 3):
        law, apart = cohorts.any_law(size, empty=True), _distances(size)
        left = sum(
            p * sum(d for i, d in enumerate(apart, start=1) if i not in s)
            for s, p in law.items()
        )
        right = sum(
            (c.absent - weight(law, i)) * d for i, d in enumerate(apart, start=1)
        )
        pairs.append((f"N = {size}", sympy.together(left), sympy.together(right)))
    return judge.identity(pairs, "every law of 1..3 clients, all models")


def uniform_cohorts(c: SimpleNamespace) -> Iterator[judge.Pair]:
    """Yield both sides for m of N clients, with 1/m for q_i."""
    for size in (1, 2, 3):
        apart = sum(_distances(size))
        for m in range(1, size + 1):
            left = (1 - sympy.Rational(m, size)) * apart
            right = (c.absent - sympy.Rational(1, m)) * apart
            yield f"N = {size}, m = {m}", left, right


def least_weight(c: SimpleNamespace) -> Finding:
    """(1 - q_i) d_i <= (1 - q_min) d_i, summed over i."""
    own, least = sympy.symbols("q_i q_min", positive=True)
    d = sympy.Symbol("d", nonnegative=True)
    held = [least <= own, own <= 1]
    return judge.implied(held, (c.least - own) * d <= (1 - least) * d, "every q_i")


def _distances(size: int) -> list[Any]:
    return list(sympy.symbols(f"d1:{size + 1}", nonnegative=True))
