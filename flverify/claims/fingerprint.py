"""What a claim's finding depends on, as one digest: its file, our code, libraries.

Imports are followed from the file of claims through this package and through all that
is not installed, by name only (nothing is imported to ask). A package that discovers
its members counts with all of them, and names that resolve on use count as imported.
Where a name is found nowhere, no two digests are the same. Constants need no mention:
they stand in the file.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from secrets import token_hex

from flverify._core.source_files import last_name
from flverify.claims.imported import files_of, installed, released

PACKAGE = Path(__file__).resolve().parent.parent
LIBRARIES = ("numpy", "scipy", "sympy", "python-flint", "z3-solver", "clarabel")
BY_TEXT = {"import_module", "__import__"}  # what imports what a text names


def fingerprint(path: Path) -> str:
    """Return the digest of a file of claims and of all it rests on.

    Parameters
    ----------
    path : path
        The file of claims.
    """
    parts = [
        sys.version.split()[0],
        *(f"{name} {_version(name)}" for name in LIBRARIES),
    ]
    parts.append(sha256(path.read_bytes()).hexdigest())
    parts += [f"{_name(found)} {_digest(found)}" for found in sorted(reached(path))]
    return sha256("\n".join(parts).encode()).hexdigest()


def reached(path: Path) -> set[Path]:
    """Files that a file imports, directly or not; of what is installed, the first."""
    waiting, seen = list(_read_imports(path)), set[Path]()
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            if module.is_relative_to(PACKAGE):
                waiting += _imports(module)
            elif module.is_file() and not installed(module):
                waiting += _read_imports(module)
    return seen


@cache  # the package does not change while it runs; a file of claims may
def _imports(path: Path) -> frozenset[Path]:
    return _read_imports(path)


def _read_imports(path: Path) -> frozenset[Path]:
    names = _names(path.read_bytes(), path)
    return frozenset(f for name in names for f in _files(name, path))


@cache  # by what the file says now: many claims share one
def _names(text: bytes, path: Path) -> frozenset[str]:
    try:
        tree = ast.parse(text)  # which may say how it is encoded
    except (SyntaxError, ValueError):  # of a module beside it, which cannot be imported
        return frozenset()
    names: set[str] = set()
    first = path == PACKAGE / "__init__.py"
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, path)
            names.add(base)
            names |= {f"{base}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and last_name(node.func) in BY_TEXT:
            given = (getattr(one, "value", None) for one in node.args)
            names |= {text for text in given if isinstance(text, str)}
        elif first and isinstance(node, ast.Dict):
            names |= {ast.literal_eval(value) for value in node.values}  # on use
    return frozenset(names)


def _absolute(node: ast.ImportFrom, path: Path) -> str:
    if not node.level:
        return node.module or ""
    folder = path.resolve().parents[node.level - 1]
    if not folder.is_relative_to(PACKAGE):
        return ""
    inside = folder.relative_to(PACKAGE).parts
    return ".".join(["flverify", *inside, *([node.module] if node.module else [])])


def _files(name: str, path: Path) -> list[Path]:
    """Files of a dotted name; a package that discovers members counts whole."""
    first, *rest = name.split(".")
    if first != "flverify":
        ours = path.is_relative_to(PACKAGE)
        return [] if ours or not first else files_of(first, path.resolve().parent)
    place = PACKAGE.joinpath(*rest)
    if place.with_suffix(".py").is_file() and rest:
        return [place.with_suffix(".py")]
    start = place / "__init__.py"
    if not start.is_file():
        return []
    if "catalogue" in start.read_text(encoding="utf-8"):
        return sorted(place.glob("*.py"))
    return [start]


def _name(path: Path) -> str:
    ours = path.is_relative_to(PACKAGE)
    return path.relative_to(PACKAGE).as_posix() if ours else path.name


def _digest(path: Path) -> str:
    if path.is_relative_to(PACKAGE):
        return _kept(path)
    if not path.is_file():
        return token_hex()  # whatever it is, it may be another one by now
    return f"{released(path)} {_read(path)}" if installed(path) else _read(path)


def _read(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


_kept = cache(_read)  # of the package, which does not change while it runs


@cache  # what is loaded stays loaded
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
