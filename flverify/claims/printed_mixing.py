"""The mixing matrices of the FOCUS paper, transcribed by cases as printed.

A second transcription beside `flverify.mixing`, which builds them from features of a
cohort; nodes are numbered as printed, the server being 0. Entries are defined for one
cohort and for all of them at once, see `flverify.claims.any_cohort`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from flverify._core.exact import Array
from flverify.claims.any_cohort import AnyCohort, Entry, Inside, OneCohort

Weight: TypeAlias = Callable[[int, Inside, Any], Any]  # (i, inside, |S|)

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)

FIGURE_1 = {
    "R": (
        (1, 0, 0, 0, 0),
        (1, 0, 0, 0, 0),
        (0, 0, 1, 0, 0),
        (1, 0, 0, 0, 0),
        (0, 0, 0, 0, 1),
    ),
    "A": (
        (0, HALF, 0, HALF, 0),
        (0, 1, 0, 0, 0),
        (0, 0, 1, 0, 0),
        (0, 0, 0, 1, 0),
        (0, 0, 0, 0, 1),
    ),
    "C": (
        (1, 1, 0, 1, 0),
        (0, 0, 0, 0, 0),
        (0, 0, 1, 0, 0),
        (0, 0, 0, 0, 0),
        (0, 0, 0, 0, 1),
    ),
    "W": (
        (THIRD, THIRD, 0, THIRD, 0),
        (THIRD, 2 * THIRD, 0, 0, 0),
        (0, 0, 1, 0, 0),
        (THIRD, 0, 0, 2 * THIRD, 0),
        (0, 0, 0, 0, 1),
    ),
}
LABELS = {"R": "row", "A": "row", "C": "column", "W": "doubly"}


def pull(i: int, j: int, inside: Inside, size: Any) -> Any:
    """R(S)[i, j] of (4)."""
    del size
    if inside(i) and j == 0:
        return 1
    return int(not inside(i) and j == i)


def push(i: int, j: int, inside: Inside, size: Any) -> Any:
    """C(S)[i, j] of the display after Figure 1."""
    del size
    if inside(j) and i == 0:
        return 1
    return int(not inside(j) and i == j)


def average(participant: str, empty: str = "zero") -> Entry:
    """A(S)[i, j] of (4), the index that must be in S being "i" (printed) or "j".

    For empty S the server's row is 0 ("zero", what the formula gives), or the server
    keeps its model ("keep").
    """

    def entry(i: int, j: int, inside: Inside, size: Any) -> Any:
        if i == j:
            return int(i != 0 or (empty == "keep" and size == 0))
        chosen, other = (i, j) if participant == "i" else (j, i)
        return 1 / size if inside(chosen) and other == 0 else 0

    return entry


def virtual(empty: str = "zero") -> Entry:
    """W(S)[i, j] of (35): every row averages the participants; `empty` as above."""

    def entry(i: int, j: int, inside: Inside, size: Any) -> Any:
        del i
        if j == 0:
            return int(empty == "keep" and size == 0)
        return 1 / size if inside(j) else 0

    return entry


def two_way(cohort: OneCohort | AnyCohort, added: int, diagonal: str) -> Array:
    """W(S) of the display after Figure 1, its weights being 1/(|S| + added).

    The printed diagonal is 1 - sum_i W[i, j]. If the sum leaves out i = j ("others")
    this is a formula; if it runs over all i ("all") the entry is in its own sum and
    solves x = 1 - (others + x).
    """

    def border(i: int, j: int, inside: Inside, size: Any) -> Any:
        linked = (inside(i) and j == 0) or (inside(j) and i == 0)
        return 1 / (size + added) if linked else 0

    out = cohort.matrix(border)
    missing = [1 - others for others in cohort.row_sums(out.T)]
    for j, rest in enumerate(missing):
        out[j, j] = rest if diagonal == "others" else rest / 2
    return out


def inclusion_weight(i: int, inside: Inside, size: Any) -> Any:
    """1{i in S}, whose mean is p_i."""
    del size
    return int(inside(i))


def averaging_weight(i: int, inside: Inside, size: Any) -> Any:
    """1{i in S}/|S| with 0/0 = 0, whose mean is q_i."""
    return 1 / size if inside(i) else 0


def printed_mean(name: str, weight: Weight) -> Entry:
    """Means of (5), its sentence on C, and (37), affine in weights of the clients."""

    def entry(i: int, j: int, inside: Inside, size: Any) -> Any:
        if name == "virtual" or (name == "aggregation" and i == 0):
            return weight(j, inside, size) if j else 0
        if name == "aggregation" or i == j == 0:
            return int(i == j)
        client, other = (i, j) if name == "pull" else (j, i)
        if client and other == 0:
            return weight(client, inside, size)
        return 1 - weight(client, inside, size) if i == j else 0

    return entry
