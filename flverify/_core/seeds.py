"""Counter-based random streams: the same seed gives the same bits.

A stream is addressed by (seed, run, block of rounds, attempt) through Philox, so
a draw depends on its address alone: not on how runs or rounds are blocked, nor on
threads or workers.
"""

from __future__ import annotations

import numpy as np

from flverify._core.exact import Array

BLOCK = 64  # rounds per stream: long enough to amortise the key set-up


def family(seed: int, number: int) -> int:
    """Seed of one of many families of streams; the first one is the seed's own."""
    if number == 0:
        return seed
    mixed = np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)
    return int(mixed[0]) >> 1


def uniforms(seed: int, run: int, block: int, width: int, attempt: int = 0) -> Array:
    """Uniforms of one block of rounds of one run, shape (BLOCK, width)."""
    rounds = range(block * BLOCK, (block + 1) * BLOCK)
    drawn = panel(seed, range(run, run + 1), rounds, width, attempt)
    return np.asarray(drawn[0])


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
    stream = np.random.Philox(0)
    draw, state = np.random.Generator(stream), stream.state
    key, counter = state["state"]["key"], state["state"]["counter"]
    for row, run in enumerate(runs):
        key[:] = seed, run
        for block in range(first, last):
            counter[:] = 0, block, attempt, 0
            stream.state = state  # a fresh stream, without the cost of making one
            place = slice((block - first) * BLOCK, (block - first + 1) * BLOCK)
            draw.random(out=out[row, place])
    offset = rounds.start - first * BLOCK
    return out[:, offset : offset + len(rounds)]
