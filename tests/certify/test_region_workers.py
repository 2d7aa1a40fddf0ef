"""Processes that find rows: what they tell, and that they are gone when not needed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction

import pytest

from flverify._core.errors import DomainError, InputError
from flverify.algorithms import GradientDescent, Scaffold
from flverify.certify.region import Row, region
from flverify.certify.region._progress import Progress
from flverify.certify.region._workers import find_rows
from flverify.participation import Bernoulli, Full

STEPS = [Fraction(1, 10), Fraction(1, 2), Fraction(2)]
SOON = 15.0  # seconds; a cell of a slow row takes minutes

# a region of slow rows that says so, with the processes that it has
SLOW = """
import multiprocessing
import signal
from fractions import Fraction
from flverify.algorithms import Scaffold
from flverify.certify.region import Row, region
from flverify.participation import Bernoulli

def told(text):
    print(*(one.pid for one in multiprocessing.active_children()), flush=True)

if __name__ == "__main__":
    # tests may run where a shell has interrupts ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    law, ends = Bernoulli(["1", "1/3"]), (Fraction(1, 10), Fraction(1))
    rows = [Row(Fraction(k), Scaffold(1, k), law, *ends) for k in (7, 8)]
    region("tau", ["1/20"], rows, workers=2, at=told)
"""


def descent(value):
    return Row(Fraction(value), GradientDescent(1), Full(2), Fraction(1, value), 1)


def slow(value):
    law, ends = Bernoulli(["1", "1/3"]), (Fraction(1, 10), Fraction(1))
    return Row(Fraction(value), Scaffold(1, value), law, *ends)


def rows_found(rows, at=str, workers=2):
    return list(find_rows(rows, STEPS, workers, Progress("kappa", str, at)))


def places(value):
    steps = [f"step size {s} ({k} of 3)" for k, s in enumerate(("0.1", "0.5", "2"), 1)]
    return [
        f"kappa = {value}, {place}"
        for place in ("stability boundary", *steps, "certified boundary")
    ]


def test_every_cell_in_work_is_told():
    said = []
    region("kappa", STEPS, [descent(2), descent(3)], at=said.append)
    assert said == [*places(2), *places(3)]


@pytest.mark.slow
def test_every_cell_that_a_process_works_at_is_told():
    said = []
    region("kappa", STEPS, [descent(k) for k in (2, 3, 4)], workers=2, at=said.append)
    told = [part for text in said for part in text.split("; ")]
    for value in (2, 3, 4):
        mine = [part for part in told if part.startswith(f"kappa = {value},")]
        assert list(dict.fromkeys(mine)) == places(value)
    assert max(text.count(";") for text in said) == 1  # two in work, and no more


@pytest.mark.slow
def test_more_rows_than_processes_are_all_found():
    rows = {k: descent(k) for k in (2, 3, 4, 5, 6)}
    assert dict(rows_found(rows)) == dict(rows_found(rows, workers=1))


@pytest.mark.slow
def test_what_a_process_refuses_is_raised_here():
    bad = Row(Fraction(1), GradientDescent(1), Full(2), Fraction(2), Fraction(1))
    with pytest.raises(DomainError, match="must be below smoothness"):
        rows_found({0: bad, 1: descent(2)})
    assert multiprocessing.active_children() == []


@pytest.mark.slow
def test_a_process_that_the_system_ends_is_one_sentence():
    def kill(_):
        multiprocessing.active_children()[0].kill()

    with pytest.raises(InputError, match="the system ended one"):
        rows_found({k: slow(k) for k in (7, 8)}, at=kill)
    assert multiprocessing.active_children() == []


@pytest.mark.slow
def test_closing_kills_the_processes():
    begun = []

    def stop(_):
        begun.append(time.monotonic())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rows_found({k: slow(k) for k in (7, 8)}, at=stop)
    assert time.monotonic() - begun[0] < SOON
    assert multiprocessing.active_children() == []
    finding = find_rows(
        {0: descent(2), 1: slow(8)}, STEPS, 2, Progress("kappa", str, str)
    )
    assert next(finding)[0] == 0
    begun[0] = time.monotonic()
    finding.close()
    assert time.monotonic() - begun[0] < SOON
    assert multiprocessing.active_children() == []


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGINT"])
def test_a_signal_leaves_no_process_and_no_word_of_them(tmp_path, name):
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, str(script)], **piped) as running:
        team = [int(word) for word in running.stdout.readline().split()]
        sent = time.monotonic()
        running.send_signal(getattr(signal, name))
        said = running.stderr.read()
        assert running.wait() != 0
    assert len(team) == 2
    while any(map(alive, team)) and time.monotonic() - sent < SOON:
        time.sleep(0.05)
    assert not any(map(alive, team))
    assert time.monotonic() - sent < SOON
    assert "resource_tracker" not in said
    # an interrupt has the traceback of the script itself, which does not catch it
    assert said.count("Traceback") == (name == "SIGINT")
    assert name == "SIGINT" or said == ""
