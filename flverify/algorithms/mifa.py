"""MIFA: the server moves by the mean of every client's last update, absent or not."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from flverify._core.checks import choice, positive
from flverify._core.exact import Scalar
from flverify._core.sources import Source
from flverify.algorithms._algorithm import Algorithm, Clients, Server

__all__ = ["Mifa"]


class MifaState(NamedTuple):
    """Server model x, the mean of the table, and the table G_i.

    The mean is kept, since a linear round adds up over participants alone.
    """

    model: Server
    mean: Server
    table: Clients


@dataclass(frozen=True)
class Mifa(Algorithm):
    """MIFA with exact gradients.

    Participants renew G_i = (x - T_i(x))/eta, the sum of their gradients along tau
    local steps from x; then x+ = x - eta_s eta (1/N) sum_i G_i over all clients. With
    one local step it is SAG. Everybody present, it is FedAvg; its limit is the point
    where FedAvg ends then, whoever keeps coming.

    Parameters
    ----------
    step_size : scalar > 0, weight x^2/f
        Step size eta, of clients and server.
    local_steps : int >= 1
        Gradient evaluations per participating client and round, tau.
    server_step_size : scalar > 0, weight 1
        eta_s.
    initial_table : {"full", "zero"}
        The table before the first round: of one local round of everybody from x_0, for
        which the server waits, or 0.
    empty_round : {"step", "skip"}
        Whether a round without participants moves by the unchanged mean, or not at all.

    Raises
    ------
    DomainError
        If a setting lies outside its domain.

    Examples
    --------
    >>> Mifa(step_size="1/8", local_steps=5).initial_table
    'full'
    """

    step_size: Scalar
    local_steps: int = 1
    server_step_size: Scalar = 1
    initial_table: str = "full"
    empty_round: str = "step"

    source: ClassVar[Source] = Source("gu2021", "Algorithm 1")
    State: ClassVar[type] = MifaState

    @classmethod
    def examples(cls, n_clients: int) -> list[Mifa]:
        """Small exact instances of every variant."""
        del n_clients
        return [
            cls("1/20", 3, "3/5"),
            cls("1/20", 2, initial_table="zero", empty_round="skip"),
        ]

    def __post_init__(self) -> None:
        self.check_common()
        server = positive(self.server_step_size, "server_step_size")
        self.settle("server_step_size", server)
        choice(self.initial_table, "initial_table", ("full", "zero"))
        choice(self.empty_round, "empty_round", ("step", "skip"))

    def init(self, start: Any, cohort: Any, oracle: Any) -> MifaState:
        """Fill the table from the start, or leave it 0."""
        here = cohort.broadcast(start)
        full = self.initial_table == "full"
        table = self._travelled(here, oracle) if full else 0 * here
        mean = Fraction(1, cohort.n_clients) * cohort.everyone(table)
        return MifaState(start, mean if full else 0 * start, table)

    def round(self, state: MifaState, cohort: Any, oracle: Any) -> MifaState:
        """Renew entries of participants, then step along the mean of all."""
        renewed = self._travelled(cohort.pull(state.model), oracle)
        change = cohort.sum(renewed - state.table)
        mean = state.mean + Fraction(1, cohort.n_clients) * change
        moved = mean
        if self.empty_round == "skip":  # the old mean, if somebody takes part
            held = cohort.mean(cohort.pull(state.mean), otherwise=0 * state.mean)
            moved = mean - state.mean + held
        model = state.model - self.server_step_size * self.step_size * moved
        return MifaState(model, mean, cohort.select(renewed, state.table))

    def _travelled(self, point: Any, oracle: Any) -> Any:
        """Add up the gradients along the local steps."""
        total = oracle.gradient(point)
        gradient = total
        for _ in range(self.local_steps - 1):
            point = point - self.step_size * gradient
            gradient = oracle.gradient(point)
            total = total + gradient
        return total
