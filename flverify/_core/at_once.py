"""Signals that end the process as it is, while there is nothing to clear up yet.

An exception of a signal's handler inside an import may come out as a traceback, as
another error, or not at all: modules written in C report it as they please.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def ended_at_once() -> Iterator[None]:
    """Let signals end the process at once where Python would handle them.

    SIGINT ends it by one line and code 130; SIGTERM and SIGHUP by themselves, which a
    shell shows as 143 and 129.

    Examples
    --------
    >>> import signal
    >>> before = signal.getsignal(signal.SIGINT)
    >>> with ended_at_once():
    ...     import json
    >>> signal.getsignal(signal.SIGINT) is before
    True
    """
    alone = threading.current_thread() is threading.main_thread()
    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    known = {number: signal.getsignal(number) for number in numbers}
    heard = {n: now for n, now in known.items() if alone and callable(now)}
    for number in heard:
        signal.signal(number, _end if number == signal.SIGINT else signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)


def _end(number: int, _: object) -> None:
    with suppress(OSError):  # nobody can be told: the code says it
        os.write(2, b"error: interrupted.\n")
    os._exit(128 + number)
