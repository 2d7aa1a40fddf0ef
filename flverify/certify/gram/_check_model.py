"""A model of the assumptions of a certificate, checked: they can hold together.

It lists coordinates of vectors, with a positive weight for each, and values:
<u, v> = sum weight_k u_k v_k. Functions of the classes with these gradients and values
exist if and only if every two points of a function satisfy interpolation.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

from flverify.certify.gram._check_reader import (
    DamagedError,
    Reader,
    Terms,
    Vector,
    number,
    place,
    rows,
    table,
)

Point: TypeAlias = list[Fraction]
Known: TypeAlias = tuple[Point, Point, Fraction]


def model_fault(reader: Reader) -> str:
    """Say why the assumptions are not seen to hold together; empty if they are.

    Without a model all vectors and values are zero: the functions mu |.|^2/2 do.
    """
    listed = reader.data.get("model")
    model = None if listed is None else _Model(reader, table(listed, "model"))
    if model is not None and (wrong := model.fault()):
        return wrong
    for gap, equal in reader.assumptions():
        terms = reader.terms(gap)
        value = terms["", ""] if model is None else model.value(terms)
        if value < 0 or (equal and value):
            return "its model does not show that the assumptions can hold together"
    return ""


class _Model:
    def __init__(self, reader: Reader, listed: dict[str, Any]) -> None:
        self.reader = reader
        self.weights = _numbers(listed["weights"])
        if any(weight <= 0 for weight in self.weights):
            raise DamagedError("the weights of a model must be positive")
        vectors = table(listed["vectors"], "the vectors of a model")
        values = table(listed["values"], "the values of a model")
        self.vectors = {label: _numbers(entry) for label, entry in vectors.items()}
        self.values = {label: number(entry) for label, entry in values.items()}
        if any(len(v) != len(self.weights) for v in self.vectors.values()):
            raise DamagedError("a model must have one weight per coordinate")

    def fault(self) -> str:
        """Say why these are not vectors and functions of the classes."""
        if any(any(self.point(zero)) for zero in self.reader.zero()):
            return "its model has a zero vector that is not zero"
        for f, places in self._places().items():
            known = [self._known(f, entry) for entry in places.values()]
            if not all(self._possible(f, x, y) for x in known for y in known):
                return f"its model has values that {f} cannot take"
        return ""

    def _places(self) -> dict[str, dict[Any, Vector]]:
        """Every function that the model speaks of, with its points."""
        vectors, values = self.reader.data["vectors"], self.reader.data["values"]
        told = [(vectors[label], "gradient") for label in self.vectors]
        told += [(values[label], "value") for label in self.values]
        found: dict[str, dict[Any, Vector]] = {}
        for entry, kind in told:
            if kind in entry:
                point = self.reader.vector(entry["point"])
                key = place(entry[kind], point)
                found.setdefault(entry[kind], {})[key] = point
        return found

    def _known(self, f: str, point: Vector) -> Known:
        """Point, gradient and value."""
        key = place(f, point)
        slope, level = self.reader.slopes[key], self.reader.levels[key]
        return self.point(point), self.vectors[slope], self.values[level]

    def _possible(self, f: str, x: Known, y: Known) -> bool:
        """Whether h = f - mu |.|^2/2 can have the values and gradients at x and y.

        With M = L - mu: h(x) - h(y) - <h'(y), x - y> >= |h'(x) - h'(y)|^2/(2 M). If h
        need not be smooth, it is still differentiable: its tangent at y touches it at x
        only if the gradients are the same.
        """
        (p, g, level_p), (q, k, level_q) = x, y
        mu, L = self.reader.classes[f]
        step = [a - b for a, b in zip(p, q, strict=True)]
        turn = [a - b - mu * s for a, b, s in zip(g, k, step, strict=True)]
        rise = level_p - level_q - self.inner(k, step) - mu / 2 * self.inner(step, step)
        if L is None:
            return rise > 0 or (rise == 0 and not any(turn))
        return rise >= self.inner(turn, turn) / (2 * (L - mu))

    def point(self, v: Vector) -> Point:
        """Coordinates of a combination of symbols."""
        out = [Fraction(0)] * len(self.weights)
        for label, factor in v.items():
            out = [
                a + factor * b for a, b in zip(out, self.vectors[label], strict=True)
            ]
        return out

    def inner(self, u: Point, v: Point) -> Fraction:
        """Inner product."""
        parts = (w * a * b for w, a, b in zip(self.weights, u, v, strict=True))
        return sum(parts, start=Fraction(0))

    def value(self, terms: Terms) -> Fraction:
        """Value of an expression."""
        out = Fraction(0)
        for (a, b), factor in terms.items():
            if b:
                out += factor * self.inner(self.vectors[a], self.vectors[b])
            else:
                out += factor * (self.values[a] if a else 1)
        return out


def _numbers(entry: Any) -> Point:
    return [number(value) for value in rows(entry, "the numbers of a model")]
