"""Sums of unknown vectors, on which loops are played, and what is judged of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

from flverify.certify.check._json import Rejected

WHOLE = {"version", "calls", "n_clients", "cohort_size", "clients", "local_steps"}
ROWS = {
    "multipliers",
    "upper",
    "lower",
    "minimum",
}  # of classes, values, points and a weight


class TooManyError(Rejected):
    """There is too much to be written out; nothing was judged."""


def demand(holds: bool, reason: str, error: type[Rejected] = Rejected) -> None:
    if not holds:
        raise error(reason)


def exact(value: Any, key: str = "") -> Any:
    """Return JSON with its numbers as fractions and its objects as namespaces."""
    if isinstance(value, dict):
        return SimpleNamespace(**{k: exact(entry, k) for k, entry in value.items()})
    if type(value) is list:
        return [exact(entry, key) for entry in value]
    if key in WHOLE or (key in ROWS and type(value) is int):
        demand(type(value) is int and value >= 0, f"{key} must be a whole number")
        return value
    text = type(value) is str and value != ""
    demand(value is None or text, f"{key or 'it'} must not be {value!r:.60}")
    number = text and re.fullmatch("-?[0-9]{1,250}(/[0-9]{1,250})?", value)
    return Fraction(value) if number else value


class Vector(dict[Any, Fraction]):
    """A sum of unknown vectors, or of their products and values of f_i; no zeros."""

    def __add__(self, other: Any) -> Vector:
        return total([self, other or NOTHING])  # loops add the number 0

    def __sub__(self, other: Any) -> Vector:
        return total([self, (other or NOTHING) * -1])

    def __mul__(self, factor: Any) -> Vector:
        demand(isinstance(factor, int | Fraction), "only numbers multiply vectors")
        return Vector({key: x * factor for key, x in self.items() if factor})

    def __truediv__(self, divisor: Any) -> Vector:
        return self.__mul__(Fraction(1) / divisor)

    def __matmul__(self, other: Vector) -> Vector:  # the inner product
        return Vector({(u, v): self[u] * other[v] for u, v in product(self, other)})

    __radd__, __rmul__ = __add__, __mul__


def total(vectors: Iterable[Vector]) -> Vector:
    sums: dict[Any, Fraction] = {}
    for key, x in (term for vector in vectors for term in vector.items()):
        sums[key] = sums[key] + x if key in sums else x
    return Vector({key: x for key, x in sums.items() if x})


def quadratic(rows: list[list[Fraction]], v: list[Vector]) -> Vector:
    """Return sum_ab rows_ab <v_a, v_b>."""
    demand(rows == [*map(list, zip(*rows, strict=True))], "V must be symmetric")
    images = [
        total(x * weight for x, weight in zip(v, row, strict=True)) for row in rows
    ]
    return total(a @ b for a, b in zip(v, images, strict=True))


NOTHING = Vector()


def unknown(*label: Any) -> Vector:
    return Vector({label: Fraction(1)})


def judge(name: str, form: Vector) -> None:
    """Reject unless no f_i is left and the quadratic form is positive semidefinite."""
    demand(all(len(key) == 2 for key in form), f"{name}: every f_i must cancel")
    entries, labels = defaultdict(Fraction, form), {v: 0 for pair in form for v in pair}
    rows = [[entries[u, v] + entries[v, u] for v in labels] for u in labels]
    while rows:  # a positive pivot or a row of zeros, and on to the Schur complement
        (pivot, *top), *rest = rows
        fits = pivot > 0 or not (pivot or any(top))
        demand(fits, f"{name}: the matrix must be positive semidefinite")
        steps = [(row, first / (pivot or 1)) for first, *row in rest]
        rows = [[x - c * y for x, y in zip(row, top, strict=True)] for row, c in steps]
