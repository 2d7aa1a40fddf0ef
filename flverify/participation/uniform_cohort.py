"""A cohort of fixed size, every one equally likely."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, perm
from typing import ClassVar, final

import numpy as np

from flverify._core.checks import whole
from flverify._core.exact import Array, Scalar
from flverify._core.sources import Source
from flverify.participation._law import (
    Mask,
    UniformDriven,
    inverse_power,
    require_listable,
)
from flverify.participation._smallest import smallest

__all__ = ["UniformCohort"]


@final
@dataclass(frozen=True, repr=False)
class UniformCohort(UniformDriven):
    """A cohort of m of N clients, drawn uniformly without replacement.

    P(A in S) = C(N - |A|, m - |A|) / C(N, m), so p_i = m/N and q_i = 1/N.

    Parameters
    ----------
    n_clients : int
        Number of clients N, at least 1.
    m : int
        Cohort size, from 1 to N.

    Raises
    ------
    DomainError
        If a size is not a whole number of its range.

    Examples
    --------
    >>> UniformCohort(4, 2).moment((0, 1), 0)
    Fraction(1, 6)
    """

    n_clients: int
    m: int

    source: ClassVar[Source] = Source("focus", "Section 3.1, Case 3a")

    def __post_init__(self) -> None:
        self.settle("n_clients", whole(self.n_clients, "n_clients"))
        self.settle("m", whole(self.m, "m", most=self.n_clients))

    @property
    def exact(self) -> bool:
        """Always: the probabilities are ratios of whole numbers."""
        return True

    @property
    def spec(self) -> str:
        """Return e.g. `uniform:2`."""
        return f"uniform:{self.m}"

    def masks(self, uniforms: Array) -> Mask:
        """Return the clients of the m smallest uniforms."""
        return smallest(uniforms, self.m)

    def support(self) -> dict[frozenset[int], Scalar]:
        """Return all cohorts."""
        count = comb(self.n_clients, self.m)
        require_listable(count)
        cohorts = combinations(range(self.n_clients), self.m)
        return {frozenset(cohort): Fraction(1, count) for cohort in cohorts}

    def nonempty_probability(self) -> Scalar:
        """Return 1."""
        return Fraction(1)

    def _moment(self, clients: frozenset[int], power: int) -> Scalar:
        size, total = len(clients), self.n_clients
        if size > self.m:
            return Fraction(0)
        joint = Fraction(perm(self.m, size), perm(total, size))
        return joint * inverse_power(self.m, power)

    def _vector(self, power: int) -> Array:
        value = self._moment(frozenset((0,)), power)
        return np.full(self.n_clients, value, dtype=object)

    def _matrix(self, power: int) -> Array:
        size = self.n_clients
        joint = self._moment(frozenset((0, 1)), power)
        out = np.full((size, size), joint, dtype=object)
        np.fill_diagonal(out, self._moment(frozenset((0,)), power))
        return out

    @staticmethod
    def examples() -> tuple[UniformCohort, ...]:
        """Return small exact laws for the contract tests."""
        return UniformCohort(3, 2), UniformCohort(1, 1), UniformCohort(4, 1)
