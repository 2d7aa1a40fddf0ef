"""What every function of a class satisfies, written down once more for the checker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from flverify.certify.gram._check_reader import (
    DamagedError,
    Reader,
    Terms,
    Vector,
    add,
    number,
    place,
    product,
    rows,
    total,
)


class Gaps:
    """Expands the hypotheses of one certificate, right side minus left side."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def of(self, entry: Mapping[str, Any]) -> Terms:
        """Expand a hypothesis."""
        if entry["kind"] == "given":
            return self.reader.terms(entry["gap"])
        if entry["kind"] == "jensen":
            return self._jensen(entry)
        points = rows(entry["points"], "points")
        f, (x, y) = entry["function"], map(self.reader.vector, points)
        known: dict[str, Callable[[str, Vector, Vector], Terms]] = {
            "interpolation": self._interpolation,
            "descent": self._descent,
            "tangent": self._tangent,
            "lipschitz": self._lipschitz,
        }
        return known[entry["kind"]](f, x, y)

    def _jensen(self, entry: Mapping[str, Any]) -> Terms:
        weights = [number(text) for text in rows(entry["weights"], "weights")]
        if sum(weights) != 1 or min(weights) < 0:
            raise DamagedError("weights are not nonnegative of sum 1")
        vectors = [self.reader.vector(v) for v in rows(entry["vectors"], "vectors")]
        mean: Vector = {}
        out: Terms = {}
        for weight, v in zip(weights, vectors, strict=True):
            mean = total(mean, v, weight)
            add(out, product(v, v), weight)
        add(out, product(mean, mean), Fraction(-1))
        return out

    def _slope(self, f: str, point: Vector) -> Vector:
        return {self.reader.slopes[place(f, point)]: Fraction(1)}

    def _rise(self, f: str, x: Vector, y: Vector) -> Terms:
        """f(y) - f(x) - <grad f(x), y - x>."""
        levels = self.reader.levels
        out = product(self._slope(f, x), total(x, y, Fraction(-1)))
        add(out, {(levels[place(f, y)], ""): Fraction(1)})
        add(out, {(levels[place(f, x)], ""): Fraction(-1)})
        return out

    def _interpolation(self, f: str, x: Vector, y: Vector) -> Terms:
        mu, L = self.reader.classes[f]
        step = total(x, y, Fraction(-1))
        out = self._rise(f, y, x)
        if L is None:
            add(out, product(step, step), -mu / 2)
            return out
        slope = total(self._slope(f, x), self._slope(f, y), Fraction(-1))
        share = -1 / (2 * (L - mu))
        add(out, product(slope, slope), share)
        add(out, product(step, step), share * mu * L)
        add(out, product(slope, step), -2 * share * mu)
        return out

    def _descent(self, f: str, x: Vector, y: Vector) -> Terms:
        step = total(y, x, Fraction(-1))
        out: Terms = {}
        add(out, self._rise(f, x, y), Fraction(-1))
        add(out, product(step, step), self._smoothness(f) / 2)
        return out

    def _tangent(self, f: str, x: Vector, y: Vector) -> Terms:
        step, out = total(y, x, Fraction(-1)), self._rise(f, x, y)
        add(out, product(step, step), -self.reader.classes[f][0] / 2)
        return out

    def _lipschitz(self, f: str, x: Vector, y: Vector) -> Terms:
        L = self._smoothness(f)  # and mu >= -L, see the reader
        step = total(x, y, Fraction(-1))
        slope = total(self._slope(f, x), self._slope(f, y), Fraction(-1))
        out: Terms = {}
        add(out, product(slope, slope), Fraction(-1))
        add(out, product(step, step), L * L)
        return out

    def _smoothness(self, f: str) -> Fraction:
        L = self.reader.classes[f][1]
        if L is None:
            raise DamagedError(f"{f} need not be smooth")
        return L
