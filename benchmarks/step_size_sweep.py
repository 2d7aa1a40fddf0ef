"""A sweep of FedAvg over step sizes, 1024 rows in all."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from benchmarks._rows import Row, skipped
from benchmarks._workload import FEDAVG, RUNS, STEP_SIZE, row


def rows(quick: bool) -> list[Row]:
    """Time few step sizes with many runs, and many with few."""
    return [r for steps in (8, 64) for r in _sweep(steps, quick)]


def _sweep(steps: int, quick: bool) -> list[Row]:
    sizes = np.linspace(STEP_SIZE / 4, STEP_SIZE, steps).tolist()
    how = {"step_sizes": sizes, "runs": RUNS // steps}
    name = f"sweep of {steps} step sizes"
    out = [
        row(f"{name}, literal", FEDAVG, 2, 4.0, quick, **how, method="literal"),
    ]
    if find_spec("numba") is None:
        return [*out, skipped(f"{name}, compiled, numba", "numba is not installed")]
    how |= {"method": "compiled", "fast": True}
    return [*out, row(f"{name}, compiled, numba", FEDAVG, 2, 1.8, quick, **how)]
