"""Typed tables behind figures: rows of one frozen dataclass, one CSV file."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

from flverify._core.errors import FormatError
from flverify._core.whole_files import replacing

DIGITS = 12  # significant digits that a file keeps of a float

Row = TypeVar("Row")

# How a column is read back, by the name of its type.
_READERS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": lambda text: {"True": True, "False": False}[text],
}


@dataclass(frozen=True)
class RowTable(Generic[Row]):
    """Rows of one kind, in the order of the file.

    Parameters
    ----------
    rows : tuple of a frozen dataclass
        Its fields are str, int, float or bool and give the columns.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Point:
    ...     round: int
    ...     error: float
    >>> RowTable((Point(0, 1.0), Point(1, 0.5))).column("error")
    (1.0, 0.5)
    """

    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        """Go through the rows."""
        return iter(self.rows)

    def where(self, **values: object) -> RowTable[Row]:
        """Return the rows whose columns have the given values."""
        wanted = values.items()
        return RowTable(
            tuple(r for r in self.rows if all(getattr(r, k) == v for k, v in wanted))
        )

    def column(self, name: str) -> tuple[Any, ...]:
        """Return one column."""
        return tuple(getattr(row, name) for row in self.rows)

    def write_csv(self, path: Path) -> None:
        """Write the table whole, replacing an old file in one step."""
        write_rows(path, self.rows)


def write_rows(path: Path, rows: Iterable[Any]) -> None:
    """Write rows of one dataclass with a header, whole or not at all.

    Raises
    ------
    FormatError
        If there is no row: a file without rows says nothing of its columns.
    """
    kept = list(rows)
    if not kept:
        raise FormatError(
            f"{path.name} must have at least one row; got none; compute the table anew."
        )
    with (
        replacing(path) as scratch,
        scratch.open("w", encoding="utf-8", newline="") as stream,
    ):
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(field.name for field in fields(kept[0]))
        writer.writerows([_shown(v) for v in astuple(row)] for row in kept)


def read_rows(path: Path, kind: type[Row]) -> RowTable[Row]:
    """Read a table that `write_rows` wrote.

    Parameters
    ----------
    path : path
    kind : type
        The frozen dataclass of a row.

    Raises
    ------
    FormatError
        If the file is missing or is not such a table, or a column is of another type.
    """
    columns: tuple[Any, ...] = fields(kind)  # type: ignore[arg-type]
    header = [column.name for column in columns]
    readers = [_reader(column.name, column.type) for column in columns]
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            lines = list(csv.reader(stream, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _foreign(path, header, str(error)) from error
    if not lines or lines[0] != header:
        raise _foreign(path, header, "its first line is another")
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            pairs = zip(readers, line, strict=True)
            rows.append(kind(*(reader(text) for reader, text in pairs)))
        except (ValueError, KeyError) as problem:
            raise _foreign(path, header, f"line {number}: {problem}") from problem
    return RowTable(tuple(rows))


def _reader(name: str, kind: object) -> Callable[[str], Any]:
    # types are text only under `from __future__ import annotations`
    called = kind.__name__ if isinstance(kind, type) else str(kind)
    if called not in _READERS:
        raise FormatError(
            f"the columns of a row must be str, int, float or bool; {name} is "
            f"{called}; write it as one of them."
        )
    return _READERS[called]


def _shown(value: object) -> str:
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)


def _foreign(path: Path, header: list[str], what: str) -> FormatError:
    return FormatError(
        f"{path.name} must be a table with the columns {', '.join(header)}; "
        f"{what}; make it anew with `flverify figure`."
    )
