"""Words that the plain loops use, for one client at a time."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TypeAlias

Cohort: TypeAlias = Any
Gradient: TypeAlias = Any
Number: TypeAlias = Any
State: TypeAlias = Any
Vector: TypeAlias = list[Any]


class Clients(list[int]):
    """Clients in increasing order."""

    @property
    def size(self) -> int:
        return len(self)

    def total(self, vectors: Iterable[Vector], d: int) -> Vector:
        found = zeros(d)
        for vector in vectors:
            found = plus(found, vector)
        return found


def everyone(n: int) -> Clients:
    return Clients(range(n))


def members(cohort: Iterable[int], _n: int) -> Clients:
    return Clients(sorted(set(cohort)))


def zeros(d: int) -> Vector:
    return [0] * d


def plus(a: Vector, b: Vector) -> Vector:
    return [u + v for u, v in zip(a, b, strict=True)]


def minus(a: Vector, b: Vector) -> Vector:
    return [u - v for u, v in zip(a, b, strict=True)]


def times(scale: Any, a: Vector) -> Vector:
    return [scale * v for v in a]


def quotient(a: Any, b: Any) -> Any:
    return a * (Fraction(1) / b)


def divided(a: Vector, scale: Any) -> Vector:
    return [quotient(v, scale) for v in a]


def require(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise SystemExit(f"not proved: {name} must be one of {allowed}")
