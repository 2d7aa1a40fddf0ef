"""The picture of a region: certified rates in colour, caps and boundaries as lines.

A rate fills the cell around its step size up to the certified boundary. From there no
certificate was found, and from the stability boundary a quadratic is unstable: both are
drawn from these boundaries and not from whole cells, which coarse grids make wide.
"""

from __future__ import annotations

import textwrap
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from flverify._core.exact import Array
from flverify.certify.certificate import NAMES
from flverify.certify.region import OVER, Cell, Region, RowFound
from flverify.report import style
from flverify.report.label_room import apart, keep_inside, minor
from flverify.report.numbers import bound

HEIGHT = 3.3  # inches, at the width of one column
SYMBOLS = {"tau": r"$\tau$", "p": "$p$", "n": "$N$", "kappa": r"$\kappa = L/\mu$"}
WHOLE = ("tau", "n")
GEOMETRIC = ("n", "kappa")  # parameters on a logarithmic axis
SHORT_AXIS = 30  # ends of a step-size axis on which labels between decades fit
FEW = 12  # rows up to which every value is a tick
REACH = 30.0  # how far beyond the grid the axis follows a line
COLOURS = "viridis"  # even in lightness, and without grey: for every colour vision
NO_CERTIFICATE, UNSTABLE = "0.86", "0.58"
BETWEEN = "1.0"  # white is outside the grid, or certified at no step size of it
WORDS = {
    NO_CERTIFICATE: "no certificate found",
    UNSTABLE: "a quadratic is unstable",
    BETWEEN: "not on the grid",
}
NARROW = 0.01  # part of the grid below which a stretch is not seen
SLICES = 256  # of all rows, at least one of each, where lines are slanted
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

