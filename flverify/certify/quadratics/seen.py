"""Whether runs of an instance have its rate, and not that of its neighbours alone.

Rates count modes that occur on all neighbouring instances; on the instance itself no
start may lead to them, or the model may not see them: where eta h = 1 a client's local
step keeps the gradient that it stores, which is 0 at first.
"""

from __future__ import annotations

import numpy as np

from flverify.certify.coordinates import Structure
from flverify.certify.forms import Reading
from flverify.certify.quadratics._map import moment_matrix
from flverify.certify.quadratics.begun import ends
from flverify.certify.quadratics.rows import Batch

ALIKE = 1e-11  # relative distance of the largest factors that count as one
FAINT = 1e-9  # share of a mode in E|x|^2 below which it is none


def runs_have_its_rate(
    reading: Reading, structure: Structure, batch: Batch, unseen: frozenset[str]
) -> bool:
    """Whether E|x_r|^2 from x_0 = 1 has a part with the largest factor; by floats.

    Parameters
    ----------
    batch : Batch
        One instance, in floats.
    """
    table = moment_matrix(reading, structure, batch, unseen)[0]
    of_model, begun = ends(reading, structure, batch, len(table))
    try:
        factors, modes = np.linalg.eig(table)
        parts = (of_model @ modes) * np.linalg.solve(modes, begun.astype(modes.dtype))
    except np.linalg.LinAlgError:  # modes that meet; nothing speaks against it
        return True
    if not factors.any():
        return True
    largest = np.abs(factors) >= np.abs(factors).max(initial=0.0) * (1 - ALIKE)
    return bool(np.abs(parts[largest]).max(initial=0.0) > FAINT * np.abs(parts).max())
