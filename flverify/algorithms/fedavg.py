"""FedAvg, also called LocalSGD: local gradient steps, then an average."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from flverify._core.checks import choice, positive
from flverify._core.exact import Scalar
from flverify._core.sources import Source
from flverify.algorithms._algorithm import Algorithm, Server, gradient_steps

__all__ = ["FedAvg"]


class FedAvgState(NamedTuple):
    """The server model."""

    model: Server


@dataclass(frozen=True)
class FedAvg(Algorithm):
    """FedAvg with exact gradients.

    x_{r+1} = x_r + eta_s (1/|S|) sum_{i in S} (T_i(x_r) - x_r), where T_i takes
    `local_steps` gradient steps of size eta on f_i; an empty round keeps x_r.

    Parameters
    ----------
    step_size : scalar > 0, weight x^2/f
        Local step size eta.
    local_steps : int >= 1
        Gradient evaluations per participating client and round.
    server_step_size : scalar > 0, weight 1
        eta_s; 1 is model averaging.
    aggregation : {"mean", "all"}
        Divide the sum over participants by |S|, or by N (absent clients send 0).

    Raises
    ------
    DomainError
        If a setting lies outside its domain.

    Examples
    --------
    >>> FedAvg(step_size="1/8", local_steps=5).local_steps
    5
    """

    step_size: Scalar
    local_steps: int = 1
    server_step_size: Scalar = 1
    aggregation: str = "mean"

    source: ClassVar[Source] = Source("focus", "eq. (2); mcmahan2017, Algorithm 1")
    State: ClassVar[type] = FedAvgState

    @classmethod
    def examples(cls, n_clients: int) -> list[FedAvg]:
        """Small exact instances of every variant."""
        del n_clients
        return [cls("1/20", 3), cls("1/20", 2, "7/10", aggregation="all")]

    def __post_init__(self) -> None:
        self.check_common()
        server = positive(self.server_step_size, "server_step_size")
        self.settle("server_step_size", server)
        choice(self.aggregation, "aggregation", ("mean", "all"))

    def init(self, start: Any, cohort: Any, oracle: Any) -> FedAvgState:
        """Start with the server model alone."""
        del cohort, oracle
        return FedAvgState(start)

    def round(self, state: FedAvgState, cohort: Any, oracle: Any) -> FedAvgState:
        """(2a) pull, (2b) local steps, (2c) average."""
        here = cohort.pull(state.model)
        local = gradient_steps(here, self.step_size, self.local_steps, oracle)
        if self.aggregation == "all":
            change = Fraction(1, cohort.n_clients) * cohort.sum(local - here)
        elif self.server_step_size == 1:
            return FedAvgState(cohort.mean(local, otherwise=state.model))
        else:
            change = cohort.mean(local - here, otherwise=0 * state.model)
        return FedAvgState(state.model + self.server_step_size * change)
