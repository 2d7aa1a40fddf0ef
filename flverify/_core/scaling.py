"""Scalars that differ from client to client or from run to run.

A round multiplies typed objects by plain scalars, by `per_client(w)` (one weight
per client) or by `per_run(h)` (one step size per run of a sweep). Both are small
algebras of their own, so that `1 / (local_steps * step_size)` works in a sweep.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from flverify._core.errors import InputError
from flverify._core.exact import Array, Scalar, scalar
from flverify._core.shown import shown


def plain(value: Any) -> Any:
    """Return a number of numpy as one of Python, which no sum or product overflows.

    Examples
    --------
    >>> type(plain(np.int64(3))).__name__, plain("1/2")
    ('int', '1/2')
    """
    if isinstance(value, Fraction):  # its parts may be of numpy
        return Fraction(int(value.numerator), int(value.denominator))
    return value.item() if isinstance(value, np.generic) else value


def _float(value: Scalar) -> Any:
    return float(value) if isinstance(value, Fraction) else value


class _Arithmetic(ABC):
    """Addition, subtraction, product and quotient from one elementwise `_with`."""

    @abstractmethod
    def _with(self, other: Any, op: Callable[[Any, Any], Any]) -> Any:
        """Combine with another value, elementwise."""

    def __add__(self, other: Any) -> Any:
        return self._with(other, operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b + a)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, operator.mul)

    def __rmul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b * a)

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, operator.truediv)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b / a)

    def __neg__(self) -> Any:
        return self._with(-1, operator.mul)


@dataclass(frozen=True, eq=False)
class PerRun(_Arithmetic):
    """One float per run: step sizes of a sweep, shape (runs,)."""

    values: Array
    __array_ufunc__ = None

    def _with(self, other: Any, op: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, PerRun):
            return PerRun(op(self.values, other.values))
        if isinstance(other, int | float | Fraction):
            return PerRun(op(self.values, _float(other)))
        return NotImplemented


@dataclass(frozen=True, eq=False)
class PerClient(_Arithmetic):
    """One scalar per client, length N."""

    values: tuple[Scalar, ...]
    __array_ufunc__ = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(map(plain, self.values)))

    def _with(self, other: Any, op: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, PerClient):
            pairs = zip(self.values, other.values, strict=True)
            return PerClient(tuple(op(a, b) for a, b in pairs))
        if hasattr(other, "typed"):
            return NotImplemented
        return PerClient(tuple(op(a, plain(other)) for a in self.values))


def per_client(weights: Iterable[Scalar]) -> PerClient:
    """Return one weight per client, to multiply a clients stack with.

    Parameters
    ----------
    weights : (N,) numbers
        Text of numbers is read; multiples of the step size are taken as they are.

    Returns
    -------
    PerClient

    Raises
    ------
    InputError
        If it is no list of numbers.
    DomainError
        If a weight is no number.

    Examples
    --------
    >>> (2 * per_client([1, 3])).values
    (2, 6)
    >>> per_client(["1/2", "1/3"]).values
    (Fraction(1, 2), Fraction(1, 3))
    """
    if isinstance(weights, str) or not isinstance(weights, Iterable):
        raise InputError(
            f"per_client must be given a list of numbers; got {shown(weights)}; give "
            "one number per client."
        )
    return PerClient(tuple(map(_weight, weights)))


def _weight(given: Any) -> Any:
    """Return a weight; the step size may be an unknown, or one per run."""
    plain = isinstance(given, str | bool | Iterable) or given is None
    return scalar(given, "a weight of per_client") if plain else given


def per_run(step_sizes: Iterable[float]) -> PerRun:
    """Return one number per run, to multiply any typed object with.

    Examples
    --------
    >>> (1 / per_run([0.5, 0.25])).values.tolist()
    [2.0, 4.0]
    """
    return PerRun(np.asarray(list(step_sizes), dtype=np.float64))
