"""Finished rows of a region in a file, so that a run can be taken up again.

The first line states what is asked. A finished row is a line with its data and, once
that is on disk, a line that says it is done; data without the second line, or half a
line, are what an interrupted run leaves behind, and count for nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from flverify import __version__
from flverify._core.errors import FormatError, InputError
from flverify._core.whole_files import naming
from flverify.certify.classes import classes
from flverify.certify.region.cell import Cell
from flverify.certify.region.row import Row, RowFound

FORMAT = "flverify/region-rows"
VERSION = 3


@dataclass
class Store:
    """Rows that are finished, kept in a file if there is one.

    Parameters
    ----------
    path : Path or None
    heading : dict
        What is asked, as the first line of the file.
    known : dict
        Finished rows by their place in the region.
    """

    path: Path | None
    heading: dict[str, Any]
    known: dict[int, RowFound] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        path: Path | None,
        over: str,
        step_sizes: Sequence[Fraction],
        rows: Sequence[Row],
        resume: bool,
    ) -> Store:
        """Open a store; there is no file until a row is finished.

        Raises
        ------
        InputError
            If the file holds rows of another setting, or is there without `resume`.
        FormatError
            If the file is none of ours.
        """
        store = cls(path, _heading(over, step_sizes, rows))
        if path is None or not path.exists():
            return store
        if not resume:
            raise InputError(
                f"there must be no {path} yet, for finished rows are kept there; got a "
                "file; add --resume if an interrupted run left it, or move it away."
            )
        store._read(path)
        return store

    def add(self, index: int, found: RowFound) -> None:
        """Keep a finished row: its data first, then the mark that it is done."""
        self.known[index] = found
        if self.path is None:
            return
        if not self.path.exists():
            _append(self.path, json.dumps(self.heading))
        data = json.dumps({"row": index, "found": to_json(found)})
        _append(self.path, data)
        _append(self.path, json.dumps({"done": index, "sha256": _digest(data)}))

    def remove(self) -> None:
        """Remove the file; the region is whole."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _read(self, path: Path) -> None:
        whole, kept = _lines(path), 1
        if not whole:  # not even the heading was finished
            if not json.dumps(self.heading).startswith(path.read_text("utf-8")):
                raise _damaged(path)
            path.unlink()
            return
        if _object(whole[0], path) != self.heading:
            raise InputError(
                f"a region must be taken up with the setting it was begun with; {path} "
                "holds another; give the same options or delete the file."
            )
        for number, line in enumerate(whole[1:], start=2):
            mark = _object(line, path)
            if "done" in mark:
                index, found = self._finished(whole[number - 2], mark, path)
                self.known[index] = found
                kept = number
        # what an interrupted run left behind must not run into the next line
        size = sum(len(line.encode()) + 1 for line in whole[:kept])
        with path.open("r+b") as stream:
            stream.truncate(size)

    def _finished(
        self, data: str, mark: dict[str, Any], path: Path
    ) -> tuple[int, RowFound]:
        entry, index = _object(data, path), mark["done"]
        fits = mark.get("sha256") == _digest(data) and entry.get("row") == index
        if not fits or index not in range(len(self.heading["rows"])):
            raise _damaged(path)
        return index, _found(entry["found"], path)


def _append(path: Path, line: str) -> None:
    with naming(path), path.open("a", encoding="utf-8", newline="\n") as stream:
        stream.write(line + "\n")
        stream.flush()
        os.fsync(stream.fileno())


def _lines(path: Path) -> list[str]:
    """Return the lines that were written to their end."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise _damaged(path) from error
    return text.split("\n")[:-1]


def _object(line: str, path: Path) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _damaged(path) from error
    if not isinstance(found, dict):
        raise _damaged(path)
    return found


def _damaged(path: Path) -> FormatError:
    return FormatError(
        f"a file of finished rows must be as it was written; {path} is not; delete it "
        "and begin anew."
    )


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _heading(
    over: str, step_sizes: Sequence[Fraction], rows: Sequence[Row]
) -> dict[str, Any]:
    """State what is asked."""
    asked = [
        {
            "value": str(row.value),
            "algorithm": repr(row.algorithm.retuned(Fraction(1))),
            "law": classes(row.law).description,
            "strong_convexity": str(row.strong_convexity),
            "smoothness": str(row.smoothness),
        }
        for row in rows
    ]
    return {
        "format": FORMAT,
        "version": VERSION,
        "flverify": __version__,
        "over": over,
        "step_sizes": [str(step) for step in step_sizes],
        "rows": asked,
    }


def to_json(found: RowFound) -> dict[str, Any]:
    """Return a row as JSON data, numbers as exact text."""
    return {
        "value": str(found.value),
        "printed_cap": _text(found.printed_cap),
        "certified_boundary": _text(found.certified_boundary),
        "stability_boundary": _text(found.stability_boundary),
        "contraction": found.contraction,
        "remark": found.remark,
        "unsure": found.unsure,
        "cells": [_cell_to_json(cell) for cell in found.cells],
    }


def _cell_to_json(cell: Cell) -> list[str | None]:
    ends = [cell.level, str(cell.quadratic_rate), cell.reason]
    return [str(cell.step_size), cell.status, _text(cell.rate), *ends]


def _text(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _number(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


def _found(data: dict[str, Any], path: Path) -> RowFound:
    try:
        cells = tuple(
            Cell(Fraction(step), status, _number(rate), level, Fraction(floor), reason)
            for step, status, rate, level, floor, reason in data["cells"]
        )
        return RowFound(
            Fraction(data["value"]),
            cells,
            _number(data["printed_cap"]),
            _number(data["certified_boundary"]),
            _number(data["stability_boundary"]),
            data["contraction"],
            data["remark"],
            data["unsure"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path) from error
