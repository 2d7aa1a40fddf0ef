"""Signs of rational quadratic forms: sums of squares, or vectors where one is negative.

Everything returned is exact; floats only propose vectors, which are then tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import TypeAlias

import flint
import numpy as np

from flverify._core.exact import Array, Scalar, objects
from flverify._core.rationals import entries, matrix, row_basis

Squares: TypeAlias = list[tuple[Scalar, Array]]

DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 48, 100, 10**3, 10**6, 10**9)
SHIFTS = (1, 10, 100, 10**4, 10**6)  # how far along a direction a state is taken
NEGLIGIBLE = 1e-7  # share of the constant below which a direction counts as one


def squares(symmetric: Array) -> tuple[Squares, Array | None]:
    """Write a form as sum of pivot (column . v)^2, or find v where it is negative.

    Parameters
    ----------
    symmetric : (n, n) array of flint rationals

    Returns
    -------
    terms : list of (pivot > 0, column)
        All of the form if it is positive semidefinite.
    witness : (n,) array or None
        A vector with v' symmetric v < 0 otherwise.
    """
    rest = symmetric.copy()
    terms: Squares = []
    size = len(rest)
    for k in range(size):
        pivot, column = rest[k, k], rest[:, k]
        coupled = [j for j in range(size) if column[j] != 0 and j != k]
        if pivot < 0 or (pivot == 0 and coupled):
            seed = np.full(size, flint.fmpq(0), dtype=object)
            seed[k] = flint.fmpq(1)
            if pivot == 0:
                # 2 s c + d is -1 at s = -(1 + d)/(2 c)
                j = coupled[0]
                seed[j] = flint.fmpq(1)
                seed[k] = -(1 + rest[j, j]) / (2 * column[j])
            return [], _lifted(terms, seed)
        if pivot != 0:
            share = column / pivot
            rest = rest - pivot * np.outer(share, share)
            terms.append((pivot, share))
    return terms, None


def _lifted(terms: Squares, seed: Array) -> Array:
    """Extend a vector of the rest to one where all squares split off before vanish."""
    out = seed.copy()
    for _, column in reversed(terms):
        place = next(k for k, value in enumerate(column) if value != 0)
        out[place] = out[place] - sum(column * out)
    return out


def value(symmetric: Array, vector: Array) -> Scalar:
    """Value v' symmetric v of a form."""
    return vector @ symmetric @ vector


def negative_state(symmetric: Array, witness: Array) -> Array:
    """Return a vector with last entry 1 where a form is negative, in short numbers.

    A form that is negative at (w, t) with t not 0 is so at (w/t, 1), and one negative
    at (w, 0) is so at (s w, 1) for s large: its value there is s^2 q(w) + O(s). Hence
    a form is nonnegative on {(w, 1)} if and only if it is positive semidefinite.

    Parameters
    ----------
    symmetric : (n, n) array of flint rationals
    witness : (n,) array of flint rationals
        A vector where the form is negative.
    """
    proposals = list(_proposals(symmetric, witness))
    for denominator in DENOMINATORS:
        for proposal in proposals:
            state = _rounded(proposal, denominator)
            if value(symmetric, state) < 0:
                return state
    return _exact_state(symmetric, witness)


def _exact_state(symmetric: Array, witness: Array) -> Array:
    if witness[-1] != 0:
        return np.asarray(witness / witness[-1])
    length = flint.fmpq(1)
    while True:
        for sign in (1, -1):
            state = sign * length * witness
            state[-1] = flint.fmpq(1)
            if value(symmetric, state) < 0:
                return np.asarray(state)
        length *= 2


def _proposals(symmetric: Array, witness: Array) -> Iterator[Array]:
    """Yield float vectors near which the form may be negative, last entry 1."""
    # a common factor changes no direction, and brings every number into float range
    floats = as_float(symmetric / power_of_two(symmetric))
    directions = [as_float(witness / power_of_two(witness))]
    if np.isfinite(floats).all():
        lowest, columns = np.linalg.eigh(floats)
        directions = [
            *(columns[:, k] for k in range(len(lowest)) if lowest[k] < 0),
            *directions,
        ]
    for direction in directions:
        if not np.isfinite(direction).all():
            continue
        largest = np.abs(direction[:-1]).max(initial=0.0)
        if abs(direction[-1]) > NEGLIGIBLE * largest:
            yield direction / direction[-1]
        if largest:
            lead = direction[np.abs(direction[:-1]).argmax()]
            for shift in (s * sign for s in SHIFTS for sign in (1, -1)):
                yield np.append(shift * direction[:-1] / lead, 1.0)


def _rounded(proposal: Array, denominator: int) -> Array:
    scaled = [round(float(v) * denominator) for v in proposal]
    out = objects(flint.fmpq(v, denominator) for v in scaled)
    out[-1] = flint.fmpq(1)
    return out


def as_float(values: Array) -> Array:
    """Convert flint rationals to floats, one by one; infinite beyond their range."""
    flat = [_float(int(v.p), int(v.q)) for v in values.flat]
    return np.array(flat, dtype=np.float64).reshape(values.shape)


def _float(numerator: int, denominator: int) -> float:
    try:
        return numerator / denominator
    except OverflowError:
        return inf if numerator > 0 else -inf


def power_of_two(values: Array) -> Scalar:
    """Return a power of two next to the largest size; exact at any length; 1 for 0."""
    lengths = [
        int(v.p).bit_length() - int(v.q).bit_length() for v in values.flat if v != 0
    ]
    return two_to(max(lengths, default=0))


def two_to(exponent: int) -> Scalar:
    """Return 2^exponent as a flint rational, for a negative exponent too."""
    power = flint.fmpq(2) ** abs(exponent)
    return power if exponent >= 0 else 1 / power


def kernel(rows: Array, width: int) -> tuple[Array, list[int]]:
    """Columns spanning {v : rows v = 0}, and the coordinates that parametrise it.

    Column k is 1 at the k-th of these coordinates and 0 at the others.
    """
    reduced = row_basis(rows) if len(rows) else rows
    pivots = [next(k for k, v in enumerate(row) if v != 0) for row in reduced]
    free = [k for k in range(width) if k not in pivots]
    out = np.full((width, len(free)), flint.fmpq(0), dtype=object)
    for column, place in enumerate(free):
        out[place, column] = flint.fmpq(1)
        for pivot, row in zip(pivots, reduced, strict=True):
            out[pivot, column] = -row[place]
    return out, free


def congruent(symmetric: Array, basis: Array) -> Array:
    """Form basis' symmetric basis, for arrays of flint rationals."""
    left = matrix(np.ascontiguousarray(basis.T))
    return entries(left * matrix(symmetric) * matrix(basis))
