"""The linear matrix inequality: unknowns, blocks and equalities of a certificate.

V = u' T u + (1/N) sum_i d_i' S d_i + ghost values + delta_w mean f(w); the decrease
rho V - s |x|^2 + c mean|g*|^2 - E V+ - sum lambda q must be a positive semidefinite
form, split into the mean block and one block per class, and so must V (less |x|^2).
Every piece is affine in the unknowns and in rho.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from flverify._core.exact import Array, Scalar
from flverify.certify.coordinates import Coordinates
from flverify.certify.expect import Round, expected_round
from flverify.certify.interpolation import Point, interpolation, pairs, product

Unknown: TypeAlias = tuple[Any, ...]
MANY_POINTS = 7  # beyond this, multipliers between neighbours and the star only


@dataclass(frozen=True)
class Level:
    """How rich the ansatz is.

    Parameters
    ----------
    values : tuple of mapping
        Points w, as coefficients of server slots and of means over all clients.
    ghost_values : bool
        Whether f_i at the remembered points enters V.
    """

    name: str
    values: tuple[Mapping[str, Fraction], ...] = ()
    ghost_values: bool = False


class Ansatz:
    """Assembles the inequality in one arithmetic, float or `Fraction`.

    After construction `unknowns` lists the variables, `nonnegative` their signs,
    `base` and `slope` the coefficient matrices per block (block = base + rho slope),
    `equal_base` and `equal_slope` the equalities, `private` the unknowns that may
    repair each equality, `constant` the fixed matrices.
    """

    def __init__(
        self, space: Coordinates, level: Level, mu: Scalar, smooth: Scalar
    ) -> None:
        number = space.number
        self.space, self.level = space, level
        self.mu, self.smooth = number(mu), number(smooth)
        self.round = expected_round(space)
        self.unknowns: list[Unknown] = []
        self._place: dict[Unknown, int] = {}
        self.nonnegative: list[bool] = []
        self.sizes = self._block_sizes()
        self._base: dict[tuple[str, Unknown], Array] = {}
        self._slope: dict[tuple[str, Unknown], Array] = {}
        self.equalities: dict[str, dict[Unknown, tuple[Scalar, Scalar]]] = {}
        self._quadratic_part()
        if level.ghost_values:
            self._ghost_values()
        for w, point in enumerate(level.values):
            self._server_value(w, point)
        self._multipliers("decrease", self.points)
        if level.values or level.ghost_values:
            self._multipliers("positivity", self.remembered)
        if space.structure.neighbourhood:
            self._star_size()

    # -- shapes ---------------------------------------------------------------

    def _block_sizes(self) -> dict[str, int]:
        space = self.space
        sizes = {
            "decrease/mean": len(space.z),
            "positivity/mean": len(space.state),
        }
        for r in space.classes:
            if space.sizes[r] > 1:
                sizes[f"decrease/class {r}"] = len(space.own)
                if space.client:
                    sizes[f"positivity/class {r}"] = len(space.client)
        return sizes

    def _new(self, unknown: Unknown, signed: bool) -> Unknown:
        self._place[unknown] = len(self.unknowns)
        self.unknowns.append(unknown)
        self.nonnegative.append(signed)
        return unknown

    def _put(
        self, block: str, unknown: Unknown, matrix: Array, slope: Array | None = None
    ) -> None:
        """Add a coefficient matrix, cut to the block's own coordinates."""
        if block not in self.sizes:
            return
        size = self.sizes[block]
        for store, value in ((self._base, matrix), (self._slope, slope)):
            if value is not None:
                part = value[:size, :size]
                known = store.get((block, unknown))
                store[block, unknown] = part if known is None else known + part

    def _equal(
        self, name: str, unknown: Unknown, base: Scalar, slope: Scalar = 0
    ) -> None:
        row = self.equalities.setdefault(name, {})
        old = row.get(unknown, (0, 0))
        row[unknown] = (old[0] + base, old[1] + slope)

    # -- rows -----------------------------------------------------------------

    def remembered(self, r: int) -> list[Point]:
        """The star and the ghosts of a client of class r, in own coordinates."""
        space, zero = self.space, self.space.nothing()
        out = [Point("star", zero, zero)]  # type: ignore[arg-type]
        for j in range(len(space.structure.ghosts)):
            x, g = space.ghost(j)
            out.append(Point(f"ghost:{j}", x, g))  # type: ignore[arg-type]
        del r
        return out

    def points(self, r: int) -> list[Point]:
        """Every point at which a client of class r knows its gradient."""
        space = self.space
        calls = [
            Point(f"call:{k}", space.point(k, r), space.gradient(k))  # type: ignore[arg-type]
            for k in range(len(space.reading.points))
        ]
        return [*self.remembered(r), *calls]

    def _parts(self, point: Point, r: int) -> tuple[Point, Point]:
        """A point in z (no deviation) and in the deviations of class r."""
        x: Any = point.x
        g: Any = point.g
        at = self.space.settled
        mean = Point(point.name, at(x, r).z, at(g, r).z)
        return mean, Point(point.name, x.own, g.own)

    def _share(self, r: int) -> Scalar:
        space = self.space
        return space.number(Fraction(space.sizes[r], space.n_clients))

    # -- V's quadratic part ----------------------------------------------------

    def _quadratic_part(self) -> None:
        states = len(self.space.state)
        for a in range(states):
            for b in range(a, states):
                unknown = self._new(("T", a, b), signed=False)
                self._state_entry(unknown, a, b)
        for r in self.space.classes:
            if self.space.sizes[r] > 1:
                for a in range(len(self.space.client)):
                    for b in range(a, len(self.space.client)):
                        unknown = self._new(("S", r, a, b), signed=False)
                        self._spread_entry(unknown, r, a, b)

    def _unit(self, size: int, a: int, b: int) -> Array:
        out = self.space.zeros(size, size)
        out[a, b] = out[b, a] = self.space.number(1)
        return out

    def _state_entry(self, unknown: Unknown, a: int, b: int) -> None:
        here = self._unit(len(self.space.z), a, b)
        mean, parts = self.round.state.at(a, b)
        self._put("positivity/mean", unknown, here)
        self._put("decrease/mean", unknown, -mean, here)
        for r, part in enumerate(parts):
            self._put(f"decrease/class {r}", unknown, -part)

    def _spread_entry(self, unknown: Unknown, r: int, a: int, b: int) -> None:
        here = self._unit(len(self.space.own), a, b)
        mean, parts = self.round.spread[r].at(a, b)
        self._put(f"positivity/class {r}", unknown, here)
        self._put("decrease/mean", unknown, -mean)
        for k, part in enumerate(parts):
            self._put(f"decrease/class {k}", unknown, -part, here if k == r else None)

    # -- values ---------------------------------------------------------------

    def _ghost_values(self) -> None:
        number = self.space.number
        for r in self.space.classes:
            p = number(self.round.renewed[r])
            for j, call in enumerate(self.space.structure.ghosts):
                v = self._new(("ghost", r, j), signed=False)
                self._equal(f"decrease/class {r}/ghost:{j}", v, -(1 - p), number(1))
                self._equal(f"decrease/class {r}/call:{call}", v, -p)
                self._equal(f"positivity/class {r}/ghost:{j}", v, number(1))

    def _server_value(self, w: int, point: Mapping[str, Fraction]) -> None:
        delta = self._new(("delta", w), signed=True)
        row = self.value_row(point)
        self._old_value(w, delta, row)
        self._new_value(w, delta, point)
        for r in self.space.classes:
            total = f"positivity/lower {w}/class {r}"
            self._equal(total, delta, self.space.number(-1))
            for b in self.remembered(r):
                sigma = self._new(("positivity lower", w, r, b.name), signed=True)
                self._below("positivity", sigma, row, b, r, -1)
                self._equal(total, sigma, self.space.number(1))

    def value_row(self, point: Mapping[str, Fraction]) -> Array:
        """Row in z of a server point w."""
        space = self.space
        row = space.zeros(len(space.z))
        for name, value in point.items():
            server = name in space.reading.server_slots
            part = (
                space.symbol(("server", name), 0)
                if server
                else space.mean(("client", name))
            )
            row = row + space.number(value) * part.z
        return row

    def next_value_row(self, point: Mapping[str, Fraction]) -> Array:
        """Coefficients of w+ on the state coordinates after the round."""
        space = self.space
        row = space.zeros(len(space.state))
        for k, name in enumerate(space.state):
            if name[0] == "server":
                row[k] = space.number(point.get(name[1], 0))
            else:
                share = self._share(name[1])
                row[k] = share * space.number(point.get(name[2], 0))
        return row

    def call_at(self, row: Array) -> int | None:
        """The call whose point is w at every client, if there is one."""
        space = self.space
        for k in range(len(space.reading.points)):
            points = [space.point(k, r) for r in space.classes]
            same = all(
                _close(space.settled(p, r).z, row) and _close(p.own, 0 * p.own)
                for r, p in enumerate(points)
            )
            if same:
                return k
        return None

    def _old_value(self, w: int, delta: Unknown, row: Array) -> None:
        number, call = self.space.number, self.call_at(row)
        for r in self.space.classes:
            if call is not None:
                name = f"decrease/class {r}/call:{call}"
                self._equal(name, delta, number(0), number(1))
                continue
            total = f"decrease/lower {w}/class {r}"
            self._equal(total, delta, number(0), number(-1))
            for b in self.points(r):
                sigma = self._new(("decrease lower", w, r, b.name), signed=True)
                self._below("decrease", sigma, row, b, r, 1)
                self._equal(total, sigma, number(1))

    def _below(
        self, stage: str, sigma: Unknown, row: Array, b: Point, r: int, sign: int
    ) -> None:
        """Add f_b + <g_b, w - b> + (mu/2)|w - b|^2, as (1/N) sum over class r."""
        del sign
        mean, own = self._parts(b, r)
        share = self._share(r)
        gap = row - mean.x
        at_mean = product(mean.g, gap) + (self.mu / 2) * product(gap, gap)
        at_own = -product(own.g, own.x) + (self.mu / 2) * product(own.x, own.x)
        self._put(f"{stage}/mean", sigma, share * at_mean)
        self._put(f"{stage}/class {r}", sigma, at_own)
        if b.name != "star":
            self._equal(f"{stage}/class {r}/{b.name}", sigma, self.space.number(1))

    def _new_value(self, w: int, delta: Unknown, point: Mapping[str, Fraction]) -> None:
        space = self.space
        combination = self.next_value_row(point)
        moments = self.round.state
        square = _contract(moments.mean, combination)
        spreads = [_contract(c, combination) for c in moments.classes]
        first = combination @ self.round.first
        half = self.smooth / 2
        for r in space.classes:
            total = f"decrease/upper {w}/class {r}"
            self._equal(total, delta, space.number(-1))
            share = self._share(r)
            for b in self.points(r):
                omega = self._new(("upper", w, r, b.name), signed=True)
                mean, own = self._parts(b, r)
                cross = product(first, mean.x)
                gap = square - 2 * cross + product(mean.x, mean.x)
                linear = product(mean.g, first - mean.x)
                self._put("decrease/mean", omega, -share * (linear + half * gap))
                at_own = -product(own.g, own.x) + half * product(own.x, own.x)
                self._put(f"decrease/class {r}", omega, -at_own)
                for k, spread in enumerate(spreads):
                    self._put(f"decrease/class {k}", omega, -share * half * spread)
                self._equal(total, omega, space.number(1))
                if b.name != "star":
                    name = f"decrease/class {r}/{b.name}"
                    self._equal(name, omega, space.number(-1))

    # -- interpolation ----------------------------------------------------------

    def _multipliers(self, stage: str, points: Any) -> None:
        for r in self.space.classes:
            known = points(r)
            for a, b in pairs(known, few=len(known) > MANY_POINTS):
                unknown = self._new((stage, r, a.name, b.name), signed=True)
                mean_a, own_a = self._parts(a, r)
                mean_b, own_b = self._parts(b, r)
                at_mean = interpolation(mean_a, mean_b, self.mu, self.smooth)
                at_own = interpolation(own_a, own_b, self.mu, self.smooth)
                self._put(f"{stage}/mean", unknown, -self._share(r) * at_mean)
                self._put(f"{stage}/class {r}", unknown, -at_own)
                for name, sign in ((a.name, -1), (b.name, 1)):
                    if name != "star":
                        place = f"{stage}/class {r}/{name}"
                        self._equal(place, unknown, self.space.number(sign))

    def _star_size(self) -> None:
        """The unknown c, the factor of mean |g*|^2."""
        space = self.space
        c = self._new(("c",), signed=True)
        mean = space.zeros(len(space.z), len(space.z))
        star = space.own.index("star")
        for r in space.classes:
            row = space.embedding[r][star]
            mean = mean + self._share(r) * product(row, row)
            own = self._unit(len(space.own), star, star)
            self._put(f"decrease/class {r}", c, own)
        self._put("decrease/mean", c, mean)

    # -- results ----------------------------------------------------------------

    def model_square(self, size: int) -> Array:
        """|x - x*|^2 as a form in z (or its leading coordinates)."""
        row = self.space.symbol(("server", "model"), 0).z[:size]
        return product(row, row)

    def coefficients(self, block: str) -> tuple[Array, Array]:
        """Coefficient matrices (n, m, m) of a block: base and slope in rho."""
        size, n = self.sizes[block], len(self.unknowns)
        base, slope = (self.space.zeros(n, size, size) for _ in range(2))
        for out, store in ((base, self._base), (slope, self._slope)):
            for (name, unknown), matrix in store.items():
                if name == block:
                    out[self._place[unknown]] = matrix
        return base, slope

    def equality_rows(self) -> tuple[list[str], Array, Array]:
        """Names of the equalities, and their coefficients: base and slope in rho."""
        names, n = list(self.equalities), len(self.unknowns)
        base, slope = (self.space.zeros(len(names), n) for _ in range(2))
        for k, name in enumerate(names):
            for unknown, (fixed, moving) in self.equalities[name].items():
                base[k, self._place[unknown]] = fixed
                slope[k, self._place[unknown]] = moving
        return names, base, slope


def _close(left: Array, right: Array) -> bool:
    return all(
        abs(float(a) - float(b)) < 1e-12 for a, b in zip(left, right, strict=True)
    )


def _contract(tensor: Array, row: Array) -> Array:
    """Form of |row @ X|^2 from the forms of X_a . X_b."""
    out = np.tensordot(row, np.tensordot(row, tensor, axes=(0, 1)), axes=(0, 0))
    return (out + out.T) / 2
