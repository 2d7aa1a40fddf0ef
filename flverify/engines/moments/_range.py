"""Whether the squares of what a float round is made of are floats, too."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import numpy as np

from flverify._core.errors import RefusedError
from flverify._core.exact import Array

FARTHEST = 1e150  # an entry, the square of which is a float, and sums of such squares


def require_finite(parts: Iterable[Array]) -> None:
    """Refuse entries that are beyond floats, or no numbers."""
    _require(parts, sys.float_info.max)


def require_squares(parts: Iterable[Array]) -> None:
    """Refuse entries, in units that balance them, whose squares are beyond floats."""
    _require(parts, FARTHEST)


def _require(parts: Iterable[Array], largest: float) -> None:
    if not all(np.abs(part).max(initial=0.0) <= largest for part in parts):
        raise RefusedError(
            f"a float round must multiply nothing by more than {FARTHEST:g}; got more; "
            "take a smaller step size, or fewer local steps."
        )
