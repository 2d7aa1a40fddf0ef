"""One inequality for V, its decrease and its start, with all unknowns together.

For a rate, V is found first and its start is bounded afterwards. The bound of an
average is V_0 over the number of rounds, so that both are sought at once. Everything is
kept in rationals: with mu <= 0 some forms vanish along directions that are known, which
floats would not hit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from flverify._core.errors import RefusedError
from flverify._core.exact import Array
from flverify._core.rationals import from_flint, rational, to_fraction
from flverify.certify.ansatz import Ansatz, Level
from flverify.certify.expect import Round
from flverify.certify.inequality import Unknown
from flverify.certify.interpolation import product
from flverify.certify.known_points import KnownPoints
from flverify.certify.start import Start

ZERO, ONE = Fraction(0), Fraction(1)
IN_V = ("T", "S", "ghost", "delta")
BEYOND_CONVEX = (("C1",), ("C2",), ("c",))  # not for V that knows no x*


class Joint:
    """Blocks constant + sum_u u coefficients_u, rows sum_u a_u u = b, at L = 1.

    Unknowns are those of the ansatz and of the start, ("C0",), the factor of
    f(x_0) - f(x*), ("minimum", w), those of f(w) - f(x*) >= 0 in V, and
    ("start minimum",), that of f(x_0) - f(x*) - |grad f(x_0)|^2/2 >= 0. A ("room", u)
    is by how much u stays below what it may be at most. For a rate of f(x) - f(x*) from
    |grad f(x)|^2 >= 2 beta (f(x) - f(x*)) there is ("weight",), the factor of that, and
    V is at least f(x) - f(x*).

    Parameters
    ----------
    known : KnownPoints
        In flint's rationals, at L = 1.
    level : Level
    expected : Round
        What a round does to these coordinates.
    at_most : mapping from unknown to Fraction, optional
        Upper ends of C0, C1, C2 or c.
    rate : tuple of Fraction, optional
        rho, and beta.

    Raises
    ------
    RefusedError
        If no gradient is taken at the server's model.
    """

    def __init__(
        self,
        known: KnownPoints,
        level: Level,
        expected: Round,
        at_most: Mapping[Unknown, Fraction] | None = None,
        rate: tuple[Fraction, Fraction] | None = None,
    ) -> None:
        self.space, self.level = known.space, level
        self.mu = to_fraction(known.mu)
        self.ansatz = Ansatz(known.space, level, self.mu, 1, expected, known)
        self.nothing = {u: ZERO for u in self.ansatz.unknowns if u[0] in IN_V}
        self.start = Start(self.space, level, self.nothing, self.mu, 1)
        self.at_most = dict(at_most or {})
        self.rho = rate[0] if rate else ONE
        self.beta = rate[1] if rate else None
        self._name_unknowns()
        self._place_blocks()
        self._place_rows()
        self._follow_v()
        self._measure()
        self._bound_below()
        self._value_at_start()
        self._keep_below()
        self.free = set(self.unknowns) - self._needless()

    def _name_unknowns(self) -> None:
        both: tuple[Ansatz, Start] = (self.ansatz, self.start)
        signs: dict[Unknown, bool] = {}
        for one in both:
            signs |= dict(zip(one.unknowns, one.signed, strict=True))
        del signs["one",]
        least = [("minimum", w) for w in range(len(self.level.values))]
        known = {*signs, ("C0",)}
        self.at_most = {u: v for u, v in self.at_most.items() if u in known}
        room = [("room", u) for u in self.at_most]
        more: list[Unknown] = [("C0",), *least, ("start minimum",), *room]
        more += [("weight",)] * (self.beta is not None)
        self.signed = signs | dict.fromkeys(more, True)
        self.unknowns: list[Unknown] = list(self.signed)
        self.place = {u: k for k, u in enumerate(self.unknowns)}

    def _place_blocks(self) -> None:
        self.constants: dict[str, Array] = {}
        self.coefficients: dict[str, Array] = {}
        for one in (self.ansatz, self.start):
            for name, size in one.sizes.items():
                base, slope = one.coefficients(name)
                out = np.full((len(self.unknowns), size, size), ZERO)
                whole = _fractions(base) + self.rho * _fractions(slope)
                for u, matrix in zip(one.unknowns, whole, strict=True):
                    if u in self.place:
                        out[self.place[u]] = matrix
                self.coefficients[name] = out
                self.constants[name] = np.full((size, size), ZERO)

    def _place_rows(self) -> None:
        self.rows: dict[str, dict[Unknown, Fraction]] = {}
        self.right: dict[str, Fraction] = {}
        for one in (self.ansatz, self.start):
            for name, row in one.equalities.items():
                self.rows[name] = {
                    u: fixed + self.rho * moving
                    for u, (fixed, moving) in row.items()
                    if u in self.place
                }

    def _follow_v(self) -> None:
        """Let V_0 move with V: it is linear in V, so one unknown after the other."""
        for u in self.nothing:
            alone = {**self.nothing, u: ONE}
            start = Start(self.space, self.level, alone, self.mu, 1)
            for name, matrix in start.constants.items():
                block = self.coefficients[name]
                block[self.place[u]] = block[self.place[u]] + _fractions(matrix)
            for name, row in start.equalities.items():
                self._add(name, u, row.get(("one",), (ZERO, ZERO))[0])

    def _add(self, name: str, unknown: Unknown, value: Fraction) -> None:
        row = self.rows.setdefault(name, {})
        row[unknown] = row.get(unknown, ZERO) + value

    # -- what is measured --------------------------------------------------------

    @property
    def of(self) -> str:
        """Name what is measured: f(x) - f(x*), without convexity |grad f(x)|^2."""
        return "gap" if self.mu >= 0 else "gradient"

    @cached_property
    def _call(self) -> int:
        """The gradient that is taken at the model."""
        model = self.space.symbol(("server", "model")).z
        call = self.ansatz.call_at(model)
        if call is None:
            raise RefusedError(
                "without strong convexity gradients must be taken at the model; got a "
                "method that takes them elsewhere; certify its rate, for mu above 0."
            )
        return call

    def _measure(self) -> None:
        """Take what is averaged from V - E V+."""
        if self.of == "gap":
            for r in self.space.classes:
                name = f"decrease/class {r}/call:{self._call}"
                self.rows.setdefault(name, {})
                self.right[name] = ONE
            return
        slope = self._mean(self.space.symbol(("gradient", self._call)).own)
        square = _fractions(product(slope, slope))
        if self.beta is None:
            self.constants["decrease/mean"] = self.constants["decrease/mean"] - square
            return
        self.coefficients["decrease/mean"][self.place["weight",]] = -square
        for r in self.space.classes:
            name = f"decrease/class {r}/call:{self._call}"
            self._add(name, ("weight",), 2 * self.beta)

    def _mean(self, own: Array) -> Array:
        """Return the mean over all clients of a row in their own coordinates."""
        space = self.space
        parts = (space.shares[r] * (own @ space.embedding[r]) for r in space.classes)
        return sum(parts, start=space.zeros(len(space.z)))

    def _bound_below(self) -> None:
        """Let V lean on f >= f(x*) at its value terms."""
        for w in range(len(self.level.values)):
            for r in self.space.classes:
                self._add(f"positivity/lower {w}/class {r}", ("minimum", w), ONE)
            if self.beta is not None and self._is_model(w):
                self._add("unit", ("minimum", w), ONE)
                self.right["unit"] = ONE

    def _is_model(self, w: int) -> bool:
        row = self.ansatz.value_row(self.level.values[w])
        return list(row) == list(self.space.symbol(("server", "model")).z)

    def _value_at_start(self) -> None:
        """Let V_0 be bound by f(x_0), whose gradient may be known."""
        number = self.space.number
        unit = [number(int(k == 0)) for k in range(len(self.start.z))]
        here = [
            p
            for p in self.start.points()
            if p.name.startswith("start_call")
            and list(p.x.z) == unit
            and not any(p.x.own)
        ]
        values = [
            w
            for w, point in enumerate(self.level.values)
            if list(self.start.value_row(point)) == unit
        ]
        self.known_start = bool(here)
        for r in self.space.classes:
            if here:
                name = f"start/class {r}/{here[0].name}"
                self._add(name, ("C0",), ONE)
                self._add(name, ("start minimum",), -ONE)
            elif values:
                self._add(f"start/upper {values[0]}/class {r}", ("C0",), ONE)
        if here:
            slope = self._mean_at_start(here[0].g.own)
            block = self.coefficients["start/mean"]
            half = _fractions(product(slope, slope) / 2)
            block[self.place["start minimum",]] += half

    def _mean_at_start(self, own: Array) -> Array:
        space, start = self.space, self.start
        parts = (
            space.shares[r] * (own @ start.embedding(r)) for r in self.space.classes
        )
        return sum(parts, start=space.zeros(len(start.z)))

    def _keep_below(self) -> None:
        for u, top in self.at_most.items():
            self._add(f"room/{u[0]}", u, ONE)
            self._add(f"room/{u[0]}", ("room", u), ONE)
            self.right[f"room/{u[0]}"] = top

    def _needless(self) -> set[Unknown]:
        """Unknowns that are not asked for: C0 for convex f_i, C1 and C2 for others.

        One that must be 0 is none, so that forms can be known to vanish without it.
        """
        gone: set[Unknown] = {("C0",)} if self.mu >= 0 else set(BEYOND_CONVEX)
        gone |= {u for u, top in self.at_most.items() if top == 0}
        if self.mu >= 0 or not self.known_start:
            gone.add(("start minimum",))
        return gone & set(self.unknowns)

    def drop(self, unknowns: Iterable[Unknown]) -> None:
        """Fix unknowns at zero."""
        self.free -= set(unknowns)


def _fractions(values: Array) -> Array:
    """Return flint's rationals, among which may be Fractions, as Fractions."""
    return from_flint(np.vectorize(_flint, otypes=[object])(values))


def _flint(value: Any) -> Any:
    return rational(value) if isinstance(value, Fraction) else value
