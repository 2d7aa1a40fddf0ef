"""What a certificate is written in: exact numbers as text, objects, lists and words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from reprlib import repr as shortened
from typing import Any

from ._forms import Number

LONGEST = 250  # characters of a number; definiteness is slow with longer ones
_EXACT = re.compile(r"-?[0-9]+(?:/[0-9]+)?")


class Rejected(Exception):  # noqa: N818 - an outcome, named as one
    """The certificate does not prove what it states; the text says why."""


def require(holds: bool, reason: str) -> None:
    """Raise Rejected with the reason unless the condition holds."""
    if not holds:
        raise Rejected(reason)


def number(text: object, what: str, longest: int = LONGEST) -> Number:
    """Return the number written as text "a" or "a/b"."""
    if type(text) is not str or not _EXACT.fullmatch(text):
        raise Rejected(
            f"{what} must be an exact number as text, such as '3' or '-3/4'; "
            f"got {shortened(text)}"
        )
    require(
        len(text) <= longest,
        f"{what} must be written with at most {longest} characters; "
        f"got {shortened(text)}, which has {len(text)}",
    )
    top, _, bottom = text.partition("/")
    require(not bottom or int(bottom) != 0, f"{what} must not divide by zero")
    value = Fraction(int(top), int(bottom or 1))
    return value.numerator if value.denominator == 1 else value


def whole(value: object, what: str, least: int, most: int) -> int:
    """Return an integer within least..most; booleans are none."""
    if type(value) is not int or not least <= value <= most:
        raise Rejected(
            f"{what} must be an integer from {least} to {most}; got {shortened(value)}"
        )
    return value


def entries(value: object, keys: list[str], what: str) -> dict[str, Any]:
    """Return an object that has exactly these keys."""
    if not isinstance(value, Mapping):
        raise Rejected(f"{what} must have the keys {keys}; got {shortened(value)}")
    missing = [key for key in keys if key not in value]
    extra = sorted(str(key) for key in value if key not in keys)
    if missing or extra:
        found = [("missing", missing), ("not one of them", extra)]
        told = "; ".join(f"{word}: {shortened(part)}" for word, part in found if part)
        raise Rejected(f"{what} must have the keys {keys}; {told}")
    return dict(value)


def names(value: object, what: str) -> dict[str, Any]:
    """Return an object with any names as keys."""
    if not isinstance(value, Mapping) or not all(type(key) is str for key in value):
        raise Rejected(f"{what} must be an object; got {shortened(value)}")
    return dict(value)


def items(value: object, what: str, length: int | None = None) -> list[Any]:
    """Return a list, of the given length if there is one."""
    if type(value) is not list or (length is not None and len(value) != length):
        size = "" if length is None else f" of length {length}"
        raise Rejected(f"{what} must be a list{size}; got {shortened(value)}")
    return value


def choice(value: object, what: str, allowed: list[str]) -> str:
    """Return a text that is one of those allowed."""
    if type(value) is not str or value not in allowed:
        raise Rejected(
            f"{what} must be one of {shortened(allowed)}; got {shortened(value)}"
        )
    return value


def text(value: object, what: str) -> str:
    """Return a text."""
    require(type(value) is str, f"{what} must be text; got {shortened(value)}")
    return str(value)
