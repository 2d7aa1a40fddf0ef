"""Problems of a user's own: what they say of themselves must agree, before it is used.

The package's problems are held to this, and to more, by its tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import DomainError, ShapeError
from flverify._core.exact import Array
from flverify._core.shown import shown
from flverify.engines.own_rounds import failing
from flverify.problems._problem import Problem

MOST_CLIENTS = 1000  # whose gradients are added up
LEFT = 1e-5  # of the size of the gradients, at a minimiser that was computed
WIDTH = 1e-4  # half of a difference of values
APART = 1e-3  # of a slope: what a difference of values may differ from it by


def require_consistent(problem: Problem) -> None:
    """Check a problem of another module than those of the package.

    Raises
    ------
    InputError
        If its sizes, its gradients, its values and its minimiser do not agree.

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
    if not np.isfinite(best).all():
        raise DomainError(
            f"minimiser() of {name} must be finite numbers; got "
            f"{shown(best.tolist())}; mend it."
        )
    if problem.n_clients <= MOST_CLIENTS:
        _require_minimiser(problem, best, name)
        _require_values(problem, best, name)


def _require_minimiser(problem: Any, best: Array, name: str) -> None:
    around = np.stack([best, best + 1])
    clients = range(problem.n_clients)
    with failing(f"gradient of {name}"):
        found = np.stack([problem.client_gradients(i, around) for i in clients])
    if not np.isfinite(found[:, 0].astype(float)).all():
        raise DomainError(
            f"the gradients of {name} must be finite numbers at its minimiser(); got "
            f"{shown(found[:, 0].tolist())} at {best.tolist()}; mend one of them."
        )
    left = np.abs(found[:, 0].astype(float).mean(axis=0)).max()
    if left > LEFT * np.abs(found.astype(float)).max():
        raise DomainError(
            f"the gradients of {name} must have the mean 0 at its minimiser(); got one "
            f"of size {left:.3g} at {best.tolist()}; mend one of them."
        )


def _require_values(problem: Any, best: Array, name: str) -> None:
    """Compare differences of values with gradients, at one place off the minimiser."""
    way = np.sqrt(np.arange(2.0, problem.dim + 2))
    way /= np.linalg.norm(way)
    here = best + way
    for client in range(problem.n_clients):
        gradient = problem.client_gradients(client, here[None])[0].astype(float)
        high = _value(problem, client, here + WIDTH * way, name)
        low = _value(problem, client, here - WIDTH * way, name)
        found, told = (high - low) / (2 * WIDTH), float(gradient @ way)
        rounding = 8 * np.finfo(float).eps * max(abs(high), abs(low)) / WIDTH
        if abs(found - told) > APART * np.abs([found, *gradient]).max() + rounding:
            raise DomainError(
                f"gradient({client}, x) of {name} must be the gradient of "
                f"value({client}, x); at x = {here.tolist()} the slope of the value is "
                f"{found:.6g}, that of the gradient {told:.6g}; mend one of them."
            )


def _value(problem: Any, client: int, point: Array, name: str) -> float:
    """Return a value; nan, which nothing is compared with, if there is none yet."""
    with failing(f"value of {name}"):
        try:
            return float(np.asarray(problem.value(client, point), float).item())
        except NotImplementedError:
            return float("nan")
