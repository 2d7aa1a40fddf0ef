"""A law given by its outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import fsum
from typing import Any, ClassVar, final

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import DomainError, ShapeError
from flverify._core.exact import Array, Scalar
from flverify._core.shown import shown
from flverify._core.sources import Source
from flverify.participation._distribution import distribution, pick, thresholds
from flverify.participation._law import (
    Mask,
    UniformDriven,
    all_exact,
    inverse_power,
    members,
)

__all__ = ["ExplicitLaw"]


@final
@dataclass(frozen=True, repr=False)
class ExplicitLaw(UniformDriven):
    """A law given by the probability of every outcome.

    P(S = A) = table[A], so moment(A, k) sums table[B] / |B|^k over B that contain A.

    Parameters
    ----------
    table : mapping of tuple or frozenset of clients to scalar in [0, 1] or symbol
        Outcomes, each set once; outcomes left out, and those of probability 0, do
        not happen. () is the empty round. Stored as sorted pairs.
    n_clients : int
        Number of clients N, at least 1.

    Raises
    ------
    ShapeError
        If the table is not a nonempty mapping of collections of clients.
    DomainError
        If a client or a probability is out of range, a set or a client in it is
        listed twice, or the probabilities do not sum to 1 (floats: within 1e-12).

    Examples
    --------
    >>> law = ExplicitLaw({(0,): "1/4", (0, 1): "3/4"}, n_clients=2)
    >>> law.averaging_weights()
    array([Fraction(5, 8), Fraction(3, 8)], dtype=object)
    """

    table: Mapping[Any, Scalar] | tuple[tuple[tuple[int, ...], Scalar], ...]
    n_clients: int
    outcomes: Mapping[frozenset[int], Scalar] = field(init=False, compare=False)

    source: ClassVar[Source] = Source("focus", "Assumption 1")

    def __post_init__(self) -> None:
        self.settle("n_clients", whole(self.n_clients, "n_clients"))
        if not isinstance(self.table, Mapping) or not self.table:
            raise ShapeError(
                f"table must map sets of clients to probabilities; got "
                f"{shown(self.table)}; pass e.g. {{(0,): '1/4', (0, 1): '3/4'}}."
            )
        sets = [tuple(sorted(_outcome(key, self.n_clients))) for key in self.table]
        if len(set(sets)) < len(sets):
            raise DomainError(
                f"each set of clients must be listed once; got "
                f"{shown(list(self.table))}; add the probabilities of equal sets."
            )
        chances = distribution(self.table.values(), "table")
        rows = sorted(zip(sets, chances, strict=True), key=lambda row: row[0])
        self.settle("table", tuple(row for row in rows if row[1] != 0))
        self.settle("outcomes", {frozenset(s): chance for s, chance in self.table})

    @property
    def exact(self) -> bool:
        """Whether the probabilities are rationals or symbols."""
        return all_exact(self.outcomes.values())

    @property
    def spec(self) -> str:
        """Return `explicit`; the outcomes are in `table`."""
        return "explicit"

    @property
    def width(self) -> int:
        """One uniform picks the outcome."""
        return 1

    def masks(self, uniforms: Array) -> Mask:
        """Return the outcomes that the uniforms stand for."""
        rows = np.zeros((len(self.outcomes), self.n_clients), dtype=np.bool_)
        for row, outcome in zip(rows, self.outcomes, strict=True):
            row[sorted(outcome)] = True
        chosen: Mask = rows[pick(thresholds(self.outcomes.values()), uniforms[..., 0])]
        return chosen

    def support(self) -> dict[frozenset[int], Scalar]:
        """Return the outcomes of nonzero probability."""
        return dict(self.outcomes)

    def empty_probability(self) -> Scalar:
        """Return the probability of the empty outcome."""
        return self.outcomes.get(frozenset(), Fraction(0) if self.exact else 0.0)

    def nonempty_probability(self) -> Scalar:
        """Return the probability of the other outcomes together."""
        return self._sum([c for outcome, c in self.outcomes.items() if outcome])

    def _moment(self, clients: frozenset[int], power: int) -> Scalar:
        return self._sum(
            [
                chance * inverse_power(len(outcome), power)
                for outcome, chance in self.outcomes.items()
                if clients <= outcome
            ]
        )

    def _sum(self, terms: list[Scalar]) -> Scalar:
        return sum(terms, Fraction(0)) if self.exact else fsum(terms)

    @staticmethod
    def examples() -> tuple[ExplicitLaw, ...]:
        """Return small exact laws for the contract tests."""
        chances = {(): "1/8", (0,): "1/4", (1, 2): "1/3", (2, 0, 1): "7/24"}
        return ExplicitLaw(chances, 3), ExplicitLaw({(): "1/2", (1,): "1/2"}, 2)


def _outcome(key: object, n_clients: int) -> frozenset[int]:
    if not isinstance(key, tuple | frozenset):
        raise ShapeError(
            f"an outcome must be a tuple or frozenset of clients; got {shown(key)}; "
            f"write a single client as (0,)."
        )
    outcome = members(key, n_clients)
    if len(outcome) < len(key):
        raise DomainError(
            f"an outcome must list each client once; got {shown(key)}; leave "
            f"out repeats."
        )
    return outcome
