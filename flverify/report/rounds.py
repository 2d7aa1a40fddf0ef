"""A round of FedAvg as graphs and matrices: one row of panels per step, then the mean.

Figures 6 and 7 of the FOCUS paper are such pages. Matrices are `Entry` rows of a
table; the weights p and q of the law are rows of it too, as matrices of one row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flverify._core.exact import Array
from flverify.participation import ExplicitLaw
from flverify.report import graphs
from flverify.report.matrices import Entry, entries, kind_in, listed
from flverify.report.rows import RowTable

N_CLIENTS = 4
COHORTS = ((1, 3), (2, 3, 4))  # those of (36), clients counted from 1
LAW = "law"


@dataclass(frozen=True)
class Panel:
    """One matrix on a page.

    Parameters
    ----------
    matrix, source : str
        Which matrix of the table.
    heading : str
        Above it.
    marked : collection of (row, column)
        Entries on a shaded ground.
    """

    matrix: str
    source: str
    heading: str
    marked: Collection[tuple[int, int]] = ()


def law() -> ExplicitLaw:
    """Return the law of the means: the two cohorts of (36) with probability 1/2 each.

    Examples
    --------
    >>> [str(q) for q in law().averaging_weights()]
    ['1/4', '1/6', '5/12', '1/6']
    """
    half = Fraction(1, 2)
    table = {tuple(client - 1 for client in cohort): half for cohort in COHORTS}
    return ExplicitLaw(table, N_CLIENTS)


def law_rows() -> list[Entry]:
    """List p and q of the law, entry 0 being the server's, which has none."""
    chosen = law()
    weights = {"p": chosen.inclusion(), "q": chosen.averaging_weights()}
    return [
        row
        for name, values in weights.items()
        for row in listed(name, LAW, _row(values))
    ]


def _row(values: Array) -> Array:
    return np.array([[Fraction(0), *values]], dtype=object)


def page(
    figure: Figure,
    table: RowTable[Entry],
    steps: Mapping[str, tuple[Panel, Panel]],
    last: tuple[Panel, Panel],
    colour: str,
) -> None:
    """Draw one row per step, with its graph, and below them the law and its means.

    Parameters
    ----------
    figure : figure
        Empty.
    table : RowTable of Entry
    steps : mapping
        Name of a step to its two matrices; their links make its graph.
    last : pair of Panel
        The matrices of the last row.
    colour : str
        Of arrows and bars.
    """
    axes = figure.subplots(len(steps) + 1, 3, width_ratios=(1.0, 1.1, 1.1))
    star = graphs.star(N_CLIENTS)
    for (name, panels), line in zip(steps.items(), axes[:-1], strict=True):
        active = {0}
        graphs.blank(line[0], star.values())
        for panel, ax in zip(panels, line[1:], strict=True):
            found = entries(table, panel.matrix, panel.source)
            graphs.links(line[0], star, found, colour)
            active |= {node for at, v in found.items() if _links(at, v) for node in at}
            _matrix(ax, table, panel)
        graphs.nodes(line[0], star, active)
        line[0].set_title(name, fontsize=9)
    _weights(axes[-1, 0], table, colour)
    for panel, ax in zip(last, axes[-1, 1:], strict=True):
        _matrix(ax, table, panel)
    figure.subplots_adjust(0.08, 0.075, 0.99, 0.945, wspace=0.12, hspace=0.38)


def _links(at: tuple[int, int], value: str) -> bool:
    return value != "0" and at[0] != at[1]


def _matrix(ax: Axes, table: RowTable[Entry], panel: Panel) -> None:
    found = entries(table, panel.matrix, panel.source)
    graphs.matrix(ax, found, panel.marked)
    ax.set_aspect(0.78)  # room for long fractions
    ax.set_title(panel.heading, fontsize=8.5)
    kind = kind_in(table, panel.matrix, panel.source)
    style: dict[str, Any] = {
        "fontsize": 7.5,
        "color": "0.3",
        "ha": "center",
        "va": "top",
    }
    ax.text(0.53, 0.02, kind, transform=ax.transAxes, **style)


def _weights(ax: Axes, table: RowTable[Entry], colour: str) -> None:
    """Draw p and q of every client as bars, with their values."""
    clients = range(1, N_CLIENTS + 1)
    for name, shift, hollow in (("p", -0.23, True), ("q", 0.23, False)):
        found = entries(table, name, LAW)
        values = [float(Fraction(found[0, client])) for client in clients]
        where = [client + shift for client in clients]
        fill = "white" if hollow else colour
        label = {"p": "inclusion $p_i$", "q": "averaging $q_i$"}[name]
        ax.bar(where, values, 0.32, color=fill, edgecolor=colour, label=label)
        for x, client, height in zip(where, clients, values, strict=True):
            text = found[0, client]
            ax.text(x, height + 0.02, text, fontsize=6, ha="center", va="bottom")
    ax.set_xticks(clients)
    ax.set_ylim(0, 1.5)
    ax.set_yticks([0, 0.5, 1])
    ax.set_xlabel("client $i$")
    ax.set_ylabel("weight $p_i$, $q_i$")
    short = {"handlelength": 1.0, "handletextpad": 0.5, "columnspacing": 1.0}
    ax.legend(loc="upper center", ncols=2, fontsize=7, borderpad=0.2, **short)
    ax.grid(visible=False, axis="x")
