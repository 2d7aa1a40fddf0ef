"""The clients' half of a traced round in numpy: one product in, one out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from flverify._core.exact import Array
from flverify.engines.forms import SHARE, Feature, Symbol
from flverify.engines.simulate._basis import Basis, multiply
from flverify.engines.simulate._blocks import Block
from flverify.engines.simulate._draws import Draw
from flverify.engines.simulate._plan import Plan
from flverify.engines.simulate._scatter import Scatter
from flverify.engines.simulate._tables import CONSTANT, Row, Tables

Sums = dict[tuple[int, Feature], Array]


@dataclass(frozen=True)
class Errand:
    """What a group of clients does in a round: participants, or everybody."""

    by_all: bool
    messages: tuple[int, ...]
    updates: tuple[str, ...]
    sums: tuple[tuple[int, Feature], ...]

    def rows(self, tables: Tables) -> list[Row]:
        """Coefficients of the messages, then of the new slots."""
        sent = [tables.messages[m] for m in self.messages]
        return [*sent, *(tables.updates[slot] for slot in self.updates)]

    def inputs(self, tables: Tables) -> list[Symbol]:
        """Server slots to pull and own slots to read, in the order of the tables."""
        found = [s for row in self.rows(tables) for s in row if s != CONSTANT]
        return sorted(dict.fromkeys(found))


def errands(plan: Plan) -> list[Errand]:
    """Split a plan by who acts; participants, who renew their slots, come last."""
    out = []
    for by_all in (True, False):
        sent = tuple(m for m, everyone in enumerate(plan.by_all) if everyone == by_all)
        used = {(u.message, u.feature) for u in plan.uses if u.message in sent}
        updates = () if by_all else tuple(plan.updates)
        if sent or updates:
            out.append(Errand(by_all, sent, updates, tuple(sorted(used))))
    return out


class ClientHalf(Protocol):
    """The clients' half of a round on one block of rows."""

    def sums(self, tables: Tables, draw: Draw, server: dict[str, Array]) -> Sums:
        """Advance the client slots and add up the messages."""


class NumpyClients:
    """Client slots of a block of rows, each (N, rows, d) in the eigenbases."""

    def __init__(
        self, plan: Plan, basis: Basis, block: Block, slots: dict[str, Array]
    ) -> None:
        self.errands, self.basis, self.slots = errands(plan), basis, slots
        self.step_of_row = block.step_of_row
        n_clients, dim = basis.values.shape
        shape = (block.n_rows, dim)
        self.everybody = Draw.of_all(n_clients, block.n_rows)
        self.scatter = Scatter(n_clients, block.n_rows, dim)
        self.sent = [np.zeros(self.scatter.pairs.shape) for _ in plan.messages]
        symbols = [("server", s) for s in plan.server_slots]
        symbols += [("client", s) for s in plan.client_slots]
        self.inputs = {symbol: np.empty(shape) for symbol in symbols}
        self.fresh = {slot: np.empty(shape) for slot in plan.updates}
        self.gathered, self.term, self.message = (np.empty(shape) for _ in range(3))

    def sums(self, tables: Tables, draw: Draw, server: dict[str, Array]) -> Sums:
        """Advance the client slots and add up the messages."""
        out: Sums = {}
        for errand in self.errands:
            who = self.everybody if errand.by_all else draw
            symbols = errand.inputs(tables)
            for client in np.flatnonzero(who.counts).tolist():
                rows = who.rows[who.bounds[client] : who.bounds[client + 1]]
                self._read(client, rows, symbols, server)
                self._act(client, rows, errand, tables, who.bounds[client])
            for message, feature in errand.sums:
                pairs, share = self.sent[message], feature == SHARE
                out[message, feature] = self.scatter.total(who, pairs, share)
        return out

    def _read(
        self, client: int, rows: Array, symbols: list[Symbol], server: dict[str, Array]
    ) -> None:
        n = len(rows)
        for symbol in symbols:
            kind, name = symbol
            into = self.inputs[symbol][:n]
            if kind == "client":
                own = self.slots[name][client]
                np.take(own, rows, axis=0, out=into, mode="clip")
            else:
                gathered = self.gathered[:n]
                np.take(server[name], rows, axis=0, out=gathered, mode="clip")
                multiply(gathered, self.basis.vectors[client], into)

    def _act(
        self, client: int, rows: Array, errand: Errand, tables: Tables, first: int
    ) -> None:
        n = len(rows)
        steps = self.step_of_row[rows] if tables.count > 1 else None
        for message in errand.messages:
            formed = self.message[:n]
            self._combine(tables.messages[message], client, steps, formed)
            out = self.sent[message][first : first + n]
            self.basis.leave(formed, client, out)
        for slot in errand.updates:
            self._combine(tables.updates[slot], client, steps, self.fresh[slot][:n])
        for slot in errand.updates:
            self.slots[slot][client][rows] = self.fresh[slot][:n]

    def _combine(self, row: Row, client: int, steps: Array | None, out: Array) -> None:
        """Write sum over inputs of coefficients times input, plus the constant."""
        begun = False
        for symbol, table in row.items():
            factor = table[0, client] if steps is None else table[steps, client]
            if symbol == CONSTANT:
                continue
            into = self.term[: len(out)] if begun else out
            np.multiply(self.inputs[symbol][: len(out)], factor, out=into)
            if begun:
                np.add(out, into, out=out)
            begun = True
        if not begun:
            out[...] = 0.0
        if CONSTANT in row:
            table = row[CONSTANT]
            out += table[0, client] if steps is None else table[steps, client]
