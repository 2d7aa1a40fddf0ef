"""Find claims: every file of proofs/ is read, nothing is registered."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TypeGuard

from flverify._core import sentences
from flverify._core.errors import FormatError, InputError, UnknownNameError
from flverify._core.shipped import shipped_folder
from flverify._core.shown import shown
from flverify._core.source_files import KEPT, last_name, nodes_of, run_file
from flverify.claims import _made
from flverify.claims.claim import Claim
from flverify.claims.untouched import untouched
from flverify.claims.verdict import OF_CLAIMS

ENDS = {"_exit", "abort"}  # the process that judges, with any exit code
MADE = {"Finding", "Correction", "__setattr__", "read_finding"}  # by the judge alone
CHANGED = {"verdict", "correction"}  # of a finding, by nobody
INSIDE = {"vars", "__dict__"}  # where what is frozen can be changed
PUT = {"update", "setdefault", "pop", "popitem", "clear", "__setitem__"}
SEEN = ast.ImportFrom, ast.Assign, ast.NamedExpr, ast.Subscript, ast.Call, ast.ClassDef
NEAR = 3  # ids that are proposed in place of a wrong one


def proofs_folder() -> Path:
    """Folder of the shipped proofs: inside an installed package, or beside a checkout.

    Raises
    ------
    UnknownNameError
        If neither exists.
    """
    return shipped_folder("proofs")


def load_file(path: Path) -> ModuleType:
    """Import one file of claims.

    Raises
    ------
    FormatError
        If it is not a readable Python file, or loses a claim that it makes.
    """
    if path.suffix != ".py" or not path.is_file():
        raise FormatError(
            f"a file of claims must be a Python file; got {path}; name a .py file."
        )
    try:
        _require_judged(path)
        with _made.collected() as made:
            module = run_file(path, f"{OF_CLAIMS}{path.stem}")
    except (SyntaxError, UnicodeDecodeError) as error:
        raise FormatError(
            f"a file of claims must be valid Python; {path.name} is not: {error}; "
            "mend it."
        ) from error
    kept = {value.id for value in vars(module).values() if isinstance(value, Claim)}
    _made.require_kept(made, kept, module, path.name)
    return module


def _require_judged(path: Path) -> None:
    """Check that a file makes no finding itself, nor gives one another verdict."""
    wrong = _unjudged(path.read_bytes())
    if wrong is not None:
        must, line, instead = wrong
        raise FormatError(f"{must}; {path.name}, line {line}, {instead}.")


@lru_cache(maxsize=KEPT)  # by the text: claims are read often, and take long to search
def _unjudged(text: bytes) -> tuple[str, int, str] | None:
    """Say what must hold of a file and where it does not, if anywhere."""
    nodes_of.cache_clear()  # a file that ran before may have changed what was kept
    for node in nodes_of(text):
        if isinstance(node, ast.Call) and last_name(node.func) in ENDS:
            must = "a file of claims must let the audit go on"
            return must, node.lineno, "ends the process; return or raise"
        if isinstance(node, SEEN) and _makes_one(node):
            must = "verdicts must be made by the judge"
            instead = "makes one itself; return what flverify.claims.judge gives"
            return must, node.lineno, instead
    return None


def _makes_one(node: ast.AST) -> TypeGuard[ast.stmt | ast.expr]:
    """Whether it makes a finding or changes one; what is made unseen raises later."""
    return _names_one(node) or _changes_one(node)


def _names_one(node: ast.AST) -> bool:
    match node:
        case ast.ImportFrom(module="flverify.claims", names=names) if any(
            one.name.startswith("_") for one in names
        ):
            return True
        case ast.ImportFrom(module=str(module), names=names):
            renamed = any(one.asname and one.name in MADE for one in names)
            return renamed or module.startswith("flverify.claims._")
        case ast.Assign(value=value) | ast.NamedExpr(value=value):
            return last_name(value) in MADE
        case ast.ClassDef(bases=bases):
            return any(last_name(base) in MADE for base in bases)
    return False


def _changes_one(node: ast.AST) -> bool:
    match node:
        case ast.Subscript(slice=key, ctx=ast.Store()):
            named = key.value if isinstance(key, ast.Constant) else None
            return named in {None, *CHANGED} and _is_inside(node.value)
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in PUT:
            return _is_inside(value)
        case ast.Call(func=func, keywords=given):
            changed = last_name(func) == "replace" and any(
                k.arg in CHANGED for k in given
            )
            return last_name(func) in MADE or changed
    return False


def _is_inside(node: ast.expr) -> bool:
    """Whether it is vars(f), or f.__dict__."""
    return last_name(getattr(node, "func", node)) in INSIDE


def claims_in(paths: list[Path]) -> dict[str, Claim]:
    """Return the claims defined in files, by id, in the order of the files.

    Raises
    ------
    InputError
        If what is given is no list of paths.
    FormatError
        If two claims share an id, or a file exchanges a function of the package.
    """
    if not isinstance(paths, list) or not all(isinstance(p, Path) for p in paths):
        raise InputError(
            f"files of claims must be a list of paths; got {shown(paths)}; write "
            "[Path('my_paper.py')]."
        )
    found: dict[str, Claim] = {}
    who = paths[0].name if len(paths) == 1 else "one of the files"
    with untouched(who):
        modules = [(path, load_file(path)) for path in paths]
    for path, module in modules:
        for value in vars(module).values():
            if not isinstance(value, Claim):
                continue
            known = found.get(value.id)
            if known is not None and known.judged_by is not value.judged_by:
                raise FormatError(
                    f"every claim must have an id of its own; {value.id} stands twice; "
                    f"rename the one in {path.name}."
                )
            found[value.id] = replace(value, path=path.resolve())
    return found


def shipped_claims() -> dict[str, Claim]:
    """Return the claims of proofs/, by id."""
    return claims_in(sorted(proofs_folder().glob("[!_]*.py")))


def chosen(claims: dict[str, Claim], prefix: str) -> dict[str, Claim]:
    """Return the claims whose id starts with a prefix.

    Raises
    ------
    UnknownNameError
        If there is none.
    """
    picked = {key: value for key, value in claims.items() if key.startswith(prefix)}
    if not picked:
        raise UnknownNameError(
            f"an id or prefix must match a claim; got {prefix!r}; "
            f"{nearest(prefix, claims)}."
        )
    return picked


def nearest(wrong: str, ids: Iterable[str], path: object = "") -> str:
    """Say which ids are near a wrong one, or where all are listed.

    Examples
    --------
    >>> nearest("focus.cse3a", ["focus.case3a", "agnostic.lemma1"])
    'did you mean focus.case3a'
    >>> nearest("nonsense", ["focus.case3a"])
    'see `flverify list`'
    """
    listed = f"see `flverify list {path}`" if path else "see `flverify list`"
    return sentences.nearest(wrong, ids, listed, NEAR)
