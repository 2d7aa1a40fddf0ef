"""Lower a traced round on quadratics to matrices, one per feature.

On f_i(x) = x'H_i x/2 - b_i'x every gradient symbol is H_i times its point minus b_i,
so next state = (A_1 + sum_i I_i A_{I,i} + sum_i a_i A_{a,i}) state, with the state in
homogeneous coordinates (server slots, client slots, 1).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from flverify._core.exact import Array, Scalar
from flverify._core.scaling import PerClient
from flverify.engines.forms import ONE, ClientForm, Feature, ServerForm, Symbol
from flverify.engines.trace import Trace

Block: TypeAlias = tuple[str, str, int]  # (kind, slot, client); client -1 at the server
Draw: TypeAlias = tuple[Feature, int]  # a feature of one client; (ONE, -1) is constant
CONSTANT: Block = ("constant", "", -1)
ALWAYS: Draw = (ONE, -1)


@dataclass(frozen=True)
class Layout:
    """Where each slot lives in the homogeneous state vector."""

    server_slots: tuple[str, ...]
    client_slots: tuple[str, ...]
    n_clients: int
    dim: int

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Every block of d coordinates, servers first, then client by client."""
        at_server = [("server", s, -1) for s in self.server_slots]
        clients = range(self.n_clients)
        at_clients = [("client", c, i) for i in clients for c in self.client_slots]
        return (*at_server, *at_clients)

    @cached_property
    def places(self) -> Mapping[Block, slice]:
        """Coordinates of every block, and of the constant 1 at the end."""
        d = self.dim
        places = {b: slice(k * d, (k + 1) * d) for k, b in enumerate(self.blocks)}
        return {**places, CONSTANT: slice(self.size - 1, self.size)}

    @property
    def size(self) -> int:
        """Length of the homogeneous state vector."""
        return len(self.blocks) * self.dim + 1


Row: TypeAlias = dict[Block, Array]  # what one block of d coordinates is made of
Rows: TypeAlias = dict[tuple[Draw, Block], Row]


class Lowering:
    """Resolves symbols into blocks for one problem; `convert` fixes the arithmetic.

    `eliminated` expresses a server slot by sums of clients slots (its shares).
    """

    def __init__(
        self,
        hessians: Array,
        linear: Array,
        points: tuple[ClientForm, ...],
        convert: Callable[[Scalar], Scalar],
        eliminated: Mapping[str, Mapping[str, Scalar]] | None = None,
    ) -> None:
        self.hessians, self.linear = hessians, linear
        self.eliminated = eliminated or {}
        self.points, self.convert = points, convert
        d = hessians.shape[1]
        self.identity = np.zeros((d, d), dtype=hessians.dtype)
        np.fill_diagonal(self.identity, convert(1))
        self._gradients: dict[tuple[int, int], Row] = {}

    def symbol(self, symbol: Symbol, client: int) -> Row:
        """Blocks of a symbol at a client."""
        kind, name = symbol
        if kind == "gradient":
            return self._gradient(name, client)
        if kind == "server" and name in self.eliminated:
            return self._sum_over_clients(self.eliminated[name])
        owner = client if kind == "client" else -1
        return {(kind, name, owner): self.identity}

    def _sum_over_clients(self, shares: Mapping[str, Scalar]) -> Row:
        """Express an eliminated server slot by sums of clients slots."""
        clients = range(len(self.hessians))
        return {
            ("client", slot, i): self.convert(share) * self.identity
            for slot, share in shares.items()
            for i in clients
        }

    def _gradient(self, call: int, client: int) -> Row:
        if (call, client) not in self._gradients:
            point: Row = {}
            for (_, symbol), value in self.points[call].terms.items():
                self.add(point, self.symbol(symbol, client), value, client)
            hessian = self.hessians[client]
            row = {block: hessian @ part for block, part in point.items()}
            shift = row.get(CONSTANT, 0)
            row[CONSTANT] = shift - self.column(client)
            self._gradients[call, client] = row
        return self._gradients[call, client]

    def column(self, client: int) -> Any:
        """b_i as a column, (d, 1)."""
        return self.linear[client][:, None]

    def add(self, into: Row, row: Row, coefficient: Scalar, client: int) -> None:
        """Add coefficient * row to a row under construction."""
        at_client = isinstance(coefficient, PerClient)
        factor = self.convert(coefficient.values[client] if at_client else coefficient)
        for block, part in row.items():
            into[block] = (
                into[block] + factor * part if block in into else factor * part
            )

    def server(self, form: ServerForm, n_clients: int) -> dict[Draw, Row]:
        """Blocks of a server form, feature by feature."""
        out: dict[Draw, Row] = defaultdict(dict)
        for symbol, value in form.fixed.items():
            self.add(out[ALWAYS], self.symbol(symbol, -1), value, -1)
        for (feature, symbol), value in form.summed.items():
            for client in range(n_clients):
                draw = ALWAYS if feature == ONE else (feature, client)
                self.add(out[draw], self.symbol(symbol, client), value, client)
        return out

    def client(self, form: ClientForm, client: int) -> dict[Draw, Row]:
        """Blocks of a client form at one client, feature by feature."""
        out: dict[Draw, Row] = defaultdict(dict)
        for (feature, symbol), value in form.terms.items():
            draw = ALWAYS if feature == ONE else (feature, client)
            self.add(out[draw], self.symbol(symbol, client), value, client)
        return out


def lower(
    forms: Mapping[str, ServerForm | ClientForm], layout: Layout, lowering: Lowering
) -> Rows:
    """Lower the forms of every slot to blocks, keyed by (feature, row block)."""
    rows: Rows = {}
    for kind, name, client in layout.blocks:
        form = forms[name]
        if isinstance(form, ServerForm):
            parts = lowering.server(form, layout.n_clients)
        else:
            parts = lowering.client(form, client)
        for draw, row in parts.items():
            if row:
                rows[draw, (kind, name, client)] = row
    return rows


def dense(
    rows: Rows, layout: Layout, convert: Callable[[Any], Any]
) -> dict[Draw, Array]:
    """Assemble one homogeneous matrix per feature; the constant 1 stays 1."""
    size = layout.size
    zero = convert(0)
    kind = np.float64 if isinstance(zero, float) else object
    out: dict[Draw, Array] = {}
    for (draw, block), row in rows.items():
        if draw not in out:
            out[draw] = np.full((size, size), zero, dtype=kind)
        for column, part in row.items():
            out[draw][layout.places[block], layout.places[column]] += part
    out.setdefault(ALWAYS, np.full((size, size), zero, dtype=kind))
    out[ALWAYS][size - 1, size - 1] = convert(1)
    return out


def start_matrix(
    trace: Trace, layout: Layout, lowering: Lowering, convert: Callable[[Any], Any]
) -> Array:
    """Homogeneous matrix from (x_0, 1) to the state before the first round."""
    rows = lower(trace.start, layout, lowering)
    d, zero = layout.dim, convert(0)
    kind = np.float64 if isinstance(zero, float) else object
    out = np.full((layout.size, d + 1), zero, dtype=kind)
    for (_, block), row in rows.items():
        for column, part in row.items():
            place = slice(d, d + 1) if column == CONSTANT else slice(0, d)
            out[layout.places[block], place] += part
    out[layout.size - 1, d] = convert(1)
    return out
