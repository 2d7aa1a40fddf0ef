"""Searches whose floats run out: what they raise, and how that is told."""

from __future__ import annotations

import numpy as np

from flverify._core.sentences import sentence

FLOATS_FAILED = (OverflowError, FloatingPointError, np.linalg.LinAlgError)


def floats_failed(error: Exception) -> str:
    """Say that a search has no answer because of its floats.

    Examples
    --------
    >>> floats_failed(FloatingPointError("underflow in a step"))
    'the floats of the search failed: underflow in a step'
    """
    return f"the floats of the search failed: {sentence(error)}"
