"""Works for slow layers, in a module that another process loads quickly."""

from __future__ import annotations

import os
import signal
import time

from flverify._core.errors import InputError


def count(upto):
    yield from range(upto)


def sleep_then(seconds):
    time.sleep(seconds)
    yield "late"


def refuse(reason):
    yield "first"
    raise InputError(reason)


def deaf(_):
    yield signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def end_at_once(_):
    os._exit(3)
    yield
