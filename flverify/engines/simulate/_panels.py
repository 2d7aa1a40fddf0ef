"""Server vectors and numbers per client of the literal reading: batched floats.

A server vector is a row per run. What a sum over clients has yet to give is waited
for: sums are taken together, client by client, when the first of them is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from flverify._core.errors import ReadingError
from flverify._core.exact import Array, Scalar, within_floats
from flverify._core.scaling import PerClient, PerRun
from flverify._core.vectors import Vector
from flverify.engines.forms import require
from flverify.engines.simulate._stacks import Stack

DEEPEST = 50  # operations that wait for one another: reading them is recursive
Work: TypeAlias = Callable[[], Array]


class Panel(Vector):
    """One server vector per row, shape (rows, d); `depth` is 0 once it is known."""

    words = "a server vector"

    def __init__(self, values: Array | None, work: Work | None = None, depth: int = 0):
        self._values, self._work, self.depth = values, work, depth

    @staticmethod
    def later(work: Work, *of: Panel) -> Panel:
        """Do the work now, unless one of the panels it reads is waited for."""
        depth = max(panel.depth for panel in of)
        if 0 < depth < DEEPEST:
            return Panel(None, work, depth + 1)
        return Panel(work())

    @property
    def values(self) -> Array:
        """Rows, worked out if need be."""
        self.work_out()
        return np.asarray(self._values)

    def work_out(self) -> None:
        """Wait no longer."""
        if self._work is not None:
            self._values, self._work, self.depth = self._work(), None, 0

    def __add__(self, other: Panel) -> Panel:
        require(other, Panel, "what meets a server vector")
        return Panel.later(lambda: self.values + other.values, self, other)

    def __sub__(self, other: Panel) -> Panel:
        require(other, Panel, "what meets a server vector")
        return Panel.later(lambda: self.values - other.values, self, other)

    def __rmul__(self, factor: Scalar) -> Panel:
        if isinstance(factor, PerClient) or hasattr(factor, "typed"):
            raise ReadingError(
                "a server vector must be scaled by a scalar; got one number per "
                "client or another vector; scale the clients stack instead."
            )
        per_run = isinstance(factor, PerRun)
        by = factor.values[:, None] if per_run else within_floats(factor)
        return Panel.later(lambda: self.values * by, self)

    __mul__ = __rmul__


class Numbers(Vector):
    """One number per client and row, shape (N, rows)."""

    words = "numbers per client"

    def __init__(self, values: Array) -> None:
        self.values = values

    def _other(self, other: Any) -> Any:
        if isinstance(other, PerRun | PerClient):
            raise ReadingError(
                "numbers must meet numbers or plain scalars; got one per run or per "
                "client; use cohort.numbers."
            )
        if hasattr(other, "typed"):
            require(other, Numbers, "numbers")
            return other.values
        return within_floats(other)

    def __add__(self, other: Any) -> Numbers:
        return Numbers(self.values + self._other(other))

    def __sub__(self, other: Any) -> Numbers:
        return Numbers(self.values - self._other(other))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Stack):
            column = self.values.reshape(-1, 1)
            if other.partial:
                column = column[other.room.draw.flat]
            return other.scaled(column)
        return Numbers(self.values * self._other(other))

    def __truediv__(self, other: Any) -> Numbers:
        return Numbers(self.values / self._other(other))

    __rmul__ = __mul__
    __radd__ = __add__
