"""Figure 6 of the FOCUS paper: a round of FedAvg as graphs and matrices.

Pull and push of the cohort {1, 3}, then the means of both matrices under a law, exact,
beside what (5) prints for them.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from flverify import mixing
from flverify.report import captions
from flverify.report.matrices import Entry, differing, listed, places
from flverify.report.rounds import COHORTS, N_CLIENTS, Panel, law, law_rows, page
from flverify.report.rows import RowTable, read_rows
from flverify.report.style import PAGE, look

NAME = "fig6"
TITLE = "A round of FedAvg as matrices: pull and push of a cohort, and their means"
SIZE = (PAGE, 5.7)
CLAIMS = ("focus.eq30_32.matrix", "focus.eq5.Rbar", "focus.eq5.Abar")

PULL, PUSH, MEAN, PRINT = "pull", "push", "mean", "mean, as (5) prints it"


def table(quick: bool) -> RowTable[Entry]:
    """List the matrices of both steps, their means, and the printed means."""
    del quick  # there is nothing to shorten
    n, members, chosen = N_CLIENTS, [client - 1 for client in COHORTS[0]], law()
    drawn = {"reading": "figure1"}
    q = chosen.averaging_weights()
    found = {
        ("R", PULL): mixing.pull_matrix(members, n),
        ("A", PULL): mixing.pull_matrix((), n),  # nobody averages: the identity
        ("R", PUSH): mixing.pull_matrix((), n),
        ("A", PUSH): mixing.aggregation_matrix(members, n, **drawn),
        ("R", MEAN): mixing.expected_matrix("pull", chosen),
        ("A", MEAN): mixing.expected_matrix("aggregation", chosen, **drawn),
        ("R", PRINT): mixing.printed_matrix("pull", q),
        ("A", PRINT): mixing.printed_matrix("aggregation", q),
    }
    rows = [row for name, matrix in found.items() for row in listed(*name, matrix)]
    return RowTable((*rows, *law_rows()))


def read(path: Path) -> RowTable[Entry]:
    """Read the table from its CSV file."""
    return read_rows(path, Entry)


def draw(figure: Figure, table: RowTable[Entry]) -> None:
    """Draw both steps and the means."""
    steps = {
        "pull the model": (
            Panel("R", PULL, r"$R_{\{1,3\}}$"),
            Panel("A", PULL, r"$A=I$"),
        ),
        "push and average": (
            Panel("R", PUSH, r"$R=I$"),
            Panel("A", PUSH, r"$A_{\{1,3\}}$"),
        ),
    }
    means = (
        Panel("R", MEAN, r"mean $\mathrm{E}\,R(S)$", _differing(table, "R")),
        Panel("A", MEAN, r"mean $\mathrm{E}\,A(S)$", _differing(table, "A")),
    )
    page(figure, table, steps, means, look("fedavg").colour)


def _differing(table: RowTable[Entry], name: str) -> list[tuple[int, int]]:
    return differing(table, name, MEAN, PRINT)


def caption(table: RowTable[Entry]) -> str:
    """Say the setting, where the means differ from the print, and what was judged."""
    first, second = ("{" + ", ".join(map(str, cohort)) + "}" for cohort in COHORTS)
    told = "; ".join(_told(table, name) for name in "RA")
    setting = (
        f"Setting: N = {N_CLIENTS} clients and the server, node 0. Upper rows: the "
        f"cohort {first}, whose nodes are shaded; an arrow leads from j to i where "
        "entry [i, j] is not 0, loops are left out. A is the matrix that Figures 1 and "
        "6 print, with the weights in the server's row; (4) has them in its column. "
        f"Last row: the law that takes {first} or {second} with probability 1/2 each, "
        "its inclusion probabilities p and averaging weights q, and the exact means of "
        "R and A under it; entries that differ from (5), which puts q into both, are "
        f"shaded: {told}."
    )
    scope = (
        "Scope: this law, whose rounds are never empty; the verdicts are on every law "
        "that a claim names."
    )
    return captions.caption(TITLE, setting, scope, claims=CLAIMS)


def _told(table: RowTable[Entry], name: str) -> str:
    found = _differing(table, name)
    return f"{name}: {places(found) if found else 'none'}"
