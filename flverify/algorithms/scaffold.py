"""SCAFFOLD: control variates against client drift (Algorithm 1 of its paper)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from flverify._core.checks import choice, positive
from flverify._core.exact import Scalar
from flverify._core.sources import Source
from flverify.algorithms._algorithm import Algorithm, Clients, Server

__all__ = ["Scaffold"]


class ScaffoldState(NamedTuple):
    """Server model x, server control c, client controls c_i."""

    model: Server
    control: Server
    controls: Clients


@dataclass(frozen=True)
class Scaffold(Algorithm):
    """SCAFFOLD with exact gradients.

    Participants take y_i <- y_i - eta (grad f_i(y_i) - c_i + c) from x; then option
    I c_i+ = grad f_i(x), option II c_i+ = c_i - c + (x - y_i)/(tau eta); the server
    x+ = x + eta_s mean_S(y_i - x), c+ = c + (1/N) sum_S (c_i+ - c_i). All use the old
    c; an empty round changes nothing.

    Parameters
    ----------
    step_size : scalar > 0, weight x^2/f
        Local step size eta.
    local_steps : int >= 1
        Local steps per participating client and round, tau (option I evaluates one
        more gradient, at x).
    server_step_size : scalar > 0, weight 1
        eta_s.
    option : {"II", "I"}
        How participants renew their control.

    Raises
    ------
    DomainError
        If a setting lies outside its domain.

    Examples
    --------
    >>> Scaffold(step_size="1/8", local_steps=2).option
    'II'
    """

    step_size: Scalar
    local_steps: int = 1
    server_step_size: Scalar = 1
    option: str = "II"

    source: ClassVar[Source] = Source("karimireddy2020", "Algorithm 1")
    State: ClassVar[type] = ScaffoldState

    @classmethod
    def examples(cls, n_clients: int) -> list[Scaffold]:
        """Small exact instances of every variant."""
        del n_clients
        return [cls("1/20", 3, "3/5"), cls("1/20", 2, option="I")]

    def __post_init__(self) -> None:
        self.check_common()
        server = positive(self.server_step_size, "server_step_size")
        self.settle("server_step_size", server)
        choice(self.option, "option", ("I", "II"))

    def init(self, start: Any, cohort: Any, oracle: Any) -> ScaffoldState:
        """All controls zero."""
        del oracle
        return ScaffoldState(start, 0 * start, 0 * cohort.broadcast(start))

    def round(self, state: ScaffoldState, cohort: Any, oracle: Any) -> ScaffoldState:
        """Local corrected steps, new controls, both server updates."""
        here = cohort.pull(state.model)
        correction = cohort.pull(state.control) - state.controls
        local = here
        for _ in range(self.local_steps):
            step = oracle.gradient(local) + correction
            local = local - self.step_size * step
        if self.option == "I":
            renewed = oracle.gradient(here)
        else:
            travel = 1 / (self.local_steps * self.step_size)
            renewed = travel * (here - local) - correction
        change = cohort.mean(local - here, otherwise=0 * state.model)
        drift = cohort.sum(renewed - state.controls)
        return ScaffoldState(
            state.model + self.server_step_size * change,
            state.control + Fraction(1, cohort.n_clients) * drift,
            cohort.select(renewed, state.controls),
        )
