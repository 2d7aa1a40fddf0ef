"""Averaging weights of a hundred thousand independent clients."""

from __future__ import annotations

import numpy as np

from benchmarks._rows import Row, least
from flverify.participation import Bernoulli


def rows(quick: bool) -> list[Row]:
    """Time the law and its weights."""
    chances = np.random.default_rng(0).random(100_000).tolist()

    def work() -> None:
        Bernoulli(chances).averaging_weights()

    name = "Bernoulli averaging weights, N = 100,000"
    return [Row(name, least(work, 1 if quick else 3), target=1.0)]
