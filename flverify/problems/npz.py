"""Quadratic clients from a file of arrays."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import numpy as np

from flverify._core.errors import FormatError
from flverify._core.exact import Array
from flverify.problems._least_squares import least_squares
from flverify.problems._quadratics import Quadratics

__all__ = ["load_problem"]

_DATA = {"features", "targets"}
_FORM = {"hessians", "linear"}

# What numpy and the archive reader raise on damaged or foreign bytes.
_DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    TypeError,
    OverflowError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)

LARGEST = 1 << 30  # bytes of arrays in a file, unpacked


def load_problem(path: str | PathLike[str]) -> Quadratics:
    """Read a problem from an .npz file.

    Source
    ------
    flverify: own format; data are read as in `ridge_regression`.

    Parameters
    ----------
    path : str or path
        A file written by `numpy.savez` with the arrays `features` (N, K, d) and
        `targets` (N, K), and perhaps the number `regularisation` (0 if absent); or
        with `hessians` (N, d, d) and `linear` (N, d). Integers and decimal text are
        exact.

    Returns
    -------
    problem : Quadratics
        The ridge regression of the data, or the quadratics themselves.

    Raises
    ------
    FormatError
        If the file is missing, damaged, holds other arrays, or unpacks to more than
        2^30 bytes.
    ShapeError
        If the arrays do not fit together.
    DomainError
        If an entry is not a finite number or a Hessian is not symmetric.

    Notes
    -----
    Nothing in the file is executed: pickled objects are refused.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "two_clients.npz"
    ...     np.savez(file, hessians=[[[1]], [[3]]], linear=[[0], [2]])
    ...     load_problem(file).minimiser()
    array([Fraction(1, 2)], dtype=object)
    """
    arrays = _read(path)
    if arrays.keys() == _FORM:
        return Quadratics(arrays["hessians"], arrays["linear"])
    if arrays.keys() - {"regularisation"} == _DATA:
        ridge = arrays.get("regularisation", np.zeros((), dtype=int))
        if ridge.ndim != 0:
            raise FormatError(
                f"regularisation must be one number; got shape {ridge.shape} in "
                f"{str(path)!r}; store a scalar."
            )
        return least_squares(arrays["features"], arrays["targets"], ridge.item())
    raise FormatError(
        f"a problem file must hold features and targets (and perhaps "
        f"regularisation), or hessians and linear; got {sorted(arrays)} in "
        f"{str(path)!r}; store these arrays."
    )


def _read(path: str | PathLike[str]) -> dict[str, Array]:
    try:
        # Opened here, since numpy leaves a file it opened itself open on failure.
        with Path(path).open("rb") as stream:
            _require_small(stream, path)
            archive = np.load(stream, allow_pickle=False)
            named = isinstance(archive, Mapping)  # an .npy file is one bare array
            found = {name: archive[name] for name in archive} if named else {}
    except FileNotFoundError:
        raise FormatError(
            f"the problem file must exist; got {str(path)!r}; check the path."
        ) from None
    except FormatError:  # which is a ValueError too
        raise
    except _DAMAGE:
        raise _foreign(path) from None
    # numpy hands out foreign members of an archive as bytes.
    if not named or not all(isinstance(v, np.ndarray) for v in found.values()):
        raise _foreign(path)
    return found


def _require_small(stream: BinaryIO, path: object) -> None:
    """Check the sizes that an archive names, beyond which none of it is unpacked."""
    if not zipfile.is_zipfile(stream):
        stream.seek(0)
        return
    with zipfile.ZipFile(stream) as archive:
        size = sum(member.file_size for member in archive.infolist())
    stream.seek(0)
    if size > LARGEST:
        raise FormatError(
            f"a problem must have at most {LARGEST} bytes of arrays; {str(path)!r} "
            f"unpacks to {size}; store fewer clients or features."
        )


def _foreign(path: object) -> FormatError:
    return FormatError(
        f"a problem must be an .npz file of plain numbers; {str(path)!r} cannot be "
        f"read as one; write it with numpy.savez."
    )


def examples() -> tuple[Quadratics, ...]:
    """Return no instances of its own: what a file holds is tested elsewhere."""
    return ()
