"""Full participation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np

from flverify._core.checks import whole
from flverify._core.exact import Array, Scalar
from flverify._core.sources import Source
from flverify.participation._law import Mask, UniformDriven, everybody, inverse_power

__all__ = ["Full"]


@final
@dataclass(frozen=True, repr=False)
class Full(UniformDriven):
    """Every client participates in every round.

    S = {0, ..., N-1} with probability 1, so p_i = 1 and q_i = 1/N.

    Parameters
    ----------
    n_clients : int
        Number of clients N, at least 1.

    Raises
    ------
    DomainError
        If the number of clients is not a whole number of at least 1.

    Examples
    --------
    >>> Full(4).moment((0, 1), 1)
    Fraction(1, 4)
    """

    n_clients: int

    source: ClassVar[Source] = Source("focus", "Section 3.1, Case 1")

    def __post_init__(self) -> None:
        self.settle("n_clients", whole(self.n_clients, "n_clients"))

    @property
    def exact(self) -> bool:
        """Always: there is nothing to round."""
        return True

    @property
    def spec(self) -> str:
        """Return `full`."""
        return "full"

    @property
    def width(self) -> int:
        """Nothing is random."""
        return 0

    def masks(self, uniforms: Array) -> Mask:
        """Return all true."""
        return np.ones((*uniforms.shape[:-1], self.n_clients), dtype=np.bool_)

    def support(self) -> dict[frozenset[int], Scalar]:
        """Return the one outcome."""
        return {everybody(self.n_clients): Fraction(1)}

    def nonempty_probability(self) -> Scalar:
        """Return 1."""
        return Fraction(1)

    def _moment(self, clients: frozenset[int], power: int) -> Scalar:
        del clients
        return inverse_power(self.n_clients, power)

    @staticmethod
    def examples() -> tuple[Full, ...]:
        """Return small exact laws for the contract tests."""
        return Full(1), Full(3)
