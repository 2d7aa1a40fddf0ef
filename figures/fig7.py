"""Figure 7 of the FOCUS paper: the virtual form of FedAvg as graphs and matrices.

Every client pulls and works, the server averages the cohort {1, 3}. The product of both
steps is the W(S) of (35)-(36); its mean under a law is exact.
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

NAME = "fig7"
TITLE = "The virtual form of FedAvg: everybody pulls, the server averages a cohort"
SIZE = (PAGE, 5.7)
CLAIMS = ("focus.eq33_35.virtual", "focus.eq36.examples", "focus.eq37.Wbar")

PULL, PUSH, BOTH, FORMULA = "pull", "push", "push, then pull", "(35)"
MEAN, PRINT = "mean", "mean, as (37) prints it"


def table(quick: bool) -> RowTable[Entry]:
    """List the matrices of both steps, their product, and the mean of the product."""
    del quick  # there is nothing to shorten
    n, members, chosen = N_CLIENTS, [client - 1 for client in COHORTS[0]], law()
    everybody = mixing.pull_matrix(range(n), n)
    average = mixing.aggregation_matrix(members, n, reading="figure1")
    found = {
        ("R", PULL): everybody,
        ("A", PULL): mixing.pull_matrix((), n),  # nobody averages: the identity
        ("R", PUSH): mixing.pull_matrix((), n),
        ("A", PUSH): average,
        ("W", BOTH): everybody @ average,
        ("W", FORMULA): mixing.virtual_matrix(members, n),
        ("W", MEAN): mixing.expected_matrix("virtual", chosen),
        ("W", PRINT): mixing.printed_matrix("virtual", chosen.averaging_weights()),
    }
    rows = [row for name, matrix in found.items() for row in listed(*name, matrix)]
    return RowTable((*rows, *law_rows()))


def read(path: Path) -> RowTable[Entry]:
    """Read the table from its CSV file."""
    return read_rows(path, Entry)


def draw(figure: Figure, table: RowTable[Entry]) -> None:
    """Draw both steps, their product and its mean."""
    steps = {
        "pull the model": (
            Panel("R", PULL, r"$R_\mathrm{all}$"),
            Panel("A", PULL, r"$A=I$"),
        ),
        "push and average": (
            Panel("R", PUSH, r"$R=I$"),
            Panel("A", PUSH, r"$A_{\{1,3\}}$"),
        ),
    }
    product = differing(table, "W", BOTH, FORMULA)
    mean = differing(table, "W", MEAN, PRINT)
    last = (
        Panel("W", BOTH, r"$W_{\{1,3\}}=R_\mathrm{all}A_{\{1,3\}}$", product),
        Panel("W", MEAN, r"mean $\mathrm{E}\,W(S)$", mean),
    )
    page(figure, table, steps, last, look("fedavg").colour)


def caption(table: RowTable[Entry]) -> str:
    """Say the setting, where anything differs from the print, and what was judged."""
    first, second = ("{" + ", ".join(map(str, cohort)) + "}" for cohort in COHORTS)
    product = differing(table, "W", BOTH, FORMULA)
    mean = differing(table, "W", MEAN, PRINT)
    setting = (
        f"Setting: N = {N_CLIENTS} clients and the server, node 0. Upper rows: every "
        f"client pulls and works, the server averages the cohort {first}; nodes that "
        "communicate are shaded, an arrow leads from j to i where entry [i, j] is not "
        "0, loops are left out. The print writes R_all over the identity of the push "
        "step too. Last row: the average and the pull after it are the W of (35) and "
        f"(36) (entries that differ: {places(product) or 'none'}); the law that takes "
        f"{first} or {second} with probability 1/2 each, its inclusion probabilities p "
        "and averaging weights q, and the exact mean of W under it (entries that "
        f"differ from (37): {places(mean) or 'none'})."
    )
    scope = (
        "Scope: this law, whose rounds are never empty; the verdicts are on every law "
        "that a claim names."
    )
    return captions.caption(TITLE, setting, scope, claims=CLAIMS)
