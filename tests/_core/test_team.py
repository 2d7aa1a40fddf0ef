"""Processes that do pieces of work: what comes back, and that none is left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest

from flverify._core.team import Lost, Told, in_processes

ENDS, ASLEEP = -1, 3600.0  # a piece whose process ends itself, and seconds


def doubled(piece, tell):
    if piece == ENDS:
        os._exit(1)
    tell(f"{piece} in work")
    return 2 * piece


def sleeping(_, tell):
    """Wait for a process of one's own."""
    code = f"import os, time; print(os.getpid(), flush=True); time.sleep({ASLEEP})"
    command = [sys.executable, "-S", "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        try:
            tell(int(child.stdout.readline()))
            child.wait()
        except BaseException:
            child.kill()
            raise


def deaf(_piece, _tell):
    """Whether a terminal's Ctrl-C was held back from this process when it began."""
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def answers(pieces, size=2):
    heard = list(in_processes(doubled, pieces, size))
    assert multiprocessing.active_children() == []
    return {key: one for key, one in heard if not isinstance(one, Told)}


def test_every_piece_is_told_of_and_answered():
    heard = list(in_processes(doubled, {4: 5, 7: 9, 8: 1}, 2))
    assert sorted(key for key, one in heard if isinstance(one, Told)) == [4, 7, 8]
    assert (4, Told("5 in work")) in heard
    assert {key: one for key, one in heard if isinstance(one, int)} == {
        4: 10,
        7: 18,
        8: 2,
    }


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_no_interrupt_reaches_a_process_while_it_loads():
    code = (
        "from flverify._core.team import in_processes\n"
        "from tests._core.test_team import deaf\n"
        "print(sorted(in_processes(deaf, {0: 0, 1: 1}, 2)))"
    )  # in an interpreter that has started no process yet
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "[(0, True), (1, True)]\n"


def test_a_process_that_ends_loses_its_piece_and_no_other():
    found = answers({0: ENDS, 1: 5, 2: 6, 3: 7})
    assert found == {0: Lost(), 1: 10, 2: 12, 3: 14}


def test_where_no_process_is_left_the_rest_is_lost():
    assert answers({0: ENDS, 1: 5}, size=1) == {0: Lost(), 1: Lost()}


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_closing_ends_the_processes_and_what_they_started():
    with closing(in_processes(sleeping, {0: 0}, 1)) as working:
        _, told = next(working)
        os.kill(told.word, 0)
        begun = time.monotonic()
    assert time.monotonic() - begun < 30  # of an hour
    assert multiprocessing.active_children() == []
    with pytest.raises(ProcessLookupError):
        os.kill(told.word, 0)
