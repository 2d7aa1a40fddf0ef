"""Units of the coordinates of a float map, powers of 2, in which entries are near 1.

Without them a small step size, or a large unit of f, hides what starts reach.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import matrix_balance

from flverify._core.exact import Array


def most(values: Array) -> float:
    """Return the largest size of the entries, 0 for none."""
    return float(np.abs(values).max(initial=0.0))


def power_of_two(size: float) -> float:
    """Return one below a size, 1 for 0."""
    return 2.0 ** math.floor(math.log2(size)) if 0 < size < math.inf else 1.0


def units_beside(values: Array, start: Array, readout: Array) -> Array:
    """Units that balance a map of floats, powers of 2; that of what is read is 1.

    What is never read, directly or by what is, has no balance; it is measured by what
    flows into it, for else its size would hide what is read.

    Examples
    --------
    >>> one = np.array([[1.0], [0.0]])
    >>> units_beside(np.array([[1.0, 2.0**-40], [2.0**40, 1.0]]), one, one.T)
    array([1.00000000e+00, 1.09951163e+12])
    >>> units_beside(np.array([[1.0, 0.0], [2.0**40, 1.0]]), one, one.T)
    array([1.00000000e+00, 1.09951163e+12])
    """
    # what is read is led back to where it starts: slots nobody feeds have a unit, too
    closed = np.abs(values) + np.abs(start) @ np.abs(readout)
    np.fill_diagonal(closed, 0.0)  # has no unit, and is counted with what has
    read = _read(closed, readout)
    with np.errstate(invalid="ignore"):  # of a permutation that is not asked for
        inner = closed[np.ix_(read, read)]
        _, scales = matrix_balance(inner, permute=False, separate=True)
    units = np.zeros(len(closed))
    units[read] = scales[0]
    units /= units[np.abs(readout[0]).argmax()]
    return _filled(units, closed)


def _read(closed: Array, readout: Array) -> Array:
    """Say which coordinates are read, or flow into what is."""
    read = (readout != 0).any(axis=0)
    while True:
        more = read | (closed[read] != 0).any(axis=0)
        if (more == read).all():
            return np.asarray(read)
        read = more


def _filled(units: Array, closed: Array) -> Array:
    """Measure what has no unit yet by what flows in, step by step; by 1 if nothing."""
    for _ in range(len(units)):  # one at least has its unit each time
        inflow = np.where(units > 0, 0.0, (closed * units).max(axis=1))
        units = np.where(inflow > 0, [power_of_two(size) for size in inflow], units)
    return np.where(units > 0, units, 1.0)
