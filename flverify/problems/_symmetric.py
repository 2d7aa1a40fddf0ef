"""Symmetric matrices of rationals, floats or symbols.

Rational answers come from the exact characteristic polynomial, float answers from
eigenvalues with a rounding allowance, symbolic answers from sympy.
"""

from __future__ import annotations

import importlib
from typing import Any

import flint
import numpy as np

from flverify._core import rationals
from flverify._core.errors import DomainError
from flverify._core.exact import Array, Scalar, is_symbolic, objects
from flverify.problems._arrays import is_symbolic_array


def definiteness(matrix: Array) -> int:
    """1 if positive definite, 0 if semidefinite and singular, -1 if not convex.

    With symbols that holds for all their values; for 0 some are enough.

    Raises
    ------
    DomainError
        If the matrix has symbols, and their signs do not show which of these it is.
    """
    if matrix.dtype != object:
        return _float_definiteness(matrix)
    if is_symbolic_array(matrix):
        return _symbolic_definiteness(matrix)
    # All roots are real, so their signs show in the signs of the coefficients.
    coefficients = _flint(matrix).charpoly().coeffs()
    size = len(coefficients) - 1
    signed = [c if (size - k) % 2 == 0 else -c for k, c in enumerate(coefficients)]
    return 1 if min(signed) > 0 else (0 if min(signed) == 0 else -1)


def solve(matrix: Array, right: Array, name: str) -> Array:
    """Solve for a vector; the matrix must be positive definite.

    Raises
    ------
    DomainError
        If the matrix is singular or not convex.
    """
    sign = definiteness(matrix)
    if sign < 1:
        where = " for some values of its symbols" if is_symbolic_array(matrix) else ""
        raise DomainError(
            f"{name} must be positive definite; it is "
            f"{'singular' if sign == 0 else 'indefinite'}{where}; change the weights "
            f"or add a regulariser."
        )
    if matrix.dtype != object:
        return np.asarray(np.linalg.solve(matrix, right))
    if is_symbolic_array(matrix) or is_symbolic_array(right):
        return _symbolic_solve(matrix, right)
    found = _flint(matrix).solve(_flint(right[:, None]))
    return _fractions(found)[:, 0]


def extreme_eigenvalues(matrix: Array) -> tuple[Scalar, Scalar]:
    """Least and largest eigenvalue: exact if diagonal, otherwise floats.

    Raises
    ------
    DomainError
        If the matrix is symbolic and not diagonal.
    """
    diagonal = np.diagonal(matrix).tolist()
    if matrix.dtype == object and is_diagonal(matrix):
        return least(diagonal), largest(diagonal)
    if is_symbolic_array(matrix):
        raise DomainError(
            "eigenvalues of symbolic Hessians need diagonal Hessians; got others; "
            "insert numbers."
        )
    spectrum = np.linalg.eigvalsh(matrix.astype(np.float64))
    return float(spectrum[0]), float(spectrum[-1])


def least(values: list[Scalar]) -> Scalar:
    """Return the least of scalars of any kind."""
    if any(is_symbolic(value) for value in values):
        return _sympy().Min(*values)
    return min(values)


def largest(values: list[Scalar]) -> Scalar:
    """Return the largest of scalars of any kind."""
    if any(is_symbolic(value) for value in values):
        return _sympy().Max(*values)
    return max(values)


def is_diagonal(matrix: Array) -> bool:
    """Whether every entry off the diagonal is zero."""
    off = ~np.eye(len(matrix), dtype=bool)
    return all(value == 0 for value in matrix[off])


def gram(rows: Array) -> Array:
    """Return A'A; rationals take a route much faster than `Fraction` products."""
    if rows.dtype != object or is_symbolic_array(rows):
        return np.asarray(rows.T @ rows)
    table = _flint(rows)
    return _fractions(table.transpose() * table)


def _float_definiteness(matrix: Array) -> int:
    spectrum = np.linalg.eigvalsh(matrix)
    rounding = len(matrix) * np.finfo(np.float64).eps * np.abs(spectrum).max()
    return 1 if spectrum[0] > rounding else (0 if spectrum[0] >= -rounding else -1)


def _symbolic_definiteness(matrix: Array) -> int:
    sympy = _sympy()
    table, size = sympy.Matrix(matrix.tolist()), len(matrix)
    leading = [sympy.factor(table[:k, :k].det()) for k in range(1, size + 1)]
    shown = list(table.diagonal()) if is_diagonal(matrix) else leading
    if all(value.is_positive for value in shown):
        return 1
    if any(value.is_negative for value in shown):
        return -1
    *first, last = leading
    if last.is_zero and all(value.is_positive for value in first):
        return 0
    if is_diagonal(matrix) and all(value.is_nonnegative for value in shown):
        return 0
    raise DomainError(
        "the signs of symbols must show whether a Hessian is positive definite; got "
        f"{table.tolist()}; declare symbols positive, or insert numbers."
    )


def _symbolic_solve(matrix: Array, right: Array) -> Array:
    sympy = _sympy()
    found = sympy.Matrix(matrix.tolist()).LUsolve(sympy.Matrix(right.tolist()))
    return objects(map(sympy.cancel, found))


def _flint(values: Array) -> flint.fmpq_mat:
    return rationals.matrix(rationals.to_flint(values))


def _fractions(values: flint.fmpq_mat) -> Array:
    return rationals.from_flint(rationals.entries(values))


def _sympy() -> Any:
    # Only symbolic data come here, so numerical work never pays for the import.
    return importlib.import_module("sympy")
