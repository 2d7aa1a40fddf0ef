"""One round's participants of a block of rows, indexed once for all readings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from flverify._core.exact import Array


class Draw:
    """Who takes part in which row, client by client and row by row.

    Participating (client, row) pairs are numbered client by client: client i has the
    numbers bounds[i] to bounds[i + 1], at the rows `rows[...]`, in increasing order.
    """

    def __init__(self, mask: Array, sizes: Array, shares: Array) -> None:
        self.mask = mask  # (N, rows), contiguous
        self.sizes = sizes  # |S| in every row
        self.shares = shares  # 1/|S| in every row, 0 in an empty round

    @staticmethod
    def several(masks: Array) -> Iterator[Draw]:
        """Yield the draws of several rounds, masks of shape (rounds, N, rows)."""
        sizes = np.add.reduce(masks, axis=1, dtype=np.int64)
        shares = np.divide(1.0, sizes, out=np.zeros(sizes.shape), where=sizes > 0)
        yield from map(Draw, masks, sizes, shares)

    @staticmethod
    def of_all(n_clients: int, n_rows: int) -> Draw:
        """Return a draw in which every client takes part in every row."""
        everybody = np.ones((1, n_clients, n_rows), dtype=np.bool_)
        return next(Draw.several(everybody))

    @property
    def n_rows(self) -> int:
        """Rows of the block."""
        return int(self.mask.shape[1])

    @cached_property
    def flat(self) -> Array:
        """Index client * n_rows + row of every pair."""
        return np.flatnonzero(self.mask)

    @cached_property
    def counts(self) -> Array:
        """Rows in which each client takes part, (N,)."""
        return np.asarray(np.count_nonzero(self.mask, axis=1))

    @cached_property
    def bounds(self) -> list[int]:
        """Where each client's pairs begin, and the total at the end."""
        return [0, *np.cumsum(self.counts).tolist()]

    @cached_property
    def rows(self) -> Array:
        """Row of every pair."""
        first = np.arange(len(self.counts)) * self.n_rows
        return np.asarray(self.flat - np.repeat(first, self.counts))

    @cached_property
    def taken(self) -> Array:
        """Whether anybody takes part, in every row."""
        return self.sizes > 0

    @cached_property
    def any_empty(self) -> bool:
        """Whether some row has no participant."""
        return not bool(self.taken.all())

    @cached_property
    def by_row(self) -> tuple[Array, Array]:
        """Pairs row by row: their numbers, and where each row begins."""
        small = self.n_rows < 1 << 15
        rows = self.rows.astype(np.int16) if small else self.rows  # 16 bits: radix sort
        order = np.argsort(rows, kind="stable").astype(np.int32)
        begins = np.zeros(self.n_rows + 1, dtype=np.int32)
        np.cumsum(self.sizes, out=begins[1:])
        return order, begins
