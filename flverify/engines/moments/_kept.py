"""Whether a float system keeps a sum that is zero at the start.

Nothing damps the rounding of such a sum; chains of weak directions amplify it until it
seems reachable, with the spectrum of something that never happens.
"""

from __future__ import annotations

import numpy as np

from flverify._core.exact import Array
from flverify.engines.moments._reduce import differences
from flverify.engines.moments._system import System

SMALL = 1e-13  # relative size of a singular value that is rounding


def conserves(system: System) -> bool:
    """Whether u x is kept by every map and 0 at the start, for some u but the constant.

    Followed are differences of two runs, in which the constant is one such u.
    """
    followed = differences(system)
    size = followed.sizes[0]
    if any(other != size for other in followed.sizes):
        return False
    maps = [a.T for move in followed.moves for _, a in move.terms]
    changes = np.concatenate([move.mean.T - np.eye(size) for move in followed.moves])
    kept = _kernel(changes)
    # the second moments keep it too: every term takes u to a multiple of u
    images = [(kept @ a.T) for a in maps]
    wandering = [image - (image @ kept.T) @ kept for image in images]
    inside = _kernel(np.concatenate([w.T for w in wandering])) @ kept
    started = np.concatenate([part.T for part in followed.start])
    return len(_kernel(started @ inside.T)) > 1


def _kernel(table: Array) -> Array:
    """Orthonormal rows u with table u = 0, up to rounding."""
    _, sizes, right = np.linalg.svd(table, full_matrices=True)
    rank = int((sizes > SMALL * max(1.0, float(sizes.max(initial=0.0)))).sum())
    return np.asarray(right[rank:])
