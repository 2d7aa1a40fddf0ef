"""Files that readers see whole, the old one or the new one, and disks that are full."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# a disk's own errors, and that of a limit on the size of files
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG}


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write a file beside the place of another, and move it there at the end.

    Whatever is raised, the old file stays and no other is left.

    Yields
    ------
    scratch : path
        Where to write.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "table.csv"
    ...     with replacing(path) as scratch:
    ...         _ = scratch.write_text("1,2")
    ...         before = path.exists()
    ...     before, [one.name for one in Path(folder).iterdir()]
    (False, ['table.csv'])
    """
    scratch = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with naming(path):
            yield scratch
            scratch.replace(path)
    except OSError as error:  # its reader asked for the file, not for this one
        if error.filename == str(scratch):
            error.filename = str(path)
        raise
    finally:
        scratch.unlink(missing_ok=True)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name what could not be written: a full disk does not say where it was met."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in FULL:
            error.filename = str(path)
        raise
