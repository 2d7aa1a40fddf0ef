"""FedProx: local steps that a proximal term holds near the server's model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from flverify._core.checks import positive
from flverify._core.exact import Scalar
from flverify._core.sources import Source
from flverify.algorithms._algorithm import Algorithm, Server

__all__ = ["FedProx"]


class FedProxState(NamedTuple):
    """The server model."""

    model: Server


@dataclass(frozen=True)
class FedProx(Algorithm):
    """FedProx with exact gradients, its local problems left after a few steps.

    Participants take z <- z - eta (grad f_i(z) + a (z - x)) from z = x, on
    f_i(z) + (a/2) |z - x|^2; then x+ = x + eta_s mean_S(z_i - x). With one local step
    it is FedAvg. An empty round keeps x.

    Parameters
    ----------
    step_size : scalar > 0, weight x^2/f
        Local step size eta.
    proximal_weight : scalar > 0, weight f/x^2
        a, called mu in the paper.
    local_steps : int >= 1
        Gradient steps per participating client and round, tau.
    server_step_size : scalar > 0, weight 1
        eta_s.

    Raises
    ------
    DomainError
        If a setting lies outside its domain.

    Examples
    --------
    >>> FedProx(step_size="1/8", proximal_weight="3/2", local_steps=5).proximal_weight
    Fraction(3, 2)
    """

    step_size: Scalar
    proximal_weight: Scalar
    local_steps: int = 1
    server_step_size: Scalar = 1

    source: ClassVar[Source] = Source("li2020", "Algorithm 2")
    State: ClassVar[type] = FedProxState
    curvature_settings: ClassVar[tuple[str, ...]] = ("proximal_weight",)

    @classmethod
    def examples(cls, n_clients: int) -> list[FedProx]:
        """Small exact instances of every variant."""
        del n_clients
        return [cls("1/20", "3/2", 3), cls("1/20", 1, 2, "7/10")]

    def __post_init__(self) -> None:
        self.check_common()
        for name in ("proximal_weight", "server_step_size"):
            self.settle(name, positive(getattr(self, name), name))

    def init(self, start: Any, cohort: Any, oracle: Any) -> FedProxState:
        """Start with the server model alone."""
        del cohort, oracle
        return FedProxState(start)

    def round(self, state: FedProxState, cohort: Any, oracle: Any) -> FedProxState:
        """Take local steps, then average."""
        here = local = cohort.pull(state.model)
        for _ in range(self.local_steps):
            slope = oracle.gradient(local) + self.proximal_weight * (local - here)
            local = local - self.step_size * slope
        change = cohort.mean(local - here, otherwise=0 * state.model)
        return FedProxState(state.model + self.server_step_size * change)
