"""Gradient descent beside a slot that changes nothing, in three ways, and its loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from flverify.testing import Algorithm, Server


class Pair(NamedTuple):
    model: Server
    other: Server


@dataclass(frozen=True)
class Beside(Algorithm):
    """The other slot is 0 for ever, an average of models, or always the model.

    What it would keep of itself shrinks by `keep` a round.
    """

    step_size: Any
    keep: Any
    kind: str

    State = Pair

    def init(self, start, cohort, oracle):  # noqa: ARG002 - as it has to be
        return Pair(start, 0 * start if self.kind == "nothing" else start)

    def round(self, state, cohort, oracle):
        x, other = state
        at = cohort.broadcast(other if self.kind == "twin" else x)
        slope = cohort.everyone(oracle.gradient(at)) / cohort.n_clients
        if self.kind == "nothing":
            return Pair(x - self.step_size * slope + other, self.keep * other)
        if self.kind == "average":
            new = x - self.step_size * slope
            return Pair(new, self.keep * other + (1 - self.keep) * new)
        new = other - self.step_size * slope
        return Pair(new + self.keep * (x - other), new)


def start(gradient, n_clients, x0, *, kind):
    return {
        "model": list(x0),
        "other": [0 for _ in x0] if kind == "nothing" else list(x0),
    }


def play(state, gradient, n_clients, cohort, *, step_size, keep, kind):
    x, other = state["model"], state["other"]
    at = other if kind == "twin" else x
    slope = [0 for _ in x]
    for i in range(n_clients):
        slope = [a + b for a, b in zip(slope, gradient(i, at), strict=True)]
    new = [a - step_size * b / n_clients for a, b in zip(at, slope, strict=True)]
    both = list(zip(new, x, other, strict=True))
    if kind == "nothing":
        return {
            "model": [a + c for a, _, c in both],
            "other": [keep * c for c in other],
        }
    if kind == "average":
        mixed = [keep * c + (1 - keep) * a for a, _, c in both]
        return {"model": new, "other": mixed}
    return {"model": [a + keep * (b - c) for a, b, c in both], "other": new}
