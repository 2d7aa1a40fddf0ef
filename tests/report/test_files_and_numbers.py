"""Files whole or not at all, JSON envelopes, and numbers for readers."""

from __future__ import annotations

import json
import math
import os
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from flverify._core.errors import InputError
from flverify.report.envelope import envelope, jsonable
from flverify.report.files import filling, require_writable, write_whole
from flverify.report.numbers import enclosure, listed, shown

with suppress(ImportError):  # POSIX alone has it
    import resource


def test_a_file_is_replaced_in_one_step(tmp_path):
    path = tmp_path / "report.json"
    write_whole(path, "old")
    write_whole(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "report.json"
    path.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_fails_is_named_as_it_would_have_been_called(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(FileNotFoundError) as caught, filling(out) as scratch:
        (scratch / "none" / "fig1.csv").read_text()
    assert caught.value.filename == str(out / "none" / "fig1.csv")
    assert not out.exists()


def test_a_link_keeps_pointing_to_its_file(tmp_path):
    target = tmp_path / "target"
    target.write_text("old")
    link = tmp_path / "link"
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


@pytest.mark.skipif(not Path(os.devnull).is_char_device(), reason="needs a device")
def test_a_device_stays_a_device():
    write_whole(Path(os.devnull), "text")
    assert Path(os.devnull).is_char_device()


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="must name a file"):
        require_writable(tmp_path)
    with pytest.raises(InputError, match="folder that can be written"):
        require_writable(tmp_path / "missing" / "file")
    with pytest.raises(InputError, match="folder that can be written"):
        write_whole(tmp_path / "missing" / "file", "text")


def test_rationals_are_text_and_infinities_null_with_a_reason():
    found = json.loads(
        envelope(
            "demo",
            rate=Fraction(3, 8),
            whole=Fraction(2),
            error=math.inf,
            curve=np.array([0.5, math.inf]),
            exact=np.array([Fraction(1, 2)], dtype=object),
            gap=math.nan,
            deep={"error": math.inf, "error_reason": "unstable"},
            flag=np.bool_(True),
            count=np.int64(3),
            outcome=frozenset({2, 0}),
        )
    )
    assert found == {
        "format": "flverify/demo",
        "version": 1,
        "rate": "3/8",
        "whole": "2",
        "error": None,
        "error_reason": "infinite",
        "curve": [0.5, None],
        "curve_reason": "null entries are infinite",
        "exact": ["1/2"],
        "gap": None,
        "gap_reason": "not a number",
        "deep": {"error": None, "error_reason": "unstable"},
        "flag": True,
        "count": 3,
        "outcome": [0, 2],
    }


def test_other_objects_are_their_text():
    assert jsonable(Path("a")) == "a"
    assert jsonable({1: None}) == {"1": None}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(3, 8), "3/8"),
        (Fraction(-2), "-2"),
        (0.1, "0.1"),
        (math.inf, "infinite"),
        (math.nan, "not a number"),
        (Fraction(1, 3**40), "~8.225263340E-20"),
        (Fraction(10**400 + 1, 3), "~3.333333333E+399"),
        (Fraction(3, 10**400 + 1), "~3.000000000E-400"),
    ],
)
def test_numbers_of_any_size_are_shown(value, text):
    assert shown(value).lower() == text.lower()


@pytest.mark.parametrize("seed", range(20))
def test_an_enclosure_is_rounded_outwards(seed):
    draw = np.random.default_rng(seed)
    low = Fraction(int(draw.integers(10**18)), 10**18)
    high = low + Fraction(int(draw.integers(10**15)), 10**30)
    left, right = enclosure(low, high).strip("[]").split(", ")
    assert Fraction(left) <= low
    assert high <= Fraction(right)
    assert float(Fraction(right) - Fraction(left)) < 1e-11 + float(high - low)


def test_special_enclosures():
    assert enclosure(Fraction(1, 2), Fraction(1, 2)) == "exact"
    assert enclosure(0.5, math.inf) == "[0.5, infinite]"
    large = Fraction(10**400)  # beyond all floats
    assert enclosure(large, large + 1) == "[1.00000000000E+400, 1.00000000001E+400]"


def test_long_vectors_say_what_is_left_out():
    assert listed(np.array([0.5, 1.0, 2.0]), 2) == "0.5, 1 and 1 more"
    assert listed([Fraction(1, 2)]) == "1/2"


def test_nothing_is_named_like_the_standard_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="got -; name a file"):
        write_whole(Path("-"), "text")
    assert list(tmp_path.iterdir()) == []


def test_a_place_is_tried_and_left_as_it_was(tmp_path):
    path = tmp_path / "cert.json"
    require_writable(path)
    assert list(tmp_path.iterdir()) == []
    path.write_text("old")
    require_writable(path)
    assert [one.name for one in tmp_path.iterdir()] == ["cert.json"]
    assert path.read_text() == "old"


@contextmanager
def files_below(size):
    """Let no file grow beyond a size, as on a disk that is nearly full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(os.name != "posix", reason="needs limits of POSIX")
def test_a_place_with_room_for_a_small_file_is_one(tmp_path):
    with files_below(1 << 14):
        require_writable(tmp_path / "cert.json")
    with files_below(1 << 10), pytest.raises(OSError, match="File too large"):
        require_writable(tmp_path / "cert.json")
    assert list(tmp_path.iterdir()) == []
