"""FOCUS: the literal round, and the round compiled from its trace."""

from __future__ import annotations

from importlib.util import find_spec

from benchmarks._rows import Row, skipped
from benchmarks._workload import FOCUS, row


def rows(quick: bool) -> list[Row]:
    """Time numpy and numba."""
    literal = row("FOCUS, literal", FOCUS, 2, 4.0, quick, method="literal")
    name = "FOCUS, compiled, numba"
    if find_spec("numba") is None:
        return [literal, skipped(name, "numba is not installed")]
    how = {"method": "compiled", "fast": True}
    return [literal, row(name, FOCUS, 2, 1.8, quick, **how)]
