"""Files that one run at a time writes."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flverify._core import held as module
from flverify._core.errors import InputError
from flverify._core.held import SUFFIX, held

pytest.importorskip("fcntl")
HOLD = """
import sys, time
from pathlib import Path
from flverify._core.held import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def neighbour(path):
    return path.with_name(f"{path.name}{SUFFIX}")


def test_a_second_run_is_refused_until_the_first_ends(tmp_path):
    path = tmp_path / "one.csv"
    with held(path):
        assert list(tmp_path.iterdir()) == [neighbour(path)]
        for _ in range(2):  # a refusal changes nothing
            refused = pytest.raises(InputError, match=r"run is writing .*one\.csv;")
            with refused, held(path):
                pytest.fail("held twice")
            assert neighbour(path).exists()
        with held(tmp_path / "two.csv"):
            pass
    assert list(tmp_path.iterdir()) == []
    with held(path):
        pass


def test_what_goes_wrong_inside_ends_it(tmp_path):
    path = tmp_path / "one.csv"
    with pytest.raises(KeyboardInterrupt), held(path):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_killed_run_blocks_nobody(tmp_path):
    path = tmp_path / "one.csv"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "held\n"
        with pytest.raises(InputError), held(path):
            pytest.fail("held twice")
        running.send_signal(signal.SIGKILL)
    assert neighbour(path).exists()
    with held(path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_another_name_of_the_same_file_is_refused(tmp_path):
    path, link = tmp_path / "one.csv", tmp_path / "link.csv"
    link.symlink_to(path)
    with held(path), pytest.raises(InputError, match=r"link\.csv"), held(link):
        pytest.fail("held twice")


def test_a_run_that_ends_just_now_is_waited_for(tmp_path, monkeypatch):
    path = tmp_path / "one.csv"
    calls = []

    def late(neighbour_):
        lock = opened(neighbour_)
        if not calls:  # the first run removes its file and ends in between
            neighbour_.unlink()
        calls.append(lock)
        return lock

    opened = module._opened
    monkeypatch.setattr(module, "_opened", late)
    with held(path):
        assert len(calls) == 2
        assert neighbour(path).exists()
        with pytest.raises(InputError), held(path):
            pytest.fail("held twice")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_ours_is_kept(tmp_path):
    path = tmp_path / "one.csv"
    neighbour(path).write_text("notes")
    with held(path):
        pass
    assert neighbour(path).read_text() == "notes"


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_what_cannot_be_locked_refuses_nobody(tmp_path, kind):
    path = tmp_path / "one.csv"
    if kind == "folder":
        neighbour(path).mkdir()
    else:
        neighbour(path).symlink_to(tmp_path / "elsewhere")
    with held(path), held(path):
        pass
    assert list(tmp_path.iterdir()) == [neighbour(path)]


def test_a_neighbour_of_another_user_is_read_alone(tmp_path, monkeypatch):
    path, asked, plain = tmp_path / "one.csv", [], os.open

    def closed(name, flags, *mode):
        asked.append(flags & os.O_ACCMODE)
        if flags & os.O_RDWR:
            raise PermissionError
        return plain(name, flags, *mode)

    monkeypatch.setattr(module.os, "open", closed)
    with held(path), pytest.raises(InputError), held(path):
        pytest.fail("held twice")
    assert asked == [os.O_RDWR, os.O_RDONLY] * 2


def test_file_systems_without_locks_refuse_nobody(tmp_path, monkeypatch):
    def unknown(*_):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(module.fcntl, "flock", unknown)
    with held(tmp_path / "one.csv"):
        assert list(tmp_path.iterdir()) == []


def test_file_systems_that_never_show_a_file_twice_refuse_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_is", lambda *_: False)
    with held(tmp_path / "one.csv"), held(tmp_path / "one.csv"):
        pass


def test_systems_without_locks_refuse_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "fcntl", None)
    with held(tmp_path / "one.csv"), held(tmp_path / "one.csv"):
        assert list(tmp_path.iterdir()) == []


def test_without_a_file_there_is_nothing_to_hold():
    with held(None), held(None):
        pass


def test_descriptors_are_closed(tmp_path):
    def descriptors():
        return sorted(one.name for one in Path("/dev/fd").iterdir())

    before, path = descriptors(), tmp_path / "one.csv"
    for _ in range(3):
        with held(path), pytest.raises(InputError), held(path):
            pytest.fail("held twice")
    assert descriptors() == before
