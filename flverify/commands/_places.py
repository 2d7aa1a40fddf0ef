"""Where files may be written: places of regular files, one for each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

from flverify._core.errors import InputError
from flverify._core.paths import resolved
from flverify.report.files import require_writable, write_whole


def require_place(flag: str, path: Path) -> None:
    """Check, before a long computation, that a regular file can be written.

    Raises
    ------
    InputError
        If there is a device, a pipe or our own output, or nothing can be written.
    """
    special = path.exists() and not (path.is_file() or path.is_dir())
    if special or _is_stream(path):
        raise InputError(
            f"{flag} must name a regular file; {path} is a device, a pipe or the "
            "output of this command; name a file."
        )
    require_writable(path)


def unwritten(path: Path, text: str, due: str, instead: str) -> str:
    """Write what took long to find; return why it is not there, or nothing.

    The caller prints it then, and raises the sentence.
    """
    try:
        write_whole(path, text)
    except (OSError, InputError) as error:
        why = str(getattr(error, "strerror", None) or error).rstrip(".")
        return f"{path} must be writable when {due}; it is not: {why}; {instead}."
    return ""


def require_apart(named: Sequence[tuple[str, Path]]) -> None:
    """Check that no file would be written over another one.

    Raises
    ------
    InputError
        If two options name one file.
    """
    for (one, first), (other, second) in combinations(named, 2):
        if resolved(first) == resolved(second) or _same(first, second):
            raise InputError(
                f"{one} and {other} must name different files; got {first} for both; "
                "rename one of them."
            )


def require_unread(
    flag: str, path: Path, read: Iterable[tuple[str, Path | None]]
) -> None:
    """Check that no file that the command reads would be written over.

    Raises
    ------
    InputError
        If one of the files named is this one.
    """
    for name, other in read:
        if other and (resolved(path) == resolved(other) or _same(path, other)):
            raise InputError(
                f"{flag} must name another file than {name}; got {path}, which is "
                "read; choose one."
            )


def _same(first: Path, second: Path) -> bool:
    return first.exists() and second.exists() and first.samefile(second)


def _is_stream(path: Path) -> bool:
    """Whether a path is what the standard output or error goes to."""
    try:
        here = path.stat()
        return any(os.path.samestat(here, os.fstat(stream)) for stream in (1, 2))
    except OSError:  # nothing there, or a stream is closed
        return False
