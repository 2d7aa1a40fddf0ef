"""The picture of a region: certified rates in colour, caps and boundaries as lines."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from flverify._core.exact import Array
from flverify.certify.certificate import NAMES
from flverify.certify.region import OVER, Region, RowFound
from flverify.report import style

HEIGHT = 3.3  # inches, at the width of one column
SYMBOLS = {"tau": r"$\tau$", "p": "$p$", "n": "$N$", "kappa": r"$\kappa$"}
WHOLE = ("tau", "n")
GEOMETRIC = ("n", "kappa")  # parameters on a logarithmic axis
FEW = 12  # rows up to which every value is a tick
REACH = 30.0  # how far beyond the grid the axis follows a line
COLOURS = "viridis"  # even in lightness, and without grey: for every colour vision
NO_CERTIFICATE, UNSTABLE = "0.86", "0.58"  # white is outside the grid
TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999)


@dataclass(frozen=True)
class Line:
    """A line of the picture: its label, which number of a row it is, and its look."""

    label: str
    name: str
    look: dict[str, Any]

    def of(self, found: RowFound) -> Fraction | None:
        """Return the step size of a row."""
        value: Fraction | None = getattr(found, self.name)
        return value


# the widest first, so that a line that another one covers is still seen
LINES = (
    Line(
        "stability on quadratics",
        "stability_boundary",
        {"color": "#000000", "linewidth": 2.4},
    ),
    Line(
        "certified boundary",
        "certified_boundary",
        {"color": "#E69F00", "linewidth": 1.2, "linestyle": (0, (3.0, 1.2))},
    ),
    Line(
        "printed cap",
        "printed_cap",
        {"color": "#D55E00", "linewidth": 1.4, "linestyle": (0, (1.0, 1.0))},
    ),
)


def render(region: Region, law: str, path: Path, kind: str) -> None:
    """Draw a region in the house style into one file.

    Raises
    ------
    DomainError
        If the format is not pdf, png or svg.
    """
    with style.house_style():
        canvas = style.new_figure(HEIGHT, style.COLUMN)
        draw(canvas, region, law)
        style.save(canvas, path, kind)


def draw(figure: Figure, region: Region, law: str) -> None:
    """Draw a region into an empty figure."""
    ax = figure.add_axes((0.16, 0.32, 0.6, 0.55))
    bar = figure.add_axes((0.79, 0.32, 0.03, 0.55))
    mesh = _colours(ax, region)
    lines = [line for line in LINES if _drawn(ax, region, line)]
    _axes(ax, region, lines)
    _bar(figure, bar, mesh)
    figure.suptitle(title(region, law), y=0.985, fontsize=7.5, linespacing=1.25)
    figure.legend(
        handles=_handles(region, lines),
        loc="lower center",
        ncols=2,
        fontsize=7,
        columnspacing=1.2,
        handlelength=2.0,
        borderaxespad=0.2,
    )


def title(region: Region, law: str) -> str:
    """Say algorithm and law in one line, and the functions in another."""
    row = region.rows[0]
    name = style.look(NAMES[type(row.algorithm).__name__]).label
    kappa = row.smoothness / row.strong_convexity
    method = {
        "tau": rf"$\tau$ = {row.algorithm.local_steps}",
        "n": f"$N$ = {row.law.n_clients}",
        "law": f"participation {law}",
    }
    functions = {
        "kappa": rf"$\kappa$ = {_short(kappa)}",
        "L": f"$L$ = {_short(row.smoothness)}",
    }
    above, below = (
        [text for key, text in parts.items() if key != region.over]
        for parts in (method, functions)
    )
    first = textwrap.shorten(", ".join([name, *above]), 66, placeholder=" ...")
    return f"{first}\n{', '.join(below)}"


def _short(value: Fraction) -> str:
    return f"{float(value):.4g}"


def _edges(values: Sequence[float], geometric: bool) -> Array:
    """Return the ends of the cells around values: midpoints, and as far outside."""
    places = np.log(values) if geometric else np.asarray(values, dtype=float)
    if len(places) == 1:
        half = np.log(1.5) if geometric else 0.5 * abs(places[0])
        ends = np.array([places[0] - half, places[0] + half])
    else:
        middle = (places[:-1] + places[1:]) / 2
        first, last = 2 * places[0] - middle[0], 2 * places[-1] - middle[-1]
        ends = np.concatenate([[first], middle, [last]])
    return np.exp(ends) if geometric else ends


def _rows(region: Region) -> tuple[list[float], Array]:
    """Return the values of the other parameter, and the ends of their rows."""
    values = [float(found.value) for found in region.found]
    return values, _edges(values, region.over in GEOMETRIC)


def slowness(rate: float) -> float:
    """Return -log10(1 - rate), in which rates near 1 are told apart.

    Examples
    --------
    >>> round(slowness(0.99), 9)
    2.0
    """
    return float(-np.log10(1 - rate))


def _colours(ax: Axes, region: Region) -> Any:
    across = _edges([float(step) for step in region.step_sizes], geometric=True)
    _, up = _rows(region)
    shape = (len(region.found), len(region.step_sizes))
    height, kinds = np.full(shape, np.nan), np.full(shape, np.nan)
    for k, found in enumerate(region.found):
        for j, cell in enumerate(found.cells):
            if cell.rate is not None:
                height[k, j] = slowness(float(cell.rate))
            else:
                kinds[k, j] = float(cell.status == "unstable")
    plain: dict[str, Any] = {"rasterized": True, "linewidth": 0}
    two = ListedColormap([NO_CERTIFICATE, UNSTABLE])
    ax.grid(visible=False)
    ax.pcolormesh(across, up, kinds, cmap=two, vmin=0, vmax=1, **plain)
    filled = np.ma.masked_invalid(height)
    return ax.pcolormesh(across, up, filled, cmap=COLOURS, **plain)


def _drawn(ax: Axes, region: Region, line: Line) -> bool:
    """Draw one line; return whether there is any of it."""
    values, up = _rows(region)
    found = [line.of(row) for row in region.found]
    if all(value is None for value in found):
        return False
    x = np.array([np.nan if v is None else float(v) for v in found])
    y = np.array(values)
    if region.over in WHOLE or len(values) == 1:  # constant along a row
        x, y = np.repeat(x, 2), np.stack([up[:-1], up[1:]], axis=1).ravel()
    ax.plot(x, y, **line.look)
    return True


def _axes(ax: Axes, region: Region, lines: Sequence[Line]) -> None:
    across = _edges([float(step) for step in region.step_sizes], geometric=True)
    values, up = _rows(region)
    ends = [line.of(row) for line in lines for row in region.found]
    shown = [float(v) for v in ends if v is not None]
    near = [v for v in shown if across[0] / REACH < v < across[-1] * REACH]
    ax.set_xscale("log")
    ax.set_xlim(
        min([across[0], *(v / 1.15 for v in near)]),
        max([across[-1], *(v * 1.15 for v in near)]),
    )
    ax.set_xlabel(r"step size $\eta$")
    if region.over in GEOMETRIC:
        ax.set_yscale("log")
    ax.set_ylim(up[0], up[-1])
    ax.set_ylabel(f"{OVER[region.over]} {_symbol(region.over)}")
    if len(values) <= FEW:
        ax.yaxis.set_major_locator(FixedLocator(values))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.4g}"))


def _symbol(over: str) -> str:
    return "" if over == "kappa" else SYMBOLS[over]


def _bar(figure: Figure, ax: Axes, mesh: Any) -> None:
    """Draw the colour bar, its ticks at rates."""
    low, high = mesh.get_clim()
    if mesh.get_array().count() == 0:
        ax.set_visible(False)
        return
    bar = figure.colorbar(mesh, cax=ax)
    inside = [r for r in TICKS if low <= slowness(r) <= high]
    if len(inside) < 2:
        inside = [float(1 - 10**-v) for v in np.linspace(low, high, 3)]
    bar.set_ticks([slowness(r) for r in inside], labels=[f"{r:.6g}" for r in inside])
    ax.yaxis.set_minor_locator(NullLocator())
    bar.set_label(r"best certified rate $\rho$ per round")


def _handles(region: Region, lines: Sequence[Line]) -> list[Line2D | Patch]:
    out: list[Line2D | Patch] = []
    for line in lines:
        out.append(Line2D([], [], label=_label(region, line), **line.look))
    statuses = {cell.status for found in region.found for cell in found.cells}
    edge: dict[str, Any] = {"edgecolor": "0.4", "linewidth": 0.5}
    if statuses & {"not certified", "inconclusive"}:
        out.append(
            Patch(facecolor=NO_CERTIFICATE, label="no certificate found", **edge)
        )
    if "unstable" in statuses:
        label = "a quadratic is unstable"
        out.append(Patch(facecolor=UNSTABLE, label=label, **edge))
    return out


def _label(region: Region, line: Line) -> str:
    """Label a line; one that lies wholly beyond the axis says where."""
    steps = [float(step) for step in region.step_sizes]
    values = [float(v) for v in map(line.of, region.found) if v is not None]
    if max(values) < steps[0] / REACH:
        return f"{line.label}: at most {max(values):.2g}"
    if min(values) > steps[-1] * REACH:
        return f"{line.label}: at least {min(values):.2g}"
    return line.label
