"""Every client in the eigenbasis of its own Hessian."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flverify._core.exact import Array

WORK = 10**6  # multiplications at a time
FEWEST, MOST = 32, 256  # rows at a time
FEW = 8  # rows: below, a second layout of the bases would crowd the cache


@dataclass(frozen=True, eq=False)
class Basis:
    """H_i = V_i diag(s_i) V_i', so grad f_i(x) = V_i (s_i * x^ - b^_i), x^ = V_i'x.

    Parameters
    ----------
    vectors : (N, d, d) array, weight 1
        V_i, orthogonal.
    values : (N, d) array, weight f/x^2
        Eigenvalues s_i.
    linear : (N, d) array, weight f/x
        b^_i = V_i'b_i.
    """

    vectors: Array
    values: Array
    linear: Array

    @cached_property
    def back(self) -> Array:
        """V_i', laid out afresh: dgemm reads a transposed factor more slowly."""
        return np.ascontiguousarray(self.vectors.transpose(0, 2, 1))

    def leave(self, rows: Array, client: int, out: Array) -> None:
        """Write V_i of every row, rows @ V_i'."""
        if len(rows) < FEW:
            np.matmul(rows, self.vectors[client].T, out=out)
        else:
            multiply(rows, self.back[client], out)

    @staticmethod
    def of(hessians: Array, linear: Array) -> Basis:
        """Factor the Hessians of a quadratic problem in floats."""
        values, vectors = np.linalg.eigh(hessians)
        turned = np.einsum("ikj,ik->ij", vectors, linear)
        return Basis(np.ascontiguousarray(vectors), values, turned)


def rows_per_product(dim: int) -> int:
    """Rows by which to multiply at a time with a (dim, dim) matrix.

    A product of at most 10^6 multiplications stays in the cache, and OpenBLAS does it
    without copying its factors first; at larger dim that would be too few rows.
    """
    few = WORK // dim**2
    return few if few >= FEWEST else MOST


def multiply(rows: Array, matrix: Array, out: Array) -> None:
    """Write rows @ matrix, a part of the rows at a time."""
    n, dim = rows.shape
    if n * dim * dim <= WORK:
        np.matmul(rows, matrix, out=out)
        return
    parts = -(-n // rows_per_product(dim))
    for p in range(parts):
        part = slice(n * p // parts, n * (p + 1) // parts)
        np.matmul(rows[part], matrix, out=out[part])
