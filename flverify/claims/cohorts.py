"""Cohorts and their laws listed from first principles, for proofs and rechecks.

Clients are numbered from 1, as in the papers, and the server is 0. Nothing of the
packages participation and mixing is used here: a recheck must share nothing with what
it checks. A law is a mapping from cohorts to probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, permutations, product
from math import prod
from typing import Any, NamedTuple, TypeAlias

import sympy

from flverify._core.exact import Scalar

Cohort: TypeAlias = frozenset[int]
Listed: TypeAlias = Mapping[Cohort, Scalar]


def subsets(n_clients: int, least: int = 0) -> list[Cohort]:
    """List the subsets of {1, ..., N} with at least so many members.

    Examples
    --------
    >>> [sorted(s) for s in subsets(2)]
    [[], [1], [2], [1, 2]]
    """
    sizes = range(least, n_clients + 1)
    people = range(1, n_clients + 1)
    return [frozenset(s) for k in sizes for s in combinations(people, k)]


def people(n_clients: int) -> range:
    """Return the clients 1 to N."""
    return range(1, n_clients + 1)


def sides(left: Any, right: Any) -> Callable[[], tuple[Any, Any]]:
    """Return a recheck that hands over two sides computed already."""
    return lambda: (left, right)


def zero_based(cohort: Iterable[int]) -> Cohort:
    """Return the cohort in the package's numbering, from 0."""
    return frozenset(i - 1 for i in cohort)


def any_law(n_clients: int, *, empty: bool = False) -> dict[Cohort, sympy.Expr]:
    """Every law on the cohorts of N clients, by free positive symbols.

    P(S = A) = w_A / sum of all w, which reaches every law of full support, and by
    continuity every law.

    Parameters
    ----------
    n_clients : int
    empty : bool
        Whether nobody may come.
    """
    sets = subsets(n_clients, least=0 if empty else 1)
    names = ["w_" + "".join(map(str, sorted(s))) if s else "w_none" for s in sets]
    weights = sympy.symbols(names, positive=True)
    return {s: w / sum(weights) for s, w in zip(sets, weights, strict=True)}


def any_law_of_size(n_clients: int, m: int) -> dict[Cohort, Any]:
    """Every law on the cohorts of m clients, by free positive symbols.

    Examples
    --------
    >>> any_law_of_size(2, 1)[frozenset({1})]
    w_1/(w_1 + w_2)
    """
    law = {a: v for a, v in any_law(n_clients).items() if len(a) == m}
    return {a: sympy.cancel(v / sum(law.values())) for a, v in law.items()}


def independent(chances: Sequence[Scalar]) -> dict[Cohort, Scalar]:
    """Clients come independently with their probabilities.

    Examples
    --------
    >>> independent([Fraction(1, 3), Fraction(1)])
    {frozenset({2}): Fraction(2, 3), frozenset({1, 2}): Fraction(1, 3)}
    """
    law = {}
    for s in subsets(len(chances)):
        law[s] = prod(p if i in s else 1 - p for i, p in enumerate(chances, start=1))
    return {s: chance for s, chance in law.items() if chance != 0}


def nonempty(law: Listed) -> dict[Cohort, Scalar]:
    """Condition a law on somebody coming."""
    likely = sum(chance for s, chance in law.items() if s)
    return {s: chance / likely for s, chance in law.items() if s}


def uniform(n_clients: int, m: int) -> dict[Cohort, Fraction]:
    """Each cohort of m clients equally likely."""
    sets = [frozenset(s) for s in combinations(range(1, n_clients + 1), m)]
    return {s: Fraction(1, len(sets)) for s in sets}


class Counted(NamedTuple):
    """Numbers of cohorts of m of N clients, as unknowns, and what holds between them.

    Counting pairs of a cohort and a member in two ways gives N `with_one` = m `all`;
    counting cohorts with ordered pairs of members, N (N-1) `with_two` = m (m-1) `all`.
    """

    n: sympy.Symbol
    m: sympy.Symbol
    all: sympy.Symbol
    with_one: sympy.Symbol
    with_two: sympy.Symbol

    @property
    def relations(self) -> list[Any]:
        """Both counts, and 1 <= m <= N."""
        n, m = self.n, self.m
        one = sympy.Eq(n * self.with_one, m * self.all)
        two = sympy.Eq(n * (n - 1) * self.with_two, m * (m - 1) * self.all)
        return [one, two, m <= n]


def counted() -> Counted:
    """Return N, m and the numbers of cohorts, of those with one client, with two."""
    n, m = sympy.symbols("N m", integer=True, positive=True)
    every, one = sympy.symbols("all with_one", positive=True)
    return Counted(n, m, every, one, sympy.Symbol("with_two", nonnegative=True))


def with_replacement(shares: Sequence[Scalar], m: int) -> dict[Cohort, Scalar]:
    """Distinct clients of m independent draws, over all sequences of draws."""
    law: dict[Cohort, Scalar] = {}
    for draws in product(range(1, len(shares) + 1), repeat=m):
        s = frozenset(draws)
        law[s] = law.get(s, 0) + prod(shares[i - 1] for i in draws)
    return law


def without_replacement(shares: Sequence[Scalar], m: int) -> dict[Cohort, Scalar]:
    """Clients of m successive draws from those left, over all orders of draws."""
    law: dict[Cohort, Scalar] = {}
    for draws in permutations(range(1, len(shares) + 1), m):
        chance, left = Fraction(1), sum(shares)
        for i in draws:
            chance, left = chance * shares[i - 1] / left, left - shares[i - 1]
        s = frozenset(draws)
        law[s] = law.get(s, 0) + chance
    return law


def mean(law: Listed, value: Callable[[Cohort], Any]) -> Any:
    """Average a number, an array or an expression over the law."""
    terms = [chance * value(s) for s, chance in law.items()]
    return sum(terms[1:], start=terms[0])


def inclusion(law: Listed, client: int) -> Scalar:
    """P(client in S)."""
    return mean(law, lambda s: int(client in s))


def averaging(law: Listed, client: int) -> Scalar:
    """E[1{client in S} / |S|], with 0/0 = 0."""
    return mean(law, lambda s: Fraction(int(client in s), len(s) or 1))


def shown(cohort: Cohort) -> str:
    """Text of a cohort.

    Examples
    --------
    >>> shown(frozenset({3, 1})), shown(frozenset())
    ('{1, 3}', '{}')
    """
    return "{" + ", ".join(map(str, sorted(cohort))) + "}"
