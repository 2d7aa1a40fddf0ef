"""Every expected failure as a sentence: what must hold, what was given, what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

import click

from flverify._core.errors import FlverifyError
from flverify._core.shown import fewer_digits

_TOO_LARGE = (MemoryError, OverflowError)
EXPECTED = (FlverifyError, OSError, *_TOO_LARGE)  # failures that are one sentence


def sentence(error: Exception) -> str:
    """Say what must hold, what was given and what to do, on one line."""
    return " ".join(fewer_digits(_worded(error)).split())


def _worded(error: Exception) -> str:
    if isinstance(error, click.UsageError):
        where = error.ctx.command_path if error.ctx else "flverify"
        return f"{error.format_message().rstrip('.')}; see `{where} --help`."
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError) and not isinstance(error, FlverifyError):
        if isinstance(error, FileNotFoundError) and not error.filename and _homeless():
            return (
                "the folder that a command is run in must exist; this one was removed; "
                "change to another one."
            )
        return (
            f"a file must be readable or writable; {error.filename or 'the output'} "
            f"is not: {error.strerror or error}; name another one."
        )
    if isinstance(error, _TOO_LARGE) and not isinstance(error, FlverifyError):
        return (
            f"sizes and numbers must fit the memory and the range of floats; these do "
            f"not ({error or type(error).__name__}); choose smaller ones."
        )
    return str(error)


def _homeless() -> bool:
    """Whether the current folder is gone: then no relative path has a meaning."""
    try:
        Path.cwd()
    except OSError:
        return True
    return False


def number_of(count: int, thing: str, things: str = "") -> str:
    """Word a number of things.

    Examples
    --------
    >>> number_of(1, "client"), number_of(2, "client"), number_of(0, "entry", "entries")
    ('1 client', '2 clients', '0 entries')
    """
    return f"{count} {thing if count == 1 else things or f'{thing}s'}"


def every(count: int, thing: str) -> str:
    """Word all of some things, at least one.

    Examples
    --------
    >>> every(1, "instance"), every(2, "instance")
    ('the one instance', 'all 2 instances')
    """
    return f"the one {thing}" if count == 1 else f"all {count} {thing}s"


def nearest(wrong: str, known: Iterable[str], otherwise: str, most: int = 1) -> str:
    """Ask whether a name near a wrong one was meant, or say what else to do.

    Parameters
    ----------
    wrong : str
    known : iterable of str
        Names that exist; upper and lower case are not told apart.
    otherwise : str
        What to do where no name is near.
    most : int
        How many names are offered.

    Examples
    --------
    >>> nearest("FedAgv", ["fedavg", "focus"], "pick one")
    'did you mean fedavg'
    >>> nearest("nonsense", ["fedavg", "focus"], "pick one")
    'pick one'
    """
    plain = {name.lower(): name for name in known}
    near = get_close_matches(wrong.lower(), list(plain), n=most)
    found = ", ".join(plain[name] for name in near)
    return f"did you mean {found}" if found else otherwise
