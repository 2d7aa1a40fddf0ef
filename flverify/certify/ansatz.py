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

import numpy as np

from flverify._core.exact import Array, Scalar
from flverify.certify.coordinates import ClientPoint, Coordinates
from flverify.certify.expect import Round, expected_round
from flverify.certify.inequality import Inequality, Unknown
from flverify.certify.interpolation import pairs, product
from flverify.certify.known_points import KnownPoints

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


class Ansatz(Inequality):
    """The inequality of a certificate, in the arithmetic of its coordinates.

    Unknowns are ("T", a, b), ("S", r, a, b), ("ghost", r, j), ("delta", w), multipliers
    (stage, r, above, below), weights ("upper", w, r, b), ("decrease lower", w, r, b)
    and ("positivity lower", w, r, b), and ("c",) around a neighbourhood.
    """

    def __init__(
        self,
        space: Coordinates,
        level: Level,
        mu: Scalar,
        smooth: Scalar,
        expected: Round | None = None,
        known: KnownPoints | None = None,
    ) -> None:
        number, exact = space.number, space.zeros(0).dtype == object
        super().__init__(_block_sizes(space), object if exact else np.float64)
        self.space, self.level = space, level
        self.mu, self.smooth = number(mu), number(smooth)
        self.round = expected_round(space) if expected is None else expected
        self.known = KnownPoints(space, mu, smooth) if known is None else known
        self._quadratic_part()
        if level.ghost_values:
            self._ghost_values()
        for w, point in enumerate(level.values):
            self._server_value(w, point)
        self._multipliers("decrease", self.known.points)
        if level.values or level.ghost_values:
            self._multipliers("positivity", self.known.remembered)
        if space.structure.neighbourhood:
            self._star_size()

    def _share(self, r: int) -> Scalar:
        return self.space.shares[r]

    # -- V's quadratic part ----------------------------------------------------

    def _quadratic_part(self) -> None:
        states = len(self.space.state)
        for a in range(states):
            for b in range(a, states):
                unknown = self.new(("T", a, b), signed=False)
                self._state_entry(unknown, a, b)
        for r in self.space.classes:
            if self.space.sizes[r] > 1:
                for a in range(len(self.space.client)):
                    for b in range(a, len(self.space.client)):
                        unknown = self.new(("S", r, a, b), signed=False)
                        self._spread_entry(unknown, r, a, b)

    def _unit(self, size: int, a: int, b: int) -> Array:
        out = self.space.zeros(size, size)
        out[a, b] = out[b, a] = self.space.number(1)
        return out

    def _state_entry(self, unknown: Unknown, a: int, b: int) -> None:
        here = self._unit(len(self.space.z), a, b)
        mean, parts = self.round.state.at(a, b)
        self.put("positivity/mean", unknown, here)
        self.put("decrease/mean", unknown, -mean, here)
        for r, part in enumerate(parts):
            self.put(f"decrease/class {r}", unknown, -part)

    def _spread_entry(self, unknown: Unknown, r: int, a: int, b: int) -> None:
        here = self._unit(len(self.space.own), a, b)
        mean, parts = self.round.spread[r].at(a, b)
        self.put(f"positivity/class {r}", unknown, here)
        self.put("decrease/mean", unknown, -mean)
        for k, part in enumerate(parts):
            self.put(f"decrease/class {k}", unknown, -part, here if k == r else None)

    # -- values ---------------------------------------------------------------

    def _ghost_values(self) -> None:
        for r in self.space.classes:
            renewed = self.round.renewed[r]
            for j, call in enumerate(self.space.structure.ghosts):
                always = self.space.structure.always_new[j]
                p = Fraction(1) if always else renewed
                v = self.new(("ghost", r, j), signed=False)
                self.equal(f"decrease/class {r}/ghost:{j}", v, p - 1, 1)
                self.equal(f"decrease/class {r}/call:{call}", v, -p)
                self.equal(f"positivity/class {r}/ghost:{j}", v, 1)

    def _server_value(self, w: int, point: Mapping[str, Fraction]) -> None:
        delta = self.new(("delta", w), signed=True)
        row = self.value_row(point)
        self._old_value(w, delta, row)
        self._new_value(w, delta, point)
        for r in self.space.classes:
            total = f"positivity/lower {w}/class {r}"
            self.equal(total, delta, -1)
            for b in self.known.remembered:
                sigma = self.new(("positivity lower", w, r, b.name), signed=True)
                self._below("positivity", sigma, row, b, r)
                self.equal(total, sigma, 1)

    def value_row(self, point: Mapping[str, Fraction]) -> Array:
        """Row in z of a server point w."""
        space = self.space
        row = space.zeros(len(space.z))
        for name, value in point.items():
            server = name in space.reading.server_slots
            part = (
                space.symbol(("server", name))
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
        """Find the call whose point is w at every client, if there is one."""
        space = self.space
        for k in range(len(space.reading.points)):
            point = space.point(k)
            means = [space.settled(point, r).z for r in space.classes]
            if _close(point.own, 0 * point.own) and all(_close(m, row) for m in means):
                return k
        return None

    def _old_value(self, w: int, delta: Unknown, row: Array) -> None:
        call = self.call_at(row)
        for r in self.space.classes:
            if call is not None:
                name = f"decrease/class {r}/call:{call}"
                self.equal(name, delta, 0, 1)
                continue
            total = f"decrease/lower {w}/class {r}"
            self.equal(total, delta, 0, -1)
            for b in self.known.points:
                sigma = self.new(("decrease lower", w, r, b.name), signed=True)
                self._below("decrease", sigma, row, b, r)
                self.equal(total, sigma, 1)

    def _below(
        self, stage: str, sigma: Unknown, row: Array, b: ClientPoint, r: int
    ) -> None:
        """Add f_b + <g_b, w - b> + (mu/2)|w - b|^2, as (1/N) sum over class r."""
        mean, _ = self.known.split(b, r)
        _, slope, own = self.known.products(b, r)
        share = self._share(r)
        gap = row - mean.x
        at_mean = product(mean.g, gap) + (self.mu / 2) * product(gap, gap)
        at_own = -slope + (self.mu / 2) * own
        self.put(f"{stage}/mean", sigma, share * at_mean)
        self.put(f"{stage}/class {r}", sigma, at_own)
        if b.name != "star":
            self.equal(f"{stage}/class {r}/{b.name}", sigma, 1)

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
            self.equal(total, delta, -1)
            share = self._share(r)
            for b in self.known.points:
                omega = self.new(("upper", w, r, b.name), signed=True)
                mean, _ = self.known.split(b, r)
                here, slope, own = self.known.products(b, r)
                gap = square - 2 * product(first, mean.x) + here
                linear = product(mean.g, first - mean.x)
                self.put("decrease/mean", omega, -share * (linear + half * gap))
                self.put(f"decrease/class {r}", omega, slope - half * own)
                for k, spread in enumerate(spreads):
                    self.put(f"decrease/class {k}", omega, -share * half * spread)
                self.equal(total, omega, 1)
                if b.name != "star":
                    name = f"decrease/class {r}/{b.name}"
                    self.equal(name, omega, -1)

    # -- interpolation ----------------------------------------------------------

    def _multipliers(self, stage: str, known: list[ClientPoint]) -> None:
        for r in self.space.classes:
            for a, b in pairs(known, few=len(known) > MANY_POINTS):
                unknown = self.new((stage, r, a.name, b.name), signed=True)
                at_mean, at_own = self.known.between(a, b, r)
                self.put(f"{stage}/mean", unknown, -self._share(r) * at_mean)
                self.put(f"{stage}/class {r}", unknown, -at_own)
                for name, sign in ((a.name, -1), (b.name, 1)):
                    if name != "star":
                        place = f"{stage}/class {r}/{name}"
                        self.equal(place, unknown, sign)

    def _star_size(self) -> None:
        """Add the unknown c, the factor of mean |g*|^2."""
        space = self.space
        c = self.new(("c",), signed=True)
        mean = space.zeros(len(space.z), len(space.z))
        star = space.own.index("star")
        for r in space.classes:
            row = space.embedding[r][star]
            mean = mean + self._share(r) * product(row, row)
            own = self._unit(len(space.own), star, star)
            self.put(f"decrease/class {r}", c, own)
        self.put("decrease/mean", c, mean)

    # -- results ----------------------------------------------------------------

    def model_square(self, size: int) -> Array:
        """|x - x*|^2 as a form in z (or its leading coordinates)."""
        row = self.space.symbol(("server", "model")).z[:size]
        return product(row, row)


def _close(left: Array, right: Array) -> bool:
    return all(
        abs(float(a) - float(b)) < 1e-12 for a, b in zip(left, right, strict=True)
    )


def _contract(tensor: Array, row: Array) -> Array:
    """Form of |row @ X|^2 from the forms of X_a . X_b."""
    out = np.tensordot(row, np.tensordot(row, tensor, axes=(0, 1)), axes=(0, 0))
    return (out + out.T) / 2


def _block_sizes(space: Coordinates) -> dict[str, int]:
    sizes = {"decrease/mean": len(space.z), "positivity/mean": len(space.state)}
    for r in space.classes:
        if space.sizes[r] > 1:
            sizes[f"decrease/class {r}"] = len(space.own)
            if space.client:
                sizes[f"positivity/class {r}"] = len(space.client)
    return sizes
