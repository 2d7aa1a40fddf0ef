"""Rows of a region one after another, or several at a time in processes of their own.

A row is found in one process from beginning to end and does not depend on the others,
so the number of processes changes the order in which rows come and nothing else.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from fractions import Fraction
from multiprocessing import connection
from typing import Any

from flverify._core.errors import InputError
from flverify.certify.region.row import Row, RowFound, find_row


def find_rows(
    rows: Mapping[int, Row],
    step_sizes: Sequence[Fraction],
    workers: int,
    begin: Callable[[Row], object],
) -> Generator[tuple[int, RowFound]]:
    """Find rows and yield each with its index as it is finished.

    Closing the iterator ends the processes within the time of one step size.

    Raises
    ------
    InputError
        If the system ended a process.
    FlverifyError
        As `find_row` does.
    """
    if min(workers, len(rows)) > 1:
        yield from _several(rows, step_sizes, workers, begin)
        return
    for index, row in rows.items():
        begin(row)
        found = find_row(row, step_sizes)
        if found is not None:
            yield index, found


def _several(
    rows: Mapping[int, Row],
    step_sizes: Sequence[Fraction],
    workers: int,
    begin: Callable[[Row], object],
) -> Generator[tuple[int, RowFound]]:
    # a fork would copy threads' locks in whatever state they are
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    pool = ProcessPoolExecutor(
        min(workers, len(rows)), context, initializer=_start, initargs=(stop,)
    )
    places: dict[Future[RowFound | None], int] = {}
    try:
        with _undisturbed():
            for index, row in rows.items():
                places[pool.submit(_find, row, step_sizes)] = index
        for future in as_completed(places):
            found = future.result()
            if found is not None:
                begin(rows[places[future]])
                yield places[future], found
    except BrokenProcessPool as error:
        raise InputError(
            "processes must be left to finish; the system ended one; take fewer "
            "workers, or free some memory, and resume."
        ) from error
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold an interrupt back while processes are started, which inherit that."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Worker:
    """What a process knows: whether it is told to stop."""

    stopped: Callable[[], bool] = staticmethod(lambda: False)


def _start(stop: Any) -> None:
    """Prepare a process: it stops when told to, or when its parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it and tells
    _Worker.stopped = stop.is_set
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _find(row: Row, step_sizes: Sequence[Fraction]) -> RowFound | None:
    return find_row(row, step_sizes, _Worker.stopped)
