"""The picture of a region: certified rates in colour, caps and boundaries as lines.

A rate fills the cell around its step size up to the certified boundary. From there no
certificate was found, and from the stability boundary a quadratic is unstable: both are
drawn from these boundaries and not from whole cells, which coarse grids make wide.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from flverify.certify.certificate import NAMES
from flverify.certify.region import OVER, Region
from flverify.report import style
from flverify.report.label_room import apart, keep_inside, minor
from flverify.report.numbers import bound
from flverify.report.region_bands import (
    BETWEEN,
    GEOMETRIC,
    LINES,
    NO_CERTIFICATE,
    UNSTABLE,
    WHOLE,
    Line,
    bands_of,
    columns,
    edges,
    row_ends,
)

HEIGHT = 3.3  # inches, at the width of one column
SYMBOLS = {"tau": r"$\tau$", "p": "$p$", "n": "$N$", "kappa": r"$\kappa = L/\mu$"}
SHORT_AXIS = 30  # ends of a step-size axis on which labels between decades fit
FEW = 12  # rows up to which every value is a tick
REACH = 30.0  # how far beyond the grid the axis follows a line
COLOURS = "viridis"  # even in lightness, and without grey: for every colour vision
BESIDE = "1.0"  # white, as is all that is drawn nowhere
HATCH = {BETWEEN: "//////"}  # so that no white is taken for the other
WORDS = {
    NO_CERTIFICATE: "no certificate found",
    UNSTABLE: "a quadratic is unstable",
    BETWEEN: "rate not computed",
    BESIDE: "beyond the grid",
}
NARROW = 0.01  # part of the grid below which a stretch is not seen
FULL_DIGITS = 5.0  # slowness up to which six digits of a rate tell what is missing
TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999)


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


def slowness(rate: Fraction | float) -> float:
    """Return -log10(1 - rate), in which rates near 1 are told apart.

    Examples
    --------
    >>> round(slowness(0.99), 9), slowness(1 - Fraction(1, 10**20))
    (2.0, 20.0)
    """
    return float(-np.log10(float(1 - rate)))  # the difference first: no digits are lost


def slow_text(slow: float) -> str:
    """Text of the rate of a slowness; near 1 it says what is missing.

    Examples
    --------
    >>> slow_text(2.0), slow_text(9.0)
    ('0.99', '1 - 1e-09')
    """
    missing = 10**-slow
    return f"1 - {missing:.2g}" if slow > FULL_DIGITS else f"{1 - missing:.6g}"


def _colours(ax: Axes, region: Region) -> Any:
    across, (_, up) = columns(region), row_ends(region)
    height = np.full((len(region.found), len(region.step_sizes)), np.nan)
    for k, found in enumerate(region.found):
        for j, cell in enumerate(found.cells):
            if cell.rate is not None:
                height[k, j] = slowness(cell.rate)
    ax.grid(visible=False)
    plain: dict[str, Any] = {"rasterized": True, "linewidth": 0, "cmap": COLOURS}
    mesh = ax.pcolormesh(across, up, np.ma.masked_invalid(height), **plain)
    bands = bands_of(region)
    for colour in dict.fromkeys(band.colour for band in bands):
        corners = [band.corners for band in bands if band.colour == colour]
        look = {**_fill(colour), "linewidth": 0, "rasterized": True}
        ax.add_collection(PolyCollection(corners, antialiased=False, **look), False)
    return mesh


def _fill(colour: str) -> dict[str, Any]:
    """Return the look of a colour: a hatch is drawn in the colour of edges."""
    hatch = HATCH.get(colour)
    hatched = {"hatch": hatch, "edgecolor": "0.7"} if hatch else {}
    return {"facecolor": colour, **hatched}


def _drawn(ax: Axes, region: Region, line: Line) -> bool:
    """Draw one line; return whether there is any of it."""
    values, up = row_ends(region)
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
    across = edges([float(step) for step in region.step_sizes], geometric=True)
    values, up = row_ends(region)
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
    inside = [slowness(r) for r in TICKS if low <= slowness(r) <= high]
    if len(inside) < 2:
        inside = np.unique(np.linspace(low, high, 3)).tolist()
    inside = apart(inside, float, high - low)
    bar.set_ticks(inside, labels=[slow_text(v) for v in inside])
    ax.yaxis.set_minor_locator(NullLocator())
    bar.set_label(r"best certified rate $\rho$ per round")


def _handles(ax: Axes, region: Region, lines: Sequence[Line]) -> list[Line2D | Patch]:
    out: list[Line2D | Patch] = []
    for line in lines:
        out.append(Line2D([], [], label=_label(region, line), **line.look))
    edge: dict[str, Any] = {"edgecolor": "0.4", "linewidth": 0.5}
    seen = _seen(ax, region)
    out += [
        Patch(label=label, **{**edge, **_fill(colour)})
        for colour, label in WORDS.items()
        if colour in seen
    ]
    return out


def _seen(ax: Axes, region: Region) -> set[str]:
    """Return the colours without a rate: of cells, and of stretches wide enough."""
    across, shown = columns(region), ax.get_xlim()
    least = NARROW * np.log(across[-1] / across[0])
    statuses = {cell.status for found in region.found for cell in found.cells}
    out = {b.colour for b in bands_of(region) if np.log(b.ends[1] / b.ends[0]) > least}
    if statuses & {"not certified", "inconclusive"}:
        out.add(NO_CERTIFICATE)
    if np.log(max(across[0] / shown[0], shown[1] / across[-1])) > least:
        out.add(BESIDE)
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
