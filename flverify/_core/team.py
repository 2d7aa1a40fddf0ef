"""Work in processes of their own, several at a time.

A piece of work is done in one process from beginning to end, so the number of processes
changes the order in which answers come and nothing else. The processes are spoken to
through pipes alone, which need no clearing up by anybody, and are ended where they are
no longer needed and where their parent is gone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from multiprocessing.context import SpawnProcess
from typing import Any, TypeAlias

from flverify._core.errors import TerminatedError

Pipe: TypeAlias = "connection.Connection[Any, Any]"
Tell: TypeAlias = Callable[[object], None]
Work: TypeAlias = Callable[[Any, Tell], object]

HELD_BACK = ("SIGINT", "SIGTERM", "SIGHUP")  # the parent hears and ends its processes
GRACE = 1.0  # seconds in which a process may end what it has started itself


@dataclass(frozen=True)
class Told:
    """What is told of a piece while it is in work."""

    word: object


@dataclass(frozen=True)
class Lost:
    """In place of an answer: the system ended the process, or it ended itself."""


def in_processes(
    work: Work, pieces: Mapping[int, object], size: int
) -> Generator[tuple[int, object]]:
    """Do pieces of work; yield what is told of them, and every answer, with their keys.

    Closing the iterator ends the processes.

    Parameters
    ----------
    work : callable
        Of a module, so that processes find it: takes a piece and what tells a word of
        it, and returns the answer.
    pieces : mapping
    size : int
        Processes.
    """
    left, in_work = list(pieces), dict[Pipe, int]()
    with _team(min(size, len(left)), work) as idle:
        while left or in_work:
            while left and idle:
                pipe = idle.pop()
                in_work[pipe] = left.pop(0)
                with suppress(OSError):  # a process that is gone is heard of below
                    pipe.send(pieces[in_work[pipe]])
            if not in_work:  # no process is left
                yield from ((key, Lost()) for key in left)
                return
            ready = connection.wait(list(in_work))
            for pipe in [one for one in in_work if one in ready]:
                heard = _heard(pipe)
                if isinstance(heard, Told):
                    yield in_work[pipe], heard
                    continue
                if not isinstance(heard, Lost):
                    idle.append(pipe)
                yield in_work.pop(pipe), heard


def _heard(pipe: Pipe) -> object:
    try:
        return pipe.recv()
    except (EOFError, OSError):
        return Lost()


@contextmanager
def _team(size: int, work: Work) -> Iterator[list[Pipe]]:
    """Start processes, give the pipes to them, and end them."""
    # a fork would copy threads' locks in whatever state they are
    context = multiprocessing.get_context("spawn")
    pipes: list[Pipe] = []
    team: list[SpawnProcess] = []
    try:
        with undisturbed():
            for _ in range(size):
                ours, theirs = context.Pipe()
                pipes.append(ours)
                made = context.Process(target=_serve, args=(theirs, work), daemon=True)
                team.append(made)
                made.start()
                theirs.close()  # so that the end of the process is the end of the pipe
        yield list(pipes)
    finally:
        _end([one for one in team if one.pid is not None])
        for pipe in pipes:
            pipe.close()


def _end(team: Sequence[SpawnProcess]) -> None:
    for process in team:
        process.terminate()
    until = time.monotonic() + GRACE
    for process in team:
        process.join(max(0.0, until - time.monotonic()))
        process.kill()  # in the middle of a computation no signal is heard
        process.join()


@contextmanager
def undisturbed(names: Sequence[str] = HELD_BACK) -> Iterator[None]:
    """Hold signals back while processes are started, which inherit that."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its own start would let signals through again
    held_back = {getattr(signal, name) for name in names}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held_back)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Pipe, work: Work) -> None:
    """Do the pieces that come through a pipe, until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to everybody
    # by an exception, so that processes of its own are ended too
    signal.signal(signal.SIGTERM, _leave)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    threading.Thread(target=_follow_parent, daemon=True).start()

    def send(word: object) -> None:
        try:
            pipe.send(word)
        except OSError:  # nobody listens any more
            os._exit(1)

    while True:
        try:
            piece = pipe.recv()
        except (EOFError, OSError):
            return
        send(work(piece, lambda word: send(Told(word))))


def _leave(number: int, _: object) -> None:
    raise TerminatedError(128 + number)


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE)
        os._exit(1)
