"""Mixing matrices of the FOCUS paper: for a cohort, in expectation, and as printed.

Matrices are (N+1) x (N+1) with the server at index 0 and client i at index i + 1,
clients being numbered from 0 as everywhere in the package: the paper's S = {1, 3} is
the cohort {0, 2}. Entry [i, j] is what node i takes from node j.
"""

from __future__ import annotations

from flverify.mixing._cohorts import (
    aggregation_matrix,
    doubly_stochastic_matrix,
    is_column_stochastic,
    is_row_stochastic,
    pull_matrix,
    push_matrix,
    virtual_matrix,
)
from flverify.mixing._expected import expected_matrix, printed_matrix
from flverify.mixing._symbolic import Comparison, SymbolicTable, symbolic_table

__all__ = [
    "Comparison",
    "SymbolicTable",
    "aggregation_matrix",
    "doubly_stochastic_matrix",
    "expected_matrix",
    "is_column_stochastic",
    "is_row_stochastic",
    "printed_matrix",
    "pull_matrix",
    "push_matrix",
    "symbolic_table",
    "virtual_matrix",
]
