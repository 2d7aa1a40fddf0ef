"""A method of one's own: FedAvg with momentum at the server, twice.

`Momentum` is its round in the verbs of the package; `start` and `play` are its plain
loop, on lists, written without these and without the package's helpers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from flverify.testing import Algorithm, Server, gradient_steps


class Moving(NamedTuple):
    model: Server
    velocity: Server


@dataclass(frozen=True)
class Momentum(Algorithm):
    """v+ = b v + mean of (x_i - x), x+ = x + v+; nobody there: v and x stay."""

    step_size: Any
    momentum: Any
    local_steps: int = 1

    State = Moving

    def init(self, start, cohort, oracle):  # noqa: ARG002 - as it has to be
        return Moving(start, 0 * start)

    def round(self, state, cohort, oracle):
        here = cohort.pull(state.model)
        moved = gradient_steps(here, self.step_size, self.local_steps, oracle) - here
        pushed = moved + self.momentum * cohort.pull(state.velocity)
        velocity = cohort.mean(pushed, otherwise=state.velocity)
        there = cohort.mean(pushed + here, otherwise=state.model)
        return Moving(there, velocity)


def start(gradient, n_clients, x0):
    return {"model": list(x0), "velocity": [0 for _ in x0]}


def play(state, gradient, n_clients, cohort, *, step_size, momentum, local_steps):
    x, v = state["model"], state["velocity"]
    if len(cohort) == 0:
        return {"model": x, "velocity": v}
    total = [0 for _ in x]
    for i in cohort:
        local = list(x)
        for _ in range(local_steps):
            g = gradient(i, local)
            local = [a - step_size * b for a, b in zip(local, g, strict=True)]
        total = [t + a - b for t, a, b in zip(total, local, x, strict=True)]
    v = [momentum * a + t / len(cohort) for a, t in zip(v, total, strict=True)]
    return {"model": [a + b for a, b in zip(x, v, strict=True)], "velocity": v}
