"""Where the typed objects of one block live: its basis, its draw and its memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from flverify._core.errors import ReadingError
from flverify._core.exact import Array, Scalar, within_floats
from flverify._core.scaling import PerClient, PerRun
from flverify.engines.simulate._blocks import Block
from flverify.engines.simulate._draws import Draw
from flverify.engines.simulate._scatter import Scatter
from flverify.engines.simulate._setting import Setting


class Buffer:
    """Memory of one stack, given back for the next one when nobody holds it.

    Stacks come and go a dozen times a round; memory that is used again is in cache,
    fresh memory is not.
    """

    def __init__(self, pool: list[Array], length: int, dim: int) -> None:
        self.pool = pool
        fits = pool and len(pool[-1]) >= length
        self.whole = pool.pop() if fits else np.empty((length + length // 8, dim))
        self.values = self.whole[:length]

    def __del__(self) -> None:
        self.pool.append(self.whole)


class Room:
    """Context of the typed objects of one block."""

    def __init__(self, setting: Setting, block: Block) -> None:
        self.setting, self.block = setting, block
        self.n_clients, self.n_rows = setting.n_clients, block.n_rows
        self.dim, self.basis = len(setting.start), setting.basis
        self.scatter = Scatter(self.n_clients, self.n_rows, self.dim)
        self.rows = np.empty((self.n_rows, self.dim))  # scratch of one client's rows
        self.current: Draw | None = None
        self._pools: tuple[list[Array], list[Array]] = ([], [])

    @property
    def draw(self) -> Draw:
        """Participants of the round."""
        if self.current is None:
            raise ReadingError(
                "init must not ask who participates; no round has been drawn; use "
                "broadcast and everyone."
            )
        return self.current

    def length(self, partial: bool) -> int:
        """Rows of a stack."""
        return self.draw.bounds[-1] if partial else self.n_clients * self.n_rows

    def buffer(self, partial: bool) -> Buffer:
        """Memory for one stack."""
        return Buffer(self._pools[partial], self.length(partial), self.dim)

    def segments(self, partial: bool) -> Iterator[tuple[int, slice]]:
        """Each client with its rows of a stack."""
        for client in range(self.n_clients):
            if partial:
                first, last = self.draw.bounds[client : client + 2]
            else:
                first = client * self.n_rows
                last = first + self.n_rows
            if last > first:
                yield client, slice(first, last)

    def factor(self, value: Scalar, partial: bool) -> Any:
        """Resolve a scalar for a stack: a float, or a column with one per row."""
        if isinstance(value, PerClient):
            columns = [self._per_row(v) for v in value.values]
            return self._chosen(np.concatenate(columns), partial)
        if isinstance(value, PerRun):
            return self._chosen(np.tile(value.values, self.n_clients), partial)
        return within_floats(value)

    def _per_row(self, value: Scalar) -> Array:
        values = value.values if isinstance(value, PerRun) else within_floats(value)
        return np.broadcast_to(values, (self.n_rows,))

    def _chosen(self, full: Array, partial: bool) -> Array:
        return (full[self.draw.flat] if partial else full)[:, None]

    def into_basis(self, values: Array, client: int, out: Array) -> None:
        """V_i' of rows of server vectors."""
        if self.basis is None:
            np.copyto(out, values)
        else:
            np.matmul(values, self.basis.vectors[client], out=out)

    def out_of_basis(self, values: Array, client: int, out: Array) -> None:
        """V_i of rows of a client's vectors."""
        if self.basis is None:
            np.copyto(out, values)
        else:
            np.matmul(values, self.basis.vectors[client].T, out=out)
