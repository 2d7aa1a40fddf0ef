"""Rows of a region one after another, or several at a time in processes of their own.

A row is found in one process from beginning to end and does not depend on the others,
so the number of processes changes the order in which rows come and nothing else.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from fractions import Fraction
from functools import partial
from typing import Any

from flverify._core.errors import InputError
from flverify._core.sentences import EXPECTED
from flverify._core.team import Tell, Told, in_processes
from flverify.certify.region._progress import Progress
from flverify.certify.region.row import Row, RowFound, find_row


def find_rows(
    rows: Mapping[int, Row],
    step_sizes: Sequence[Fraction],
    workers: int,
    progress: Progress,
) -> Generator[tuple[int, RowFound]]:
    """Find rows and yield each with its index as it is finished.

    Closing the iterator ends the processes at once.

    Raises
    ------
    InputError
        If the system ended a process.
    FlverifyError
        As `find_row` does.
    """
    if min(workers, len(rows)) > 1:
        yield from _several(rows, step_sizes, workers, progress)
        return
    for index, row in rows.items():
        progress.begin(row)
        found = find_row(row, step_sizes, _teller(progress, row))
        progress.done(row)
        yield index, found


def _teller(progress: Progress, row: Row) -> Any:
    return lambda place: progress.at(row, place)


def _several(
    rows: Mapping[int, Row],
    step_sizes: Sequence[Fraction],
    workers: int,
    progress: Progress,
) -> Generator[tuple[int, RowFound]]:
    work = partial(_find, step_sizes)
    with closing(in_processes(work, rows, workers)) as finding:
        for index, heard in finding:
            row = rows[index]
            if isinstance(heard, Told):
                progress.at(row, str(heard.word))
                continue
            found = _answer(heard)
            progress.done(row)
            progress.begin(row)
            yield index, found


def _find(step_sizes: Sequence[Fraction], row: Row, tell: Tell) -> object:
    """Find a row in a process; what is refused goes back as it is."""
    try:
        return find_row(row, step_sizes, tell)
    except EXPECTED as error:
        return error


def _answer(heard: object) -> RowFound:
    if isinstance(heard, RowFound):
        return heard
    if isinstance(heard, Exception):
        raise heard
    raise InputError(
        "processes must be left to finish; the system ended one; take fewer workers, "
        "or free some memory, and resume."
    )
