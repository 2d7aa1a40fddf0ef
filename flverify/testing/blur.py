"""How far off a minimiser in floats may be: rounding times the conditioning of F.

Where H is the mean Hessian, rounding of the entries and of the products moves x* by up
to eps |H^-1| (mean |H_i| |x*| + mean |b_i|), entry by entry (Skeel's bound). Diagonal
Hessians of any scales lose nothing so; a slow direction across the coordinates does.
Of other problems the mean gradient tells what was left to do, by differences of it.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from flverify._core.exact import Array
from flverify.problems._minimiser import quadratics_of
from flverify.testing.precision import precision_of

MOST_GRADIENTS = 5000  # clients times coordinates, of which differences are taken
LARGEST = 500  # of the systems that are solved
ASIDE = 1e-5  # of the size of x*: where they are
FLAT = 1e-10  # of the steepest: directions as flat as this are left out


def blur(problem: Any, minimiser: Array) -> float:
    """Length by which x* may be off where it is computed in floats, weight x.

    Problems that are not quadratic, with more than 500 coordinates, or 5000 clients
    times coordinates, are believed, as are those that leave the range of floats: these
    are refused elsewhere.

    Examples
    --------
    >>> from flverify.problems import Quadratics
    >>> one = Quadratics([[[4.0]]], [[2.0]])
    >>> blur(one, one.minimiser())
    2.220446049250313e-16
    """
    known = quadratics_of(problem)
    if known is None:
        return _left(problem, minimiser)
    try:
        plain, point = known.as_float(), minimiser.astype(np.float64)
    except OverflowError:
        return 0.0
    with np.errstate(all="ignore"):
        parts = np.abs(plain.hessians).mean(axis=0) @ np.abs(point)
        terms = parts + np.abs(plain.linear).mean(axis=0)
        try:
            moved = np.abs(np.linalg.inv(plain.hessians.mean(axis=0))) @ terms
        except np.linalg.LinAlgError:
            return math.inf
        found = sys.float_info.epsilon * float(np.linalg.norm(moved))
    return found if math.isfinite(found) else math.inf


def _left(problem: Any, minimiser: Array) -> float:
    """Length of the Newton step from a minimiser: what its computation left to do."""
    many = problem.dim * problem.n_clients > MOST_GRADIENTS
    if many or problem.dim > LARGEST or minimiser.dtype == object:
        return 0.0
    best = minimiser.astype(np.float64)
    away = ASIDE * (float(np.abs(best).max()) or 1.0)
    places = np.stack([best, *(best + away * np.eye(len(best)))])
    try:
        with np.errstate(all="ignore"):
            clients = range(problem.n_clients)
            found = sum(problem.client_gradients(i, places) for i in clients)
            here, *others = np.asarray(found, dtype=np.float64)
            moves = (np.array(others) - here).T / away
            step = np.linalg.lstsq(moves, here, rcond=FLAT)[0]
    except Exception:  # noqa: BLE001 - own code, whose domain may end beside x*
        return 0.0
    length = float(np.linalg.norm(step))
    rounded = precision_of(minimiser) * float(np.linalg.norm(best))
    return length + rounded if math.isfinite(length) else 0.0
