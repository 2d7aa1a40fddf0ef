"""Every client in the eigenbasis of its own Hessian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flverify._core.exact import Array


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

    @staticmethod
    def of(hessians: Array, linear: Array) -> Basis:
        """Factor the Hessians of a quadratic problem in floats."""
        values, vectors = np.linalg.eigh(hessians)
        turned = np.einsum("ikj,ik->ij", vectors, linear)
        return Basis(np.ascontiguousarray(vectors), values, turned)
