"""Agnostic FedAvg: a plain average of whoever shows up (Algorithm 1 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from flverify._core.checks import choice, closed, positive, whole
from flverify._core.errors import DomainError
from flverify._core.exact import Array, Scalar, scalar
from flverify._core.shown import shown
from flverify._core.sources import Source
from flverify.algorithms._algorithm import (
    MOST_LOCAL_STEPS,
    Algorithm,
    Region,
    Server,
)

__all__ = ["AgnosticFedAvg", "Ball", "Box"]

LARGEST = 10**150  # of a set's numbers: squares of larger ones are infinite in floats


@dataclass(frozen=True)
class Ball:
    """The Euclidean ball of a radius about 0, weight x.

    Examples
    --------
    >>> Ball(5).project(np.array([[6.0, 8.0], [1.0, 0.0]]))
    array([[3., 4.],
           [1., 0.]])
    """

    radius: Scalar

    def __post_init__(self) -> None:
        radius = closed(positive(self.radius, "radius"), "radius")
        if not Fraction(1, LARGEST) <= radius <= LARGEST:
            raise DomainError(
                "radius must lie between 1e-150 and 1e150; got one outside; choose "
                "another unit of x."
            )
        object.__setattr__(self, "radius", radius)

    def project(self, points: Array) -> Array:
        """Nearest point of the ball for each row."""
        largest = np.abs(points).max(axis=-1, keepdims=True)
        scale = np.where(largest > float(LARGEST), largest, 1.0)
        rows, radius = points / scale, float(self.radius) / scale
        lengths = np.sqrt((rows * rows).sum(axis=-1, keepdims=True))
        return np.asarray(rows * (radius / np.maximum(lengths, radius)) * scale)


@dataclass(frozen=True)
class Box:
    """The box [lower, upper]^d, weight x.

    Examples
    --------
    >>> Box(-1, 1).project(np.array([[6.0, 0.5]]))
    array([[1. , 0.5]])
    """

    lower: Scalar
    upper: Scalar

    def __post_init__(self) -> None:
        lower = closed(scalar(self.lower, "lower"), "lower")
        upper = closed(scalar(self.upper, "upper"), "upper")
        if not lower < upper:
            raise DomainError(
                f"a box must have lower < upper; got {shown(lower)} and "
                f"{shown(upper)}; swap them."
            )
        if max(abs(lower), abs(upper)) > LARGEST:
            raise DomainError(
                "a box must have ends from -1e150 to 1e150; got one outside; choose "
                "another unit of x."
            )
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    def project(self, points: Array) -> Array:
        """Nearest point of the box for each row."""
        return np.clip(points, float(self.lower), float(self.upper))


class AgnosticFedAvgState(NamedTuple):
    """The server model; clients restart from the broadcast, so they keep nothing."""

    model: Server


@dataclass(frozen=True)
class AgnosticFedAvg(Algorithm):
    """Agnostic FedAvg, one communication per round, deterministic gradients.

    Between communications every client takes theta_i <- Proj_C(theta_i - eta
    grad f_i(theta_i)); a communication sets theta_i = (1/|S|) sum_{j in S} theta_j
    for all i. An empty round keeps the server model.

    Parameters
    ----------
    step_size : scalar > 0, weight x^2/f
        Step size eta.
    period : int >= 1
        Communication period H.
    schedule : {"literal", "separate"}
        As printed a communication consumes a tick, so a round has H - 1 local steps;
        "separate" takes H local steps and communicates without consuming a tick.
    projection : Ball, Box or None
        The constraint set C; None leaves the iterates free.

    Raises
    ------
    DomainError
        If a setting lies outside its domain.

    Examples
    --------
    >>> AgnosticFedAvg(step_size="1/8", period=3).local_steps
    2
    """

    step_size: Scalar
    period: int
    schedule: str = "literal"
    projection: Region | None = None

    source: ClassVar[Source] = Source("agnostic", "Algorithm 1")
    State: ClassVar[type] = AgnosticFedAvgState

    @classmethod
    def examples(cls, n_clients: int) -> list[AgnosticFedAvg]:
        """Small exact instances of every variant."""
        del n_clients
        return [
            cls("1/20", 3),
            cls("1/20", 2, schedule="separate"),
            cls("1/20", 3, projection=Ball("1/4")),
            cls("1/20", 3, projection=Box("-1/8", "1/5")),
        ]

    def __post_init__(self) -> None:
        self.settle("step_size", positive(self.step_size, "step_size"))
        self.settle("period", whole(self.period, "period", most=MOST_LOCAL_STEPS))
        choice(self.schedule, "schedule", ("literal", "separate"))
        projects = callable(getattr(self.projection, "project", None))
        if isinstance(self.projection, type) or not (
            self.projection is None or projects
        ):
            raise DomainError(
                "projection must be a Ball, a Box, another set with a method project, "
                f"or None; got {shown(self.projection)}; write for example Ball(1)."
            )

    @property
    def local_steps(self) -> int:  # type: ignore[override]
        """Gradient evaluations per client between two communications."""
        return self.period - 1 if self.schedule == "literal" else self.period

    def init(self, start: Any, cohort: Any, oracle: Any) -> AgnosticFedAvgState:
        """Line 1 of the box with a given start in place of 0."""
        del cohort, oracle
        return AgnosticFedAvgState(start)

    def round(
        self, state: AgnosticFedAvgState, cohort: Any, oracle: Any
    ) -> AgnosticFedAvgState:
        """Line 9 until the next communication, then lines 4 to 6."""
        points = cohort.pull(state.model)
        for _ in range(self.local_steps):
            points = points - self.step_size * oracle.gradient(points)
            if self.projection is not None:
                points = cohort.project(points, self.projection)
        return AgnosticFedAvgState(cohort.mean(points, otherwise=state.model))
