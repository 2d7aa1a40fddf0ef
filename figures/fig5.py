"""Figure 5 of the FOCUS paper: decentralised gradient descent on a graph of four nodes.

The graph with the neighbours of node 1, its weights, one step of (26)-(27) on scalar
quadratics, and how far the fixed point is from the minimiser as the step size shrinks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flverify._core.exact import Array, identity, zeros
from flverify._core.rationals import from_flint, solve, to_flint
from flverify.report import captions, graphs
from flverify.report.rows import RowTable, read_rows
from flverify.report.style import PAGE

NAME = "fig5"
TITLE = "Decentralised gradient descent: a graph, its weights, one step and the limit"
SIZE = (PAGE, 5.0)
CLAIMS = ("focus.eq26_27.dgd",)

LINKS = ((1, 3), (2, 3), (2, 4), (3, 4))  # node 1 has the neighbour 3, as printed
PLACES = {1: (0.0, 1.4), 2: (2.4, 1.4), 3: (0.9, 0.0), 4: (2.9, 0.0)}
NODES = tuple(PLACES)
CURVATURES, MINIMISERS = (1, 2, 1, 3), (4, -1, 2, 0)
START = (-2, 3, 1, -1)
STEP_SIZE = Fraction(1, 4)  # of the step that is drawn
STEP_SIZES = tuple(Fraction(1, 2**power) for power in range(2, 13))
DOUBLY, ROWS = "rows and columns", "rows"
STEP = {"x": "$x_k$", "moved": "$x_k^+$", "next": "$x_{k+1}$"}


@dataclass(frozen=True)
class Value:
    """One number: a weight, a model of one step, or the error of a fixed point."""

    part: str  # "weight", a key of STEP, or "error"
    sums: str  # which sums of the weights are 1
    step_size: str
    node: int
    other: int  # of a weight
    value: str  # exact, but for the error


def table(quick: bool) -> RowTable[Value]:
    """Compute weights, one step, and the largest |x_i - x*| of the fixed points."""
    del quick  # there is nothing to shorten
    rows = [*_step(_metropolis())]
    for sums, weights in ((DOUBLY, _metropolis()), (ROWS, _equal())):
        for (i, j), weight in np.ndenumerate(weights):
            rows.append(Value("weight", sums, "", i + 1, j + 1, str(weight)))
        for step_size in STEP_SIZES:
            error = f"{_error(weights, step_size):.12g}"
            rows.append(Value("error", sums, str(step_size), 0, 0, error))
    return RowTable(tuple(rows))


def _neighbours(node: int) -> set[int]:
    return {node} | {sum(link) - node for link in LINKS if node in link}


def _metropolis() -> Array:
    """Weight 1/(1 + largest degree) of a link, what is missing on the diagonal."""
    out = identity(len(NODES), exact=True)
    for i, j in LINKS:
        largest = max(len(_neighbours(i)), len(_neighbours(j)))
        out[i - 1, j - 1] = out[j - 1, i - 1] = Fraction(1, largest)
        out[i - 1, i - 1] -= Fraction(1, largest)
        out[j - 1, j - 1] -= Fraction(1, largest)
    return out


def _equal() -> Array:
    """Return the mean over the neighbours and oneself: rows of sum 1, columns not."""
    out = zeros((len(NODES), len(NODES)), exact=True)
    for i in NODES:
        for j in _neighbours(i):
            out[i - 1, j - 1] = Fraction(1, len(_neighbours(i)))
    return out


def _column(values: tuple[int, ...]) -> Array:
    return np.array([Fraction(value) for value in values], dtype=object)


def _step(weights: Array) -> Iterator[Value]:
    h, b, x = _column(CURVATURES), _column(MINIMISERS), _column(START)
    moved = x - STEP_SIZE * h * (x - b)
    for name, models in (("x", x), ("moved", moved), ("next", weights @ moved)):
        for node, model in zip(NODES, models, strict=True):
            yield Value(name, DOUBLY, str(STEP_SIZE), node, 0, str(model))


def _error(weights: Array, step_size: Fraction) -> float:
    """Largest |x_i - x*| of the fixed point x = W (x - eta h (x - b))."""
    h, b = _column(CURVATURES), _column(MINIMISERS)
    left = identity(len(NODES), exact=True) - weights + step_size * weights * h
    right = (step_size * weights @ (h * b))[:, None]
    fixed = from_flint(solve(to_flint(left), to_flint(right)))[:, 0]
    best = (h * b).sum() / h.sum()
    return float(max(abs(fixed - best)))


def read(path: Path) -> RowTable[Value]:
    """Read the table from its CSV file."""
    return read_rows(path, Value)


def draw(figure: Figure, table: RowTable[Value]) -> None:
    """Draw the graph, the weights, the step and the errors."""
    (graph, weights), (step, errors) = figure.subplots(2, 2)
    _graph(graph)
    rows = table.where(part="weight", sums=DOUBLY)
    graphs.matrix(
        weights, {(r.node - 1, r.other - 1): r.value for r in rows}, names=NODES
    )
    weights.set_title("(b) weights $w_{i,j}$, rows and columns of sum 1")
    _models(step, table)
    _errors(errors, table)
    figure.subplots_adjust(0.085, 0.09, 0.98, 0.945, wspace=0.27, hspace=0.32)


def _graph(ax: Axes) -> None:
    graphs.blank(ax, PLACES.values(), margin=0.6)
    for i, j in LINKS:
        if 1 in (i, j):
            graphs.arrow(ax, PLACES[max(i, j)], PLACES[1])
        else:
            graphs.arrow(ax, PLACES[i], PLACES[j], faint=True)
    graphs.nodes(ax, PLACES, _neighbours(1))
    ax.set_title(r"(a) graph; neighbours $\mathcal{N}_1=\{1,3\}$ of node 1")
    rule = (
        r"$x_{k+1,1}=\sum_{j\in\mathcal{N}_1}w_{1,j}\,"
        r"\left(x_{k,j}-\eta\,\nabla f_j(x_{k,j})\right)$"
    )
    ax.text(0.5, -0.02, rule, transform=ax.transAxes, ha="center", va="center")


def _models(ax: Axes, table: RowTable[Value]) -> None:
    looks = {
        "x": {"marker": "o", "markerfacecolor": "white"},
        "moved": {"marker": "|", "markersize": 7},
        "next": {"marker": "o"},
    }
    for name, look in looks.items():
        rows = table.where(part=name)
        where = [float(Fraction(value)) for value in rows.column("value")]
        style = {"color": graphs.DARK, "linestyle": "none", "markersize": 5, **look}
        ax.plot(where, rows.column("node"), label=STEP[name], zorder=3, **style)
    for node in NODES:
        found = table.where(node=node)
        line = [float(Fraction(found.where(part=n).rows[0].value)) for n in STEP]
        ax.plot(line, [node] * len(line), color=graphs.FAINT, linewidth=1.0)
    ax.set_ylim(len(NODES) + 0.5, 0.4)
    ax.set_yticks(NODES)
    ax.set_ylabel("node $i$")
    ax.set_xlabel("model $x_i$")
    step_size = table.where(part="x").column("step_size")[0]
    ax.set_title(rf"(c) one step, $\eta={step_size}$")
    ax.legend(loc="upper right", ncols=3, columnspacing=0.9, handletextpad=0.1)


def _errors(ax: Axes, table: RowTable[Value]) -> None:
    looks = {
        DOUBLY: {"marker": "o", "label": "rows and columns of sum 1"},
        ROWS: {"marker": "s", "linestyle": "--", "label": "rows of sum 1 only"},
    }
    for sums, look in looks.items():
        rows = table.where(part="error", sums=sums)
        where = [float(Fraction(step)) for step in rows.column("step_size")]
        found = [float(value) for value in rows.column("value")]
        ax.plot(where, found, color=graphs.DARK, markerfacecolor="white", **look)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(r"step size $\eta$")
    ax.set_ylabel(r"largest error $|x_i-x^\star|$")
    ax.set_title("(d) the fixed point against the minimiser")
    ax.legend(loc="lower right")


def caption(table: RowTable[Value]) -> str:
    """Say the setting, what the error does, and what was judged."""
    told = []
    for sums in (DOUBLY, ROWS):
        found = [float(v) for v in table.where(part="error", sums=sums).column("value")]
        factor = found[-2] / found[-1]
        told.append(f"{factor:.3g} with {sums} of sum 1 (down to {found[-1]:.3g})")
    last = table.where(part="error").column("step_size")[-1]
    setting = (
        f"Setting: nodes 1 to {len(NODES)}, links {_listed(LINKS)}; of the print only "
        "the neighbours of node 1 are known, and it writes w_{i,j} where w_{1,j} is "
        f"meant. f_i = h_i (x - b_i)^2/2 with h = {_listed(CURVATURES)} and b = "
        f"{_listed(MINIMISERS)}; weights 1/(1 + largest degree) in (b) and (c), whose "
        f"step starts at x_k = {_listed(START)} and goes to x_k^+ by (26) and to "
        "x_{k+1} by (27). (d): the exact fixed point with these weights, and with "
        "equal weights in each row, against the minimiser x* of the sum. Halving the "
        f"step size to {last} divides the error by {' and by '.join(told)}."
    )
    scope = "Scope: these quadratics; the verdicts are on two nodes and any numbers."
    told_of = captions.verdicts(CLAIMS, readings=True)
    return captions.caption(TITLE, setting, scope, f"Verdicts by reading: {told_of}.")


def _listed(values: tuple[object, ...]) -> str:
    if all(isinstance(value, tuple) for value in values):
        return ", ".join("-".join(map(str, value)) for value in values)
    return f"({', '.join(map(str, values))})"
