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
from flverify.certify.solve.pencil import Pencil
from flverify.certify.solve.words import is_infeasible

__all__ = [
    "Block",
    "Pencil",
    "Programme",
    "Solution",
    "Status",
    "given",
    "is_infeasible",
    "least",
    "widest_margin",
]
