"""Rows of a region one after another, or several at a time in processes of their own.

A row is found in one process from beginning to end and does not depend on the others,
so the number of processes changes the order in which rows come and nothing else. The
processes are spoken to through pipes alone, which need no clearing up by anybody, and
are killed where they are no longer needed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from multiprocessing import connection
from multiprocessing.context import SpawnProcess
from typing import Any, TypeAlias

from flverify._core.errors import InputError
from flverify._core.sentences import EXPECTED
from flverify.certify.region._progress import Progress
from flverify.certify.region.row import Row, RowFound, find_row

Pipe: TypeAlias = "connection.Connection[Any, Any]"
HELD_BACK = ("SIGINT", "SIGTERM")  # the parent hears them, and kills


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
    left = list(rows)
    in_work: dict[Pipe, int] = {}
    with _team(min(workers, len(rows)), step_sizes) as idle:
        while left or in_work:
            while left and idle:
                pipe = idle.pop()
                in_work[pipe] = left.pop(0)
                _hand(pipe, rows[in_work[pipe]])
            ready = connection.wait(list(in_work))
            for pipe in [one for one in in_work if one in ready]:
                heard, row = _heard(pipe), rows[in_work[pipe]]
                if isinstance(heard, str):
                    progress.at(row, heard)
                    continue
                idle.append(pipe)
                progress.done(row)
                progress.begin(row)
                yield in_work.pop(pipe), heard


def _hand(pipe: Pipe, row: Row) -> None:
    try:
        pipe.send(row)
    except OSError as error:
        raise _ended() from error


def _heard(pipe: Pipe) -> str | RowFound:
    """Return what a process tells: where it is, or what it found."""
    try:
        heard = pipe.recv()
    except (EOFError, OSError) as error:
        raise _ended() from error
    if isinstance(heard, Exception):
        raise heard
    told: str | RowFound = heard
    return told


def _ended() -> InputError:
    return InputError(
        "processes must be left to finish; the system ended one; take fewer workers, "
        "or free some memory, and resume."
    )


@contextmanager
def _team(size: int, step_sizes: Sequence[Fraction]) -> Iterator[list[Pipe]]:
    """Start processes, give the pipes to them, and kill them in the end."""
    # a fork would copy threads' locks in whatever state they are
    context = multiprocessing.get_context("spawn")
    pipes: list[Pipe] = []
    team: list[SpawnProcess] = []
    try:
        with _undisturbed():
            for _ in range(size):
                ours, theirs = context.Pipe()
                pipes.append(ours)
                process = context.Process(target=_work, args=(theirs, step_sizes))
                team.append(process)
                process.start()
                theirs.close()  # so that the end of the process is the end of the pipe
        yield list(pipes)
    finally:
        for process in team:
            if process.pid is not None:
                process.kill()
                process.join()
        for pipe in pipes:
            pipe.close()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold signals back while processes are started, which inherit that."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    held_back = {getattr(signal, name) for name in HELD_BACK}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held_back)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(pipe: Pipe, step_sizes: Sequence[Fraction]) -> None:
    """Find the rows that come through a pipe, until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where signals cannot be held back
    threading.Thread(target=_follow_parent, daemon=True).start()

    def tell(word: object) -> None:
        try:
            pipe.send(word)
        except OSError:  # nobody listens any more
            os._exit(1)

    while True:
        try:
            row = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer: object = find_row(row, step_sizes, tell)
        except EXPECTED as error:
            answer = error
        tell(answer)


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
