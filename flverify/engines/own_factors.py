"""The numbers by which a user's own round multiplies vectors.

Settings are listed and looked at; numbers written into a round, or kept in a class, are
not. A float among them rounds what else is rational, and a list of weights may be of
other clients.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Rational
from typing import Any

import numpy as np

from flverify._core.errors import DomainError, ShapeError
from flverify._core.exact import is_symbolic
from flverify._core.places import is_own
from flverify._core.scaling import PerClient
from flverify._core.shown import shown
from flverify.algorithms._algorithm import Algorithm
from flverify.engines.own_calls import called, require_pure
from flverify.engines.own_rounds import require_number


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


def require_round(algorithm: Algorithm, n_clients: int) -> None:
    """Check that an own round is pure and multiplies by numbers, one where it weighs.

    Raises
    ------
    InputError
        If its step size is no number, or two calls of init or round differ.
    ShapeError
        If it has more or fewer weights than clients.
    DomainError
        If a number is complex, infinite, a list or text.
    """
    require_number(algorithm)
    require_pure(algorithm, n_clients)
    for factor in _factors(algorithm, n_clients):
        if isinstance(factor, PerClient):
            require_length(factor, n_clients)
    for value in _values(algorithm, n_clients):
        if hasattr(value, "__len__"):
            raise DomainError(
                f"vectors must be multiplied by numbers; got {shown(value)} in "
                f"{type(algorithm).__name__}; write a Fraction, or per_client of a "
                "list."
            )
        if isinstance(value, complex | float | np.inexact) and not _is_real(value):
            raise DomainError(
                f"vectors must be multiplied by real numbers; got {value} in "
                f"{type(algorithm).__name__}; mend it."
            )


def _is_real(value: Any) -> bool:
    return bool(np.isreal(value) and np.isfinite(value))


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
    """List what vectors are multiplied by."""
    if not is_own(algorithm):
        return []
    calls = (called(algorithm, method, n_clients) for method in ("init", "round"))
    return [factor for call in calls for factor in call.factors]
