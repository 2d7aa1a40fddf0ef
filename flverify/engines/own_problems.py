"""Problems of a user's own: what they say of themselves must agree, before it is used.

The package's problems are held to this, and to more, by its tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import DomainError, ShapeError
from flverify._core.exact import Array
from flverify.engines.own_rounds import failing
from flverify.problems._problem import Problem

MOST_CLIENTS = 1000  # whose gradients are added up
LEFT = 1e-5  # of the size of the gradients, at a minimiser that was computed


def require_consistent(problem: Problem) -> None:
    """Check a problem of another module than those of the package.

    Raises
    ------
    InputError
        If its sizes, its gradients and its minimiser do not agree.

    Examples
    --------
    >>> from flverify.problems import Quadratics
    >>> require_consistent(Quadratics([[[1]]], [[2]]))
    """
    name = type(problem).__name__
    own = type(problem).__module__.split(".")[0] != "flverify"
    if not own or not hasattr(problem, "minimiser"):
        return
    for size in ("n_clients", "dim"):
        whole(getattr(problem, size, None), f"{size} of {name}")
    with failing(f"minimiser of {name}"):
        best = np.asarray(problem.minimiser(), dtype=np.float64)
    if best.shape != (problem.dim,):
        raise ShapeError(
            f"minimiser() of {name} must have the shape ({problem.dim},); got "
            f"{best.shape}; mend it."
        )
    if problem.n_clients <= MOST_CLIENTS and np.isfinite(best).all():
        _require_minimiser(problem, best, name)


def _require_minimiser(problem: Any, best: Array, name: str) -> None:
    around = np.stack([best, best + 1])
    clients = range(problem.n_clients)
    with failing(f"gradient of {name}"):
        found = np.stack([problem.client_gradients(i, around) for i in clients])
    left = np.abs(found[:, 0].astype(float).mean(axis=0)).max()
    if left > LEFT * np.abs(found.astype(float)).max():
        raise DomainError(
            f"the gradients of {name} must have the mean 0 at its minimiser(); got one "
            f"of size {left:.3g} at {best.tolist()}; mend one of them."
        )
