"""What is a user's own: parts of a setting, and where their code raised."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from traceback import FrameSummary, extract_tb

_PACKAGE = str(Path(__file__).resolve().parents[1])
_OTHERS = (_PACKAGE, *(sysconfig.get_path(kind) for kind in ("purelib", "stdlib")))
_MADE = "<string>"  # the file of what is written by a program, as a dataclass is


def is_own(part: object) -> bool:
    """Whether a part of a setting is of another module than those of the package.

    Examples
    --------
    >>> from flverify._core.errors import DomainError
    >>> is_own(DomainError()), is_own(ValueError())
    (False, True)
    """
    return type(part).__module__.split(".")[0] != "flverify"


def own_line(error: BaseException) -> FrameSummary | None:
    """Return the innermost line outside this package and all that is installed.

    The innermost of all where there is none; nothing where nothing was raised.

    Examples
    --------
    >>> own_line(ValueError("never raised")) is None
    True
    """
    frames = list(extract_tb(error.__traceback__))
    own = [frame for frame in frames if not _of_others(Path(frame.filename))]
    return next(iter([*own[::-1], *frames[::-1]]), None)


def _of_others(file: Path) -> bool:
    return str(file) == _MADE or any(map(file.is_relative_to, _OTHERS))
