"""FedVARP: last updates of absent clients reduce the variance of participation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from flverify._core.checks import choice, positive
from flverify._core.exact import Scalar
from flverify._core.sources import Source
from flverify.algorithms._algorithm import Algorithm, Clients, Server, gradient_steps

__all__ = ["FedVarp"]


class FedVarpState(NamedTuple):
    """Server model x, the mean of the table, and the table y_i.

    The mean is kept, since a linear round adds up over participants alone.
    """

    model: Server
    mean: Server
    table: Clients


@dataclass(frozen=True)
class FedVarp(Algorithm):
    """FedVARP with exact gradients.

    With Delta_i = x - T_i(x), tau local steps from x, and the old table,
    x+ = x - eta_s (mean_S(Delta_i - y_i) + (1/N) sum_i y_i); then y_i = Delta_i at
    participants. With one local step it is SAGA; everybody present, it is FedAvg.

    Parameters
    ----------
    step_size : scalar > 0, weight x^2/f
        Local step size eta.
    local_steps : int >= 1
        Gradient evaluations per participating client and round, tau.
    server_step_size : scalar > 0, weight 1
        eta_s.
    empty_round : {"skip", "step"}
        Whether a round without participants keeps x, or moves by the mean of the table.

    Raises
    ------
    DomainError
        If a setting lies outside its domain.

    Examples
    --------
    >>> FedVarp(step_size="1/8", local_steps=5).empty_round
    'skip'
    """

    step_size: Scalar
    local_steps: int = 1
    server_step_size: Scalar = 1
    empty_round: str = "skip"

    source: ClassVar[Source] = Source("jhunjhunwala2022", "Algorithm 2")
    State: ClassVar[type] = FedVarpState

    @classmethod
    def examples(cls, n_clients: int) -> list[FedVarp]:
        """Small exact instances of every variant."""
        del n_clients
        return [cls("1/20", 3, "3/5"), cls("1/20", 2, empty_round="step")]

    def __post_init__(self) -> None:
        self.check_common()
        server = positive(self.server_step_size, "server_step_size")
        self.settle("server_step_size", server)
        choice(self.empty_round, "empty_round", ("skip", "step"))

    def init(self, start: Any, cohort: Any, oracle: Any) -> FedVarpState:
        """Start from a table of zeros."""
        del oracle
        return FedVarpState(start, 0 * start, 0 * cohort.broadcast(start))

    def round(self, state: FedVarpState, cohort: Any, oracle: Any) -> FedVarpState:
        """Local steps, a step with the old table, then the new entries."""
        here = cohort.pull(state.model)
        local = gradient_steps(here, self.step_size, self.local_steps, oracle)
        news = here - local - state.table
        stale = state.mean if self.empty_round == "step" else 0 * state.mean
        moved = cohort.mean(news + cohort.pull(state.mean), otherwise=stale)
        return FedVarpState(
            state.model - self.server_step_size * moved,
            state.mean + Fraction(1, cohort.n_clients) * cohort.sum(news),
            cohort.select(here - local, state.table),
        )
