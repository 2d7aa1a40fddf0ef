"""Points, gradients and values of one smooth strongly convex function, as rows.

For f L-smooth and mu-strongly convex, values and gradients at points a and b satisfy
f_a >= f_b + <g_b, x_a - x_b> + (1/(2(1 - mu/L))) (|g_a - g_b|^2/L + mu |x_a - x_b|^2
- 2 (mu/L) <g_a - g_b, x_a - x_b>), and these inequalities are all there is (Taylor,
Hendrickx and Glineur, Mathematical Programming 161, 2017, Theorem 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from flverify._core.exact import Array, Scalar

Named = TypeVar("Named")


@dataclass(frozen=True)
class Point:
    """A point and the gradient there, each a row in some coordinates."""

    name: str
    x: Array
    g: Array


def product(left: Array, right: Array) -> Array:
    """Symmetric matrix of the form <left, right>."""
    half = np.multiply.outer(left, right)
    return half if left is right else (half + half.T) / 2


def interpolation(above: Point, below: Point, mu: Scalar, smooth: Scalar) -> Array:
    """Quadratic part of f_above - f_below - (what it must at least be).

    Raises
    ------
    ZeroDivisionError
        If mu = L.

    Examples
    --------
    >>> import numpy as np
    >>> star = Point("star", np.zeros(2), np.zeros(2))
    >>> here = Point("x", np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    >>> interpolation(star, here, 0, 1).tolist()
    [[0.0, 0.5], [0.5, -0.5]]
    """
    dx, dg = above.x - below.x, above.g - below.g
    curved = (
        product(dg, dg) / smooth
        + mu * product(dx, dx)
        - (2 * mu / smooth) * product(dg, dx)
    )
    out: Array = -product(below.g, dx) - curved / (2 * (1 - mu / smooth))
    return out


def pairs(names: Sequence[Named], few: bool = False) -> list[tuple[Named, Named]]:
    """Ordered pairs of different points; `few`: with the first, and neighbours."""
    numbered = list(enumerate(names))
    return [
        (a, b)
        for i, a in numbered
        for j, b in numbered
        if i != j and (not few or 0 in (i, j) or abs(i - j) == 1)
    ]
