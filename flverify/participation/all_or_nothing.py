"""All clients or none."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np

from flverify._core.checks import whole
from flverify._core.exact import Array, Scalar, text
from flverify._core.sources import Source
from flverify.participation._distribution import chance
from flverify.participation._law import (
    Mask,
    UniformDriven,
    all_exact,
    everybody,
    floats,
    inverse_power,
)

__all__ = ["AllOrNothing"]


@final
@dataclass(frozen=True, repr=False)
class AllOrNothing(UniformDriven):
    """Everybody participates with one probability, nobody otherwise.

    P(S = {0, ..., N-1}) = p and P(S empty) = 1 - p: the shared coin of ProxSkip.

    Parameters
    ----------
    n_clients : int
        Number of clients N, at least 1.
    probability : scalar in [0, 1] or symbol
        Probability p of a round with everybody.

    Raises
    ------
    DomainError
        If the number of clients is below 1 or the probability is outside [0, 1].

    Examples
    --------
    >>> AllOrNothing(4, "1/3").moment((0, 1), 2)
    Fraction(1, 48)
    """

    n_clients: int
    probability: Scalar

    source: ClassVar[Source] = Source("mishchenko2022", "Algorithm 1")

    def __post_init__(self) -> None:
        self.settle("n_clients", whole(self.n_clients, "n_clients"))
        self.settle("probability", chance(self.probability, "probability"))

    @property
    def exact(self) -> bool:
        """Whether the probability is rational or a symbol."""
        return all_exact([self.probability])

    @property
    def spec(self) -> str:
        """Return e.g. `allornothing:1/3`."""
        return f"allornothing:{text(self.probability)}"

    @property
    def width(self) -> int:
        """One coin per round."""
        return 1

    def masks(self, uniforms: Array) -> Mask:
        """Everybody where the uniform lies below the probability."""
        heads = uniforms < floats([self.probability])
        return np.repeat(heads, self.n_clients, axis=-1)

    def support(self) -> dict[frozenset[int], Scalar]:
        """Return everybody and nobody, where possible."""
        whole_set = everybody(self.n_clients)
        both = {whole_set: self.probability, frozenset[int](): 1 - self.probability}
        return {outcome: share for outcome, share in both.items() if share != 0}

    def nonempty_probability(self) -> Scalar:
        """Return p."""
        return self.probability

    def _moment(self, clients: frozenset[int], power: int) -> Scalar:
        del clients
        return self.probability * inverse_power(self.n_clients, power)

    @staticmethod
    def examples() -> tuple[AllOrNothing, ...]:
        """Return small exact laws for the contract tests."""
        third = Fraction(1, 3)
        return AllOrNothing(3, third), AllOrNothing(1, third), AllOrNothing(2, 0)
