"""The table behind a figure of curves: errors against rounds, in one CSV file."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from flverify._core.errors import FormatError

DIGITS = 12  # significant digits that a file keeps


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


HEADER = tuple(field.name for field in fields(Point))


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
        scratch = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            with scratch.open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerow(HEADER)
                writer.writerows([_shown(v) for v in astuple(p)] for p in self.points())
            scratch.replace(path)
        finally:
            scratch.unlink(missing_ok=True)


def read_csv(path: Path) -> CurveTable:
    """Read a table that `write_csv` wrote.

    Raises
    ------
    FormatError
        If the file is missing or is not such a table.
    """
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            lines = list(csv.reader(stream, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _foreign(path, str(error)) from error
    if not lines or tuple(lines[0]) != HEADER:
        raise _foreign(path, "its first line is another")
    found: dict[tuple[str, str, str, str], list[Point]] = {}
    for number, line in enumerate(lines[1:], start=2):
        point = _point(path, number, line)
        key = (point.row, point.panel, point.algorithm, point.kind)
        found.setdefault(key, []).append(point)
    return CurveTable(tuple(_curve(points) for points in found.values()))


def _point(path: Path, number: int, line: Sequence[str]) -> Point:
    try:
        row, panel, algorithm, kind, when, *values = line
        error, lower, upper = (float(v) for v in values)
        return Point(row, panel, algorithm, kind, int(when), error, lower, upper)
    except ValueError as problem:
        raise _foreign(path, f"line {number}: {problem}") from problem


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


def _shown(value: str | int | float) -> str:
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)


def _foreign(path: Path, what: str) -> FormatError:
    return FormatError(
        f"{path.name} must be a table of curves with the columns {', '.join(HEADER)}; "
        f"{what}; make it anew with `flverify figure`."
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
