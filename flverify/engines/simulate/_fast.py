"""The numba halves of the affine and the compiled reading."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from flverify._core.exact import Array
from flverify.engines.forms import SHARE
from flverify.engines.simulate._affine import Maps
from flverify.engines.simulate._basis import Basis, rows_per_product
from flverify.engines.simulate._blocks import Block
from flverify.engines.simulate._clients import Errand, Sums, errands
from flverify.engines.simulate._draws import Draw
from flverify.engines.simulate._plan import Plan
from flverify.engines.simulate._tables import CONSTANT, Tables


@cache
def kernels() -> Any:
    """Return the module of kernels; numba is imported here, on demand."""
    return import_module("flverify.engines.simulate._kernels")


class FastAdder:
    """Adds what participants send under the affine reading."""

    def __init__(self, n_clients: int, n_rows: int, dim: int) -> None:
        del n_clients
        part = min(n_rows, rows_per_product(dim)), dim
        self.gathered, self.sent = np.empty(part), np.empty(part)
        self.ones = np.ones(n_rows)

    def add(self, maps: Maps, draw: Draw, share: bool, x: Array, out: Array) -> None:
        """Add sum over S of (x M_i + shift_i) to out, times 1/|S| if `share`."""
        weights = draw.shares if share else self.ones
        kernels().add_maps(
            draw.mask,
            weights,
            x,
            maps.matrices,
            maps.shifts,
            out,
            self.gathered,
            self.sent,
        )


class FastClients:
    """Client slots of a block of rows, one array (N, slots, rows, d)."""

    def __init__(
        self, plan: Plan, basis: Basis, block: Block, slots: dict[str, Array]
    ) -> None:
        self.basis, self.names = basis, tuple(slots)
        self.step_of_row = block.step_of_row
        n_clients, dim = basis.values.shape
        self.shape = (block.n_rows, dim)
        self.own = np.zeros((n_clients, len(slots), *self.shape))
        for place, values in enumerate(slots.values()):
            self.own[:, place] = values
        everybody = Draw.of_all(n_clients, block.n_rows)
        self.errands = [_FastErrand(e, self, everybody) for e in errands(plan)]

    def sums(self, tables: Tables, draw: Draw, server: dict[str, Array]) -> Sums:
        """Advance the client slots and add up the messages."""
        out: Sums = {}
        for errand in self.errands:
            out.update(errand.run(tables, draw, server))
        return out


class _FastErrand:
    """One group of clients with its memory."""

    def __init__(self, errand: Errand, clients: FastClients, everybody: Draw) -> None:
        self.errand, self.clients, self.everybody = errand, clients, everybody
        self.tables: Tables | None = None
        outputs = len(errand.messages) + len(errand.updates)
        n_rows, dim = clients.shape
        self.part = min(n_rows, rows_per_product(dim)), dim  # done at a time
        self.formed = np.empty((outputs, *self.part))
        self.spare = np.empty(self.part)
        self.target = np.array(
            [clients.names.index(slot) for slot in errand.updates], dtype=np.int64
        )
        sent = [errand.messages.index(message) for message, _ in errand.sums]
        self.message_of_sum = np.array(sent, dtype=np.int64)

    def run(self, tables: Tables, draw: Draw, server: dict[str, Array]) -> Sums:
        """Let every client act once."""
        if tables is not self.tables:
            self._arrange(tables)
        who = self.everybody if self.errand.by_all else draw
        ones = np.ones(who.n_rows)
        shared = [feature == SHARE for _, feature in self.errand.sums]
        weights = np.array([who.shares if share else ones for share in shared])
        sums = np.zeros((len(shared), *self.clients.shape))
        pulled = np.array([server[name] for name in self.pulls])
        kernels().run_errand(
            who.mask,
            weights.reshape(len(shared), who.n_rows),
            self.message_of_sum,
            pulled.reshape(-1, *self.clients.shape),
            self.clients.own,
            self.target,
            self.clients.basis.vectors,
            self.clients.basis.back,
            self.coefficients,
            self.clients.step_of_row,
            sums,
            self.pulled,
            self.formed,
            self.spare,
        )
        return dict(zip(self.errand.sums, sums, strict=True))

    def _arrange(self, tables: Tables) -> None:
        """Lay the coefficients out as the kernel reads them."""
        names, rows = self.clients.names, self.errand.rows(tables)
        pulls = [name for kind, name in self.errand.inputs(tables) if kind == "server"]
        inputs = [("server", name) for name in pulls]
        inputs += [("client", name) for name in names]
        shape = (tables.count, *self.clients.basis.values.shape)
        steps, n_clients, dim = shape
        sizes = (steps, n_clients, len(rows), 1 + len(inputs), dim)
        self.coefficients = np.zeros(sizes)
        for t, row in enumerate(rows):
            for q, symbol in enumerate([CONSTANT, *inputs]):
                if symbol in row:
                    self.coefficients[:, :, t, q] = row[symbol]
        self.pulls, self.tables = pulls, tables
        self.pulled = np.empty((len(pulls), *self.part))
