"""Semidefinite programmes; the only place that calls an SDP solver."""

from flverify.certify.solve.direct import (
    Block,
    Programme,
    Solution,
    Status,
    given,
    least,
    widest_margin,
)

__all__ = [
    "Block",
    "Programme",
    "Solution",
    "Status",
    "given",
    "least",
    "widest_margin",
]
