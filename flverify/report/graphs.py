"""Graphs of nodes and arrows, and matrices entry by entry, drawn into one panel.

Node 0 is the server and drawn as a square, clients are circles numbered from 1. A
panel has its axis off and its own units: about one between neighbouring nodes, one
between entries of a matrix.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import hypot
from typing import Any, TypeAlias

from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle

Place: TypeAlias = tuple[float, float]
Style: TypeAlias = dict[str, Any]

SERVER = 0
RADIUS = 0.27
DARK, FAINT, SHADE = "0.15", "0.62", "0.84"


def star(n_clients: int) -> dict[int, Place]:
    """Return places of the server, above, and of the clients, in a row below it.

    Examples
    --------
    >>> star(2)
    {0: (0.0, 1.3), 1: (-0.5, 0.0), 2: (0.5, 0.0)}
    """
    middle = (n_clients - 1) / 2
    clients = {i + 1: (i - middle, 0.0) for i in range(n_clients)}
    return {SERVER: (0.0, 1.3), **clients}


def blank(ax: Axes, places: Collection[Place], margin: float = 0.45) -> None:
    """Prepare a panel that shows some places, without axis."""
    ax.axis("off")
    ax.set_aspect("equal")
    across, up = zip(*places, strict=True)
    ax.set_xlim(min(across) - margin, max(across) + margin)
    ax.set_ylim(min(up) - margin, max(up) + margin)


def nodes(
    ax: Axes,
    places: Mapping[int, Place],
    active: Collection[int],
    colour: str = DARK,
    fill: str = SHADE,
) -> None:
    """Draw nodes with their numbers: active ones filled, the others faint."""
    for name, (x, y) in places.items():
        on = name in active
        look: Style = {
            "facecolor": fill if on else "white",
            "edgecolor": colour if on else FAINT,
            "linewidth": 1.0,
            "zorder": 3,
        }
        if name == SERVER:
            side = 2 * RADIUS
            ax.add_patch(Rectangle((x - RADIUS, y - RADIUS), side, side, **look))
        else:
            ax.add_patch(Circle((x, y), RADIUS, **look))
        style: Style = {"ha": "center", "va": "center", "zorder": 4}
        ax.text(x, y, str(name), color="black" if on else "0.45", **style)


def arrow(
    ax: Axes,
    start: Place,
    end: Place,
    *,
    dashed: bool = False,
    faint: bool = False,
    both: bool = False,
    colour: str = DARK,
) -> None:
    """Draw an arrow from the rim of one node to the rim of another.

    Parameters
    ----------
    ax : axes
    start, end : pair of floats
        Centres of the nodes.
    dashed : bool
        No communication: a faint broken line without a head.
    faint : bool
        A link that does not matter here: a faint line without a head.
    both : bool
        Heads at both ends.
    colour : str
    """
    length = hypot(end[0] - start[0], end[1] - start[1])
    part = 1.25 * RADIUS / length
    across, up = end[0] - start[0], end[1] - start[1]
    tail = (start[0] + part * across, start[1] + part * up)
    head = (end[0] - part * across, end[1] - part * up)
    plain = dashed or faint
    kind = "-" if plain else ("<|-|>" if both else "-|>")
    ax.add_patch(
        FancyArrowPatch(
            tail,
            head,
            arrowstyle=kind,
            mutation_scale=8,
            shrinkA=0,
            shrinkB=0,
            color=FAINT if plain else colour,
            linestyle=(0, (3, 2)) if dashed else "-",
            linewidth=0.8 if plain else 1.1,
            zorder=2,
        )
    )


def links(
    ax: Axes,
    places: Mapping[int, Place],
    entries: Mapping[tuple[int, int], str],
    colour: str = DARK,
) -> None:
    """Draw an arrow j -> i for every entry [i, j] that is not 0, loops left out."""
    found = {at for at, value in entries.items() if value != "0" and at[0] != at[1]}
    for i, j in sorted(found):
        back = (j, i) in found
        if not back or i < j:
            arrow(ax, places[j], places[i], both=back, colour=colour)


def matrix(
    ax: Axes,
    entries: Mapping[tuple[int, int], str],
    marked: Collection[tuple[int, int]] = (),
    names: Sequence[int] | None = None,
    size: float = 7.0,
) -> None:
    """Write a matrix with brackets, and the nodes beside its rows and columns.

    Parameters
    ----------
    ax : axes
    entries : mapping
        Text of every entry, by row and column from 0.
    marked : collection of (row, column)
        Entries on a shaded ground.
    names : sequence of int
        Nodes of the rows and columns; 0, 1, ... by default.
    size : float
        Of the letters, in points.
    """
    n = 1 + max(i for i, _ in entries)
    blank(ax, [(-0.75, 0.75), (n - 0.25, 0.25 - n)], margin=0.35)
    middle: Style = {"ha": "center", "va": "center"}
    for (i, j), value in entries.items():
        if (i, j) in marked:
            ground = Rectangle((j - 0.46, -i - 0.46), 0.92, 0.92, color=SHADE)
            ax.add_patch(ground)
        tone = FAINT if value == "0" and (i, j) not in marked else "black"
        ax.text(j, -i, value, fontsize=size, color=tone, **middle)
    for at, name in enumerate(names or range(n)):
        small: Style = {"fontsize": size - 1.5, "color": "0.4", **middle}
        ax.text(at, 0.82, str(name), **small)
        ax.text(-1.02, -at, str(name), **small)
    for x, inward in ((-0.66, 0.14), (n - 0.34, -0.14)):
        top, bottom = 0.5, 0.5 - n
        line = [x + inward, x, x, x + inward], [top, top, bottom, bottom]
        ax.plot(*line, color="black", linewidth=0.8, solid_joinstyle="miter")


def beside(ax: Axes, text: str) -> None:
    """Write a heading upright at the left of a row of panels."""
    style: Style = {"rotation": 90, "va": "center", "ha": "center", "fontsize": 8.5}
    ax.text(-0.22, 0.5, text, transform=ax.transAxes, **style)
