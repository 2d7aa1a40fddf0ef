"""Files behind the name of a module, found without importing it.

What is installed counts by its version and not by its files, and what comes with Python
by Python's. Everything else may change between two audits: modules beside a file, on
the path, or of a project that is installed where it is worked on.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from pathlib import Path

INSTALLED = {"site-packages", "dist-packages"}


def files_of(name: str, folder: Path) -> list[Path]:
    """List the files of a top-level module, for a file in a folder that imports it.

    Of what is installed this is one file, see `installed`; for a name that is found
    nowhere it is a path without a file.

    Examples
    --------
    >>> files_of("json", Path("."))
    []
    >>> [path.name for path in files_of("sympy", Path("."))]
    ['__init__.py']
    >>> [path.exists() for path in files_of("no_such_module", Path("."))]
    [False]
    """
    beside = _files_in(folder / name)
    if beside is None and name in sys.stdlib_module_names:
        return []
    found = _on_the_path(name, tuple(sys.path))
    return sorted({*(beside or ()), *found}) or [folder / name]


def installed(path: Path) -> bool:
    """Say whether a file is part of what is installed, and not worked on."""
    return not INSTALLED.isdisjoint(path.parts)


@cache
def released(path: Path) -> str:
    """Return the versions of what an installed module belongs to."""
    places = [i for i, part in enumerate(path.parts) if part in INSTALLED]
    name = path.parts[places[-1] + 1].removesuffix(".py")
    owners = packages_distributions().get(name, [])
    return " ".join(f"{owner} {version(owner)}" for owner in sorted(owners))


@cache
def _on_the_path(name: str, places: tuple[str, ...]) -> frozenset[Path]:
    """Return what Python would import: `places` is where it looks."""
    del places
    spec = _spec(name)
    if spec is None:
        return frozenset()
    origin = Path(spec.origin) if spec.has_location and spec.origin else None
    if origin is not None and installed(origin):
        return frozenset({origin})
    folders = [Path(place) for place in spec.submodule_search_locations or ()]
    inside = {file for folder in folders for file in _within(folder)}
    return frozenset(inside | ({origin} if origin is not None else set()))


def _spec(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except (ImportError, ValueError):  # of what was made while running
        return None


def _files_in(place: Path) -> list[Path] | None:
    """List a package, which Python prefers, or a module; None if it is neither."""
    alone = place.with_name(f"{place.name}.py")
    inside = _within(place) if place.is_dir() else []
    return [*inside, *([alone] if alone.is_file() else [])] or None


def _within(folder: Path) -> list[Path]:
    """List the modules in a folder, but for what is hidden or installed there."""
    return sorted(
        file
        for file in folder.rglob("*.py")
        if not installed(file)
        and not any(p.startswith(".") for p in file.relative_to(folder).parts)
    )
