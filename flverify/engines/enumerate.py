"""Read a round on one given cohort, on a carrier that is linear and nothing else.

Values are homogeneous matrices acting on the state, so one reading per outcome gives
that outcome's matrix M_S exactly. It follows what the trace cannot (a fresh aggregate
returned to clients, a gradient at a drawn point), at the price of listing outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from flverify._core.errors import ReadingError
from flverify._core.exact import Array, Scalar
from flverify._core.rationals import product
from flverify._core.scaling import PerClient
from flverify._core.vectors import Vector
from flverify.algorithms._algorithm import Algorithm, Server
from flverify.engines.lower import Layout
from flverify.engines.own_rounds import performed, require_vectors

Convert = Callable[[Scalar], Scalar]


@dataclass(frozen=True)
class Rows(Vector):
    """Rows of linear maps of the state: (d, n) at the server, (N, d, n) at clients.

    `partial` marks a stack that is known at participants only.
    """

    values: Array
    convert: Convert
    partial: bool = False

    def _with(self, other: Rows, sign: int) -> Rows:
        if not isinstance(other, Rows) or other.values.ndim != self.values.ndim:
            raise ReadingError(
                "server and clients must meet through the cohort; got a sum of both; "
                "pull or broadcast first."
            )
        partial = self.partial or other.partial
        return Rows(self.values + sign * other.values, self.convert, partial)

    def __add__(self, other: Rows) -> Rows:
        return self._with(other, 1)

    def __sub__(self, other: Rows) -> Rows:
        return self._with(other, -1)

    def __rmul__(self, factor: Scalar) -> Rows:
        if hasattr(factor, "typed"):
            raise ReadingError(
                "a vector must be scaled by numbers; got another vector; a product "
                "of states is not linear."
            )
        if isinstance(factor, PerClient):
            if self.values.ndim == 2:
                raise ReadingError(
                    "a server vector must be scaled by a scalar; got one number per "
                    "client; scale the clients stack instead."
                )
            weights = np.array([self.convert(v) for v in factor.values])
            scaled = weights[:, None, None] * self.values
        else:
            scaled = self.convert(factor) * self.values
        return Rows(scaled, self.convert, self.partial)

    __mul__ = __rmul__


def _server(value: Rows) -> Array:
    return _values(value, 2, "a server vector")


def _stack(value: Rows) -> Array:
    return _values(value, 3, "a clients stack")


def _values(value: Rows, axes: int, what: str) -> Array:
    """Return the rows; a vector read as a stack would give coordinates for clients."""
    if not isinstance(value, Rows) or value.values.ndim != axes:
        raise ReadingError(
            f"a value must be {what} here; got another; bring it through the cohort."
        )
    return value.values


class ListedCohort:
    """The cohort's verbs for one given set of participants."""

    def __init__(self, members: frozenset[int], n_clients: int, convert: Convert):
        self.n_clients, self.convert = n_clients, convert
        self.members = sorted(members)

    def broadcast(self, vector: Rows) -> Rows:
        """Copy a server vector to every client."""
        return Rows(np.stack([_server(vector)] * self.n_clients), self.convert)

    def pull(self, vector: Rows) -> Rows:
        """Broadcast, known at participants only."""
        return replace(self.broadcast(vector), partial=True)

    def select(self, new: Rows, old: Rows) -> Rows:
        """Take new at participants, old elsewhere."""
        values = _stack(old).copy()
        values[self.members] = _stack(new)[self.members]
        return Rows(values, self.convert, old.partial)

    def sum(self, stack: Rows) -> Rows:
        """Sum over participants."""
        values = _stack(stack)
        start = self.convert(0) * values[0]
        total = sum((values[i] for i in self.members), start=start)
        return Rows(np.asarray(total), self.convert)

    def mean(self, stack: Rows, otherwise: Rows) -> Rows:
        """Mean over participants, `otherwise` if there are none."""
        nobody, total = _server(otherwise), self.sum(stack).values
        if not self.members:
            return Rows(nobody, self.convert)
        return Rows(total / self.convert(len(self.members)), self.convert)

    def everyone(self, stack: Rows) -> Rows:
        """Sum over all clients."""
        values = _stack(stack)
        if stack.partial:
            raise ReadingError(
                "everyone() must be given a stack known at all clients; got one "
                "pulled by participants only; broadcast instead."
            )
        return Rows(values.sum(axis=0), self.convert)

    def numbers(self, *given: object, **named: object) -> object:
        """Refuse, as `equal` and `weighted_mean`: such numbers multiply vectors."""
        del given, named
        raise ReadingError(
            "a linear round must keep no numbers per client; got some; the algorithm "
            "can only be simulated."
        )

    equal = weighted_mean = numbers

    def project(self, stack: Rows, region: object) -> Rows:
        """Refuse: a projection is not linear."""
        del stack
        raise ReadingError(
            f"a linear round must not project; got {region}; the algorithm can only "
            "be simulated."
        )


