"""What the picture of a region shows where no rate is: stretches of one colour.

They are cut at the boundaries, not at the ends of cells, which coarse grids make wide.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from flverify._core.exact import Array
from flverify.certify.region import Cell, Region, RowFound

WHOLE = ("tau", "n")
GEOMETRIC = ("n", "kappa")  # parameters on a logarithmic axis
NO_CERTIFICATE, UNSTABLE = "0.86", "0.58"
BETWEEN = "0.999"  # below the certified boundary, in a cell whose own step size is not
SLICES = 256  # of all rows, at least one of each, where lines are slanted


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


def edges(values: Sequence[float], geometric: bool) -> Array:
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


def row_ends(region: Region) -> tuple[list[float], Array]:
    """Return the values of the other parameter, and the ends of their rows."""
    values = [float(found.value) for found in region.found]
    return values, edges(values, region.over in GEOMETRIC)


def columns(region: Region) -> Array:
    """Return the ends of the cells of the step sizes."""
    return edges([float(step) for step in region.step_sizes], geometric=True)


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


def bands_of(region: Region) -> list[Band]:
    """Return what is drawn where no rate is, from below to above."""
    across = columns(region).tolist()
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
    values, up = row_ends(region)
    if region.over in WHOLE or len(values) == 1:
        yield (up[place], up[place + 1]), 0.0
        return
    geometric = region.over in GEOMETRIC
    ends = [up[place], values[place], up[place + 1]]
    known = np.log(ends) if geometric else np.array(ends)
    slices = max(1, SLICES // len(values))
    parts = np.linspace(-0.5, 0.5, slices + 1)
    cuts = np.interp(parts, [-0.5, 0, 0.5], known)
    cuts = np.exp(cuts) if geometric else cuts
    for k in range(slices):
        yield (cuts[k], cuts[k + 1]), float(parts[k] + parts[k + 1]) / 2


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
