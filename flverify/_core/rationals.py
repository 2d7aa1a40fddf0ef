"""Exact linear algebra over the rationals, on flint numbers in numpy arrays.

Arrays of `fractions.Fraction` become arrays of `flint.fmpq`, about ten times faster,
and come back as Fractions. Subspaces are kept as reduced row-echelon bases.
"""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np

from flverify._core.errors import DomainError
from flverify._core.exact import Array, Scalar, objects

LARGE = 4  # rows from which a product is worth a flint matrix


def to_flint(values: Array) -> Array:
    """Convert an array of rationals to flint rationals."""
    flat = map(rational, map(Fraction, values.flat))
    return objects(flat).reshape(values.shape)


def rational(value: Scalar) -> flint.fmpq:
    """Convert one rational to a flint rational."""
    return flint.fmpq(value.numerator, value.denominator)


def to_fraction(value: flint.fmpq) -> Fraction:
    """Convert one flint rational to a Fraction."""
    return Fraction(int(value.p), int(value.q))


def dyadic(value: flint.arb) -> Fraction:
    """Convert the midpoint of a ball, a whole number times a power of 2.

    Examples
    --------
    >>> dyadic(flint.arb(3) / 8)
    Fraction(3, 8)
    """
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def from_flint(values: Array) -> Array:
    """Convert an array of flint rationals to Fractions."""
    flat = (to_fraction(flint.fmpq(v)) for v in values.flat)
    return objects(flat).reshape(values.shape)


def nearest_floats(values: Array) -> Array:
    """Round flint rationals to the nearest floats, as Python rounds Fractions.

    Examples
    --------
    >>> nearest_floats(to_flint(np.array(["1/3"]))) == float(Fraction(1, 3))
    array([ True])
    """
    flat = [int(v.p) / int(v.q) for v in map(flint.fmpq, values.flat)]
    return np.array(flat, dtype=np.float64).reshape(values.shape)


def matrix(values: Array) -> flint.fmpq_mat:
    """Build a flint matrix from a two-dimensional array of flint rationals."""
    rows, columns = values.shape
    return flint.fmpq_mat(rows, columns, [flint.fmpq(v) for v in values.flat])


def entries(values: flint.fmpq_mat) -> Array:
    """Return the entries of a flint matrix as an array of flint rationals."""
    return objects(values.entries()).reshape(values.nrows(), values.ncols())


def product(left: Array, right: Array) -> Array:
    """Multiply matrices: large ones of flint rationals as flint does, not by entries.

    Examples
    --------
    >>> thirds = to_flint(np.full((4, 4), Fraction(1, 3)))
    >>> product(thirds, thirds)[0, 0]
    4/9
    """
    if left.dtype == object and len(left) >= LARGE and _is_flint(left, right):
        return entries(matrix(left) * matrix(right))
    return np.asarray(left @ right)


def _is_flint(*arrays: Array) -> bool:
    return all(isinstance(v, flint.fmpq) for values in arrays for v in values.flat)


def row_basis(rows: Array) -> Array:
    """Reduced row-echelon basis of the span of the rows."""
    if rows.shape[0] == 0:
        return rows
    reduced, rank = matrix(rows).rref()
    return entries(reduced)[:rank]


def solve(left: Array, right: Array) -> Array:
    """Solve left @ x = right for a square nonsingular left.

    Raises
    ------
    ZeroDivisionError
        If left is singular.
    """
    return entries(matrix(left).solve(matrix(right)))


def ldl(symmetric: Array) -> list[tuple[Scalar, Array]]:
    """Write a positive semidefinite matrix as sum of pivot * column column'.

    Returns
    -------
    terms : list of (pivot > 0, column)

    Raises
    ------
    DomainError
        If the matrix is not positive semidefinite.
    """
    rest, terms = symmetric.copy(), []
    for k in range(rest.shape[0]):
        pivot = rest[k, k]
        if pivot < 0 or (pivot == 0 and any(v != 0 for v in rest[:, k])):
            raise DomainError(
                "second moments must form a positive semidefinite matrix; these do "
                "not; check the law's tables."
            )
        if pivot == 0:
            continue
        column = rest[:, k] / pivot
        rest = rest - pivot * np.outer(column, column)
        terms.append((pivot, column))
    return terms


def is_positive_definite(symmetric: Array) -> bool:
    """Whether every pivot of the elimination is positive."""
    rest = symmetric.copy()
    for k in range(rest.shape[0]):
        if not rest[k, k] > 0:
            return False
        column = rest[k + 1 :, k] / rest[k, k]
        rest[k + 1 :, k + 1 :] -= np.outer(column, rest[k, k + 1 :])
    return True
