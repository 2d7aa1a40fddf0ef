"""A signal while modules are loaded ends the process, whatever they make of errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import flverify
from flverify._core.at_once import ended_at_once

ROOT = Path(flverify.__file__).resolve().parent.parent

# a module that is long to load and takes no exception for an answer, as C may
STUBBORN = """
import pathlib, runpy, signal, sys, time

module, marker = sys.argv[1:]

class Stubborn:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            pathlib.Path(marker).touch()
            try:
                time.sleep(60)
            except BaseException:
                pass

# as in a terminal, whatever runs the tests
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
sys.meta_path.insert(0, Stubborn())
sys.argv = ["flverify", "law", "full", "--n-clients", "2"]
runpy.run_module("flverify", run_name="__main__", alter_sys=True)
"""


def ended(module, marker, number):
    """Send a signal to a process that is in the middle of loading a module."""
    where = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", STUBBORN, module, str(marker)],
        env=where,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        while not marker.exists() and running.poll() is None:
            time.sleep(0.02)
        running.send_signal(number)
        said = running.communicate(timeout=60)
    return running.returncode, *said


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("module", ["click", "flverify.commands.law"])
def test_a_signal_while_modules_are_loaded_ends_the_command(module, tmp_path):
    told = (130, "", "error: interrupted.\n")
    assert ended(module, tmp_path / "one", signal.SIGINT) == told
    assert ended(module, tmp_path / "two", signal.SIGTERM) == (-signal.SIGTERM, "", "")
    assert ended(module, tmp_path / "three", signal.SIGHUP) == (-signal.SIGHUP, "", "")


def test_what_is_ignored_stays_ignored_and_other_threads_change_nothing():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ended_at_once():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    seen = []

    def elsewhere():
        with ended_at_once():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [before]


def test_handlers_are_back_after_an_error():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), ended_at_once():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is before
