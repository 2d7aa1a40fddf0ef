"""The fixed point of the mean of a large float system, from its start where need be.

What a round never changes makes the equations singular: slots of clients that never
take part, or sums such as that of the shifts of ProxSkip. There the start decides.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack, matrix_balance

from flverify._core.exact import Array
from flverify.engines.moments._reduce import means
from flverify.engines.moments._system import System

SINGULAR = 1e-13  # of the mean map or 1: size of an equation that is rounding
DOUBTFUL = 1e-11  # the same: of one that leaves too few digits
CONSISTENT = 1e-6  # relative: what equations may be off by


def fixed_state(start: Array, drift: Array) -> tuple[Array, Array]:
    """Return the fixed state from the start 0, and how it moves with the start.

    Shapes (n,) and (n, d); not numbers where the mean has no fixed state. How the
    state begins has shape (n, d + 1), the constant last; so has the drift, Mbar - 1,
    (n, n + 1).
    """
    # beside slots that move at once the model may move by little
    sizes = np.abs(drift[:, :-1]).max(axis=1)
    sizes = np.where(sizes > 0, sizes, 1.0)
    drift = drift / sizes[:, None]
    gap = -drift[:, :-1]
    begun = np.column_stack([start[:, -1], start[:, :-1]])
    forcing = np.zeros_like(begun)
    forcing[:, 0] = drift[:, -1]
    idle = np.asarray(~gap.any(axis=1))
    moving = forcing[idle, 0] != 0
    gap[idle, idle], forcing[idle] = 1.0, begun[idle]
    found = _solved(gap, forcing, np.where(idle[:, None], 0.0, begun), sizes)
    off = np.abs(gap @ found - forcing)
    allowed = CONSISTENT * (1 + np.abs(forcing)) if not moving.any() else -1.0
    if not (off <= allowed).all():
        found = np.full_like(found, np.nan)
    return found[:, 0], found[:, 1:]


def fixed_modes(system: System) -> Array | None:
    """Return the fixed mean states of all modes in one vector, constants among them.

    z = A z + B pi for what is no constant, pi the shares of rounds. None where that is
    nearly singular: something is kept, too slow for floats, or there is no one pi.
    """
    lifted = means(system).moves[0].mean
    constants = np.cumsum(system.sizes) - 1
    rest = np.setdiff1d(np.arange(len(lifted)), constants)
    turned = lifted[np.ix_(constants, constants)] - np.eye(len(constants))
    closed = np.vstack([turned, np.ones(len(constants))])
    if np.linalg.matrix_rank(closed) < len(constants):
        return None
    fixed = np.zeros(len(lifted))
    fixed[constants] = np.linalg.lstsq(closed, np.eye(len(closed))[-1])[0]
    gap = np.eye(len(rest)) - lifted[np.ix_(rest, rest)]
    if not _conditioned(_balanced(gap)[0]) > DOUBTFUL:
        return None
    fixed[rest] = np.linalg.solve(
        gap, lifted[np.ix_(rest, constants)] @ fixed[constants]
    )
    return fixed


def _balanced(gap: Array) -> tuple[Array, Array]:
    """Return equations in units that balance them, and these units."""
    _, scales = matrix_balance(gap, permute=False, separate=True)
    return gap * scales[0] / scales[0][:, None], scales[0][:, None]


def _solved(gap: Array, forcing: Array, begun: Array, divided: Array) -> Array:
    """Solve gap z = forcing; what left null vectors see of z is as it has begun.

    Null vectors of equations that were divided by numbers are divided by them, too.
    """
    balanced, units = _balanced(gap)
    known = _conditioned(balanced)
    if known > SINGULAR:
        some = np.linalg.solve(gap, forcing)
        return np.asarray(some if known > DOUBTFUL else np.full_like(some, np.nan))
    left, sizes, _ = np.linalg.svd(balanced)
    kept = left[:, sizes <= SINGULAR * max(float(sizes.max()), 1.0)].T / divided
    kept = kept / np.linalg.norm(kept, axis=1, keepdims=True)
    rows = np.concatenate([balanced, kept])
    right = np.concatenate([forcing / units, kept @ (begun / units)])
    found, _, rank, _ = np.linalg.lstsq(rows, right, rcond=SINGULAR)
    if rank < len(gap):
        return np.full_like(forcing, np.nan)
    return np.asarray(found * units)


def _conditioned(matrix: Array) -> float:
    """How far from singular a matrix is, relative to it or to 1."""
    size = max(float(np.abs(matrix).sum(axis=0).max()), 1.0)
    factors, _, _ = lapack.dgetrf(matrix)
    known, _ = lapack.dgecon(factors, size)
    return float(known)
