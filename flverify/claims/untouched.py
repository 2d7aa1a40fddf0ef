"""Whether claims leave the package as it is, which judges them.

Python lets a file exchange a function of the judge for one of its own. What can be
called of the loaded modules is compared before and after a file is run, or a check.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from types import ModuleType
from typing import Any, TypeAlias

from flverify._core.errors import FormatError

PACKAGE = "flverify"
READ = property, cached_property, staticmethod, classmethod  # not called themselves
Members: TypeAlias = dict[str, tuple[Any, Any]]  # by name, with the code they run
Contents: TypeAlias = list[tuple[str, Any, Members]]  # name, owner, members


@contextmanager
def untouched(who: str) -> Iterator[None]:
    """Run something; what it exchanged in the package is put back, and it is told.

    Raises
    ------
    FormatError
        If anything was exchanged.

    Examples
    --------
    >>> from flverify.claims import judge
    >>> with untouched("mine.py"):
    ...     judge.identity = print
    Traceback (most recent call last):
    flverify._core.errors.FormatError: claims must leave the package that judges them \
as it is; mine.py exchanges flverify.claims.judge.identity; give what you define a \
name of its own.
    """
    before = _contents()
    try:
        yield
    finally:
        exchanged = _put_back(before)
    if exchanged:
        raise FormatError(
            f"claims must leave the package that judges them as it is; {who} exchanges "
            f"{', '.join(exchanged[:3])}; give what you define a name of its own."
        )


def _contents() -> Contents:
    """List what loaded modules, and their classes, hold that runs."""
    out: Contents = []
    for name, module in list(sys.modules.items()):
        ours = name == PACKAGE or name.startswith(f"{PACKAGE}.")
        if not ours or not isinstance(module, ModuleType):
            continue
        members = _members(module)
        out.append((name, module, members))
        out += [
            (f"{name}.{key}", one, _members(one))
            for key, (one, _) in members.items()
            if isinstance(one, type) and one.__module__ == name
        ]
    return out


def _members(owner: Any) -> Members:
    return {
        key: (one, getattr(one, "__code__", None))
        for key, one in vars(owner).items()
        if callable(one) or isinstance(one, READ)
    }


def _put_back(before: Contents) -> list[str]:
    """Set anew what is another one now, or runs other code, and name it."""
    out = []
    for name, owner, members in before:
        now = vars(owner)
        for key, (one, code) in members.items():
            if now.get(key) is not one:
                setattr(owner, key, one)
                out.append(f"{name}.{key}")
            elif code is not None and getattr(one, "__code__", code) is not code:
                setattr(one, "__code__", code)  # noqa: B010 - some have none, for types
                out.append(f"{name}.{key}")
    return out
