"""Counter-based random streams: the same seed gives the same bits.

A stream is addressed by (seed, run, block of rounds, attempt) through Philox, so
a draw depends on its address alone: not on how runs or rounds are blocked, nor on
threads or workers.
"""

from __future__ import annotations

import numpy as np

from flverify._core.exact import Array

BLOCK = 64  # rounds per stream: long enough to amortise the key set-up


def uniforms(seed: int, run: int, block: int, width: int, attempt: int = 0) -> Array:
    """Uniforms of one block of rounds of one run, shape (BLOCK, width)."""
    counter = [0, block, attempt, 0]
    stream = np.random.Philox(key=[seed, run], counter=counter)
    return np.random.Generator(stream).random((BLOCK, width))


def panel(seed: int, runs: range, rounds: range, width: int, attempt: int = 0) -> Array:
    """Uniforms for given runs and rounds, shape (runs, rounds, width).

    Examples
    --------
    >>> whole = panel(1, range(4), range(100), 2)
    >>> bool((whole[2:3, 70:90] == panel(1, range(2, 3), range(70, 90), 2)).all())
    True
    """
    first, last = rounds.start // BLOCK, -(-rounds.stop // BLOCK)
    out = np.empty((len(runs), (last - first) * BLOCK, width))
    for row, run in enumerate(runs):
        for block in range(first, last):
            place = slice((block - first) * BLOCK, (block - first + 1) * BLOCK)
            out[row, place] = uniforms(seed, run, block, width, attempt)
    offset = rounds.start - first * BLOCK
    return out[:, offset : offset + len(rounds)]
