"""Gradient descent on the sum of the client objectives, with everybody present."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from flverify._core.checks import whole
from flverify._core.exact import Scalar
from flverify._core.sources import Source
from flverify.algorithms._algorithm import Algorithm, Server

__all__ = ["GradientDescent"]


class GradientDescentState(NamedTuple):
    """The server model."""

    model: Server


@dataclass(frozen=True)
class GradientDescent(Algorithm):
    """x_{r+1} = x_r - eta sum_{i=1}^N grad f_i(x_r), whoever participates.

    Parameters
    ----------
    step_size : scalar > 0, weight x^2/f
        Step size eta on the sum; on the mean F it is N eta.
    local_steps : int, always 1
        Gradient evaluations per client and round.

    Raises
    ------
    DomainError
        If step_size is not above 0 or local_steps is not 1.

    Examples
    --------
    >>> GradientDescent(step_size="1/8").local_steps
    1
    """

    step_size: Scalar
    local_steps: int = 1

    source: ClassVar[Source] = Source("flverify", "gradient descent on sum f_i")
    State: ClassVar[type] = GradientDescentState

    @classmethod
    def examples(cls, n_clients: int) -> list[GradientDescent]:
        """Small exact instances of every variant."""
        del n_clients
        return [cls("1/20")]

    def __post_init__(self) -> None:
        self.check_common()
        whole(self.local_steps, "local_steps of gradient descent", 1, 1)

    def init(self, start: Any, cohort: Any, oracle: Any) -> GradientDescentState:
        """Start with the server model alone."""
        del cohort, oracle
        return GradientDescentState(start)

    def round(
        self, state: GradientDescentState, cohort: Any, oracle: Any
    ) -> GradientDescentState:
        """One step on the sum."""
        gradients = oracle.gradient(cohort.broadcast(state.model))
        total = cohort.everyone(gradients)
        return GradientDescentState(state.model - self.step_size * total)
