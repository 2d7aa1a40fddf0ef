"""Mean and deviation coordinates of a round, and the rows of its forms in them.

Client i of class r carries own vectors o_i = E_r z + d_i: z holds the server's vectors
and the means of every class, d_i the deviations, which add up to zero over the class.
A form becomes, class by class, a row in z and a row in o.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from flverify._core.exact import Array
from flverify.certify.forms import Branch, Form, Reading
from flverify.certify.interpolation import Point
from flverify.engines.forms import ONE, TAKES_PART, ClientForm, Feature, Symbol

Name: TypeAlias = tuple[Any, ...]  # ("server", slot), ("client", r, name), ...
Number: TypeAlias = Callable[[Any], Any]  # Fraction or float


@dataclass(frozen=True)
class Memory:
    """A client slot that participation overwrites by sum_k weights_k gradient_k.

    Without a slot (weights 0): what V alone remembers, the gradients that all clients,
    present or not, have at the points of the last round.
    """

    slot: str | None
    calls: tuple[int, ...]
    weights: tuple[Fraction, ...]


@dataclass(frozen=True)
class Structure:
    """What was discovered about a round before any inequality.

    Parameters
    ----------
    eliminated : mapping
        Server slot -> combination of server slots and means of clients slots that it
        always equals; a clients slot as the key stands for its mean.
    equilibrium : mapping
        Slot -> (alpha, beta): the value alpha x* + beta g*_i that a round keeps.
    memories : tuple of Memory
        Clients slots replaced by the points and gradients they remember.
    neighbourhood : bool
        Whether g* is a family of vectors and no part of an equilibrium; beta g*_i is
        then only where deviations are measured from.
    unseen : set of str
        Clients slots that never reach the model; they are no coordinates.
    """

    eliminated: Mapping[str, Mapping[str, Fraction]] = field(default_factory=dict)
    equilibrium: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)
    memories: tuple[Memory, ...] = ()
    neighbourhood: bool = False
    unseen: frozenset[str] = frozenset()

    @property
    def ghosts(self) -> tuple[int, ...]:
        """The calls that the ghosts remember, memory after memory."""
        return tuple(k for memory in self.memories for k in memory.calls)

    @property
    def always_new(self) -> tuple[bool, ...]:
        """Ghost by ghost, whether every round renews it at every client."""
        return tuple(m.slot is None for m in self.memories for _ in m.calls)


@dataclass(frozen=True)
class Row:
    """A vector at a client of one class: `z` @ z + `own` @ o_i."""

    z: Array
    own: Array

    def __add__(self, other: Row) -> Row:
        return Row(self.z + other.z, self.own + other.own)

    def __rmul__(self, factor: Any) -> Row:
        return Row(factor * self.z, factor * self.own)


@dataclass(frozen=True)
class ClientPoint:
    """A point of a client and its gradient there, as rows."""

    name: str
    x: Row
    g: Row

    def parts(self, embedding: Array) -> tuple[Point, Point]:
        """Split into what acts on z (no deviation) and on the deviations."""
        x = self.x.z + self.x.own @ embedding
        g = self.g.z + self.g.own @ embedding
        return Point(self.name, x, g), Point(self.name, self.x.own, self.g.own)


class Coordinates:
    """Names of the coordinates, and every symbol's row, in one arithmetic."""

    def __init__(self, reading: Reading, structure: Structure, number: Number) -> None:
        self.reading, self.structure, self.number = reading, structure, number
        self.sizes = reading.classes.sizes
        self.n_clients = reading.classes.n_clients
        eliminated = structure.eliminated
        self.server = [s for s in reading.server_slots if s not in eliminated]
        gone = {*structure.unseen, *(memory.slot for memory in structure.memories)}
        plain = [c for c in reading.client_slots if c not in gone]
        ghosts = range(len(structure.ghosts))
        parts = [f"ghost:{j}.{part}" for j in ghosts for part in ("point", "gradient")]
        self.client = [*plain, *parts]
        calls = [f"call:{k}" for k in range(len(reading.points))]
        star = ["star"] if structure.neighbourhood else []
        self.own = [*self.client, *calls, *star]
        self._calls = calls

    @cached_property
    def classes(self) -> range:
        """The classes' numbers."""
        return range(len(self.sizes))

    @cached_property
    def shares(self) -> list[Any]:
        """The classes' parts of all clients."""
        return [self.number(Fraction(size, self.n_clients)) for size in self.sizes]

    @cached_property
    def state(self) -> list[Name]:
        """Coordinates of the state: server slots, then class means."""
        kept = [c for c in self.client if c not in self.structure.eliminated]
        means = [("client", r, c) for r in self.classes for c in kept]
        return [*(("server", s) for s in self.server), *means]

    @cached_property
    def z(self) -> list[Name]:
        """Coordinates of the mean part: state, calls, and means of g*."""
        calls = [("client", r, k) for r in self.classes for k in self._calls]
        stars: list[Name] = []
        if self.structure.neighbourhood:
            stars = [("client", r, "star") for r in self.classes[:-1]]
        return [*self.state, *calls, *stars]

    def zeros(self, *shape: int) -> Array:
        """Zeros of the arithmetic."""
        zero = self.number(0)
        return np.zeros(shape) if isinstance(zero, float) else np.full(shape, zero)

    def nothing(self) -> Row:
        """Return the zero row."""
        return Row(self.zeros(len(self.z)), self.zeros(len(self.own)))

    def _at(self, name: Name) -> Row:
        row = self.nothing()
        row.z[self._place[name]] = self.number(1)
        return row

    @cached_property
    def _place(self) -> dict[Name, int]:
        return {name: k for k, name in enumerate(self.z)}

    def _own(self, name: str) -> Row:
        row = self.nothing()
        row.own[self.own.index(name)] = self.number(1)
        return row

    @cached_property
    def embedding(self) -> list[Array]:
        """E_r for every class: own vectors from z when there are no deviations."""
        return [self._embed(r) for r in self.classes]

    def _embed(self, r: int) -> Array:
        out = self.zeros(len(self.own), len(self.z))
        for k, name in enumerate(self.own):
            place = self._place.get(("client", r, name))
            if place is not None:
                out[k, place] = self.number(1)
            elif name == "star":  # the last class: sum over all clients is zero
                for other in self.classes[:-1]:
                    share = -Fraction(self.sizes[other], self.sizes[r])
                    out[k, self._place["client", other, "star"]] = self.number(share)
            else:
                out[k] = self._expression(self.structure.eliminated[name]).z
        return out

    def _expression(self, parts: Mapping[str, Fraction]) -> Row:
        total = self.nothing()
        for slot, value in parts.items():
            server = slot in self.reading.server_slots
            symbol: Symbol = ("server", slot) if server else ("client", slot)
            row = self.symbol(symbol) if server else self.mean(symbol)
            total = total + self.number(value) * row
        return total

    def mean(self, symbol: Symbol) -> Row:
        """Row of the mean over all clients of a client symbol."""
        total = self.nothing()
        for r in self.classes:
            total = total + self.shares[r] * self.settled(self.symbol(symbol), r)
        return total

    def settled(self, row: Row, r: int) -> Row:
        """Return the same row at a client without deviation: in z alone."""
        return Row(row.z + row.own @ self.embedding[r], 0 * row.own)

    def symbol(self, symbol: Symbol) -> Row:
        """Row of a symbol at a client, measured from the equilibrium."""
        kind, name = symbol
        if kind == "mean":
            return self.mean(name)
        if kind == "gradient":
            row = self._own(f"call:{name}")
            return row + self._own("star") if self.structure.neighbourhood else row
        if kind == "server":
            known = self.structure.eliminated.get(name)
            return self._at((kind, name)) if known is None else self._expression(known)
        for memory, ghosts in self._memories():
            if memory.slot == name:
                return self._remembered(memory, ghosts)
        if name in self.structure.unseen:
            return self.nothing()
        return self._own(name) + self._rest(name)

    def _rest(self, slot: str) -> Row:
        """Row of beta g*_i, where g* is a family of vectors."""
        if not self.structure.neighbourhood:
            return self.nothing()
        beta = self.number(self.structure.equilibrium[slot][1])
        star = self._own("star")
        return Row(beta * star.z, beta * star.own)

    def _memories(self) -> list[tuple[Memory, range]]:
        out, first = [], 0
        for memory in self.structure.memories:
            out.append((memory, range(first, first + len(memory.calls))))
            first += len(memory.calls)
        return out

    def _remembered(self, memory: Memory, ghosts: range) -> Row:
        total = self.nothing()
        for j, weight in zip(ghosts, memory.weights, strict=True):
            total = total + self.number(weight) * self._own(f"ghost:{j}.gradient")
        return total

    def client_form(self, form: ClientForm) -> dict[Feature, Row]:
        """Rows of a client form, feature by feature."""
        out: dict[Feature, Row] = {}
        for (feature, symbol), value in form.terms.items():
            row = self.number(value) * self.symbol(symbol)
            out[feature] = out[feature] + row if feature in out else row
        return out

    def point(self, k: int) -> Row:
        """Row of the k-th gradient point."""
        return self.client_form(self.reading.points[k]).get(ONE, self.nothing())

    def ghost(self, j: int) -> tuple[Row, Row]:
        """Rows of a ghost's point and gradient."""
        return self._own(f"ghost:{j}.point"), self._own(f"ghost:{j}.gradient")

    def gradient(self, k: int) -> Row:
        """Row of the k-th gradient, less g*."""
        return self._own(f"call:{k}")

    def after_client(self, branch: Branch, name: str) -> dict[Feature, Row]:
        """Rows of a client coordinate after the round."""
        if not name.startswith("ghost:"):
            form = branch.after[name]
            if not isinstance(form, ClientForm):
                raise TypeError(name)
            after, rest = self.client_form(form), self.number(-1) * self._rest(name)
            return {**after, ONE: after.get(ONE, self.nothing()) + rest}
        j, part = ghost_part(name)
        call = self.structure.ghosts[j]
        new = self.point(call) if part == "point" else self.gradient(call)
        old = self._own(name)
        if self.structure.always_new[j]:
            return {ONE: new}
        if branch.everybody is None:
            return {ONE: old, TAKES_PART: new + self.number(-1) * old}
        return {ONE: new if branch.everybody else old}

    def after_server(self, form: Form) -> tuple[Array, dict[tuple[int, Feature], Row]]:
        """Row of a server form: a sure part in z, and a part per class and feature."""
        if isinstance(form, ClientForm):
            raise TypeError(form)
        sure = self.zeros(len(self.z))
        drawn: dict[tuple[int, Feature], Row] = {}
        for symbol, value in form.fixed.items():
            sure = sure + self.number(value) * self.symbol(symbol).z
        for (feature, symbol), value in form.summed.items():
            for r in self.classes:
                row = self.number(value) * self.symbol(symbol)
                if feature == ONE:
                    count = self.number(self.sizes[r])
                    sure = sure + count * self.settled(row, r).z
                else:
                    known = drawn.get((r, feature))
                    drawn[r, feature] = row if known is None else known + row
        return sure, drawn


def ghost_part(name: str) -> tuple[int, str]:
    """Read "ghost:j.part".

    Examples
    --------
    >>> ghost_part("ghost:1.gradient")
    (1, 'gradient')
    """
    number, part = name.removeprefix("ghost:").split(".")
    return int(number), part
