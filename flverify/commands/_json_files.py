"""Read the JSON files that describe laws: exactly, and refusing what is foreign."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from flverify._core.errors import FlverifyError, FormatError
from flverify._core.exact import parse_number


def read_object(path: Path, needed: set[str], allowed: set[str]) -> dict[str, Any]:
    """Read a file that holds one JSON object; its decimals become rationals.

    Parameters
    ----------
    path : path
    needed, allowed : sets of str
        Keys that must, and that may, be there.

    Raises
    ------
    FormatError
        If the file is missing, damaged, or holds other keys.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = json.loads(
            text,
            parse_float=parse_number,
            parse_constant=_no_number,
            object_pairs_hook=_once,
        )
    except FlverifyError as error:
        raise FormatError(f"{path}: {error}") from error
    except OSError as error:
        raise FormatError(
            f"a law's file must be readable; {path} is not: {error.strerror}; check "
            "the path."
        ) from error
    except (ValueError, RecursionError) as error:
        raise FormatError(
            f"a law's file must be JSON; {path} is not: {error}; mend it."
        ) from error
    if not isinstance(content, dict) or not needed <= content.keys() <= allowed:
        found = sorted(content) if isinstance(content, dict) else "no object"
        others = f"perhaps {_words(allowed - needed)}"
        keys = f"{_words(needed)} (and {others})" if needed else others
        raise FormatError(
            f"{path} must hold an object with {keys}; got {found}; see `flverify law "
            "--help`."
        )
    return content


def entries(value: object, what: str, path: Path) -> list[Any]:
    """Return a nonempty list.

    Raises
    ------
    FormatError
        If the value is not one.
    """
    if not isinstance(value, list) or not value:
        raise FormatError(
            f"{what} must be a nonempty list; got {value!r} in {path}; give one."
        )
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        raise FormatError(f"a key must stand once; got {names}; remove the repeats.")
    return content


def _no_number(word: str) -> NoReturn:
    raise FormatError(f"a number must be finite; got {word}; write a number.")


def _words(names: set[str]) -> str:
    return ", ".join(sorted(names))
