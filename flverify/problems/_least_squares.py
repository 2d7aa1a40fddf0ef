"""From data to quadratic clients: the loss of the FOCUS paper's experiment."""

from __future__ import annotations

import numpy as np

from flverify._core.errors import DomainError, ShapeError
from flverify._core.exact import Array, Scalar, is_symbolic, scalar
from flverify.problems._arrays import entries, one_kind
from flverify.problems._quadratics import Quadratics
from flverify.problems._symmetric import gram


def least_squares(
    features: Array, targets: Array, regularisation: Scalar
) -> Quadratics:
    """Build f_i(x) = sum_k (a_ik'x - b_ik)^2 + regularisation |x|^2, less constants."""
    rows, right = entries(features, "features", 3), entries(targets, "targets", 2)
    if rows.shape[:2] != right.shape:
        raise ShapeError(
            f"features and targets must have shapes (N, K, d) and (N, K); got "
            f"{rows.shape} and {right.shape}; reshape them."
        )
    weight = scalar(regularisation, "regularisation")
    if not is_symbolic(weight) and weight < 0:
        raise DomainError(
            f"regularisation must be at least 0; got {weight}; pass 0 for none."
        )
    rows, right, ridge = one_kind(rows, right, entries([weight], "regularisation", 1))
    unit = np.eye(rows.shape[2], dtype=int)
    with np.errstate(over="ignore", invalid="ignore"):
        hessians = np.stack([2 * gram(a) + 2 * ridge[0] * unit for a in rows])
        linear = np.stack([2 * (b @ a) for a, b in zip(rows, right, strict=True)])
    for made in (hessians, linear):
        if made.dtype != object and not np.isfinite(made).all():
            raise DomainError(
                "sums of products of features and targets must be floats; got larger "
                "ones; rescale the data, or write them as fractions."
            )
    return Quadratics(hessians, linear)
