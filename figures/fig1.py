"""Figure 1 of the FOCUS paper: one cohort as graphs, with its four matrices.

Drawn are the matrices that the figure prints; below them what the formulas of the text
give for the same cohort. Both come from `flverify.mixing`.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from flverify import mixing
from flverify.report import captions, graphs
from flverify.report.matrices import (
    Entry,
    differing,
    entries,
    kind_in,
    listed,
    places,
)
from flverify.report.rows import RowTable, read_rows
from flverify.report.style import PAGE

NAME = "fig1"
TITLE = "Graphs and matrices of one cohort: pull, average, push and two-way exchange"
SIZE = (PAGE, 4.9)
CLAIMS = (
    "focus.fig1.matrices",
    "focus.eq4.R",
    "focus.eq4.A",
    "focus.def.C",
    "focus.def.W4",
)

N_CLIENTS = 4
COHORT = (1, 3)  # as printed: clients count from 1, node 0 is the server
HEADINGS = {
    "R": "pull $R(S)$",
    "A": "average $A(S)$",
    "C": "push $C(S)$",
    "W": "two-way $W(S)$",
}
BESIDE = ("graph", "as printed", "by the text")
PRINT, FORMULA, LITERAL = "print", "formula", "formula, sum over all i"


def table(quick: bool) -> RowTable[Entry]:
    """List the entries of every matrix, as printed and by formula."""
    del quick  # there is nothing to shorten
    members, n = [client - 1 for client in COHORT], N_CLIENTS
    two_way = mixing.doubly_stochastic_matrix
    found = {
        ("R", PRINT): mixing.pull_matrix(members, n),
        ("A", PRINT): mixing.aggregation_matrix(members, n, reading="figure1"),
        ("C", PRINT): mixing.push_matrix(members, n),
        ("W", PRINT): two_way(members, n, weight="figure1"),
        ("R", FORMULA): mixing.pull_matrix(members, n),
        ("A", FORMULA): mixing.aggregation_matrix(members, n, reading="printed"),
        ("C", FORMULA): mixing.push_matrix(members, n),
        ("W", FORMULA): two_way(members, n, diagonal="others"),
        ("W", LITERAL): two_way(members, n, diagonal="all"),
    }
    return RowTable(
        tuple(row for name, matrix in found.items() for row in listed(*name, matrix))
    )


def read(path: Path) -> RowTable[Entry]:
    """Read the table from its CSV file."""
    return read_rows(path, Entry)


def draw(figure: Figure, table: RowTable[Entry]) -> None:
    """Draw graphs, printed matrices and the text's matrices, one below the other."""
    axes = figure.subplots(3, 4, height_ratios=(0.8, 1.25, 1.25))
    star = graphs.star(N_CLIENTS)
    for name, column in zip(HEADINGS, axes.T, strict=True):
        printed = entries(table, name, PRINT)
        graphs.blank(column[0], star.values())
        graphs.links(column[0], star, printed)
        graphs.nodes(column[0], star, {0, *COHORT})
        column[0].set_title(HEADINGS[name], fontsize=9)
        graphs.matrix(column[1], printed)
        marked = differing(table, name, FORMULA, PRINT)
        graphs.matrix(column[2], entries(table, name, FORMULA), marked)
        for ax, source in ((column[1], PRINT), (column[2], FORMULA)):
            kind = kind_in(table, name, source)
            ax.set_title(kind, y=-0.1, fontsize=7.5, color="0.3")
    for ax, text in zip(axes[:, 0], BESIDE, strict=True):
        graphs.beside(ax, text)
    figure.subplots_adjust(0.07, 0.045, 0.99, 0.95, wspace=0.12, hspace=0.16)


def caption(table: RowTable[Entry]) -> str:
    """Say the setting, where text and figure differ, and what was judged."""
    n, cohort = N_CLIENTS, ", ".join(map(str, COHORT))
    told = "; ".join(_difference(table, name) for name in HEADINGS)
    literal = differing(table, "W", LITERAL, PRINT)
    setting = (
        f"Setting: N = {n} clients 1 to {n} and the server, node 0; cohort S = "
        f"{{{cohort}}}, shaded. Entry [i, j] is what node i takes from node j; an "
        "arrow leads from j to i where it is not 0, loops are left out. Middle row: "
        "the matrices that the figure prints. Last row: what the formulas of the text "
        "give, (4) for R and A, the display after Figure 1 for C and W; entries that "
        f"differ from the print are shaded. {told}."
    )
    second = (
        "The diagonal of W is printed as 1 - sum_i W[i, j]; drawn is the reading that "
        f"leaves out i = j. If the sum runs over all i, {len(literal)} entries differ "
        f"({places(literal)}), and W is {kind_in(table, 'W', LITERAL)}."
    )
    scope = "Scope: this cohort; the verdicts are on every cohort that a claim names."
    return captions.caption(TITLE, setting, f"{second} {scope}", claims=CLAIMS)


def _difference(table: RowTable[Entry], name: str) -> str:
    found = differing(table, name, FORMULA, PRINT)
    if not found:
        return f"{name}: no entry differs"
    return f"{name}: {len(found)} entries differ ({places(found)})"
