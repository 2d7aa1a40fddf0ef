"""Points at which clients know their gradients, and what is worked out of them once.

All ansaetze of one structure speak of the same points: the star, the points of memories
and those that this round asks about.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from flverify._core.exact import Array, Scalar
from flverify.certify.coordinates import ClientPoint, Coordinates
from flverify.certify.interpolation import Point, interpolation, product

Made = TypeVar("Made")


class KnownPoints:
    """Points of a client, split by class, with their products and inequalities.

    Parameters
    ----------
    space : Coordinates
        Matrices act on its z, where nobody deviates, or on its own coordinates.
    mu, smooth : number
        Of every f_i.
    """

    def __init__(self, space: Coordinates, mu: Scalar, smooth: Scalar) -> None:
        self.space = space
        self.mu, self.smooth = space.number(mu), space.number(smooth)
        self._made: dict[Any, Any] = {}

    @cached_property
    def remembered(self) -> list[ClientPoint]:
        """The star and the ghosts of a client."""
        space, zero = self.space, self.space.nothing()
        ghosts = range(len(space.structure.ghosts))
        return [
            ClientPoint("star", zero, zero),
            *(ClientPoint(f"ghost:{j}", *space.ghost(j)) for j in ghosts),
        ]

    @cached_property
    def points(self) -> list[ClientPoint]:
        """Every point at which a client knows its gradient."""
        space, calls = self.space, range(len(self.space.reading.points))
        asked = [
            ClientPoint(f"call:{k}", space.point(k), space.gradient(k)) for k in calls
        ]
        return [*self.remembered, *asked]

    def split(self, b: ClientPoint, r: int) -> tuple[Point, Point]:
        """Return a point of class r on z, and on the deviations."""
        return self._once(("split", b.name, r), lambda: self._split(b, r))

    def products(self, b: ClientPoint, r: int) -> tuple[Array, Array, Array]:
        """Return |x|^2 on z, then <g, x> and |x|^2 on the deviations."""
        return self._once(("products", b.name, r), lambda: self._products(b, r))

    def between(self, a: ClientPoint, b: ClientPoint, r: int) -> tuple[Array, Array]:
        """Return the quadratic part of f_a - f_b - (the least it must be), twice."""
        return self._once((a.name, b.name, r), lambda: self._between(a, b, r))

    def _once(self, key: Any, make: Callable[[], Made]) -> Made:
        if key not in self._made:
            self._made[key] = make()
        made: Made = self._made[key]
        return made

    def _split(self, b: ClientPoint, r: int) -> tuple[Point, Point]:
        return b.parts(self.space.embedding[r])

    def _products(self, b: ClientPoint, r: int) -> tuple[Array, Array, Array]:
        mean, own = self.split(b, r)
        return product(mean.x, mean.x), product(own.g, own.x), product(own.x, own.x)

    def _between(self, a: ClientPoint, b: ClientPoint, r: int) -> tuple[Array, Array]:
        (mean_a, own_a), (mean_b, own_b) = self.split(a, r), self.split(b, r)
        at_mean = interpolation(mean_a, mean_b, self.mu, self.smooth)
        return at_mean, interpolation(own_a, own_b, self.mu, self.smooth)