class LinearOracle:
    """Gradients H_i x - b_i on rows of linear maps."""

    def __init__(self, hessians: Array, linear: Array) -> None:
        self.hessians, self.linear = hessians, linear

    def gradient(self, points: Rows) -> Rows:
        """Apply every client's Hessian; b_i goes to the constant's column."""
        pairs = zip(self.hessians, _stack(points), strict=True)
        values = np.stack([product(h, p) for h, p in pairs])
        values[:, :, -1] -= self.linear
        return Rows(values, points.convert, points.partial)


def outcome_matrix(
    algorithm: Algorithm,
    layout: Layout,
    hessians: Array,
    linear: Array,
    members: frozenset[int],
    convert: Convert,
    basis: Array | None = None,
) -> Array:
    """Homogeneous matrix of one round with the given participants.

    On the columns of a basis of states, the constant 1 last; all states by default.
    """
    cohort = ListedCohort(members, layout.n_clients, convert)
    oracle = LinearOracle(hessians, linear)
    if basis is None:
        basis = np.full((layout.size, layout.size), convert(0), dtype=hessians.dtype)
        np.fill_diagonal(basis, convert(1))
    state = _state(algorithm, layout, basis, convert)
    after = performed(algorithm, "round", state, cohort, oracle)
    out = np.full(basis.shape, convert(0), dtype=hessians.dtype)
    place(out, after, layout)
    out[-1, -1] = convert(1)
    return out


def start_of(
    algorithm: Algorithm,
    layout: Layout,
    hessians: Array,
    linear: Array,
    convert: Convert,
) -> Array:
    """Homogeneous matrix from (x_0, 1) to the state before the first round."""
    d = layout.dim
    origin = np.full((d, d + 1), convert(0), dtype=hessians.dtype)
    np.fill_diagonal(origin, convert(1))
    cohort = ListedCohort(frozenset(), layout.n_clients, convert)
    oracle = LinearOracle(hessians, linear)
    begun = performed(algorithm, "init", Rows(origin, convert), cohort, oracle)
    out = np.full((layout.size, d + 1), convert(0), dtype=hessians.dtype)
    place(out, begun, layout)
    out[-1, d] = convert(1)
    return out


def listed_layout(algorithm: Algorithm, n_clients: int, dim: int) -> Layout:
    """Layout of the state, from the declared slots."""
    require_vectors(algorithm)
    slots = algorithm.slots()
    server = tuple(n for n, kind in slots.items() if kind is Server)
    clients = tuple(n for n in slots if n not in server)
    return Layout(server, clients, n_clients, dim)


def _state(algorithm: Algorithm, layout: Layout, basis: Array, convert: Convert) -> Any:
    slots = {}
    for name in layout.server_slots:
        slots[name] = Rows(basis[layout.places["server", name, -1]], convert)
    for name in layout.client_slots:
        clients = range(layout.n_clients)
        parts = [basis[layout.places["client", name, i]] for i in clients]
        slots[name] = Rows(np.stack(parts), convert)
    return algorithm.State(**slots)


def place(out: Array, state: Any, layout: Layout) -> None:
    """Write the rows of a state where the layout has them.

    Raises
    ------
    ReadingError
        If a slot holds a value of another kind, or one that only participants know.
    """
    for kind, name, client in layout.blocks:
        value = getattr(state, name)
        rows = _server(value) if kind == "server" else _stack(value)[client]
        if value.partial:
            raise ReadingError(
                f"slot {name} must be known at every client; got a stack pulled by "
                "participants only; select it against the old one."
            )
        out[layout.places[kind, name, client]] = rows
