"""The table behind a figure of curves: errors against rounds, in one CSV file."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from flverify.report.rows import read_rows, write_rows


@dataclass(frozen=True)
class Curve:
    """One curve of one panel.

    Parameters
    ----------
    row, panel : str
        Which panel, by row and column.
    algorithm : str
        File name of the algorithm in flverify/algorithms.
    kind : str
        "sampled" (a mean over runs, with a band) or "exact" (a moment curve).
    rounds : tuple of int
        Rounds at which the error is given.
    error, lower, upper : tuples of float
        Error, and the ends of its band (equal to it where there is none).
    """

    row: str
    panel: str
    algorithm: str
    kind: str
    rounds: tuple[int, ...]
    error: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]


@dataclass(frozen=True)
class Point:
    """One line of the file: one round of one curve."""

    row: str
    panel: str
    algorithm: str
    kind: str
    round: int
    error: float
    lower: float
    upper: float


@dataclass(frozen=True)
class CurveTable:
    """Curves of a figure, in the order of drawing.

    Parameters
    ----------
    curves : tuple of Curve

    Examples
    --------
    >>> one = Curve("r", "p", "focus", "exact", (0, 1), (1.0, 0.5), (1, .5), (1, .5))
    >>> CurveTable((one,)).find("r", "p", "focus", "exact").error
    (1.0, 0.5)
    """

    curves: tuple[Curve, ...]

    def of_panel(self, row: str, panel: str) -> tuple[Curve, ...]:
        """Return the curves of one panel."""
        return tuple(c for c in self.curves if (c.row, c.panel) == (row, panel))

    def find(self, row: str, panel: str, algorithm: str, kind: str) -> Curve | None:
        """Return one curve, or None if the table does not have it."""
        wanted = (algorithm, kind)
        chosen = self.of_panel(row, panel)
        return next((c for c in chosen if (c.algorithm, c.kind) == wanted), None)

    def points(self) -> Iterable[Point]:
        """Yield the table line by line."""
        for c in self.curves:
            columns = zip(c.rounds, c.error, c.lower, c.upper, strict=True)
            for values in columns:
                yield Point(c.row, c.panel, c.algorithm, c.kind, *values)

    def write_csv(self, path: Path) -> None:
        """Write the table whole, replacing an old file in one step."""
        write_rows(path, self.points())


def read_csv(path: Path) -> CurveTable:
    """Read a table that `write_csv` wrote.

    Raises
    ------
    FormatError
        If the file is missing or is not such a table.
    """
    found: dict[tuple[str, str, str, str], list[Point]] = {}
    for point in read_rows(path, Point):
        key = (point.row, point.panel, point.algorithm, point.kind)
        found.setdefault(key, []).append(point)
    return CurveTable(tuple(_curve(points) for points in found.values()))


def _curve(points: list[Point]) -> Curve:
    first = points[0]
    return Curve(
        first.row,
        first.panel,
        first.algorithm,
        first.kind,
        tuple(p.round for p in points),
        tuple(p.error for p in points),
        tuple(p.lower for p in points),
        tuple(p.upper for p in points),
    )


def thinned(last: int, most: int) -> tuple[int, ...]:
    """Return rounds 0 to last, all of them or about `most` evenly spread.

    Examples
    --------
    >>> thinned(100, 5)
    (0, 25, 50, 75, 100)
    >>> thinned(2, 5)
    (0, 1, 2)
    """
    stride = max(1, math.ceil(last / max(1, most - 1)))
    return tuple(sorted({*range(0, last, stride), last}))
