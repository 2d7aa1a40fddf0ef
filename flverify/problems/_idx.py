"""Arrays in IDX files, the format in which the MNIST pictures are handed out.

Two zero bytes, a byte for the type, a byte for the number of axes, the length of each
axis as four bytes, then the entries; numbers are big-endian. A file may be compressed
by gzip, which is told by its own first bytes and not by a name.
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from os import PathLike
from pathlib import Path
from typing import Protocol

import numpy as np

from flverify._core.errors import FormatError
from flverify._core.exact import Array

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
GZIP = b"\x1f\x8b"
MOST_AXES = 32  # as many as every release of numpy takes
LARGEST = 1 << 30  # bytes of entries: twenty times those of MNIST


class _Stream(Protocol):
    """What is read from: a plain file or one that is unpacked on the way."""

    def read(self, size: int, /) -> bytes: ...


def read_idx(path: str | PathLike[str]) -> Array:
    """Read an IDX file, compressed by gzip or not.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    entries : array
        Of the file's own type, in the byte order of this machine.

    Raises
    ------
    FormatError
        If the file is missing, is not an IDX file, is shorter or longer than its
        header says, or has more than 32 axes or 2^30 bytes of entries.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "two-idx1-ubyte"
    ...     _ = file.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]))
    ...     read_idx(file).tolist()
    [7, 9]
    """
    place = Path(path)
    try:
        with place.open("rb") as plain:
            packed = plain.read(2) == GZIP
            plain.seek(0)
            if not packed:
                return _entries(plain, place.name)
            with gzip.GzipFile(fileobj=plain, mode="rb") as unpacked:
                return _entries(unpacked, place.name)
    except FormatError:  # which is a ValueError too
        raise
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise FormatError(
            f"{place.name} must be a readable IDX file, packed by gzip or not; got "
            f"{getattr(error, 'strerror', None) or error}; fetch it anew."
        ) from error


def _entries(stream: _Stream, name: str) -> Array:
    kind, shape = _header(stream, name)
    expected = math.prod(shape) * kind.itemsize
    if expected > LARGEST:
        raise FormatError(
            f"{name} must have at most {LARGEST} bytes of entries; its header says "
            f"{expected}; it is damaged or not for this reader."
        )
    content = stream.read(expected)
    longer = stream.read(1)  # at the end: gzip then compares its checksum
    if len(content) < expected or longer:
        found = "more" if longer else str(len(content))
        raise FormatError(
            f"{name} must have {expected} bytes after its header; got {found}; fetch "
            "it anew."
        )
    swapped = np.frombuffer(content, dtype=kind).reshape(shape)
    return swapped.astype(kind.newbyteorder("="))


def _header(stream: _Stream, name: str) -> tuple[np.dtype[np.generic], list[int]]:
    magic = stream.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in TYPES or not magic[3]:
        raise FormatError(
            f"{name} must start with two zero bytes, a type and a number of axes; got "
            f"{magic.hex(' ') or 'nothing'}; give an IDX file."
        )
    if magic[3] > MOST_AXES:
        raise FormatError(
            f"{name} must have at most {MOST_AXES} axes; its header says {magic[3]}; "
            "it is damaged or not for this reader."
        )
    lengths = stream.read(4 * magic[3])
    if len(lengths) < 4 * magic[3]:
        raise FormatError(
            f"{name} must name {magic[3]} lengths of axes; it ends before; fetch it "
            "anew."
        )
    shape = list(struct.unpack(f">{magic[3]}I", lengths))
    if 0 in shape:
        raise FormatError(
            f"{name} must have entries along every axis; its header says {shape}; "
            "give a file with entries."
        )
    return np.dtype(TYPES[magic[2]]), shape
