"""How far off a minimiser in floats may be: rounding times the conditioning of F.

Where H is the mean Hessian, rounding of the entries and of the products moves x* by up
to eps |H^-1| (mean |H_i| |x*| + mean |b_i|), entry by entry (Skeel's bound). Diagonal
Hessians of any scales lose nothing so; a slow direction across the coordinates does.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from flverify._core.exact import Array
from flverify.problems._minimiser import quadratics_of


def blur(problem: Any, minimiser: Array) -> float:
    """Length by which x* of quadratics may be off in floats, weight x.

    Other problems are believed, as are those that leave the range of floats, which
    floats refuse elsewhere.

    Examples
    --------
    >>> from flverify.problems import Quadratics
    >>> one = Quadratics([[[4.0]]], [[2.0]])
    >>> blur(one, one.minimiser())
    2.220446049250313e-16
    """
    known = quadratics_of(problem)
    if known is None:
        return 0.0
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
