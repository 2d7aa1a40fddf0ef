"""Python files that are run as they stand, whatever bytecode lies beside them.

Python takes bytecode for that of a file which has its size and its second of change.
Two versions of a claim may share both, and one would get the verdict of the other.
Here code is kept by the text itself, for as long as the process lives.
"""

from __future__ import annotations

import ast
import sys
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType

KEPT = 256  # texts of files; about a hundred are shipped


class AsItStands(SourceFileLoader):
    """Compile a file anew; bytecode is neither read nor written."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the text that is in the file now."""
        path = self.get_filename(fullname)
        return _code(self.get_data(path), path)


@lru_cache(maxsize=KEPT)
def _code(text: bytes, path: str) -> CodeType:
    code: CodeType = SourceFileLoader("", path).source_to_code(text, path)
    return code


def run_file(path: Path, name: str) -> ModuleType:
    """Import a Python file under a name of its own.

    Modules beside it can be imported, from then on, unless others have their names.
    Whatever the file raises is raised.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "mine.py")
    ...     for text in "SIZE = 1", "SIZE = 2":
    ...         _ = file.write_text(text)
    ...         os.utime(file, (0, 0))
    ...         print(run_file(file, "mine_for_once").SIZE)
    1
    2
    """
    folder = path.resolve().parent
    if any(_only_beside(one, folder) for one in _imported(path.read_bytes())):
        sys.path.append(str(folder))  # the last, so that nothing changes its meaning
    spec = spec_from_loader(name, AsItStands(name, str(path)))
    if spec is None or spec.loader is None:  # for the types: a loader is given
        raise ImportError(name)
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@lru_cache(maxsize=1)  # what is asked of one text is asked of it in turn
def nodes_of(text: bytes) -> tuple[ast.AST, ...]:
    """Return all nodes of a program; whatever is wrong with it is raised.

    Examples
    --------
    >>> len(nodes_of(b"x"))
    4
    """
    return (*ast.walk(ast.parse(text)),)


@lru_cache(maxsize=KEPT)
def _imported(text: bytes) -> frozenset[str]:
    """Return the first names of the modules that a file imports anywhere."""
    try:
        nodes = nodes_of(text)
    except (SyntaxError, ValueError):  # which running it will say
        return frozenset()
    whole = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
    parts = [n.module for n in nodes if isinstance(n, ast.ImportFrom) and not n.level]
    return frozenset(name.split(".")[0] for name in (*whole, *parts) if name)


def _only_beside(name: str, folder: Path) -> bool:
    """Whether a module lies in a folder, and Python would find none of its name."""
    if not ((folder / f"{name}.py").is_file() or (folder / name).is_dir()):
        return False
    try:
        return find_spec(name) is None
    except (ImportError, ValueError):  # of what was made while running
        return False


def last_name(node: ast.AST) -> str:
    """Return the name of a name, or of what is taken from something; else "".

    Examples
    --------
    >>> [last_name(ast.parse(code, mode="eval").body) for code in ("a", "a.b", "a()")]
    ['a', 'b', '']
    """
    return getattr(node, "id", getattr(node, "attr", ""))
