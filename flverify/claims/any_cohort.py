"""Matrices defined by cases on membership, for one cohort and for all of them at once.

The papers define a mixing matrix by cases on i in S, j in S, i = j, i = 0, j = 0 and
|S|. Such an entry cannot tell two participants apart, nor two absent clients; so two
of each stand for any number, and the matrix of `AnyCohort`, in which |S| is a symbol,
shows every entry that any cohort of any N can have. Where two cohorts meet, two of each
of four kinds do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import sympy

from flverify._core.exact import Array
from flverify.claims.cohorts import Cohort

Inside: TypeAlias = Callable[[int], bool]
Entry: TypeAlias = Callable[[int, int, Inside, Any], Any]  # (i, j, inside, |S|)

SIZE, ABSENT = sympy.symbols("s a", positive=True)  # |S| and N - |S|
PARTICIPANTS, OTHERS = (1, 2), (3, 4)  # the representatives
# two in both of two cohorts, two in either alone, two in none
THIS, NEXT, OF_TWO = frozenset({1, 2, 3, 4}), frozenset({1, 2, 5, 6}), range(1, 9)


@dataclass(frozen=True)
class OneCohort:
    """The matrices of one cohort, nodes 0 (the server) to N."""

    members: Cohort
    n_clients: int

    @property
    def size(self) -> Fraction:
        """Number of participants."""
        return Fraction(len(self.members))

    def inside(self, node: int) -> bool:
        """Whether the node is a participant."""
        return node in self.members

    def matrix(self, entry: Entry) -> Array:
        """Matrix of an entry defined by cases."""
        return _matrix(entry, self.n_clients + 1, self.inside, self.size)

    @property
    def lines(self) -> list[str]:
        """Names of the rows and columns."""
        return [f"node {node}" for node in range(self.n_clients + 1)]

    def row_sums(self, matrix: Array) -> list[Any]:
        """Sum of every row."""
        return [sum(row.tolist()) for row in matrix]


@dataclass(frozen=True)
class AnyCohort:
    """The matrices of all cohorts at once: of every size, or of the empty one.

    Examples
    --------
    >>> def ones(i, j, inside, size): return 1
    >>> every = AnyCohort()
    >>> every.row_sums(every.matrix(ones))[0]  # N + 1
    a + s + 1
    """

    empty: bool = False

    @property
    def size(self) -> Any:
        """Number of participants: a positive symbol, or 0."""
        return sympy.Integer(0) if self.empty else SIZE

    def inside(self, node: int) -> bool:
        """Whether the representative is a participant."""
        return not self.empty and node in PARTICIPANTS

    def matrix(self, entry: Entry) -> Array:
        """Matrix of the server and the representatives."""
        return _matrix(entry, 5, self.inside, self.size)

    @property
    def lines(self) -> list[str]:
        """Names of the rows and columns."""
        first = "an absent client (S empty)" if self.empty else "a participant"
        last = "an absent client (S empty)" if self.empty else "an absent client"
        return ["the server", first, first, last, last]

    def row_sums(self, matrix: Array) -> list[Any]:
        """Sum of the row of each representative over all N + 1 columns."""
        return [self._row_sum(matrix, line) for line in range(5)]

    def _row_sum(self, matrix: Array, line: int) -> Any:
        total = matrix[line, 0] + (matrix[line, line] if line else 0)
        kinds: list[tuple[Any, tuple[int, ...]]]
        kinds = [(self.size, PARTICIPANTS), (ABSENT, OTHERS)]
        if self.empty:
            kinds = [(ABSENT, (*PARTICIPANTS, *OTHERS))]
        for count, alike in kinds:
            other = next(node for node in alike if node != line)
            total += (count - int(line in alike)) * matrix[line, other]
        return sympy.expand(total)


def of_two(entry: Entry, cohort: Cohort) -> Array:
    """Return the matrix of `THIS` or `NEXT` for the server and the clients `OF_TWO`.

    Examples
    --------
    >>> from flverify.claims.printed_mixing import push
    >>> list(of_two(push, THIS)[0])  # the server collects from these
    [1, 1, 1, 1, 1, 0, 0, 0, 0]
    """
    return _matrix(entry, len(OF_TWO) + 1, cohort.__contains__, SIZE)


def _matrix(entry: Entry, nodes: int, inside: Inside, size: Any) -> Array:
    out = np.empty((nodes, nodes), dtype=object)
    for i in range(nodes):
        for j in range(nodes):
            out[i, j] = entry(i, j, inside, size)
    return out
