r"""How far the mean of a vector lies from a point, from independent copies of it.

Assumed is E|x - m|^4 <= tail (E|x - m|^2)^2 with m = E x. Half the squared distance of
two copies has the mean v = E|x - m|^2 and a second moment of at most (tail + 3)/2 v^2,
since E|x - x'|^4 = 2 E|x - m|^4 + 2 v^2 + 4 E((x - m)'(x' - m))^2 <= (2 tail + 6) v^2.
For nonnegative variables y, P(mean of n <= (1 - t) E y) is at most
exp(-n t^2 (E y)^2/(2 E y^2)), which bounds v from above. The mean is estimated by the
median of the means of K blocks, coordinate by coordinate: a block mean is off by more
than 2 sqrt(v_c K/n) with probability at most 1/4, the median of K with probability at
most exp(-K/8), so that all coordinates together are off by at most 2 sqrt(v K/n).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flverify._core.exact import Array


@dataclass(frozen=True)
class Ball:
    """A point and a radius around it that holds the mean, up to a stated probability.

    An infinite radius says nothing.
    """

    centre: Array
    radius: float


def mean_ball(copies: Array, miss: float, tail: float) -> Ball:
    """Estimate a mean from independent copies, shape (runs, d).

    Parameters
    ----------
    copies : (runs, d) array
    miss : float in (0, 1)
        Probability with which the mean may lie outside.
    tail : float >= 1
        Assumed largest E|x - m|^4 / (E|x - m|^2)^2.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).standard_normal((4000, 1))
    >>> ball = mean_ball(draws, 1e-6, 3.0)
    >>> bool(abs(ball.centre[0]) < ball.radius < 1)
    True
    """
    runs, dim = copies.shape
    blocks = math.ceil(8 * math.log(2 * dim / miss))
    size = runs // blocks
    if size == 0 or not np.isfinite(copies).all():
        return Ball(copies.mean(axis=0), math.inf)
    used = copies[: size * blocks]
    means = used.reshape(blocks, size, dim).mean(axis=1)
    variance = _variance_above(copies, miss / 2, tail)
    return Ball(np.median(means, axis=0), 2 * math.sqrt(variance / size))


def _variance_above(copies: Array, miss: float, tail: float) -> float:
    """Bound E|x - m|^2 from above with probability 1 - miss."""
    half = len(copies) // 2
    gaps = copies[:half] - copies[half : 2 * half]
    mean = float((gaps * gaps).sum(axis=1).mean()) / 2
    short = math.sqrt(-(tail + 3) * math.log(miss) / half)
    return mean / (1 - short) if short < 1 else math.inf