LIMITS = LINES[1], LINES[0]  # where certificates end, and where stability does


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
    keep_inside(figure, ax, bar)
    figure.suptitle(title(region, law), y=0.985, fontsize=7.5, linespacing=1.25)
    figure.legend(
        handles=_handles(ax, region, lines),
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
    rates = "contraction to a neighbourhood only"
    functions = {
        "kappa": rf"$\kappa$ = {_short(kappa)}",
        "L": f"$L$ = {_short(row.smoothness)}",
    }
    above, below = (
        [text for key, text in parts.items() if key != region.over]
        for parts in (method, functions)
    )
    first = textwrap.shorten(", ".join([name, *above]), 66, placeholder=" ...")
    moves = any(found.contraction for found in region.found)
    return f"{first}\n{', '.join([*below, *[rates] * moves])}"


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
    across, (_, up) = _columns(region), _rows(region)
    height = np.full((len(region.found), len(region.step_sizes)), np.nan)
    for k, found in enumerate(region.found):
        for j, cell in enumerate(found.cells):
            if cell.rate is not None:
                height[k, j] = slowness(float(cell.rate))
    ax.grid(visible=False)
    plain: dict[str, Any] = {"rasterized": True, "linewidth": 0, "cmap": COLOURS}
    mesh = ax.pcolormesh(across, up, np.ma.masked_invalid(height), **plain)
    bands = _bands(region)
    for colour in dict.fromkeys(band.colour for band in bands):
        corners = [band.corners for band in bands if band.colour == colour]
        look: dict[str, Any] = {"facecolor": colour, "linewidth": 0, "rasterized": True}
        ax.add_collection(PolyCollection(corners, antialiased=False, **look), False)
    return mesh


def _columns(region: Region) -> Array:
    """Return the ends of the cells of the step sizes."""
    return _edges([float(step) for step in region.step_sizes], geometric=True)


@dataclass(frozen=True)
class Band:
    """A stretch of step sizes in one colour, and the heights between which it is."""

    ends: tuple[float, float]
    heights: tuple[float, float]
    colour: str

    @property
    def corners(self) -> list[tuple[float, float]]:
        """Its four corners."""
        (left, right), (low, high) = self.ends, self.heights
        return [(left, low), (right, low), (right, high), (left, high)]


def _bands(region: Region) -> list[Band]:
    """Return what is drawn where no rate is, from below to above."""
    across = _columns(region).tolist()
    out = []
    for k, found in enumerate(region.found):
        for heights, part in _parts(region, k):
            limits = [_limit(region, line, k, part) for line in LIMITS]
            for ends, colour in _stretches(found, across, limits):
                out.append(Band(ends, heights, colour))
    return out


def _parts(region: Region, place: int) -> Iterator[tuple[tuple[float, float], float]]:
    """Cut a row where lines are slanted: heights, and how far to the row beside it.

    A part is 0 in the middle of its row, and 1/2 at the edge to the row above.
    """
    values, up = _rows(region)
    if region.over in WHOLE or len(values) == 1:
        yield (up[place], up[place + 1]), 0.0
        return
    geometric = region.over in GEOMETRIC
    ends = [up[place], values[place], up[place + 1]]
    known = np.log(ends) if geometric else np.array(ends)
    slices = max(1, SLICES // len(values))
    parts = np.linspace(-0.5, 0.5, slices + 1)
    edges = np.interp(parts, [-0.5, 0, 0.5], known)
    edges = np.exp(edges) if geometric else edges
    for k in range(slices):
        yield (edges[k], edges[k + 1]), float(parts[k] + parts[k + 1]) / 2


def _limit(region: Region, line: Line, place: int, part: float) -> float | None:
    """Return where a line is in a part of a row: straight lines join the rows."""
    own = line.of(region.found[place])
    beside = place + (1 if part > 0 else -1)
    if own is None or not 0 <= beside < len(region.found):
        return None if own is None else float(own)
    other = line.of(region.found[beside])
    if other is None:
        return float(own)
    return float(float(own) ** (1 - abs(part)) * float(other) ** abs(part))


def _stretches(
    found: RowFound, across: Sequence[float], limits: Sequence[float | None]
) -> list[tuple[tuple[float, float], str]]:
    """Cut a row at its cells and its boundaries into stretches of one colour."""
    cuts = {v for v in limits if v is not None and across[0] < v < across[-1]}
    out: list[tuple[tuple[float, float], str]] = []
    for low, high in pairwise(sorted({*across, *cuts})):
        middle = (low * high) ** 0.5
        cell = found.cells[bisect(across, middle) - 1]
        colour = _look(found, cell, middle, *limits)
        if out and out[-1] == ((out[-1][0][0], low), colour):
            out[-1] = (out[-1][0][0], high), colour
        else:
            out.append(((low, high), colour))
    return [(ends, colour) for ends, colour in out if colour]


def _look(
    found: RowFound,
    cell: Cell,
    step: float,
    certified: float | None,
    unstable: float | None,
) -> str:
    """Return the colour of a step size of a cell; none where the cell's rate is."""
    own, plain = found.stability_boundary, "" if cell.rate else NO_CERTIFICATE
    if cell.status == "unstable" and unstable is None:
        return UNSTABLE
    if cell.status != "unstable" and own is not None and cell.step_size >= own:
        return plain  # an island where every quadratic contracts again
    if unstable is not None and step >= unstable:
        return UNSTABLE
    if certified is None or step > certified:
        return NO_CERTIFICATE
    return BETWEEN if cell.status == "unstable" else plain


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
    left, right = ax.get_xlim()
    short = right < SHORT_AXIS * left
    ax.xaxis.set_minor_formatter(FuncFormatter(minor) if short else NullFormatter())
    ax.set_xlabel(r"step size $\eta$")
    if region.over in GEOMETRIC:
        ax.set_yscale("log")
    ax.set_ylim(up[0], up[-1])
    ax.set_ylabel(f"{_word(region.over)} {SYMBOLS[region.over]}")
    if len(values) <= FEW:
        ax.yaxis.set_major_locator(FixedLocator(values))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.4g}"))


def _word(over: str) -> str:
    """Name a parameter without the letters that its symbol stands for."""
    return OVER[over].removesuffix(" L/mu")


def _bar(figure: Figure, ax: Axes, mesh: Any) -> None:
    """Draw the colour bar, its ticks at rates."""
    low, high = mesh.get_clim()
    if mesh.get_array().count() == 0:
        ax.set_visible(False)
        return
    bar = figure.colorbar(mesh, cax=ax)
    inside = [r for r in TICKS if low <= slowness(r) <= high]
    if len(inside) < 2:
        inside = [float(1 - 10**-v) for v in np.unique(np.linspace(low, high, 3))]
    inside = apart(inside, slowness, high - low)
    bar.set_ticks([slowness(r) for r in inside], labels=[f"{r:.6g}" for r in inside])
    ax.yaxis.set_minor_locator(NullLocator())
    bar.set_label(r"best certified rate $\rho$ per round")


def _handles(ax: Axes, region: Region, lines: Sequence[Line]) -> list[Line2D | Patch]:
    out: list[Line2D | Patch] = []
    for line in lines:
        out.append(Line2D([], [], label=_label(region, line), **line.look))
    edge: dict[str, Any] = {"edgecolor": "0.4", "linewidth": 0.5}
    seen = _seen(ax, region)
    out += [
        Patch(facecolor=colour, label=label, **edge)
        for colour, label in WORDS.items()
        if colour in seen
    ]
    return out


def _seen(ax: Axes, region: Region) -> set[str]:
    """Return the colours without a rate: of cells, and of stretches wide enough."""
    across, shown = _columns(region), ax.get_xlim()
    least = NARROW * np.log(across[-1] / across[0])
    statuses = {cell.status for found in region.found for cell in found.cells}
    out = {b.colour for b in _bands(region) if np.log(b.ends[1] / b.ends[0]) > least}
    if statuses & {"not certified", "inconclusive"}:
        out.add(NO_CERTIFICATE)
    if np.log(max(across[0] / shown[0], shown[1] / across[-1])) > least:
        out.add(BETWEEN)
    return out | ({UNSTABLE} if "unstable" in statuses else set())


def _label(region: Region, line: Line) -> str:
    """Label a line; one that lies wholly beyond the axis says where."""
    steps = [float(step) for step in region.step_sizes]
    values = [v for v in map(line.of, region.found) if v is not None]
    if float(max(values)) < steps[0] / REACH:
        return f"{line.label}: at most {bound(max(values), 2, up=True)}"
    if float(min(values)) > steps[-1] * REACH:
        return f"{line.label}: at least {bound(min(values), 2, up=False)}"
    return line.label
