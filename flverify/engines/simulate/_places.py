"""Where the rows of a few clients are, while all operations on them are done."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from flverify._core.exact import Array
from flverify.engines.simulate._draws import Draw


class Place:
    """Where rows of some clients are: in stacks of participants and in whole ones."""

    def __init__(self, clients: range, n_rows: int, draw: Draw | None) -> None:
        self.clients, self.n_rows, self.draw = clients, n_rows, draw
        self.whole = slice(clients.start * n_rows, clients.stop * n_rows)

    @cached_property
    def part(self) -> slice:
        """Rows in stacks of participants."""
        if self.draw is None:
            return slice(0, 0)
        bounds = self.draw.bounds
        return slice(bounds[self.clients.start], bounds[self.clients.stop])

    @cached_property
    def inside(self) -> Array:
        """Where the participants' rows are among the whole ones."""
        if self.draw is None:
            return np.zeros(0, dtype=np.intp)
        return np.asarray(self.draw.flat[self.part] - self.whole.start)

    def of(self, partial: bool) -> slice:
        """Return where the rows are in a stack."""
        return self.part if partial else self.whole

    def each(self, partial: bool) -> Iterator[tuple[int, slice]]:
        """Each client that has rows, and where they are among those of the place."""
        bounds = self.draw.bounds if partial and self.draw is not None else None
        for k, client in enumerate(self.clients):
            first, last = k * self.n_rows, (k + 1) * self.n_rows
            if bounds is not None:
                first = bounds[client] - self.part.start
                last = bounds[client + 1] - self.part.start
            if last > first:
                yield client, slice(first, last)


def places(
    n_clients: int, n_rows: int, at_once: int, draw: Draw | None
) -> Iterator[Place]:
    """Yield the places of all clients, `at_once` clients each."""
    for first in range(0, n_clients, at_once):
        yield Place(range(first, min(first + at_once, n_clients)), n_rows, draw)
