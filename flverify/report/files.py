"""Write files whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from flverify._core.errors import InputError
from flverify._core.paths import resolved
from flverify._core.whole_files import naming, replacing

TRIED = 1 << 13  # bytes: more than file systems keep inside their own records


def require_writable(path: Path) -> None:
    """Check, before a long computation, that a file can be written, by trying it.

    Raises
    ------
    InputError
        If the path is -, or a folder, or its folder does not exist or is closed to us.
    OSError
        If the disk is full, or the name is one that it does not take.
    """
    _require_named(path)
    target = resolved(path)
    if target.exists() and not target.is_file():
        return  # what is written to a device is gone
    scratch = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with scratch.open("wb") as stream:
            stream.write(bytes(TRIED))
            stream.flush()
            os.fsync(stream.fileno())  # some disks tell no earlier
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        with suppress(OSError):
            scratch.unlink()


def _require_named(path: Path) -> None:
    folder = resolved(path).parent
    if str(path) == "-":
        raise InputError(
            "a file must have a name, since nothing is written to the standard output "
            "in its place; got -; name a file."
        )
    if path.is_dir():
        raise InputError(f"{path} must name a file; it is a folder; add a file name.")
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(
            f"{path} must lie in a folder that can be written to; {folder} is none; "
            "create it or name another file."
        )


def require_folder(folder: Path) -> None:
    """Check, before a long computation, that a folder is there or can be made.

    Raises
    ------
    InputError
        If the path is -, or what exists of it is no folder or closed to us.
    """
    first = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    closed = not first.is_dir() or not os.access(first, os.W_OK | os.X_OK)
    if closed or str(folder) == "-":
        raise InputError(
            f"out must be a folder that can be written; got {str(folder)!r}, and "
            f"{'- stands for the output' if not closed else f'{first} is none'}; name "
            "another."
        )


@contextmanager
def filling(folder: Path) -> Iterator[Path]:
    """Make a folder with its parents, and a hidden one inside for unfinished files.

    Should anything be raised, an interruption too, no new folder is left.

    Yields
    ------
    scratch : path
        Where files are written before they are moved to the folder.
    """
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        with naming(folder):
            folder.mkdir(parents=True, exist_ok=True)
            scratch = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=folder))
        try:
            with naming(folder):
                yield scratch
        except OSError as error:  # its reader asked for the folder, not for this one
            hidden = Path(str(error.filename))
            if hidden.is_relative_to(scratch):
                error.filename = str(folder / hidden.relative_to(scratch))
            raise
        finally:
            shutil.rmtree(scratch)
    except BaseException:
        for one in made:
            if one.is_dir() and not any(one.iterdir()):
                one.rmdir()
        raise


def write_together(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files of one folder: all of them, or none and no new folder.

    Parameters
    ----------
    folder : path
        Made with its parents if it does not exist.
    texts : mapping
        Text of every file, by name.
    """
    with filling(folder) as scratch:
        for name, text in texts.items():
            (scratch / name).write_text(text, encoding="utf-8")
        for name in texts:
            (scratch / name).replace(resolved(folder / name))


def write_whole(path: Path, text: str) -> None:
    """Write text to a file in one step: readers see the old file or the new one.

    Raises
    ------
    InputError
        If the path is a folder, or its folder does not exist or is closed to us.
    """
    _require_named(path)
    target = resolved(path)
    if target.exists() and not target.is_file():  # a device or a pipe stays what it is
        target.write_text(text, encoding="utf-8")
        return
    with replacing(target) as scratch:
        scratch.write_text(text, encoding="utf-8")
