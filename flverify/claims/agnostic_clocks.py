"""The weights of a cohort drawn one after the other, by a generating function.

Client i rings after an exponential time of rate w_i, and the M first are S. With a
factor z_i for each client

    E prod_{i in S} z_i = int sum_j w_j z_j e^{-w_j t} [y^{M-1}] prod_{i != j}
                          (e^{-w_i t} + y z_i (1 - e^{-w_i t})) dt,

a sum over the client j that rings last. One sweep over the clients adds up all j. Taken
at z_i = e^{-s v_i} it is the Laplace transform of W = sum_{i in S} v_i, from which

    E log W = int_0^inf (e^{-s} - E e^{-s W})/s ds.

Nothing of the package's laws is used, so that both can be compared. Both integrals are
sums over a grid in the logarithm, where the integrands are smooth and fall on both
sides.
"""

from __future__ import annotations

import numpy as np

from flverify._core.exact import Array

TIMES = np.exp(np.arange(-36.0, 14.0, 0.15))  # of the last ring, w_1 = 1
SCALES = np.exp(np.arange(-34.0, 14.0, 0.25))  # s


def generating(rates: Array, m: int, factors: Array) -> Array:
    """E prod_{i in S} z_i for each row of factors (k, N), rates being w (N,).

    Examples
    --------
    >>> rates = np.array([1.0, 1 / 2])
    >>> generating(rates, 1, np.array([[1.0, 1.0], [1.0, 0.0]])).round(9)
    array([1.        , 0.66666667])
    """
    stay = np.exp(-np.outer(rates, TIMES))
    before = np.zeros((m, len(factors), len(TIMES)))  # some have rung, none the last
    before[0] = 1
    after = np.zeros_like(before)  # the last one is among those gone through
    for rate, kept, z in zip(rates, stay, factors.T, strict=True):
        rung = z[:, None] * (1 - kept)
        now = after * kept + before * (rate * kept * z[:, None])
        now[1:] += after[:-1] * rung
        after = now
        then = before * kept
        then[1:] += before[:-1] * rung
        before = then
    return np.asarray((after[-1] * TIMES).sum(axis=1) * np.log(TIMES[1] / TIMES[0]))


def inclusion(rates: Array, m: int) -> Array:
    """P(i in S) for every i, as what P(i not in S), at z_i = 0, leaves."""
    return np.asarray(1 - generating(rates, m, 1 - np.eye(len(rates))))


def mean_log(rates: Array, m: int, values: Array) -> float:
    """E log sum_{i in S} v_i.

    Examples
    --------
    >>> round(mean_log(np.array([1.0, 1 / 2]), 1, np.array([1.0, np.exp(3.0)])), 9)
    1.0
    """
    transform = generating(rates, m, np.exp(-np.outer(SCALES, values)))
    step = np.log(SCALES[1] / SCALES[0])
    return float((np.exp(-SCALES) - transform).sum() * step)
