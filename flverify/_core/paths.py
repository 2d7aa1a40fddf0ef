"""Where a path leads."""

from __future__ import annotations

from pathlib import Path

from flverify._core.errors import InputError


def resolved(path: Path) -> Path:
    """Follow the links of a path, as far as it exists.

    Raises
    ------
    InputError
        If they lead in a circle.

    Examples
    --------
    >>> resolved(Path("/dev/../dev/null")).name
    'null'
    """
    try:
        return path.resolve()
    except RuntimeError as error:  # as Python 3.12 and earlier say it
        raise InputError(
            f"{path} must lead to a place; it is a link that leads back to itself; "
            "name another file."
        ) from error
