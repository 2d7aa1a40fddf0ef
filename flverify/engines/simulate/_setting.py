"""What is to be simulated, checked once and brought to floats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from flverify._core.checks import flag, numbers, positive, whole
from flverify._core.errors import DomainError, InputError, ShapeError
from flverify._core.exact import Array, Scalar, within_floats
from flverify._core.room import require_room
from flverify.algorithms._algorithm import Algorithm
from flverify.engines.kinds import (
    require_algorithm,
    require_same_clients,
    require_setting,
)
from flverify.engines.own_factors import computes_in_symbols, require_round
from flverify.engines.own_problems import require_start
from flverify.engines.own_settings import require_step_size_alone
from flverify.engines.simulate._basis import Basis
from flverify.participation._law import Participation
from flverify.problems._minimiser import minimiser_of
from flverify.problems._problem import Problem
from flverify.problems.quadratics import Quadratics


@dataclass(frozen=True, eq=False)
class Setting:
    """A checked setting; `steps` are the distinct step sizes, one without a sweep."""

    problem: Problem
    algorithm: Algorithm
    participation: Participation
    rounds: int
    runs: int
    seed: int
    steps: Array
    swept: bool
    schedule: Array | None
    start: Array
    minimiser: Array
    keep_models: bool

    @property
    def n_clients(self) -> int:
        """Number of clients N."""
        return self.problem.n_clients

    @cached_property
    def basis(self) -> Basis | None:
        """Eigenbases of the clients' Hessians; None unless the problem is quadratic."""
        if not isinstance(self.problem, Quadratics):
            return None
        return Basis.of(self.problem.hessians, self.problem.linear)

    def steps_at(self, sweep: range, round_index: int) -> Array:
        """Step sizes of a block in a round, one per entry of the sweep."""
        if self.schedule is not None:
            return self.schedule[round_index : round_index + 1]
        return self.steps[sweep.start : sweep.stop]


def check(
    problem: Problem,
    algorithm: Algorithm,
    participation: Participation,
    sizes: tuple[object, object, object],
    step_sizes: Sequence[Scalar] | None,
    schedule: Sequence[Scalar] | None,
    start: object,
    keep_models: bool,
) -> Setting:
    """Validate the inputs of `simulate` and bring them to floats."""
    require_setting(problem, algorithm, participation)
    require_algorithm(algorithm, "step_size")
    require_round(algorithm, problem.n_clients)
    if computes_in_symbols(algorithm, problem.n_clients):
        raise InputError(
            "a simulated round must multiply vectors by numbers; got symbols in "
            f"{type(algorithm).__name__}; substitute numbers."
        )
    rounds, runs = whole(sizes[0], "rounds"), whole(sizes[1], "runs")
    seed = whole(sizes[2], "seed", least=0, most=(1 << 63) - 1)
    require_same_clients(problem, participation)
    if step_sizes is not None and schedule is not None:
        raise InputError(
            "step sizes must come from step_sizes or from schedule; got both; simulate "
            "one schedule at a time."
        )
    given = [algorithm.step_size] if step_sizes is None else step_sizes
    steps = _positives(given, "step_sizes")
    timed = None if schedule is None else _schedule(schedule, rounds)
    if step_sizes is not None or timed is not None:
        require_step_size_alone(algorithm, {*(steps if timed is None else timed)})
    flag(keep_models, "keep_models")
    _require_room(len(steps) * runs, rounds, problem.dim, keep_models)
    plain, begin = _in_floats(problem), _start(start, problem.dim)
    best = _minimiser(plain)
    require_start(problem, begin)
    return Setting(
        plain,
        _float_twin(algorithm),
        participation,
        rounds,
        runs,
        seed,
        steps,
        step_sizes is not None,
        timed,
        begin,
        best,
        keep_models,
    )


def _require_room(rows: int, rounds: int, dim: int, keep_models: bool) -> None:
    kept = rows * (rounds + 1) * (1 + dim * keep_models)
    require_room(kept + rows * dim, "numbers to keep of all runs and rounds")


def _in_floats(problem: Problem) -> Problem:
    if isinstance(problem, Quadratics) and problem.linear.dtype == object:
        return problem.as_float()
    return problem


def _positives(values: Sequence[Scalar], name: str) -> Array:
    listed = [positive(v, f"{name}[{i}]") for i, v in enumerate(numbers(values, name))]
    return np.array([as_float(v, name) for v in listed])


def _schedule(values: Sequence[Scalar], rounds: int) -> Array:
    schedule = _positives(values, "schedule")
    if len(schedule) != rounds:
        raise ShapeError(
            "schedule must hold one step size per round; got "
            f"{len(schedule)} for {rounds} rounds; give as many."
        )
    return schedule


def _start(start: object, dim: int) -> Array:
    if start is None:
        return np.zeros(dim)
    point = np.array([as_float(v, "start") for v in numbers(start, "start")])
    if len(point) != dim:
        raise ShapeError(
            f"start must have the problem's dimension {dim}; got {len(point)} "
            "numbers; give one per dimension."
        )
    return point


def _minimiser(problem: Any) -> Array:
    if not hasattr(problem, "minimiser"):
        raise InputError(
            "errors are distances to the minimiser, so a problem must have the method "
            f"minimiser(); got {type(problem).__name__} without; add it."
        )
    return minimiser_of(problem).astype(np.float64)


def as_float(value: Scalar, name: str) -> float:
    """Return a number as a float, unless it is symbolic."""
    try:
        return within_floats(value, name)
    except TypeError as error:
        raise DomainError(
            f"{name} must be numbers to be simulated; got {value}; substitute numbers."
        ) from error


def _float_twin(algorithm: Algorithm) -> Algorithm:
    """Return the algorithm at a step size that is a float: rounds run in floats."""
    step_size = algorithm.step_size
    exact = isinstance(step_size, Fraction)
    return algorithm.retuned(as_float(step_size, "step_size")) if exact else algorithm
