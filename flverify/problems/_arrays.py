"""Data arrays of a problem: read from nested lists, brought to one kind, frozen."""

from __future__ import annotations

import numpy as np

from flverify._core import exact
from flverify._core.errors import DomainError, ShapeError
from flverify._core.exact import Array, is_symbolic


def entries(values: object, name: str, ndim: int) -> Array:
    """Read numbers with a given number of axes, none of them empty.

    Integers, rationals and decimal text become exact, floats float64.
    """
    try:
        keep = isinstance(values, np.ndarray)
        raw = np.asarray(values) if keep else np.array(values, dtype=object)
    except ValueError:
        raw = np.empty(0, dtype=object)  # ragged lists: refused just below
    if raw.ndim != ndim or raw.size == 0:
        raise ShapeError(
            f"{name} must have {ndim} axes and at least one entry; got shape "
            f"{raw.shape}; pass nested lists of equal lengths."
        )
    if raw.dtype == object:
        _refuse_mixture(raw, name)
    return exact.array(raw, name)


def one_kind(*arrays: Array) -> tuple[Array, ...]:
    """Bring arrays made by `entries` to one kind: float as soon as one is."""
    if all(values.dtype == object for values in arrays):
        return arrays
    return tuple(as_float(values) for values in arrays)


def as_float(values: Array) -> Array:
    """Copy an array as float64; symbols and overflowing rationals are refused."""
    if is_symbolic_array(values):
        raise DomainError(
            "floats cannot be combined with symbols; got symbolic entries; "
            "give rationals or decimal text in place of floats."
        )
    try:
        return values.astype(np.float64)
    except OverflowError:
        raise DomainError(
            "a rational used beside floats must fit into a float; got one above "
            "1e308; rescale the data."
        ) from None


def one_per_client(weights: object, n_clients: int) -> Array:
    """Read client weights w_1, ..., w_N."""
    given = entries(weights, "weights", 1)
    if len(given) != n_clients:
        raise ShapeError(
            f"weights must have one entry per client; got {len(given)} for "
            f"{n_clients} clients; pass {n_clients}."
        )
    return given


def float_point(point: Array, dim: int, each: str) -> Array:
    """Read a point in floats; one that has overflowed passes, its gradient is NaN."""
    floats = isinstance(point, np.ndarray) and point.dtype == np.float64
    x = point if floats else as_float(entries(point, "point", 1))
    if x.shape != (dim,):
        raise ShapeError(
            f"point must have shape ({dim},); got {x.shape}; pass one number per "
            f"{each}."
        )
    return x


def is_symbolic_array(values: Array) -> bool:
    """Whether an entry is a sympy expression."""
    return values.dtype == object and any(is_symbolic(v) for v in values.ravel())


def freeze(values: Array) -> Array:
    """Make an array read-only and return it."""
    values.flags.writeable = False
    return values


def _refuse_mixture(raw: Array, name: str) -> None:
    listed = raw.ravel().tolist()
    floats = any(isinstance(value, float) for value in listed)
    if floats and any(is_symbolic(value) for value in listed):
        raise DomainError(
            f"{name} must not mix floats with symbols; got both; give rationals or "
            f"decimal text in place of floats."
        )
