"""Rows of a round on quadratics, for groups of clients of one curvature each.

Client i of group r holds, in every clients slot, its group's mean plus a deviation
d_i; the deviations of a group add up to zero. A gradient is h_r times its point, so
every form of a reading becomes rows over [server slots and group means | d_i], many
instances at a time: leading axis, in floats or (as object arrays) in rationals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from flverify._core.errors import BeyondFloatsError
from flverify._core.exact import Array, objects
from flverify._core.rationals import to_flint
from flverify.certify.coordinates import Structure
from flverify.certify.forms import Branch, Form, Reading
from flverify.engines.forms import ONE, ClientForm, Feature, ServerForm, Symbol


@dataclass(frozen=True)
class Batch:
    """B instances with R groups: group r lies in one class of the law.

    Parameters
    ----------
    law_classes : tuple of R ints
    clients : (B, R) array of int
        Clients per group; those of group 0 are not zero.
    curvatures : (B, R) array
        Floats, or flint rationals or polynomials (dtype object).
    """

    law_classes: tuple[int, ...]
    clients: Array
    curvatures: Array

    @property
    def exact(self) -> bool:
        """Whether the arithmetic is rational."""
        return self.curvatures.dtype == object

    def number(self, values: Any) -> Array:
        """Return values as an array of the batch's arithmetic.

        Raises
        ------
        BeyondFloatsError
            If that is floats and a value is above all of them.
        """
        if not self.exact:
            try:
                return np.asarray(values, dtype=np.float64)
            except OverflowError:
                raise BeyondFloatsError(
                    "numbers of a round must lie within the range of floats, about "
                    "1e308; got a larger one; choose a smaller step size."
                ) from None
        read = np.asarray(values, dtype=object)
        rationals = objects(map(Fraction, read.ravel().tolist()))
        return to_flint(rationals.reshape(read.shape))

    def zeros(self, *shape: int) -> Array:
        """Zeros of the arithmetic, (B, *shape)."""
        full = (len(self.clients), *shape)
        return np.full(full, flint.fmpq(0), object) if self.exact else np.zeros(full)


Drawn = dict[Feature, Array]  # feature -> (B, width)


class Rows:
    """Symbols and forms of a reading as rows, (B, width), of a batch.

    `coordinates` names the kept ones: ("server", slot) and (group, clients slot).
    """

    def __init__(self, reading: Reading, structure: Structure, batch: Batch) -> None:
        self.reading, self.batch = reading, batch
        self.groups = range(len(batch.law_classes))
        gone = structure.eliminated
        self.slots = list(reading.client_slots)
        self.coordinates: list[tuple[Any, str]] = [
            *(("server", s) for s in reading.server_slots if s not in gone),
            *((r, c) for r in self.groups for c in self.slots if r or c not in gone),
        ]
        self.size = len(self.coordinates)
        self.width = self.size + len(self.slots)
        self.counts = batch.number(batch.clients)
        self.shares = self.counts / batch.number(reading.classes.n_clients)
        self._known: dict[Any, Array] = {}
        self._settle(gone)

    def _settle(self, gone: Mapping[str, Mapping[str, Fraction]]) -> None:
        """Give every slot its row; what is always a combination is written as one."""
        for place, name in enumerate(self.coordinates):
            self._known[name] = self._unit(place)
        # a clients slot's overall mean is known: the first group's follows from it
        for slot in [c for c in self.slots if c in gone]:
            rest = self._combination(gone[slot])
            for r in self.groups[1:]:
                rest = rest - self.shares[:, r, None] * self._known[r, slot]
            self._known[0, slot] = rest / self.shares[:, 0, None]
        for slot in [s for s in self.reading.server_slots if s in gone]:
            self._known["server", slot] = self._combination(gone[slot])

    def _combination(self, parts: Mapping[str, Fraction]) -> Array:
        total = self.batch.zeros(self.width)
        for slot, value in parts.items():
            server = slot in self.reading.server_slots
            row = self._known["server", slot] if server else self._mean_of(slot)
            total = total + self.batch.number(value) * row
        return total

    def _mean_of(self, slot: str) -> Array:
        return self._averaged([self._known[r, slot] for r in self.groups])

    def _averaged(self, rows: list[Array]) -> Array:
        """Mean over all clients of a row per group: deviations drop out."""
        total = self.batch.zeros(self.width)
        for r, row in zip(self.groups, rows, strict=True):
            total[:, : self.size] += self.shares[:, r, None] * row[:, : self.size]
        return total

    def _unit(self, place: int) -> Array:
        row = self.batch.zeros(self.width)
        row[:, place] = self.batch.number(1)
        return row

    def symbol(self, symbol: Symbol, r: int) -> Array:
        """Row of a symbol at a client of group r."""
        kind, name = symbol
        if kind == "server":
            return self._known[symbol]
        if (symbol, r) not in self._known:
            self._known[symbol, r] = self._made(kind, name, r)
        return self._known[symbol, r]

    def _made(self, kind: str, name: Any, r: int) -> Array:
        if kind == "mean":
            return self._averaged([self.symbol(name, k) for k in self.groups])
        if kind == "gradient":
            point = self.client(self.reading.points[name], r)[ONE]
            return np.asarray(self.batch.curvatures[:, r, None] * point)
        own = self._unit(self.size + self.slots.index(name))
        return np.asarray(self._known[r, name] + own)

    def client(self, form: ClientForm, r: int) -> Drawn:
        """Rows of a client form at group r, feature by feature; ONE is always there."""
        out = {ONE: self.batch.zeros(self.width)}
        for (feature, symbol), value in form.terms.items():
            row = self.batch.number(value) * self.symbol(symbol, r)
            out[feature] = out[feature] + row if feature in out else row
        return out

    def server(
        self, form: ServerForm
    ) -> tuple[Array, dict[tuple[int, Feature], Array]]:
        """Sure row of a server form, and a row per group and feature.

        Deviations of a group add up to zero; those in the sure row are not to be read.
        """
        sure = self.batch.zeros(self.width)
        drawn: dict[tuple[int, Feature], Array] = {}
        for symbol, value in form.fixed.items():
            sure = sure + self.batch.number(value) * self.symbol(symbol, 0)
        for (feature, symbol), value in form.summed.items():
            for r in self.groups:
                row = self.batch.number(value) * self.symbol(symbol, r)
                if feature == ONE:
                    sure = sure + self.counts[:, r, None] * row
                else:
                    known = drawn.get((r, feature))
                    drawn[r, feature] = row if known is None else known + row
        return sure, drawn

    def after(self, branch: Branch) -> tuple[list[Any], list[list[Drawn]]]:
        """Kept coordinates after the round, and clients slots group by group."""
        clients = [
            [self.client(_client(branch.after[c]), r) for c in self.slots]
            for r in self.groups
        ]
        state = []
        for where, slot in self.coordinates:
            if where == "server":
                state.append(self.server(_server(branch.after[slot])))
            else:
                state.append(
                    self._group_mean(clients[where][self.slots.index(slot)], where)
                )
        return state, clients

    def _group_mean(self, rows: Drawn, r: int) -> Any:
        filled = self.batch.number(np.maximum(self.batch.clients[:, r], 1))
        drawn = {(r, f): row / filled[:, None] for f, row in rows.items() if f != ONE}
        return rows[ONE], drawn


def _client(form: Form) -> ClientForm:
    if not isinstance(form, ClientForm):
        raise TypeError(form)
    return form


def _server(form: Form) -> ServerForm:
    if not isinstance(form, ServerForm):
        raise TypeError(form)
    return form
