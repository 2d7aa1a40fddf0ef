from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from flverify._core.errors import FormatError
from flverify.problems import _idx
from flverify.problems._idx import read_idx

CODES = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}


def packed(values, kind: str = "u1") -> bytes:
    """An IDX file, entry by entry."""
    array = np.array(values)
    out = bytes([0, 0, CODES[kind], array.ndim])
    out += b"".join(struct.pack(">I", length) for length in array.shape)
    letter = {"u1": "B", "i1": "b", "i2": "h", "i4": "i", "f4": "f", "f8": "d"}[kind]
    flat = [v.item() for v in array.ravel()]
    return out + struct.pack(f">{len(flat)}{letter}", *flat)


def saved(folder: Path, content: bytes, name: str = "x-idx") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_every_type_is_read_packed_or_not(tmp_path, kind, pack) -> None:
    values = [[1, 2, 3], [100, 5, 6]]
    found = read_idx(saved(tmp_path, pack(packed(values, kind))))
    assert found.tolist() == values
    assert found.dtype == np.dtype(kind)
    assert found.dtype.isnative


def test_bytes_of_a_file_written_by_hand(tmp_path) -> None:
    content = bytes([0, 0, 0x0B, 1, 0, 0, 0, 2, 0x01, 0x02, 0xFF, 0xFE])
    assert read_idx(str(saved(tmp_path, content))).tolist() == [258, -2]


def test_three_axes_keep_their_order(tmp_path) -> None:
    values = np.arange(24).reshape(2, 3, 4)
    assert (read_idx(saved(tmp_path, packed(values))) == values).all()


GOOD = packed([[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "must start with two zero bytes.*got nothing"),
        (GOOD[:3], "must start with two zero bytes"),
        (b"\1" + GOOD[1:], "must start with two zero bytes"),
        (GOOD[:2] + b"\x0a" + GOOD[3:], "a type and a number of axes"),
        (GOOD[:3] + b"\0" + GOOD[4:], "a number of axes"),
        (GOOD[:10], "must name 2 lengths"),
        (GOOD[:-1], "must have 4 bytes after its header; got 3"),
        (GOOD + b"\0", "must have 4 bytes after its header; got more"),
        (GOOD[:4] + struct.pack(">II", 2, 0), "entries along every axis"),
        (GOOD[:4] + struct.pack(">II", 1 << 31, 1 << 31), "at most 1073741824 bytes"),
        (GOOD[:3] + b"\xff" + b"\0\0\0\1" * 255 + b"\0", "at most 32 axes.*says 255"),
        (gzip.compress(GOOD, mtime=0)[:-9], "must be a readable IDX file"),
        (gzip.compress(GOOD, mtime=0)[:12], "must be a readable IDX file"),
        (b"\x1f\x8b\0\0", "must be a readable IDX file"),
        (
            gzip.compress(GOOD[:-1], mtime=0),
            "must have 4 bytes after its header; got 3",
        ),
    ],
)
def test_a_damaged_file_is_refused_in_one_sentence(tmp_path, content, said) -> None:
    with pytest.raises(FormatError, match=said) as caught:
        read_idx(saved(tmp_path, content, "train-images"))
    told = str(caught.value)
    assert told.startswith("train-images must")
    assert told.endswith(".")
    assert "\n" not in told


def test_a_wrong_checksum_is_noticed(tmp_path) -> None:
    content = bytearray(gzip.compress(GOOD, mtime=0))
    content[-8] ^= 1
    with pytest.raises(FormatError, match=r"readable IDX file.*CRC"):
        read_idx(saved(tmp_path, bytes(content)))


def test_a_small_archive_of_very_many_zeros_is_not_unpacked(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(_idx, "LARGEST", 1000)
    header = bytes([0, 0, 8, 1]) + struct.pack(">I", 10)
    path = saved(tmp_path, gzip.compress(header + bytes(1 << 22)))
    with pytest.raises(FormatError, match="must have 10 bytes after its header"):
        read_idx(path)
    header = bytes([0, 0, 8, 1]) + struct.pack(">I", 1 << 22)
    path = saved(tmp_path, gzip.compress(header + bytes(1 << 22)))
    with pytest.raises(FormatError, match="at most 1000 bytes"):
        read_idx(path)


def test_what_is_no_file_is_refused(tmp_path) -> None:
    with pytest.raises(FormatError, match="nothing must be a readable IDX file"):
        read_idx(tmp_path / "nothing")
    with pytest.raises(FormatError, match="must be a readable IDX file"):
        read_idx(tmp_path)
    with pytest.raises(FormatError, match=r"must be a readable IDX file.*null byte"):
        read_idx("a\0b")


def test_as_many_axes_as_arrays_have_are_read(tmp_path) -> None:
    content = bytes([0, 0, 8, 32]) + b"\0\0\0\1" * 32 + b"\7"
    assert read_idx(saved(tmp_path, content)).item() == 7
