"""What an assertion is about: a problem, an algorithm, a law and a start."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from flverify._core.errors import DomainError, InputError, ShapeError
from flverify._core.exact import Array
from flverify._core.shown import shown
from flverify.algorithms._algorithm import Algorithm
from flverify.engines.kinds import (
    require_algorithm,
    require_law,
    require_listed,
    require_problem,
    require_same_clients,
)
from flverify.engines.own_factors import require_round
from flverify.engines.own_problems import require_start
from flverify.participation._law import Participation
from flverify.problems._minimiser import minimiser_of
from flverify.problems._problem import Problem
from flverify.testing import given, written
from flverify.testing.blur import blur
from flverify.testing.precision import of_gradients

LARGEST = 1e140  # of numbers whose squares are added up
ZERO = 1e-12  # of the size: a minimiser so close to 0 is 0


@dataclass(frozen=True, eq=False)
class Setting:
    """A checked setting.

    Parameters
    ----------
    problem : Problem
        With a minimiser, since errors are distances to it.
    algorithm : Algorithm or callable
        An algorithm written against the cohort's verbs, or a function of masks and
        gradients (see `flverify.testing.functions`).
    participation : Participation
    start : (d,) numbers, weight x, or None
        Server model before the first round, if one was given.
    """

    problem: Any
    algorithm: Any
    participation: Participation
    start: Array | None = None

    @property
    def is_function(self) -> bool:
        """Whether the algorithm is a function of masks and gradients."""
        return not isinstance(self.algorithm, Algorithm)

    @cached_property
    def minimiser(self) -> Array:
        """x*, the minimiser of F, shape (d,)."""
        return minimiser_of(self.problem)

    @cached_property
    def begin(self) -> Array:
        """The start given; else 0, or all ones where 0 is the minimiser."""
        if self.start is not None:
            return self.start
        at_zero = _largest(self.minimiser) <= ZERO * self.size
        return np.full(len(self.minimiser), int(at_zero), dtype=object)

    @cached_property
    def size(self) -> float:
        """Length that float errors are measured against, weight x.

        The largest entry of x*, of a start given, and of the linear terms over that of
        the Hessians: x* may be small because large parts cancel.
        """
        begun = 0.0 if self.start is None else _largest(self.start)
        return max(self._extent, begun) or 1.0

    @property
    def problem_size(self) -> float:
        """The same without the start, which fixed points know nothing of."""
        return self._extent or 1.0

    @cached_property
    def _extent(self) -> float:
        sizes = [_largest(self.minimiser)]
        if hasattr(self.problem, "hessians") and _largest(self.problem.hessians) > 0:
            parts = self.problem.linear, self.problem.hessians
            linear, curved = map(_largest, parts)
            sizes.append(math.inf if math.isinf(curved) else linear / curved)
        return max(sizes)

    @cached_property
    def first_error(self) -> Any:
        """|x_0 - x*|^2, exact if both are."""
        gap = self.begin - self.minimiser
        return gap @ gap

    @cached_property
    def blur(self) -> float:
        """Length by which x* may be off where it is computed in floats, weight x."""
        return blur(self.problem, self.minimiser)

    @cached_property
    def precision(self) -> float:
        """Relative rounding of gradients: a user's own may be short floats."""
        return of_gradients(self.problem, self.begin)

    def doubt(self, error: float) -> float:
        """How far off |x - x*|^2 may be for that, where it is about `error`."""
        return (2 * math.sqrt(max(error, 0.0)) + self.blur) * self.blur

    @property
    def text(self) -> str:
        """The setting in words; the start only if one was given."""
        begun = f" from {written.vector(self.start)}" if self.start is not None else ""
        return self._words + begun

    @property
    def text_with_start(self) -> str:
        """The setting in words, with the start that was used."""
        return f"{self._words} from x_0 = {written.vector(self.begin)}"

    @property
    def _words(self) -> str:
        named = written.algorithm(self.algorithm)
        return f"{named} on {self.problem!r} under {written.law(self.participation)}"


def _require_readable(algorithm: Algorithm, n_clients: int) -> None:
    """Refuse settings that a user's class has left as text, and rounds not pure."""
    require_listed(algorithm)
    require_algorithm(algorithm)
    require_round(algorithm, n_clients)


def _require_range(made: Setting) -> None:
    """Refuse what leaves the range of floats when it is squared."""
    given.require_numbers(made.begin, "start")
    if not made.size <= LARGEST:
        raise DomainError(
            "the minimiser, the start and the linear terms over the Hessians must be "
            f"at most {LARGEST:g} in size, since errors are squares; got a larger one; "
            "measure x in a larger unit."
        )


def _largest(values: Array) -> float:
    return max((abs(given.as_float(v)) for v in values.flat), default=0.0)


def setting(
    problem: object, algorithm: object, participation: object, start: object = None
) -> Setting:
    """Check the parts of a setting against one another.

    Raises
    ------
    InputError
        If a part is of another kind, the problem has no minimiser, or the algorithm
        is not a pure function.
    ShapeError
        If numbers of clients or dimensions do not agree.
    """
    if not isinstance(problem, Problem) or not hasattr(problem, "minimiser"):
        raise InputError(
            "problem must be a Problem with the method minimiser(), since errors are "
            f"distances to it; got {shown(problem)}; pass one such as Quadratics(...)."
        )
    require_problem(problem)
    law = require_law(participation)
    is_class = isinstance(algorithm, type)
    if is_class or not (isinstance(algorithm, Algorithm) or callable(algorithm)):
        raise InputError(
            "algorithm must be an instance of an Algorithm or a function of masks and "
            f"gradients; got {shown(algorithm)}; pass one of them."
        )
    if isinstance(algorithm, Algorithm):
        _require_readable(algorithm, problem.n_clients)
    require_same_clients(problem, law)
    begin = None if start is None else given.vector(start, "start")
    if begin is not None and begin.shape != (problem.dim,):
        raise ShapeError(
            f"start must have shape ({problem.dim},); got {begin.shape}; give one "
            "number per coordinate."
        )
    parts = {"problem": problem, "algorithm": algorithm, "participation": participation}
    for name, part in parts.items():  # an irrational step size is sampled
        given.require_numbers(part, name, irrational=name == "algorithm")
    made = Setting(problem, algorithm, law, begin)
    _require_range(made)
    if not hasattr(problem, "hessians"):  # moments ask for no start
        require_start(problem, made.begin)
    return made
