"""Discovery: a file in a catalogue folder is a member, nothing is registered."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType


@cache
def member_names(package: str) -> tuple[str, ...]:
    """Names of the public modules of a package, sorted.

    Examples
    --------
    >>> "focus" in member_names("flverify.algorithms")
    True
    """
    found = importlib.import_module(package)
    modules = pkgutil.iter_modules(found.__path__)
    return tuple(sorted(m.name for m in modules if not m.name.startswith("_")))


@cache
def public_names(package: str) -> dict[str, str]:
    """Map each name in the `__all__` of a member to the module that defines it."""
    names: dict[str, str] = {}
    for member in member_names(package):
        for name in load(package, member).__all__:
            names[name] = f"{package}.{member}"
    return names


def load(package: str, member: str) -> ModuleType:
    """Import one member of a catalogue."""
    return importlib.import_module(f"{package}.{member}")


def resolve(package: str, name: str) -> object:
    """Find a public name in a catalogue package, or all, importing members on use.

    Raises
    ------
    AttributeError
        If no member defines the name (the contract of module attribute access).
    """
    if name == "__all__":  # asked for by `from ... import *`
        return sorted(public_names(package))
    if name.startswith("_") or name not in public_names(package):
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return getattr(importlib.import_module(public_names(package)[name]), name)
