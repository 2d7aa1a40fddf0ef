"""FedAvg with known weights in the aggregate, equation (10) of the agnostic paper."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from flverify._core.checks import numbers
from flverify._core.errors import DomainError, ShapeError
from flverify._core.exact import Scalar, is_symbolic
from flverify._core.scaling import per_client
from flverify._core.shown import shown
from flverify._core.sources import Source
from flverify.algorithms._algorithm import Algorithm, Server, gradient_steps

__all__ = ["WeightedFedAvg"]


class WeightedFedAvgState(NamedTuple):
    """The server model."""

    model: Server


@dataclass(frozen=True)
class WeightedFedAvg(Algorithm):
    """x_{r+1} = (N/|S|) sum_{i in S} p_i T_i(x_r); an empty round keeps x_r.

    T_i takes `local_steps` gradient steps of size eta on f_i. The total weight
    (N/|S|) sum_{i in S} p_i of a round is 1 only on average at best.

    Parameters
    ----------
    step_size : scalar > 0, weight x^2/f
        Local step size eta.
    weights : (N,) numbers >= 0
        The weights p_i of equation (10); the print allows several readings of p_i,
        so they are data here.
    local_steps : int >= 1
        Gradient evaluations per participating client and round.

    Raises
    ------
    DomainError
        If a weight is negative or a setting lies outside its domain.
    ShapeError
        If there are not as many weights as clients (when a round is read).

    Examples
    --------
    >>> WeightedFedAvg(step_size="1/8", weights=["1/4", "3/4"]).weights
    (Fraction(1, 4), Fraction(3, 4))
    """

    step_size: Scalar
    weights: tuple[Scalar, ...]
    local_steps: int = 1

    source: ClassVar[Source] = Source("agnostic", "eq. (10)")
    State: ClassVar[type] = WeightedFedAvgState

    @classmethod
    def examples(cls, n_clients: int) -> list[WeightedFedAvg]:
        """Small exact instances of every variant."""
        total = n_clients * (n_clients + 1) // 2
        weights = [Fraction(i + 1, total) for i in range(n_clients)]
        return [cls("1/20", tuple(weights), 2)]

    def __post_init__(self) -> None:
        self.check_common()
        self.settle("weights", tuple(numbers(self.weights, "weights")))
        negative = [w for w in self.weights if not is_symbolic(w) and w < 0]
        if negative:
            raise DomainError(
                f"weights must not be negative; got {shown(negative[0])}; mend it."
            )

    def init(self, start: Any, cohort: Any, oracle: Any) -> WeightedFedAvgState:
        """Start with the server model alone."""
        del oracle
        if len(self.weights) != cohort.n_clients:
            raise ShapeError(
                f"weights must hold one number per client; got {len(self.weights)} "
                f"for {cohort.n_clients} clients; give as many as clients."
            )
        return WeightedFedAvgState(start)

    def round(
        self, state: WeightedFedAvgState, cohort: Any, oracle: Any
    ) -> WeightedFedAvgState:
        """Local steps, then equation (10)."""
        here = cohort.pull(state.model)
        local = gradient_steps(here, self.step_size, self.local_steps, oracle)
        weighted = cohort.n_clients * (per_client(self.weights) * local)
        return WeightedFedAvgState(cohort.mean(weighted, otherwise=state.model))
