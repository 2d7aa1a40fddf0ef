"""The numbers by which a user's own round multiplies vectors.

Settings are listed and looked at; numbers written into a round, or kept in a class, are
not. A float among them rounds what else is rational, and a list of weights may be of
other clients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Rational
from typing import Any

import numpy as np

from flverify._core.errors import DomainError, ShapeError, TerminatedError
from flverify._core.exact import is_symbolic
from flverify._core.scaling import PerClient
from flverify.algorithms._algorithm import Algorithm
from flverify.engines.own_rounds import TOO_LARGE, is_own


def computes_in_floats(algorithm: Algorithm, n_clients: int) -> bool:
    """Whether an own init or round multiplies vectors by floats, or by roots.

    Examples
    --------
    >>> from flverify.algorithms import Focus
    >>> computes_in_floats(Focus(0.1), 2)  # of the package: its settings say so
    False
    """
    values = _values(algorithm, n_clients)
    return any(not isinstance(value, Rational) for value in values)


def computes_in_symbols(algorithm: Algorithm, n_clients: int) -> bool:
    """Whether an own init or round multiplies vectors by what has symbols."""
    values = _values(algorithm, n_clients)
    return any(is_symbolic(value) and value.free_symbols for value in values)


def require_factors(algorithm: Algorithm, n_clients: int) -> None:
    """Check that an own round multiplies by real numbers, one where it weighs clients.

    Raises
    ------
    ShapeError
        If it has more or fewer weights than clients.
    DomainError
        If a number is complex.
    """
    for factor in _factors(algorithm, n_clients):
        if isinstance(factor, PerClient):
            require_length(factor, n_clients)
    for value in _values(algorithm, n_clients):
        if isinstance(value, complex | np.complexfloating):
            raise DomainError(
                "vectors must be multiplied by real numbers; got "
                f"{value} in {type(algorithm).__name__}; take its real part."
            )


def _values(algorithm: Algorithm, n_clients: int) -> Iterator[Any]:
    for factor in _factors(algorithm, n_clients):
        yield from factor.values if isinstance(factor, PerClient) else (factor,)


def require_length(factor: PerClient, n_clients: int) -> None:
    """Check that a factor has one number per client.

    Raises
    ------
    ShapeError
        If it has more or fewer.
    """
    if len(factor.values) != n_clients:
        raise ShapeError(
            "per_client must be given one number per client; got "
            f"{len(factor.values)} for {n_clients} clients; give as many as clients."
        )


def _factors(algorithm: Algorithm, n_clients: int) -> list[Any]:
    """List what vectors are multiplied by; the rest of a failing round is left out."""
    seen: list[Any] = []
    if not is_own(algorithm):
        return seen
    vector = _Vector(seen)
    cohort, oracle = _Verbs(vector, n_clients), _Verbs(vector, n_clients)
    try:
        algorithm.init(vector, cohort, oracle)
        slots = dict.fromkeys(algorithm.slots(), vector)
        algorithm.round(algorithm.State(**slots), cohort, oracle)
    except (TerminatedError, *TOO_LARGE):
        raise
    except Exception:  # noqa: BLE001  # told with its line by whoever reads the round
        return seen
    return seen


class _Vector:
    """A vector, stack or numbers of which nothing is known."""

    typed = True
    words = "a vector that was kept from another call, outside of the state"
    __array_ufunc__ = None

    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen

    def _with(self, _: Any) -> _Vector:
        return self

    def _times(self, factor: Any) -> _Vector:
        if not isinstance(factor, _Vector):  # numbers multiply stacks
            self.seen.append(factor)
        return self

    __add__ = __sub__ = __truediv__ = _with
    __mul__ = __rmul__ = _times


class _Verbs:
    """A cohort, or an oracle, every verb of which gives a vector."""

    def __init__(self, vector: _Vector, n_clients: int) -> None:
        self.n_clients, self._vector = n_clients, vector

    def __getattr__(self, verb: str) -> Callable[..., _Vector]:
        return lambda *_, **__: self._vector
