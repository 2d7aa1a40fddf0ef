"""Files are whole or not there, and a full disk is named with the place."""

import errno
import os

import pytest
from matplotlib.figure import Figure

from flverify._core.whole_files import naming, replacing
from flverify.claims import ledger
from flverify.report import style


def interrupted(path):
    with replacing(path) as scratch:
        scratch.write_text("half")
        raise ZeroDivisionError


def test_an_error_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError):
        interrupted(path)
    assert [one.name for one in tmp_path.iterdir()] == ["table.csv"]
    assert path.read_text() == "old"
    with replacing(path) as scratch:
        scratch.write_text("new")
    assert [one.name for one in tmp_path.iterdir()] == ["table.csv"]
    assert path.read_text() == "new"


def failed(path, number):
    with naming(path):
        raise OSError(number, os.strerror(number))


@pytest.mark.parametrize(
    ("number", "named"),
    [(errno.ENOSPC, "out.csv"), (errno.EFBIG, "out.csv"), (errno.ECHILD, None)],
)
def test_only_a_disk_is_named(tmp_path, number, named):
    with pytest.raises(OSError, match=os.strerror(number)) as caught:
        failed(tmp_path / "out.csv", number)
    assert caught.value.filename == (named and str(tmp_path / named))


def test_a_file_that_cannot_be_replaced_is_named_and_leaves_no_other(tmp_path):
    path = tmp_path / "out.csv"
    path.mkdir()
    with pytest.raises(OSError, match="out") as caught, replacing(path) as scratch:
        scratch.write_text("new")
    assert caught.value.filename == str(path)
    assert [*tmp_path.iterdir()] == [path]


@pytest.fixture
def full(monkeypatch):
    """A disk that takes a few bytes of every file."""

    def stop(self, content, **_):
        with self.open("wb") as stream:
            stream.write(bytes(3))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", stop)
    monkeypatch.setattr("pathlib.Path.write_bytes", stop)


@pytest.mark.parametrize(
    "write",
    [
        lambda path: ledger.write(path, {"a.b": {"verdict": "PROVED"}}),
        lambda path: style.save(Figure(), path, "pdf"),
    ],
    ids=["ledger", "picture"],
)
def test_nothing_is_left_on_a_full_disk(full, tmp_path, write):
    with pytest.raises(OSError, match="No space") as caught:
        write(tmp_path / "file")
    assert caught.value.filename == str(tmp_path / "file")
    assert not list(tmp_path.iterdir())
