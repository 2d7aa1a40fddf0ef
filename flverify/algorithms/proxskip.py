"""ProxSkip, also called Scaffnew: local steps that rarely communicate."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from flverify._core.checks import choice, positive, probability, whole
from flverify._core.errors import DomainError
from flverify._core.exact import Scalar
from flverify._core.sources import Source
from flverify.algorithms._algorithm import Algorithm, Clients, Server

__all__ = ["ProxSkip"]


class ProxSkipState(NamedTuple):
    """Server model, client models x_i and client shifts h_i."""

    model: Server
    models: Clients
    shifts: Clients


@dataclass(frozen=True)
class ProxSkip(Algorithm):
    """ProxSkip with exact gradients; its coin is an all-or-nothing law.

    One iteration: xh_i = x_i - eta (grad f_i(x_i) - h_i) at every client; if the coin
    lands (S is everybody) x_i+ = mean_j xh_j, else x_i+ = xh_i; always
    h_i+ = h_i + (p/eta)(x_i+ - xh_i). The server model reported is the mean of the
    x_i, which equals the broadcast model whenever there is a communication.

    Parameters
    ----------
    step_size : scalar > 0, weight x^2/f
        Step size eta.
    local_steps : int >= 1
        Gradient evaluations per client and round; 1 in the paper's variant.
    probability : scalar in (0, 1]
        Probability p of communication in the shift update; pair it with
        `AllOrNothing(n_clients, p)`. Required by the paper's variant.
    variant : {"paper", "notebook"}
        "notebook" is the partial-participation form of the FOCUS authors' public
        notebook: sampled clients correct h_i by (x - x_i)/(eta tau) at their next
        pull, with x_i their last local result, take tau steps, and the server averages
        the sampled. It is not the algorithm of the ProxSkip paper.

    Raises
    ------
    DomainError
        If a setting lies outside its domain or does not belong to the variant.

    Examples
    --------
    >>> ProxSkip(step_size="1/8", probability="1/5").probability
    Fraction(1, 5)
    """

    step_size: Scalar
    local_steps: int = 1
    probability: Scalar | None = None
    variant: str = "paper"

    source: ClassVar[Source] = Source("mishchenko2022", "Algorithm 1 (Scaffnew)")
    State: ClassVar[type] = ProxSkipState

    @classmethod
    def examples(cls, n_clients: int) -> list[ProxSkip]:
        """Small exact instances of every variant."""
        del n_clients
        return [
            cls("1/20", probability="2/5"),
            cls("1/50", 2, variant="notebook"),
        ]

    def __post_init__(self) -> None:
        self.check_common()
        choice(self.variant, "variant", ("paper", "notebook"))
        if self.variant == "notebook":
            if self.probability is not None:
                raise DomainError(
                    "probability belongs to the paper's ProxSkip; got it with variant "
                    "'notebook'; leave it out."
                )
            return
        whole(self.local_steps, "local_steps of the paper's ProxSkip", 1, 1)
        if self.probability is None:
            raise DomainError(
                "the paper's ProxSkip must be given the probability of its coin; got "
                "none; pass probability=."
            )
        positive(self.probability, "probability")
        settled = probability(self.probability, "probability")
        self.settle("probability", settled)

    def init(self, start: Any, cohort: Any, oracle: Any) -> ProxSkipState:
        """Everybody at the start, shifts zero."""
        del oracle
        here = cohort.broadcast(start)
        return ProxSkipState(start, here, 0 * here)

    def round(self, state: ProxSkipState, cohort: Any, oracle: Any) -> ProxSkipState:
        """One iteration (paper) or one round (notebook)."""
        if self.variant == "notebook":
            return self._notebook(state, cohort, oracle)
        slope = oracle.gradient(state.models) - state.shifts
        local = state.models - self.step_size * slope
        agreed = cohort.broadcast(cohort.mean(local, otherwise=state.model))
        models = cohort.select(agreed, local)
        rate = self.probability / self.step_size
        mean = Fraction(1, cohort.n_clients) * cohort.everyone(models)
        return ProxSkipState(mean, models, state.shifts + rate * (models - local))

    def _notebook(
        self, state: ProxSkipState, cohort: Any, oracle: Any
    ) -> ProxSkipState:
        here = cohort.pull(state.model)
        travel = 1 / (self.local_steps * self.step_size)
        # as the notebook runs it, x_i is the start until a client's first round
        shifts = state.shifts + travel * (here - state.models)
        local = here
        for _ in range(self.local_steps):
            local = local - self.step_size * (oracle.gradient(local) - shifts)
        return ProxSkipState(
            cohort.mean(local, otherwise=state.model),
            cohort.select(local, state.models),
            cohort.select(shifts, state.shifts),
        )
