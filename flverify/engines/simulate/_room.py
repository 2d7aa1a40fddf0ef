"""Where the typed objects of one block live: its basis, its draw and its memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

from flverify._core.errors import ReadingError
from flverify._core.exact import Array, Scalar, within_floats
from flverify._core.scaling import PerClient, PerRun
from flverify.engines.own_factors import require_length
from flverify.engines.simulate._basis import multiply
from flverify.engines.simulate._blocks import Block
from flverify.engines.simulate._draws import Draw
from flverify.engines.simulate._places import Place, places
from flverify.engines.simulate._scatter import Scatter
from flverify.engines.simulate._setting import Setting

CACHE_BYTES = 1 << 19  # below, all clients are worked on at once
PLACE_BYTES = 1 << 17  # above, so many, a client at least


class Buffer:
    """Memory of one stack, given back for the next one when nobody holds it.

    Stacks come and go every round; memory that is used again is there already.
    """

    def __init__(self, pool: list[Array], shape: tuple[int, int]) -> None:
        self.pool = pool
        self.values = pool.pop() if pool else np.empty(shape)

    def __del__(self) -> None:
        self.pool.append(self.values)


class Room:
    """Context of the typed objects of one block."""

    def __init__(self, setting: Setting, block: Block) -> None:
        self.setting, self.block = setting, block
        self.n_clients, self.n_rows = setting.n_clients, block.n_rows
        self.dim, self.basis = len(setting.start), setting.basis
        self.scatter = Scatter(self.n_clients, self.n_rows, self.dim)
        size = 8 * self.dim * self.n_rows  # of one client's rows
        few = max(PLACE_BYTES // size, 1)
        self.waits = self.n_clients * size > CACHE_BYTES
        self.at_once = few if self.waits else self.n_clients  # clients of a place
        self.rows = np.empty((self.at_once * self.n_rows, self.dim))  # scratch
        self.registers: list[Array] = []  # rows of some clients, while it is their turn
        self.current: Draw | None = None
        self._pool: list[Array] = []
        self.numbers = count()  # of stacks, in the order in which they are made
        self._place: Place | None = None

    @property
    def draw(self) -> Draw:
        """Participants of the round."""
        if self.current is None:
            raise ReadingError(
                "init must not ask who participates; no round has been drawn; use "
                "broadcast and everyone."
            )
        return self.current

    def buffer(self) -> Buffer:
        """Memory for one stack."""
        return Buffer(self._pool, (self.n_clients * self.n_rows, self.dim))

    @property
    def place(self) -> Place:
        """Where the rows of all clients are."""
        if self._place is None or self._place.draw is not self.current:
            (self._place,) = self.places()
        return self._place

    def places(self) -> Iterator[Place]:
        """Yield where the clients' rows are, a few clients at a time."""
        return places(self.n_clients, self.n_rows, self.at_once, self.current)

    def factor(self, value: Scalar, partial: bool) -> Any:
        """Resolve a scalar for a stack: a float, or a column with one per row."""
        if isinstance(value, PerClient):
            require_length(value, self.n_clients)
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
            multiply(values, self.basis.vectors[client], out)

    def out_of_basis(self, values: Array, client: int, out: Array) -> None:
        """V_i of rows of a client's vectors."""
        if self.basis is None:
            np.copyto(out, values)
        else:
            self.basis.leave(values, client, out)
