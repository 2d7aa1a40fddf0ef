"""Python files that are run as they stand, whatever bytecode lies beside them.

Python takes bytecode for that of a file which has its size and its second of change.
Two versions of a claim may share both, and one would get the verdict of the other.
"""

from __future__ import annotations

import ast
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType


class AsItStands(SourceFileLoader):
    """Compile a file anew; bytecode is neither read nor written."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the text that is in the file now."""
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
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
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)  # the last, so that nothing changes its meaning
    spec = spec_from_loader(name, AsItStands(name, str(path)))
    if spec is None or spec.loader is None:  # for the types: a loader is given
        raise ImportError(name)
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def last_name(node: ast.AST) -> str:
    """Return the name of a name, or of what is taken from something; else "".

    Examples
    --------
    >>> [last_name(ast.parse(code, mode="eval").body) for code in ("a", "a.b", "a()")]
    ['a', 'b', '']
    """
    return getattr(node, "id", getattr(node, "attr", ""))
