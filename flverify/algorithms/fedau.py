"""FedAU: FedAvg with participation weights learned from waiting times."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from flverify._core.checks import choice, positive, whole
from flverify._core.exact import Scalar
from flverify._core.sources import Source
from flverify.algorithms._algorithm import Algorithm, Numbers, Server, gradient_steps

__all__ = ["FedAU"]


class FedAUState(NamedTuple):
    """Server model; each client's weight, closed intervals and rounds since."""

    model: Server
    weight: Numbers
    intervals: Numbers
    waited: Numbers


@dataclass(frozen=True)
class FedAU(Algorithm):
    """FedAU with exact gradients.

    x_{r+1} = x_r - (eta_s/N) sum_{i in S} w_i (x_r - T_i(x_r)), with w_i the mean
    length of the client's closed waiting intervals (1 before the first closes). An
    interval closes when the client takes part or after `cutoff` rounds; the weights
    of a round use intervals closed before it.

    Parameters
    ----------
    step_size : scalar > 0, weight x^2/f
        Local step size eta.
    local_steps : int >= 1
        Gradient evaluations per participating client and round.
    cutoff : int >= 1 or None
        Longest interval K; None never cuts off.
    server_step_size : scalar > 0, weight 1
        eta_s.
    variant : {"paper", "notebook"}
        "notebook" updates the weights before they are used and divides by their sum
        over S, as in the FOCUS authors' public notebook; an empty round keeps x.

    Raises
    ------
    DomainError
        If a setting lies outside its domain.

    Notes
    -----
    The weights are ratios of counts, so the round is not linear in the state: this
    algorithm is simulated, and moments refuse it.

    Examples
    --------
    >>> FedAU(step_size="1/8", local_steps=5, cutoff=50).variant
    'paper'
    """

    step_size: Scalar
    local_steps: int = 1
    cutoff: int | None = None
    server_step_size: Scalar = 1
    variant: str = "paper"

    source: ClassVar[Source] = Source("wang2024", "Algorithms 1 and 2")
    State: ClassVar[type] = FedAUState

    @classmethod
    def examples(cls, n_clients: int) -> list[FedAU]:
        """Small exact instances of every variant."""
        del n_clients
        return [cls("1/20", 2, cutoff=3), cls("1/20", 1, variant="notebook")]

    def __post_init__(self) -> None:
        self.check_common()
        if self.cutoff is not None:
            self.settle("cutoff", whole(self.cutoff, "cutoff"))
        server = positive(self.server_step_size, "server_step_size")
        self.settle("server_step_size", server)
        choice(self.variant, "variant", ("paper", "notebook"))

    def init(self, start: Any, cohort: Any, oracle: Any) -> FedAUState:
        """Weights 1, no closed interval, nothing waited."""
        del oracle
        return FedAUState(
            start, cohort.numbers(1), cohort.numbers(0), cohort.numbers(0)
        )

    def round(self, state: FedAUState, cohort: Any, oracle: Any) -> FedAUState:
        """Local steps, weighted aggregate, then the waiting times."""
        here = cohort.pull(state.model)
        local = gradient_steps(here, self.step_size, self.local_steps, oracle)
        counted = self._counted(state, cohort)
        if self.variant == "notebook":
            nothing = 0 * state.model
            change = cohort.weighted_mean(local - here, counted.weight, nothing)
        else:
            sent = cohort.sum(state.weight * (local - here))
            change = Fraction(1, cohort.n_clients) * sent
        return counted._replace(model=state.model + self.server_step_size * change)

    def _counted(self, state: FedAUState, cohort: Any) -> FedAUState:
        """Close intervals: at participants, and where the cutoff is reached."""
        one, zero = cohort.numbers(1), cohort.numbers(0)
        waited = state.waited + one
        closed = cohort.select(one, zero)
        if self.cutoff is not None:
            cut = cohort.equal(waited, self.cutoff)
            closed = closed + cut - closed * cut
        total = state.intervals * state.weight + waited
        renewed = total / (state.intervals + one)
        return FedAUState(
            state.model,
            state.weight + closed * (renewed - state.weight),
            state.intervals + closed,
            waited - closed * waited,
        )
