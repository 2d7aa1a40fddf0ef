"""FedAvg at a fixed step size: one affine map per client."""

from __future__ import annotations

from importlib.util import find_spec

from benchmarks._rows import Row, skipped
from benchmarks._workload import FEDAVG, row


def rows(quick: bool) -> list[Row]:
    """Time numpy and numba."""
    how = {"method": "affine"}
    numpy = row("FedAvg, affine, numpy", FEDAVG, 1, 1.7, quick, **how, fast=False)
    name = "FedAvg, affine, numba"
    if find_spec("numba") is None:
        return [numpy, skipped(name, "numba is not installed")]
    return [numpy, row(name, FEDAVG, 1, 1.35, quick, **how, fast=True)]
