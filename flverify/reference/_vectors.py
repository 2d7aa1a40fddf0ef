"""Tiny vector helpers of the reference loops, on plain lists of any number type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

Number: TypeAlias = Any
Vector: TypeAlias = list[Any]
Gradient: TypeAlias = Callable[[int, Vector], Sequence[Any]]
Cohorts: TypeAlias = Iterable[Collection[int]]
Cohort: TypeAlias = Collection[int]
State: TypeAlias = dict[str, Any]


def zeros(dimension: int) -> Vector:
    """Return the zero vector, as exact integers."""
    return [0] * dimension


def plus(a: Sequence[Number], b: Sequence[Number]) -> Vector:
    """Return a + b."""
    return [u + v for u, v in zip(a, b, strict=True)]


def minus(a: Sequence[Number], b: Sequence[Number]) -> Vector:
    """Return a - b."""
    return [u - v for u, v in zip(a, b, strict=True)]


def times(scale: Number, a: Sequence[Number]) -> Vector:
    """Return scale * a."""
    return [scale * v for v in a]


def quotient(a: Number, b: Number) -> Number:
    """Return a / b without turning a pair of integers into a float."""
    if isinstance(a, int) and isinstance(b, int):
        return Fraction(a, b)
    return a / b


def divided(a: Sequence[Number], scale: Number) -> Vector:
    """Return a / scale, exact for exact entries."""
    return [quotient(v, scale) for v in a]


def total(vectors: Iterable[Sequence[Number]], dimension: int) -> Vector:
    """Return the sum of the vectors, zero when there are none."""
    result = zeros(dimension)
    for vector in vectors:
        result = plus(result, vector)
    return result


def members(cohort: Collection[int], n_clients: int) -> list[int]:
    """Return the participants in increasing order, each once."""
    chosen = sorted(set(cohort))
    if chosen and not 0 <= chosen[0] <= chosen[-1] < n_clients:
        raise ValueError(f"cohort {chosen} is not within 0..{n_clients - 1}")
    return chosen


def trajectory(
    state: State, play: Callable[[State, Cohort], State], cohorts: Cohorts
) -> list[Vector]:
    """Return the server models along the cohorts, the one of the state first."""
    models = [state["model"]]
    for cohort in cohorts:
        state = play(state, cohort)
        models.append(state["model"])
    return [list(model) for model in models]


def require(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise ValueError unless value is one of the allowed names."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {allowed}, not {value!r}")
