"""Where many functions of one variable first come down to zero, none skipped.

On an interval a function is interpolated at Chebyshev nodes. Where its first
coefficient exceeds the sum of the others it has no zero. Elsewhere the zeros of the
interpolant are found once its coefficients have died out, and the interval is halved
until they have.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev

from flverify._core.exact import Array

NODES = 13
RESOLVED = 1e-10  # last coefficients, relative to the largest, of an interval done
NOISE = 1e-13  # absolute size of coefficients that are rounding errors
TOUCHED = 1e-12  # a gap below this has come down to zero
NARROW = 1e-7  # relative width at which halving ends
REAL = 1e-9  # imaginary part of a real root

# values (B,) of the functions number `which` (B,) at points (B,)
Functions = Callable[[Array, Array], Array]


@lru_cache(maxsize=1)
def _rule() -> tuple[Array, Array]:
    """Nodes in (-1, 1), and the matrix from values there to coefficients."""
    angles = np.pi * (np.arange(NODES) + 0.5) / NODES
    table = 2 / NODES * np.cos(np.outer(np.arange(NODES), angles))
    table[0] /= 2
    return np.cos(angles), table


def coefficients(functions: Functions, which: Array, low: Array, high: Array) -> Array:
    """Chebyshev coefficients on [low, high] of each function, (B, NODES)."""
    nodes, table = _rule()
    points = low[:, None] + (high - low)[:, None] * (nodes + 1) / 2
    values = functions(np.repeat(which, NODES), points.ravel())
    return np.asarray(values.reshape(-1, NODES) @ table.T)


def positive(found: Array) -> Array:
    """Whether interpolants stay above zero, with room for what they leave out."""
    sizes = np.abs(found)
    left_out = sizes[:, -1] + sizes[:, -2]
    return np.asarray(found[:, 0] > sizes[:, 1:].sum(axis=1) + left_out)


def first_touches(gaps: Functions, which: Array, low: float, high: float) -> Array:
    """Where each gap first comes down to `TOUCHED` in [low, high]; inf if nowhere.

    Parameters
    ----------
    gaps : callable
        Functions of size about 1.
    which : (B,) array of int
        Functions to look at.

    Returns
    -------
    points : (B,) array
    """
    points = np.full(len(which), np.inf)
    # per function the intervals still to be looked at, the leftmost last
    waiting = {place: [(low, high)] for place in range(len(which))}
    while waiting:
        places = np.array(list(waiting))
        ends = np.array([waiting[place].pop() for place in waiting])
        found = coefficients(gaps, which[places], ends[:, 0], ends[:, 1])
        found[:, 0] -= TOUCHED
        for k in np.flatnonzero(~positive(found)):
            place, (a, b) = int(places[k]), ends[k].tolist()
            touch = _first(found[k], a, b)
            if touch is None:
                waiting[place] += [((a + b) / 2, b), (a, (a + b) / 2)]
            else:
                points[place] = touch
        waiting = {k: w for k, w in waiting.items() if w and np.isinf(points[k])}
    return points


def _first(found: Array, low: float, high: float) -> float | None:
    """First point of [low, high] where a gap is not above 0; inf if there is none.

    None where the interval must be halved before that can be told.
    """
    sizes = np.abs(found)
    if sizes[-2:].max() > RESOLVED * sizes.max() + NOISE:
        # unresolved and narrow: flat, or branching, down to rounding errors
        return low if high - low <= NARROW * high else None
    if chebyshev.chebval(-1.0, found) <= 0:
        return low
    trimmed = chebyshev.chebtrim(found, tol=1e-3 * NOISE * sizes.max())
    roots = np.asarray(chebyshev.chebroots(trimmed), dtype=complex)
    real = roots.real[(np.abs(roots.imag) <= REAL) & (np.abs(roots.real) <= 1)]
    return low + (high - low) * (float(real.min()) + 1) / 2 if len(real) else np.inf
