"""A slow layer in a process of its own: the newest request wins, the others end.

Every request has a number. A request for something else ends the one before it, waits
a moment so that a moving slider starts nothing, and then runs in one process, which
sends its results piece by piece. What arrives carries its number, and the page takes
it only while that number is the newest.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from multiprocessing import connection, forkserver
from typing import Any

from flverify._core.errors import FlverifyError
from flverify._core.team import undisturbed

PAUSE = 0.4  # seconds without a request before a process starts
_LISTEN = 0.05  # seconds between two looks whether to stop
_POLITE = 10  # how far a process stands back behind the page

Work = Callable[[Any], Iterable[object]]


@dataclass(frozen=True)
class Arrival:
    """A piece of what a slow layer finds, or its end.

    Parameters
    ----------
    layer : str
        Its name.
    number : int
        The request that it answers.
    piece : object
        What was found; None at the end.
    problem : str
        Why it ended early, in one sentence; empty otherwise.
    """

    layer: str
    number: int
    piece: object = None
    problem: str = ""


class SlowLayer:
    """Runs the newest request for a layer.

    Parameters
    ----------
    name : str
    work : function
        From an argument to pieces; found by its name in another process.
    deliver : function
        Takes an arrival; called from a thread of its own.
    pause : float
        Seconds that must pass without another request before it starts.
    """

    def __init__(
        self,
        name: str,
        work: Work,
        deliver: Callable[[Arrival], object],
        pause: float = PAUSE,
    ) -> None:
        self.name = name
        self.number = 0
        self._work = work
        self._deliver = deliver
        self._pause = pause
        self._key: Hashable = None
        self._stop = threading.Event()

    def ask(self, argument: object, key: Hashable) -> bool:
        """Start a request after a pause, and end the one before it.

        Parameters
        ----------
        argument : object
        key : hashable
            What the argument stands for. A request with the same key as the newest
            one is the same: it goes on, or keeps what it found.

        Returns
        -------
        new : bool
            Whether this is another request.
        """
        if key == self._key:
            return False
        self.end()
        self._key = key
        self._stop = threading.Event()
        threading.Thread(
            target=self._run, args=(self.number, argument, self._stop), daemon=True
        ).start()
        return True

    def end(self) -> None:
        """End what runs; what arrives from it later has an old number."""
        self._stop.set()
        self._key = None
        self.number += 1

    def is_newest(self, arrival: Arrival) -> bool:
        """Whether an arrival answers the newest request."""
        return arrival.number == self.number

    def _run(self, number: int, argument: object, stop: threading.Event) -> None:
        if stop.wait(self._pause):
            return
        here, there = _CONTEXT.Pipe(duplex=False)
        process = _CONTEXT.Process(
            target=_answer, args=(there, self._work, argument), daemon=True
        )
        process.start()
        there.close()
        try:
            self._pass_on(number, here, stop)
        finally:
            process.kill()
            process.join()
            here.close()

    def _pass_on(
        self, number: int, source: connection.Connection, stop: threading.Event
    ) -> None:
        while not stop.is_set():
            if source.poll(_LISTEN):
                try:
                    piece, problem = source.recv()
                except EOFError:
                    problem = "the process that looked for it was ended; ask again."
                    piece = None
                self._deliver(Arrival(self.name, number, piece, problem))
                if piece is None:
                    return


def _answer(sink: connection.Connection, work: Work, argument: object) -> None:
    """Compute and send every piece: what a process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it and ends us
    threading.Thread(target=_follow_parent, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(_POLITE)
    problem = ""
    try:
        for piece in work(argument):
            sink.send((piece, ""))
    except FlverifyError as error:
        problem = str(error)
    sink.send((None, problem))
    sink.close()


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def prepare(*modules: str) -> None:
    """Load modules once, before any process needs them, where the system can."""
    if sys.platform != "win32":
        _CONTEXT.set_forkserver_preload(list(modules))
        with undisturbed(["SIGINT"]):  # a terminal sends it to everybody
            forkserver.ensure_running()


# a fork of the server itself would copy threads' locks in whatever state they are
_CONTEXT: Any = multiprocessing.get_context(
    "spawn" if sys.platform == "win32" else "forkserver"
)
