"""What a participation law is, and the tables that follow from it.

A law answers one question, `moment(A, k)` = E[1{A in S} / |S|^k], with 0/0 = 0: an
empty S contributes only to A empty and k = 0. Everything else is a table of its
values; a law may give a table faster, never differently.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from flverify._core import seeds
from flverify._core.checks import whole
from flverify._core.errors import RefusedError
from flverify._core.exact import Array, Scalar, is_exact
from flverify._core.sources import Source

LARGEST_SUPPORT = 1 << 16  # outcomes that support() is willing to list


class Participation(ABC):
    """The law of the random set S of participating clients in one round.

    Rounds are independent unless the law has modes (see `ModeChain`). Clients are
    numbered from 0. Built from rationals a law answers in rationals.
    """

    source: ClassVar[Source]
    width: ClassVar[int | None] = None  # uniforms per round; None: one per client

    @property
    @abstractmethod
    def n_clients(self) -> int:
        """Number of clients N."""

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether the law answers in rationals (or in symbols)."""

    @abstractmethod
    def moment(self, clients: Iterable[int], power: int) -> Scalar:
        """E[1{clients in S} / |S|^power], with 0/0 = 0."""

    @abstractmethod
    def masks(self, uniforms: Array) -> Array:
        """Turn uniforms (..., width) into participation masks (..., N)."""

    @abstractmethod
    def support(self) -> Mapping[frozenset[int], Scalar]:
        """Every outcome with its probability, for small N.

        Raises
        ------
        RefusedError
            If there are too many outcomes to list.
        """

    def sample(
        self, seed: int, runs: int | range, rounds: int | range
    ) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Draw who participates: a pure function of (seed, run, round).

        Parameters
        ----------
        seed : int
            Key of the random streams.
        runs, rounds : int or range
            How many, or which, runs and rounds; a round's draw does not depend on
            which others are asked for.

        Returns
        -------
        mask : (runs, rounds, N) array of bool

        Examples
        --------
        >>> from flverify.participation import UniformCohort
        >>> UniformCohort(3, 2).sample(seed=0, runs=2, rounds=5).sum(axis=2).max()
        np.int64(2)
        """
        which_runs, which_rounds = as_range(runs, "runs"), as_range(rounds, "rounds")
        whole(seed, "seed", least=0, most=(1 << 63) - 1)
        width = self.n_clients if self.width is None else self.width
        draws = seeds.panel(seed, which_runs, which_rounds, width)
        return np.asarray(self.masks(draws), dtype=np.bool_)

    def inclusion(self) -> Array:
        """Inclusion probabilities p_i = P(i in S), shape (N,)."""
        return self._vector(0)

    def averaging_weights(self) -> Array:
        """Averaging weights q_i = E[I_i / |S|], shape (N,), summing to P(S nonempty)."""
        return self._vector(1)

    def joint_inclusion(self) -> Array:
        """p_ij = P(i in S and j in S), shape (N, N); p_i on the diagonal."""
        return self._matrix(0)

    def cross(self) -> Array:
        """E[I_i I_j / |S|], shape (N, N); q_i on the diagonal."""
        return self._matrix(1)

    def joint_averaging(self) -> Array:
        """E[I_i I_j / |S|^2], shape (N, N)."""
        return self._matrix(2)

    def empty_probability(self) -> Scalar:
        """P(S is empty)."""
        whole_mass = self.moment((), 0)
        nonempty = sum(self.averaging_weights().tolist())
        return whole_mass - nonempty

    def _vector(self, power: int) -> Array:
        values = [self.moment((i,), power) for i in range(self.n_clients)]
        return table(values, (self.n_clients,))

    def _matrix(self, power: int) -> Array:
        size = range(self.n_clients)
        upper = {(i, j): self.moment((i, j), power) for i in size for j in size[i:]}
        values = [upper[min(i, j), max(i, j)] for i in size for j in size]
        return table(values, (self.n_clients, self.n_clients))


def table(values: list[Scalar], shape: tuple[int, ...]) -> Array:
    """Arrange scalars of one kind: dtype object for exact ones, float64 otherwise."""
    kind = np.float64 if all(isinstance(v, float) for v in values) else object
    out = np.empty(len(values), dtype=kind)
    out[:] = values
    return out.reshape(shape)


def as_range(value: int | range, name: str) -> range:
    """Read a count as range(count)."""
    return value if isinstance(value, range) else range(whole(value, name, least=0))


def members(clients: Iterable[int], n_clients: int) -> frozenset[int]:
    """Check client numbers and return them as a set."""
    return frozenset(whole(i, "client", 0, n_clients - 1) for i in clients)


def require_listable(outcomes: int) -> None:
    """Refuse to list a support that is too large."""
    if outcomes > LARGEST_SUPPORT:
        raise RefusedError(
            f"support() lists at most {LARGEST_SUPPORT} outcomes; this law has "
            f"{outcomes}; use its moments instead."
        )


def all_exact(values: Iterable[Scalar]) -> bool:
    """Whether no value is a float."""
    return all(is_exact(v) or not isinstance(v, float) for v in values)
