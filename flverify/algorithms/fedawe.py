"""FedAWE: clients keep their own models, and step farther the longer they were away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from flverify._core.checks import positive
from flverify._core.exact import Scalar
from flverify._core.sources import Source
from flverify.algorithms._algorithm import (
    Algorithm,
    Clients,
    Numbers,
    Server,
    gradient_steps,
)

__all__ = ["FedAwe"]


class FedAweState(NamedTuple):
    """Server model x, client models x_i, and the rounds since each took part."""

    model: Server
    models: Clients
    waited: Numbers


@dataclass(frozen=True)
class FedAwe(Algorithm):
    """FedAWE with exact gradients.

    Participants of round t, last active in round l_i (-1 at first), start from their
    own x_i and report x_i - eta_s (t - l_i) (x_i - T_i(x_i)), where T_i takes tau local
    steps; the server's model is the mean of the reports, and participants continue
    from it. An empty round changes no model.

    Parameters
    ----------
    step_size : scalar > 0, weight x^2/f
        Local step size eta.
    local_steps : int >= 1
        Gradient evaluations per participating client and round, tau.
    server_step_size : scalar > 0, weight 1
        eta_s.

    Raises
    ------
    DomainError
        If a setting lies outside its domain.

    Notes
    -----
    The number of rounds a client was away multiplies its step, so the round is not
    linear in the state: this algorithm is simulated, and moments refuse it.

    Examples
    --------
    >>> FedAwe(step_size="1/8", local_steps=5).server_step_size
    Fraction(1, 1)
    """

    step_size: Scalar
    local_steps: int = 1
    server_step_size: Scalar = 1

    source: ClassVar[Source] = Source("xiang2024", "Algorithm 1")
    State: ClassVar[type] = FedAweState

    @classmethod
    def examples(cls, n_clients: int) -> list[FedAwe]:
        """Small exact instances of every variant."""
        del n_clients
        return [cls("1/20", 2, "3/5")]

    def __post_init__(self) -> None:
        self.check_common()
        server = positive(self.server_step_size, "server_step_size")
        self.settle("server_step_size", server)

    def init(self, start: Any, cohort: Any, oracle: Any) -> FedAweState:
        """Everybody at the start, as if active in the round before."""
        del oracle
        return FedAweState(start, cohort.broadcast(start), cohort.numbers(0))

    def round(self, state: FedAweState, cohort: Any, oracle: Any) -> FedAweState:
        """Local steps from each own model, their echo, the mean, and its download."""
        own = state.models
        local = gradient_steps(own, self.step_size, self.local_steps, oracle)
        away = state.waited + cohort.numbers(1)
        reported = own + self.server_step_size * (away * (local - own))
        model = cohort.mean(reported, otherwise=state.model)
        return FedAweState(
            model,
            cohort.select(cohort.pull(model), own),
            cohort.select(cohort.numbers(0), away),
        )
