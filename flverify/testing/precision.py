"""How short the floats are that a user's own code computes in."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from flverify._core.exact import Array
from flverify._core.places import is_own

MOST_CLIENTS = 1000  # whose gradients are asked how they are stored


def precision_of(values: Any) -> float:
    """Relative rounding of the numbers of an array.

    Examples
    --------
    >>> precision_of(np.ones(1)), precision_of(np.ones(1, dtype=np.float32))
    (2.220446049250313e-16, 1.1920928955078125e-07)
    """
    kind = np.asarray(values).dtype
    own = float(np.finfo(kind).eps) if kind.kind == "f" else 0.0
    return max(own, sys.float_info.epsilon)


def of_gradients(problem: Any, point: Array) -> float:
    """Relative rounding of the gradients of a problem."""
    if not is_own(problem) or problem.n_clients > MOST_CLIENTS:
        return sys.float_info.epsilon
    at = point.astype(np.float64)[None]
    clients = range(problem.n_clients)
    return max(precision_of(problem.client_gradients(i, at)) for i in clients)
