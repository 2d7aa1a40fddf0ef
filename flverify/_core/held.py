"""Files that one run at a time writes: a second run is refused.

A neighbour file carries an advisory lock of the system, which ends with its process
whatever becomes of it; so a neighbour that a killed run leaves behind blocks nobody,
and the next run removes it. Where there are no such locks, nobody is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flverify._core.errors import InputError
from flverify._core.paths import resolved

try:
    import fcntl
except ImportError:  # systems without it have no locks that end by themselves
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".held"
TRIES = 20  # some file systems never show the same file twice


@contextmanager
def held(path: Path | None) -> Iterator[None]:
    """Keep a file, if there is one, to this run until the block ends.

    Raises
    ------
    InputError
        If another run has it.
    """
    if path is None or fcntl is None:
        yield
        return
    neighbour = resolved(path)
    neighbour = neighbour.with_name(f"{neighbour.name}{SUFFIX}")
    lock = _locked(neighbour, path)
    try:
        yield
    finally:
        if lock is not None:
            _remove(neighbour)  # first: whoever opens it from now on makes a new one
            os.close(lock)


def _locked(neighbour: Path, path: Path) -> int | None:
    """Return a locked descriptor; None where nothing can be locked."""
    for _ in range(TRIES):
        lock = _opened(neighbour)
        if lock is None:
            break
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(lock)
            raise InputError(
                f"a file must be written by one run at a time; another run is writing "
                f"{path}; wait until it ends, or name another file."
            ) from error
        except OSError:  # a file system without locks
            _remove(neighbour)
            os.close(lock)
            return None
        if _is(neighbour, lock):
            return lock
        os.close(lock)  # its run has just ended and removed it
    return None


def _opened(neighbour: Path) -> int | None:
    for access in (os.O_RDWR, os.O_RDONLY):  # another user's may be read alone
        with suppress(OSError):
            return os.open(neighbour, access | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    return None


def _is(neighbour: Path, lock: int) -> bool:
    try:
        return os.path.samestat(neighbour.lstat(), os.fstat(lock))
    except OSError:
        return False


def _remove(neighbour: Path) -> None:
    """Remove a neighbour unless something is written in it, which is not ours."""
    with suppress(OSError):
        if neighbour.stat().st_size == 0:
            neighbour.unlink()
