"""A method of one's own on the command line: FILE.py:CLASS, with --loop FILE.py."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from flverify._core.errors import FlverifyError, FormatError, InputError
from flverify._core.exact import Scalar, parse_number
from flverify._core.source_files import run_file
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.check.one_by_one import FAULTS, OWN
from flverify.certify.check.own import load_module
from flverify.commands._algorithms import Chosen, override
from flverify.commands._numbers import count, naming


def is_own(text: str) -> bool:
    """Whether an algorithm is written as a class of a file.

    Examples
    --------
    >>> is_own("momentum.py:Momentum"), is_own("focus")
    (True, False)
    """
    return text.rpartition(":")[0].endswith(".py")


def files_run(text: str, loop: Path | None) -> list[tuple[str, Path | None]]:
    """Return the files that are run, each with what names it on the command line.

    Examples
    --------
    >>> [(name, str(path)) for name, path in files_run("mine.py:Mine", Path("loop.py"))]
    [('--loop', 'loop.py'), ('ALGORITHM', 'mine.py')]
    """
    method = Path(text.rpartition(":")[0]) if is_own(text) else None
    return [("--loop", loop), ("ALGORITHM", method)]


def plain_loop(text: str, path: Path | None) -> ModuleType | None:
    """Return the loop that comes with a method of one's own, and with no other.

    Raises
    ------
    InputError
        If it is missing, is not wanted, or cannot be run.
    """
    if path is None and is_own(text):
        raise InputError(
            f"--loop must name the plain loop of {text}; got none; write start and "
            "play to a FILE.py, and name it."
        )
    if path is None:
        return None
    if not is_own(text):
        raise InputError(
            f"--loop must come with a method of one's own, as FILE.py:CLASS; got "
            f"{text!r}; leave it out."
        )
    try:
        return load_module(path)
    except ValueError as error:
        raise InputError(str(error)) from error


def build_own(
    text: str, step_size: Scalar, local_steps: int | None, overrides: Iterable[str]
) -> Chosen:
    """Build a method of a file from the settings that are given.

    Raises
    ------
    InputError, FormatError
        If the file has no such class, or the class not such settings.
    """
    file, _, name = text.rpartition(":")
    made = _class(Path(file), name)
    known = {f.name: str(f.type) for f in fields(made)}
    given: dict[str, Any] = {"step_size": step_size}
    if local_steps is not None:
        given["local_steps"] = local_steps
    for one in map(override, overrides):
        if one.algorithm or one.name in given:
            raise InputError(
                f"--set must give each setting of {name} once, as NAME=VALUE; got "
                f"{one.text!r}; leave out what is more."
            )
        with naming(one.name):
            given[one.name] = _value(one.value, known.get(one.name, ""))
    if unknown := sorted(given.keys() - known.keys()):
        raise InputError(
            f"settings must be of {name}, which has {', '.join(known)}; got "
            f"{', '.join(unknown)}; leave it out."
        )
    try:
        return Chosen(OWN + name, made(**given), ())
    except FlverifyError:
        raise
    except FAULTS as error:
        raise InputError(
            f"{name} must be made of its settings; it ends in {type(error).__name__}: "
            f"{str(error).rstrip('.')}; give what is missing by --set."
        ) from error


def _class(path: Path, name: str) -> Any:
    try:
        module = run_file(path, f"own_method_{path.stem}")
    except OSError as error:
        raise FormatError(
            f"a method must be in a file that can be read; got {path}: "
            f"{error.strerror}; name FILE.py:CLASS."
        ) from error
    except (*FAULTS, ImportError, SyntaxError) as error:
        raise FormatError(
            f"a method must be in a file that runs; {path} ends in "
            f"{type(error).__name__}: {str(error).rstrip('.')}."
        ) from error
    found = getattr(module, name, None)
    own = isinstance(found, type) and issubclass(found, Algorithm)
    if not (own and is_dataclass(found)):
        raise InputError(
            f"a method must be a dataclass that is an Algorithm; {path} has no such "
            f"{name!r}; name FILE.py:CLASS."
        )
    return found


def _value(text: str, annotation: str) -> Any:
    """Read a whole number, a rational, or a word."""
    if annotation in {"int", str(int)}:
        return count(text, "a whole number")
    try:
        return parse_number(text)
    except FlverifyError:
        return text
