"""Matrices behind a figure: one row per entry, exact values as text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from flverify._core.exact import Array
from flverify.mixing import is_column_stochastic, is_row_stochastic
from flverify.report.rows import RowTable

Index: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Entry:
    """One entry of one matrix: what node `row` takes from node `column`.

    Parameters
    ----------
    matrix : str
        Letter of the matrix.
    source : str
        Where it comes from: a print, a formula, a step, a mean.
    row, column : int
    value : str
        Exact.
    kind : str
        Of the whole matrix: which of its sums are 1.
    """

    matrix: str
    source: str
    row: int
    column: int
    value: str
    kind: str


def kind_of(matrix: Array) -> str:
    """Say which sums of a matrix are 1.

    Examples
    --------
    >>> from flverify.mixing import pull_matrix, push_matrix
    >>> kind_of(pull_matrix({0}, 2)), kind_of(push_matrix({0}, 2))
    ('row stochastic', 'column stochastic')
    """
    row, column = is_row_stochastic(matrix), is_column_stochastic(matrix)
    if row and column:
        return "doubly stochastic"
    if row or column:
        return "row stochastic" if row else "column stochastic"
    return "neither row nor column stochastic"


def listed(name: str, source: str, matrix: Array) -> list[Entry]:
    """List the entries of a matrix, row by row."""
    kind, (rows, columns) = kind_of(matrix), matrix.shape
    return [
        Entry(name, source, i, j, str(matrix[i, j]), kind)
        for i in range(rows)
        for j in range(columns)
    ]


def entries(table: RowTable[Entry], name: str, source: str) -> dict[Index, str]:
    """Return the entries of one matrix of a table."""
    rows = table.where(matrix=name, source=source)
    return {(row.row, row.column): row.value for row in rows}


def kind_in(table: RowTable[Entry], name: str, source: str) -> str:
    """Return the kind of one matrix of a table."""
    kinds: tuple[str, ...] = table.where(matrix=name, source=source).column("kind")
    return kinds[0]


def differing(
    table: RowTable[Entry], name: str, source: str, other: str
) -> list[Index]:
    """Return where a matrix differs from the one of the same letter elsewhere."""
    known = entries(table, name, other)
    found = entries(table, name, source)
    return [at for at, value in found.items() if value != known[at]]


def places(indices: Iterable[Index]) -> str:
    """Name entries in a caption.

    Examples
    --------
    >>> places([(0, 1), (2, 2)])
    '[0, 1], [2, 2]'
    """
    return ", ".join(f"[{i}, {j}]" for i, j in indices)
