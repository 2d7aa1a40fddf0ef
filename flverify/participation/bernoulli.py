"""Independent participation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import ClassVar, final

import numpy as np

from flverify._core.exact import Array, Scalar, text
from flverify._core.sources import Source
from flverify.participation import _poisson_binomial as exactly
from flverify.participation import _poisson_binomial_floats as in_floats
from flverify.participation._distribution import probabilities
from flverify.participation._law import (
    Mask,
    UniformDriven,
    all_exact,
    floats,
    require_listable,
    symmetric,
    table,
)

__all__ = ["Bernoulli"]


@final
@dataclass(frozen=True, repr=False)
class Bernoulli(UniformDriven):
    """Every client participates independently with its own probability.

    P(S) = prod_{i in S} p_i prod_{i not in S} (1 - p_i). The averaging weight is
    q_i = p_i E[1/(1 + X)] with X the number of other participants; the q_i sum to
    1 - prod (1 - p_i).

    Parameters
    ----------
    probabilities : (N,) scalars in [0, 1] or symbols
        Inclusion probabilities p_i; 0 is legal: that client never participates.

    Raises
    ------
    ShapeError
        If the probabilities are not a nonempty list of numbers.
    DomainError
        If one is not a number in [0, 1].

    Notes
    -----
    Exact for rationals and symbols, by generating functions: N^2 log N operations
    for q. Floats, by quadrature with positive terms: relative error below 1e-12 where
    a probability is not below the range of floats.

    Examples
    --------
    >>> Bernoulli(["1/5", "1/2"]).averaging_weights()
    array([Fraction(3, 20), Fraction(9, 20)], dtype=object)
    """

    probabilities: Sequence[Scalar]
    n_clients: int = field(init=False, compare=False)

    source: ClassVar[Source] = Source("focus", "Section 3.1, Case 2")

    def __post_init__(self) -> None:
        self.settle("probabilities", probabilities(self.probabilities, "probabilities"))
        self.settle("n_clients", len(self.probabilities))

    @property
    def exact(self) -> bool:
        """Whether the probabilities are rationals or symbols."""
        return all_exact(self.probabilities)

    @property
    def spec(self) -> str:
        """Return e.g. `bernoulli:1/5,1/2`."""
        return "bernoulli:" + ",".join(text(p) for p in self.probabilities)

    def masks(self, uniforms: Array) -> Mask:
        """Return the clients whose uniform lies below their probability."""
        mask: Mask = uniforms < floats(self.probabilities)
        return mask

    def support(self) -> dict[frozenset[int], Scalar]:
        """Return all subsets that contain the certain clients and no impossible one."""
        chances = self.probabilities
        require_listable(2 ** sum(p not in (0, 1) for p in chances))
        outcomes = {frozenset[int](): self._one()}
        for i, p in enumerate(chances):
            joined = {s | {i}: c * p for s, c in outcomes.items() if p != 0}
            stayed = {s: c * (1 - p) for s, c in outcomes.items() if p != 1}
            outcomes = stayed | joined
        return outcomes

    def empty_probability(self) -> Scalar:
        """P(S is empty) = prod (1 - p_i)."""
        if not self.exact:
            return in_floats.no_members(np.array(self.probabilities))
        misses = (1 - p for p in self.probabilities)
        return exactly.expanded(prod(misses))

    def nonempty_probability(self) -> Scalar:
        """P(S is not empty) = 1 - prod (1 - p_i)."""
        if self.exact:
            return 1 - self.empty_probability()
        return in_floats.some_members(np.array(self.probabilities))

    def _moment(self, clients: frozenset[int], power: int) -> Scalar:
        chosen = sorted(clients)
        if power == 0:
            hits = (self.probabilities[i] for i in chosen)
            return exactly.expanded(prod(hits))
        if self.exact:
            return exactly.moment(tuple(self.probabilities), clients, power)
        return in_floats.moment(np.array(self.probabilities), chosen, power)

    def _vector(self, power: int) -> Array:
        p = tuple(self.probabilities)
        if power == 0:
            return table(list(p), (self.n_clients,))
        if self.exact:
            return table(exactly.single_moments(p, power), (self.n_clients,))
        return in_floats.single_moments(np.array(p), power)

    def _matrix(self, power: int) -> Array:
        p = self._vector(0)
        if power == 0:
            out = p[:, None] * p
            np.fill_diagonal(out, p)
            return out
        if self.exact:
            pairs = exactly.pair_moments(tuple(self.probabilities), power)
            return symmetric(self._vector(power), pairs)
        return in_floats.pair_moments(p, power)

    @staticmethod
    def examples() -> tuple[Bernoulli, ...]:
        """Return small exact laws for the contract tests."""
        mixed = (Fraction(1, 5), Fraction(1, 2), Fraction(9, 10))
        return Bernoulli(mixed), Bernoulli((0, 1, mixed[0], mixed[1])), Bernoulli((1,))
