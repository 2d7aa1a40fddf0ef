"""The m smallest of each row, as a mask."""

from __future__ import annotations

import numpy as np

from flverify._core.exact import Array
from flverify.participation._law import Mask


def smallest(values: Array, m: int) -> Mask:
    """Mark the m smallest entries along the last axis, the first ones among equals.

    Examples
    --------
    >>> smallest(np.array([0.5, 0.1, 0.5, 0.3]), 3).tolist()
    [True, True, False, True]
    """
    largest_kept = np.partition(values, m - 1, axis=-1)[..., m - 1 : m]
    mask: Mask = values <= largest_kept
    if np.count_nonzero(mask) > m * largest_kept.size:  # some rows have a tie at m
        order = np.argsort(values, axis=-1, kind="stable")[..., :m]
        mask = np.zeros(values.shape, dtype=np.bool_)
        np.put_along_axis(mask, order, values=True, axis=-1)
    return mask
