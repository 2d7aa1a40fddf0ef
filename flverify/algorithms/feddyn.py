"""FedDyn: local problems that carry the client's own gradient (Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from flverify._core.checks import positive
from flverify._core.exact import Scalar
from flverify._core.sources import Source
from flverify.algorithms._algorithm import Algorithm, Clients, Server

__all__ = ["FedDyn"]


class FedDynState(NamedTuple):
    """Server model x, the mean h of the duals, and the duals u_i."""

    model: Server
    server_dual: Server
    duals: Clients


@dataclass(frozen=True)
class FedDyn(Algorithm):
    """FedDyn with exact gradients, its local problems left after a few steps.

    Participants take z <- z - eta (grad f_i(z) - u_i + a (z - x)) from z = x, on
    f_i(z) - <u_i, z> + (a/2) |z - x|^2; then u_i+ = u_i - a (z_i - x),
    h+ = h - (a/N) sum_S (z_i - x) and x+ = mean_S z_i - h+/a. An empty round changes
    nothing. It rests at x* with u_i = grad f_i(x*), however few the steps.

    Parameters
    ----------
    step_size : scalar > 0, weight x^2/f
        Local step size eta.
    proximal_weight : scalar > 0, weight f/x^2
        a, called alpha in the paper.
    local_steps : int >= 1
        Gradient steps per participating client and round, tau; the paper's own local
        problem is solved in full, to which many steps come close.

    Raises
    ------
    DomainError
        If a setting lies outside its domain.

    Examples
    --------
    >>> FedDyn(step_size="1/8", proximal_weight="3/2", local_steps=5).proximal_weight
    Fraction(3, 2)
    """

    step_size: Scalar
    proximal_weight: Scalar
    local_steps: int = 1

    source: ClassVar[Source] = Source("acar2021", "Algorithm 1")
    State: ClassVar[type] = FedDynState
    curvature_settings: ClassVar[tuple[str, ...]] = ("proximal_weight",)

    @classmethod
    def examples(cls, n_clients: int) -> list[FedDyn]:
        """Small exact instances."""
        del n_clients
        return [cls("1/20", "3/2", 3), cls("1/20", 4)]

    def __post_init__(self) -> None:
        self.check_common()
        weight = positive(self.proximal_weight, "proximal_weight")
        self.settle("proximal_weight", weight)

    def init(self, start: Any, cohort: Any, oracle: Any) -> FedDynState:
        """All duals zero."""
        del oracle
        return FedDynState(start, 0 * start, 0 * cohort.broadcast(start))

    def round(self, state: FedDynState, cohort: Any, oracle: Any) -> FedDynState:
        """Take local steps, renew the duals, then both vectors of the server."""
        here = local = cohort.pull(state.model)
        for _ in range(self.local_steps):
            slope = oracle.gradient(local) - state.duals
            slope = slope + self.proximal_weight * (local - here)
            local = local - self.step_size * slope
        travel = local - here
        # mean_S z_i - h+/a, written such that an empty round adds nothing
        back = cohort.pull(state.server_dual) / self.proximal_weight
        mean = cohort.mean(travel - back, otherwise=0 * state.model)
        total = Fraction(1, cohort.n_clients) * cohort.sum(travel)
        return FedDynState(
            state.model + mean + total,
            state.server_dual - self.proximal_weight * total,
            cohort.select(state.duals - self.proximal_weight * travel, state.duals),
        )
