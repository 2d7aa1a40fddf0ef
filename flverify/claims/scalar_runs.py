"""Runs with scalar models on which matrix recursions are compared with a plain loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy

from flverify._core.exact import Array, objects

Cohort = frozenset[int]

CURVATURES = tuple(map(Fraction, (1, 3, 2)))
MINIMISERS = tuple(map(Fraction, (2, -1, 5)))
STEP = Fraction(1, 8)
START = Fraction(4)


@dataclass(frozen=True)
class ScalarRun(ABC):
    """Data of one run with scalar models.

    Parameters
    ----------
    gradient : callable
        `gradient(i, model)` of client i, counted from 0.
    cohorts : tuple of frozenset
        One more than there are rounds: a recursion may look ahead.
    n_clients, local_steps : int
        N and tau.
    step_size, start : number or symbol
        eta, and the server model at the start.
    client_starts : tuple
        Client rows at the start, where a recursion lets them differ.
    """

    gradient: Callable[[int, Any], Any]
    cohorts: tuple[Cohort, ...]
    n_clients: int
    local_steps: int
    step_size: Any
    start: Any
    client_starts: tuple[Any, ...]

    @property
    @abstractmethod
    def box(self) -> list[Any]:
        """Server models by the plain loop."""

    @property
    def rounds(self) -> int:
        """Number of rounds that are compared."""
        return len(self.cohorts) - 1

    def stacked_gradient(self, models: Array) -> Array:
        """Return [0; grad f_1(x_1); ...; grad f_N(x_N)] for the rows x_0, ..., x_N."""
        rows = [self.gradient(i, model) for i, model in enumerate(models[1:])]
        return column([0, *rows])

    def __str__(self) -> str:
        sets = [sorted(i + 1 for i in s) for s in self.cohorts[:-1]]
        return f"N = {self.n_clients}, tau = {self.local_steps}, cohorts {sets}"


def quadratic(i: int, model: Any) -> Any:
    """Gradient h_i (x - b_i) of client i, with `CURVATURES` and `MINIMISERS`."""
    return CURVATURES[i] * (model - MINIMISERS[i])


def column(values: Iterable[Any]) -> Array:
    """Stack scalars of any kind."""
    return objects(values)


def tidy(values: Array) -> Array:
    """Expand every row, so that equal formulas are equal objects."""
    return column(tidied(v) for v in values)


def tidied(value: Any) -> Any:
    """Expand a formula; numbers stay as they are."""
    return sympy.expand(value) if isinstance(value, sympy.Expr) else value
