"""Integrals over the half line t > 0 by one double-exponential rule.

With t = scale * exp(x - exp(-x)) the trapezoidal rule in x converges geometrically
for integrands that are analytic in a sector around t > 0 and decay there. Near zero
the nodes crowd double-exponentially; far out they are geometric, so one rule serves
every time scale from `scale` on.
"""

from __future__ import annotations

import math

import numpy as np

from flverify._core.exact import Array

LEFT = -3.7  # x of the first node: there t / scale = 7e-20
COARSE = 0.16  # step that integrates exp(-t) and its powers to double precision


def nodes(scale: float, step: float, first: int, count: int) -> tuple[Array, Array]:
    """Nodes number first, ..., first + count - 1 and their weights."""
    x = LEFT + step * np.arange(first, first + count)
    shrink = np.exp(-x)
    t = scale * np.exp(x - shrink)
    return t, step * t * (1.0 + shrink)


def rule(scale: float, last: float, step: float = COARSE) -> tuple[Array, Array]:
    """Nodes and weights up to `last`, beyond which the integrand is negligible.

    Examples
    --------
    >>> t, weights = rule(1.0, 45.0)
    >>> bool(abs((weights * np.exp(-t)).sum() - 1) < 1e-14)
    True
    """
    end = max(1.0, math.log(last / scale)) + 0.5
    return nodes(scale, step, 0, math.ceil((end - LEFT) / step) + 1)
