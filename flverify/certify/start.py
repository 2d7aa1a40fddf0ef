"""The constants of a certificate: V_0 <= C1 |x_0 - x*|^2 + C2 mean|g*_i|^2.

Coordinates are x_0, g*, the gradients of the start, and (for a memory that starts at
zero) the point phi_i where client i's own gradient vanishes, which exists since every
f_i is strongly convex.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from flverify._core.errors import RefusedError
from flverify._core.exact import Array, Scalar
from flverify.certify.ansatz import Level
from flverify.certify.coordinates import (
    ClientPoint,
    Coordinates,
    Memory,
    Row,
    ghost_part,
)
from flverify.certify.inequality import Inequality, Unknown
from flverify.certify.interpolation import interpolation, pairs, product
from flverify.engines.forms import ClientForm, ServerForm


class Start(Inequality):
    """The inequality C1 |x_0|^2 + C2 mean|g*|^2 - V_0 >= 0 for a given V.

    Unknowns are ("C1",), ("C2",), multipliers ("start", r, above, below) and weights
    ("start upper", w, r, b). `constants` holds -V_0. All is in the arithmetic of the
    coordinates.
    """

    def __init__(
        self,
        space: Coordinates,
        level: Level,
        values: Mapping[Unknown, Any],
        mu: Scalar,
        smooth: Scalar,
    ) -> None:
        self.space, self._zeros, self._number = space, space.zeros, space.number
        self.mu, self.smooth = space.number(mu), space.number(smooth)
        reading, memories = space.reading, space.structure.memories
        calls = [f"call:{k}" for k in range(len(reading.start_points))]
        self.phis = [f"ghost:{m}" for m in range(len(memories)) if self._zero(m)]
        self.own = ["star", *calls, *self.phis]
        free = [("client", r, "star") for r in space.classes[:-1]]
        rest = [("client", r, n) for r in space.classes for n in self.own[1:]]
        self.z: list[Any] = ["start", *free, *rest]
        sizes = {"start/mean": len(self.z)}
        sizes |= {f"start/class {r}": len(self.own) for r in space.classes}
        alone = {f"start/class {r}" for r in space.classes if space.sizes[r] < 2}
        kept = {b: size for b, size in sizes.items() if b not in alone}
        exact = space.zeros(0).dtype == object
        super().__init__(kept, object if exact else np.float64)
        self.constants = {b: self._zeros(size, size) for b, size in kept.items()}
        self.level, self.values = level, values
        self._sizes_of_start()
        self._known_quadratics()
        self._known_values()
        self._interpolations()

    # -- rows -----------------------------------------------------------------

    def _zero(self, m: int) -> bool:
        slot = self.space.structure.memories[m].slot
        form = None if slot is None else self.space.reading.start[slot]
        return isinstance(form, ClientForm) and not form.terms

    def embedding(self, r: int) -> Array:
        """Own vectors of class r from z when there are no deviations."""
        out = self._zeros(len(self.own), len(self.z))
        for k, name in enumerate(self.own):
            if ("client", r, name) in self.z:
                out[k, self.z.index(("client", r, name))] = self._number(1)
            else:  # g* of the last class: the sum over all clients is zero
                for other in self.space.classes[:-1]:
                    share = self._number(
                        -Fraction(self.space.sizes[other], self.space.sizes[r])
                    )
                    out[k, self.z.index(("client", other, "star"))] = share
        return out

    def _unit(self, name: str) -> Array:
        out = self._zeros(len(self.own))
        out[self.own.index(name)] = self._number(1)
        return out

    def _client_row(self, name: str) -> Row:
        """Row of a client coordinate at the start, from its equilibrium."""
        if name.startswith("ghost:"):
            j, part = ghost_part(name)
            ghost = self._ghost(j)
            return ghost.x if part == "point" else ghost.g
        form = self.space.reading.start[name]
        if not isinstance(form, ClientForm):
            raise TypeError(form)
        row = self._form_row(form)
        rest = self._number(self.space.structure.equilibrium[name][1]) * own_star(self)
        return Row(row.z, row.own - rest)

    def _form_row(self, form: ClientForm) -> Row:
        """Row of x_0 and of gradients of the start."""
        z, own = self._zeros(len(self.z)), self._zeros(len(self.own))
        for (_, symbol), value in form.terms.items():
            if symbol[0] == "server":
                z[0] += self._number(value)
            else:
                own += self._number(value) * (
                    self._unit(f"call:{symbol[1]}") + own_star(self)
                )
        return Row(z, own)

    def _memory_of(self, j: int) -> tuple[int, Memory]:
        for m, memory in enumerate(self.space.structure.memories):
            if j < len(memory.calls):
                return m, memory
            j -= len(memory.calls)
        raise IndexError(j)

    def _ghost(self, j: int) -> ClientPoint:
        m, memory = self._memory_of(j)
        if memory.slot is None:  # V may remember what it likes, and begins with x*
            return self._star()
        if self._zero(m):
            nowhere = self._zeros(len(self.z))
            here = Row(nowhere, self._unit(f"ghost:{m}"))
            return ClientPoint(f"start_ghost:{m}", here, Row(nowhere, -own_star(self)))
        form = self.space.reading.start[memory.slot]
        if not isinstance(form, ClientForm) or len(form.terms) != 1:
            raise RefusedError(_UNREMEMBERED)
        ((_, symbol), value) = next(iter(form.terms.items()))
        if symbol[0] != "gradient" or value != sum(memory.weights):
            raise RefusedError(_UNREMEMBERED)
        return self._call(symbol[1])

    def _star(self) -> ClientPoint:
        zero = Row(self._zeros(len(self.z)), self._zeros(len(self.own)))
        return ClientPoint("star", zero, zero)

    def _call(self, k: int) -> ClientPoint:
        gradient = Row(self._zeros(len(self.z)), self._unit(f"call:{k}"))
        here = self._form_row(self.space.reading.start_points[k])
        return ClientPoint(f"start_call:{k}", here, gradient)

    def points(self) -> list[ClientPoint]:
        """Return the star, the start's calls, and the memories that start at zero."""
        out = [self._star()]
        out += [self._call(k) for k in range(len(self.space.reading.start_points))]
        first = 0
        for m, memory in enumerate(self.space.structure.memories):
            if self._zero(m):
                out.append(self._ghost(first))
            first += len(memory.calls)
        return out

    # -- pieces ---------------------------------------------------------------

    def _sizes_of_start(self) -> None:
        first, second = self.new(("C1",), True), self.new(("C2",), True)
        start = self._zeros(len(self.z))
        start[0] = self._number(1)
        self.put("start/mean", first, product(start, start))
        star = own_star(self)
        for r in self.space.classes:
            row = star @ self.embedding(r)
            self.put("start/mean", second, self._share(r) * product(row, row))
            self.put(f"start/class {r}", second, product(star, star))

    def _share(self, r: int) -> Scalar:
        return self.space.shares[r]

    def state_rows(self) -> Array:
        """Rows in z of the state coordinates at the start."""
        rows = []
        for name in self.space.state:
            if name[0] == "server":
                rows.append(self._server_row(name[1]))
            else:
                row = self._client_row(name[2])
                rows.append(row.z + row.own @ self.embedding(name[1]))
        return np.array(rows)

    def _server_row(self, slot: str) -> Array:
        form = self.space.reading.start[slot]
        if not isinstance(form, ServerForm) or form.summed:
            raise RefusedError(
                "a server slot must start from x_0 or zero unless it is eliminated; "
                f"got gradients in {slot}; start it at zero."
            )
        row = self._zeros(len(self.z))
        row[0] = self._number(sum(form.fixed.values()))
        return row

    def _known_quadratics(self) -> None:
        rows = self.state_rows()
        form = symmetric(self, ("T",), len(rows))
        self.constants["start/mean"] -= rows.T @ form @ rows
        for r in self.space.classes:
            if self.space.sizes[r] > 1 and self.space.client:
                spread = symmetric(self, ("S", r), len(self.space.client))
                own = np.array([self._client_row(c).own for c in self.space.client])
                self.constants[f"start/class {r}"] -= own.T @ spread @ own

    def _known_values(self) -> None:
        """Ghost values keep their symbol; server values are bounded from above."""
        one = self.new(("one",), True)  # the known part of the equalities
        for r in self.space.classes:
            if self.level.ghost_values:
                for j in range(len(self.space.structure.ghosts)):
                    value = Fraction(self.values["ghost", r, j])
                    name = self._ghost(j).name
                    if name != "star":
                        self.equal(f"start/class {r}/{name}", one, -value)
            for w, point in enumerate(self.level.values):
                self._server_value(w, r, point, one)

    def _server_value(
        self, w: int, r: int, point: Mapping[str, Fraction], one: Unknown
    ) -> None:
        row = self.value_row(point)
        total = f"start/upper {w}/class {r}"
        self.equal(total, one, -Fraction(self.values["delta", w]))
        half = self.smooth / 2
        for b in self.points():
            omega = self.new(("start upper", w, r, b.name), True)
            at_mean, at_own = b.parts(self.embedding(r))
            gap = row - at_mean.x
            mean = product(at_mean.g, gap) + half * product(gap, gap)
            own = -product(at_own.g, at_own.x) + half * product(at_own.x, at_own.x)
            self.put("start/mean", omega, -self._share(r) * mean)
            self.put(f"start/class {r}", omega, -own)
            self.equal(total, omega, 1)
            if b.name != "star":
                self.equal(f"start/class {r}/{b.name}", omega, -1)

    def value_row(self, point: Mapping[str, Fraction]) -> Array:
        """Row in z of the point of a value term."""
        row = self._zeros(len(self.z))
        for name, value in point.items():
            if name in self.space.server:
                row += self._number(value) * self._server_row(name)
            elif name in self.space.client:
                for r in self.space.classes:
                    own = self._client_row(name)
                    mean = own.z + own.own @ self.embedding(r)
                    row += self._number(value) * self._share(r) * mean
        return row

    def _interpolations(self) -> None:
        for r in self.space.classes:
            for a, b in pairs(self.points()):
                unknown = self.new(("start", r, a.name, b.name), True)
                mean_a, own_a = a.parts(self.embedding(r))
                mean_b, own_b = b.parts(self.embedding(r))
                mean = interpolation(mean_a, mean_b, self.mu, self.smooth)
                own = interpolation(own_a, own_b, self.mu, self.smooth)
                self.put("start/mean", unknown, -self._share(r) * mean)
                self.put(f"start/class {r}", unknown, -own)
                for name, sign in ((a.name, -1), (b.name, 1)):
                    if name != "star":
                        self.equal(f"start/class {r}/{name}", unknown, sign)


_UNREMEMBERED = (
    "a remembered gradient must start at zero or at the gradient of x_0; got another "
    "start; choose one of these."
)


def own_star(start: Start) -> Array:
    """Row of g* in a client's own coordinates at the start."""
    out = start.space.zeros(len(start.own))
    out[0] = start.space.number(1)
    return out


def symmetric(start: Start, kind: Unknown, size: int) -> Array:
    """Matrix of the values of the unknowns (*kind, a, b)."""
    out, number = start.space.zeros(size, size), start.space.number
    for a in range(size):
        for b in range(a, size):
            out[a, b] = out[b, a] = number(start.values.get((*kind, a, b), 0))
    return out
