"""Averaging weights of sampling without replacement by weight."""

from __future__ import annotations

import numpy as np

from benchmarks._rows import Row, least
from flverify.participation import SuccessiveSampling


def rows(quick: bool) -> list[Row]:
    """Time the law and its weights."""
    weights = np.random.default_rng(0).uniform(1, 10, 10_000).tolist()

    def work() -> None:
        SuccessiveSampling(weights, 100).averaging_weights()

    name = "SuccessiveSampling averaging weights, N = 10,000, m = 100"
    return [Row(name, least(work, 1 if quick else 3), target=5.0)]
