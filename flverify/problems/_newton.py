"""Minimum of a smooth strongly convex function, by damped Newton steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from flverify._core.errors import DomainError
from flverify._core.exact import Array

STEPS = 100
FLAT = 1e-12  # length of the gradient at a minimum, relative to that at the start
ROUNDING = 1e-14  # of a value, relative: a step may go up by that much


def descend(
    start: Array,
    *,
    value: Callable[[Array], float],
    gradient: Callable[[Array], Array],
    turned: Callable[[Array, Array], Array],
) -> Array:
    """Descend until the gradient vanishes.

    Parameters
    ----------
    start : (d,) array
    value, gradient : callable
        Of a point.
    turned : callable
        Hessian at the first argument, times the second.

    Returns
    -------
    minimiser : (d,) array

    Raises
    ------
    DomainError
        If rounding stops the descent before the gradient has vanished.

    Examples
    --------
    >>> descend(
    ...     np.array([3.0]),
    ...     value=lambda x: float(x @ x),
    ...     gradient=lambda x: 2 * x,
    ...     turned=lambda x, v: 2 * v,
    ... )
    array([0.])
    """
    x, slope = start, gradient(start)
    aim = FLAT * float(np.linalg.norm(slope))
    for _ in range(STEPS):
        if np.linalg.norm(slope) <= aim:
            return x
        x = x + _move(x, slope, value, turned)
        slope = gradient(x)
    raise DomainError(
        "a descent must reach a point without gradient; got stuck at one of length "
        f"{np.linalg.norm(slope):.1e}; scale the data or raise the regularisation."
    )


def _move(
    x: Array,
    slope: Array,
    value: Callable[[Array], float],
    turned: Callable[[Array, Array], Array],
) -> Array:
    """Return the Newton step, halved until the value goes down."""
    product = LinearOperator((len(x), len(x)), matvec=lambda v: turned(x, v))
    step, _ = cg(product, -slope, rtol=1e-8, maxiter=10 * len(x))
    here, length = value(x), 1.0
    room = ROUNDING * abs(here)
    while length > 1e-9 and value(x + length * step) > (
        here + length * float(slope @ step) / 4 + room
    ):
        length /= 2
    return np.asarray(length * step)
