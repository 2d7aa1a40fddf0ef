"""FOCUS: pull the model, push gradient corrections, never average (Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from flverify._core.checks import choice
from flverify._core.exact import Scalar
from flverify._core.sources import Source
from flverify.algorithms._algorithm import Algorithm, Clients, Server

__all__ = ["Focus"]


class FocusState(NamedTuple):
    """Server model x, server tracker y, and each client's last gradient."""

    model: Server
    tracker: Server
    stored: Clients


@dataclass(frozen=True)
class Focus(Algorithm):
    """FOCUS with exact gradients.

    Participants set x_{0,i} = x_r, y_{0,i} = 0 and for t = 0, ..., tau-1
    y_{t+1,i} = y_{t,i} + grad f_i(x_{t,i}) - grad f_i(x_{t-1,i}),
    x_{t+1,i} = x_{t,i} - eta y_{t+1,i}, where grad f_i(x_{-1,i}) is the stored
    gradient; then y_{r+1} = y_r + sum_{i in S} y_{tau,i}, x_{r+1} = x_r - eta y_{r+1}.

    Parameters
    ----------
    step_size : scalar > 0, weight x^2/f
        Step size eta.
    local_steps : int >= 1
        Gradient evaluations per participating client and round, tau.
    empty_round : {"step", "skip"}
        Whether a round without participants executes line 13 with the unchanged
        tracker, or leaves everything.
    initial_gradients : {"zero", "start"}
        Reading of line 2: stored gradients 0, or grad f_i(x_0).
    initial_tracker : {"zero", "sum"}
        Reading of line 2: tracker 0, or the sum of the stored gradients.

    Raises
    ------
    DomainError
        If a setting lies outside its domain.

    Notes
    -----
    Line 9 prints x_{k,i} for x_{t,i}; the index is read as t. The move of the last
    local step is discarded by the box, so it is not computed.

    Examples
    --------
    >>> Focus(step_size="0.2", local_steps=2).step_size
    Fraction(1, 5)
    """

    step_size: Scalar
    local_steps: int = 1
    empty_round: str = "step"
    initial_gradients: str = "zero"
    initial_tracker: str = "zero"

    source: ClassVar[Source] = Source("focus", "Algorithm 1")
    State: ClassVar[type] = FocusState

    @classmethod
    def examples(cls, n_clients: int) -> list[Focus]:
        """Small exact instances of every variant."""
        del n_clients
        return [
            cls("1/20", 3),
            cls("1/50", 2, empty_round="skip"),
            cls("1/50", 1, initial_gradients="start", initial_tracker="sum"),
        ]

    def __post_init__(self) -> None:
        self.check_common()
        choice(self.empty_round, "empty_round", ("step", "skip"))
        choice(self.initial_gradients, "initial_gradients", ("zero", "start"))
        choice(self.initial_tracker, "initial_tracker", ("zero", "sum"))

    def init(self, start: Any, cohort: Any, oracle: Any) -> FocusState:
        """Line 2 of the box, in the chosen readings."""
        here = cohort.broadcast(start)
        at_start = self.initial_gradients == "start"
        stored = oracle.gradient(here) if at_start else 0 * here
        from_sum = self.initial_tracker == "sum"
        tracker = cohort.everyone(stored) if from_sum else 0 * start
        return FocusState(start, tracker, stored)

    def round(self, state: FocusState, cohort: Any, oracle: Any) -> FocusState:
        """Lines 4 to 13 of the box."""
        point = cohort.pull(state.model)
        previous, change = state.stored, None
        for step in range(self.local_steps):
            if step:
                point = point - self.step_size * change
            gradient = oracle.gradient(point)
            increment = gradient - previous
            change = increment if change is None else change + increment
            previous = gradient
        tracker = state.tracker + cohort.sum(change)
        moved = tracker
        if self.empty_round == "skip":
            # the part of the tracker that is there only if somebody takes part
            nothing = 0 * state.tracker
            held = cohort.mean(cohort.pull(state.tracker), otherwise=nothing)
            moved = tracker - state.tracker + held
        model = state.model - self.step_size * moved
        return FocusState(model, tracker, cohort.select(previous, state.stored))
