"""Whether claims leave the package as it is, which judges them.

Python lets a file exchange a function of the judge for one of its own. What can be
called of the loaded modules is compared before and after a file is run, or a check.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from operator import is_
from types import FunctionType, ModuleType
from typing import Any, TypeAlias

from flverify._core.errors import FormatError

PACKAGE = "flverify"
READ = property, cached_property, staticmethod, classmethod  # not called themselves
Held: TypeAlias = dict[str, Any]  # by name
Contents: TypeAlias = list[tuple[str, Any, Held, Held]]  # name, owner, members, codes


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
    """List what loaded modules, and their classes, hold, and the code that runs."""
    out: Contents = []
    for name, module in list(sys.modules.items()):
        ours = name == PACKAGE or name.startswith(f"{PACKAGE}.")
        if not ours or not isinstance(module, ModuleType):
            continue
        held = vars(module).copy()  # copied whole: what runs is asked of what changed
        out.append((name, module, held, _codes(held)))
        for key, one in held.items():
            if isinstance(one, type) and one.__module__ == name:
                members = vars(one).copy()
                out.append((f"{name}.{key}", one, members, _codes(members)))
    return out


def _codes(held: Held) -> Held:
    codes = {
        key: one.__code__ if type(one) is FunctionType else _code(one)
        for key, one in held.items()
        if callable(one) and not isinstance(one, type)
    }
    return {key: code for key, code in codes.items() if code is not None}


def _code(one: Any) -> Any:
    return getattr(one, "__code__", None)


def _put_back(before: Contents) -> list[str]:
    """Set anew what is another one now, or runs other code, and name it."""
    out = []
    for name, owner, held, codes in before:
        if _as_before(vars(owner), held, codes):
            continue
        now = vars(owner)
        for key, one in held.items():
            code = codes.get(key)
            if now.get(key) is not one:
                if callable(one) or isinstance(one, READ):
                    setattr(owner, key, one)
                    out.append(f"{name}.{key}")
            elif code is not None and getattr(one, "__code__", code) is not code:
                setattr(one, "__code__", code)  # noqa: B010 - some have none, for types
                out.append(f"{name}.{key}")
    return out


def _as_before(now: Mapping[str, Any], held: Held, codes: Held) -> bool:
    """Whether nothing at all is another one; that is so nearly always."""
    if not all(map(is_, map(now.get, held), held.values())):
        return False
    return all(_code(held[key]) is code for key, code in codes.items())
