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


class Population(int):
    """The number N of clients, when one client of each kind stands for its equals.

    Client k stands for ``counts[k]`` clients with equal slots, equal gradients and the
    same part in the cohort; a count may be a symbol.  A loop plays client k once.
    """

    counts: tuple[Number, ...]

    def __new__(cls, n_clients: int, counts: Iterable[Number]) -> Population:
        self = super().__new__(cls, n_clients)
        self.counts = tuple(counts)
        return self


class Clients(list[int]):
    """Clients in increasing order; loops add up over them and count them here alone.

    What stands for several has no length, so that nothing counts it as one.
    """

    def __init__(self, chosen: Iterable[int], n_clients: int) -> None:
        super().__init__(chosen)
        self.counts: list[Number] | None = None
        if isinstance(n_clients, Population):
            self.counts = [n_clients.counts[i] for i in self]

    def __bool__(self) -> bool:
        return any(True for _ in self)

    def __len__(self) -> int:
        if self.counts is not None:
            raise TypeError("clients that stand for others have a size, no length")
        return super().__len__()

    @property
    def size(self) -> Number:
        """How many clients these are."""
        return len(self) if self.counts is None else sum(self.counts)

    def total(self, vectors: Iterable[Sequence[Number]], dimension: int) -> Vector:
        """Return the sum of one vector per client."""
        if self.counts is None:
            return total(vectors, dimension)
        pairs = zip(self.counts, vectors, strict=True)
        return total((times(count, vector) for count, vector in pairs), dimension)


def everyone(n_clients: int) -> Clients:
    """Return all clients."""
    return Clients(_places(n_clients), n_clients)


def _places(n_clients: int) -> range:
    if isinstance(n_clients, Population):
        return range(len(n_clients.counts))
    return range(n_clients)


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


def members(cohort: Collection[int], n_clients: int) -> Clients:
    """Return the participants in increasing order, each once."""
    chosen = sorted(set(cohort))
    places = _places(n_clients)
    if chosen and not (chosen[0] in places and chosen[-1] in places):
        raise ValueError(f"cohort {chosen} is not within 0..{len(places) - 1}")
    return Clients(chosen, n_clients)


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
