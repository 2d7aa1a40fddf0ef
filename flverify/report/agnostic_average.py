"""The mean of agnostic FedAvg's models: what Theorem 4 of that paper is about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from flverify._core.sources import Source
from flverify.algorithms import AgnosticFedAvg
from flverify.algorithms._algorithm import Algorithm, Server
from flverify.claims.agnostic_terms import RATE
from flverify.participation import SuccessiveSampling
from flverify.problems import Quadratics
from flverify.report.rate_curves import Plan, exact_and_sampled
from flverify.report.theorem_plots import Point, band, points


class AverageState(NamedTuple):
    """Server model, and the mean of the server models of the horizon so far."""

    model: Server
    current: Server


@dataclass(frozen=True)
class Average(Algorithm):
    """Agnostic FedAvg whose model is (x_1 + ... + x_r)/T + `offset` x_0."""

    step_size: float
    period: int
    horizon: int
    offset: float

    source: ClassVar[Source] = Source("agnostic", "Theorem 4")
    State: ClassVar[type] = AverageState

    @property
    def inner(self) -> AgnosticFedAvg:
        """The algorithm whose models are averaged."""
        one = AgnosticFedAvg(1, self.period, schedule="separate")
        return one.retuned(self.step_size)

    def init(self, start: Any, cohort: Any, oracle: Any) -> AverageState:
        """Start with an empty mean."""
        del cohort, oracle
        return AverageState(self.offset * start, start)

    def round(self, state: AverageState, cohort: Any, oracle: Any) -> AverageState:
        """One round, whose model enters the mean."""
        inner = self.inner
        moved = inner.round(inner.State(state.current), cohort, oracle)
        return AverageState(
            state.model + (1.0 / self.horizon) * moved.model, moved.model
        )


PERIOD = 4
AGNOSTIC_LAW = SuccessiveSampling(["1", "2", "4"], 2)
AGNOSTIC_H, AGNOSTIC_B = (1.0, 2.0, 3.0), (0.0, 1.0, -1.0)
AGNOSTIC_START = 1.0
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


def agnostic_constants() -> tuple[float, float, float, float]:
    """Return theta*, G^2, mean curvature of (3), and the factor of the best eta."""
    q = np.array([float(v) for v in AGNOSTIC_LAW.averaging_weights()])
    h, b = np.array(AGNOSTIC_H), np.array(AGNOSTIC_B)
    best = float((q * h * b).sum() / (q * h).sum())
    ends = np.array([[b.min()], [b.max()]])  # C: every model stays between them
    steepest = float((h * (ends - b)).max() ** 2)
    steepest = max(steepest, float((h * (ends - b)).min() ** 2))
    away = (AGNOSTIC_START - best) ** 2
    room = steepest * float(RATE["G^2"] + RATE["ell G H"] * PERIOD)
    return (
        best,
        steepest,
        float((q * h).sum()),
        float((away / 2 / PERIOD / room) ** 0.5),
    )


def agnostic(plan: Plan) -> Iterator[Point]:
    """Take one run of T rounds for every T, at the best step size for that T."""
    best, steepest, curvature, factor = agnostic_constants()
    counts = [t for t in COUNTS if t <= plan.rounds]
    problem = Quadratics(
        [[[h]] for h in AGNOSTIC_H],
        [[h * (b - best)] for h, b in zip(AGNOSTIC_H, AGNOSTIC_B, strict=True)],
    )
    start = AGNOSTIC_START - best
    room = steepest * float(RATE["G^2"] + RATE["ell G H"] * PERIOD)
    printed, exact, sampled = [], [], []
    for count in counts:
        step = factor / count**0.5
        printed.append(start**2 / (2 * step * PERIOD * count) + step * room)
        offset = float(problem.minimiser()[0]) / start
        algorithm = Average(step, PERIOD, count, offset)
        here = replace(plan, rounds=count, method="literal")
        place = (problem, algorithm, AGNOSTIC_LAW, np.array([start]), here)
        moment, runs = exact_and_sampled(*place)
        exact.append(moment[-1])
        sampled.append(runs[:, -1])
    half = curvature / 2
    yield from points(plan.claim, "printed", counts, np.array(printed))
    yield from points(plan.claim, "exact", counts, half * np.array(exact))
    drawn = half * np.array(sampled).T
    ends = band(drawn)
    yield from points(plan.claim, "sampled", counts, drawn.mean(axis=0), *ends)
