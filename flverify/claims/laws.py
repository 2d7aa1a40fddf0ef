"""Laws of every case of Assumption 1, each beside its outcomes from first principles.

Searches take the law from the package; rechecks take the listed outcomes, which come
from `flverify.claims.cohorts` and share nothing with the package's laws.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flverify.claims import cohorts
from flverify.claims.cohorts import Listed
from flverify.participation._law import Participation
from flverify.participation.all_or_nothing import AllOrNothing
from flverify.participation.bernoulli import Bernoulli
from flverify.participation.full import Full
from flverify.participation.non_empty import NonEmpty
from flverify.participation.replacement_sampling import ReplacementSampling
from flverify.participation.successive_sampling import SuccessiveSampling
from flverify.participation.uniform_cohort import UniformCohort

CHANCES = (Fraction(1, 2), Fraction(1, 3), Fraction(9, 10), Fraction(1, 4))
SHARES = {
    2: (Fraction(1, 3), Fraction(2, 3)),
    3: (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)),
    4: (Fraction(2, 5), Fraction(3, 10), Fraction(1, 5), Fraction(1, 10)),
}


@dataclass(frozen=True)
class Setting:
    """One law, from the package and listed.

    Parameters
    ----------
    law : Participation
        The package's law; clients from 0.
    listed : mapping of cohort to probability
        The same law from first principles; clients from 1.
    shares : tuple
        Sampling weights of Case 3, with sum 1; empty if the law is of another case.
    """

    law: Participation
    listed: Listed
    shares: tuple[Fraction, ...] = ()

    @property
    def n_clients(self) -> int:
        """Number of clients N."""
        return self.law.n_clients

    @property
    def where(self) -> dict[str, Any]:
        """The instance as exact text."""
        return {"N": self.n_clients, "law": self.law.spec}

    def inclusion(self) -> list[Any]:
        """Return p_1, ..., p_N, from the listed outcomes."""
        people = range(1, self.n_clients + 1)
        return [cohorts.inclusion(self.listed, i) for i in people]

    def averaging(self) -> list[Any]:
        """Return q_1, ..., q_N, from the listed outcomes."""
        people = range(1, self.n_clients + 1)
        return [cohorts.averaging(self.listed, i) for i in people]

    def admissible(self) -> bool:
        """Whether every p_i lies in (0, 1], as Assumption 1 asks."""
        return all(0 < p <= 1 for p in self.inclusion())


def fixed_size(n_clients: int) -> Iterator[Setting]:
    """Laws whose cohorts have one size: Cases 1, 3a and 3."""
    n = n_clients
    yield Setting(Full(n), {frozenset(range(1, n + 1)): Fraction(1)})
    for m in range(1, n):
        same = (Fraction(1, n),) * n
        yield Setting(UniformCohort(n, m), cohorts.uniform(n, m), same)
        shares = SHARES[n]
        drawn = cohorts.without_replacement(shares, m)
        yield Setting(SuccessiveSampling(shares, m), drawn, shares)


def never_empty(n_clients: int) -> Iterator[Setting]:
    """Laws of Cases 1, 2, 3 and 3a in which somebody always comes."""
    n = n_clients
    yield from fixed_size(n)
    certain = (*CHANCES[: n - 1], Fraction(1))
    yield Setting(Bernoulli(certain), cohorts.independent(certain))
    free = CHANCES[:n]
    somebody = cohorts.nonempty(cohorts.independent(free))
    yield Setting(NonEmpty(Bernoulli(free)), somebody)
    if n > 1:
        for m in (2, 3):
            shares = SHARES[n]
            drawn = cohorts.with_replacement(shares, m)
            yield Setting(ReplacementSampling(shares, m), drawn, shares)


def sometimes_empty(n_clients: int) -> Iterator[Setting]:
    """Laws of Case 2, and one beyond it, in which rounds may be empty."""
    free = CHANCES[:n_clients]
    yield Setting(Bernoulli(free), cohorts.independent(free))
    third = Fraction(1, 3)
    everybody = frozenset(range(1, n_clients + 1))
    both = {everybody: third, frozenset[int](): 1 - third}
    yield Setting(AllOrNothing(n_clients, third), both)
