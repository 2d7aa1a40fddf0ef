"""What judges and claims are given: of the right shape, or one sentence.

Lists are checked entry by entry as they are read, since a judge may stop early.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flverify._core.errors import InputError
from flverify._core.shown import shown


def entries(values: object, what: str, like: str) -> Iterator[Any]:
    """Return an iterator over a list, which is not a text or a mapping.

    Raises
    ------
    InputError
        If the values are no list.
    """
    if not isinstance(values, str | bytes | Mapping | type):
        try:
            return iter(values)  # type: ignore[call-overload, no-any-return]
        except TypeError:  # also an array without axes
            pass
    raise _wrong(f"{what} must be a list", values, f"[{like}, ...]")


def rows(values: object, size: int, what: str, like: str) -> Iterator[tuple[Any, ...]]:
    """Yield the entries of a list of tuples of one size.

    Raises
    ------
    InputError
        If an entry is something else.

    Examples
    --------
    >>> list(rows([("sum", 3)], 2, "parts", "(label, value)"))
    [('sum', 3)]
    """
    for place, row in enumerate(entries(values, what, like)):
        if not isinstance(row, tuple | list) or len(row) != size:
            raise _wrong(f"entry {place} of {what} must be {like}", row, like)
        yield tuple(row)


def instances_of(values: object, kind: type, what: str, like: str) -> Iterator[Any]:
    """Yield the entries of a list of instances of a class.

    Raises
    ------
    InputError
        If an entry is something else.
    """
    for place, one in enumerate(entries(values, what, like)):
        yield instance_of(one, kind, f"entry {place} of {what}", like)


def instance_of(value: object, kind: type, what: str, like: str) -> Any:
    """Return a value that is an instance of a class.

    Raises
    ------
    InputError
        If it is none.
    """
    if not isinstance(value, kind):
        raise _wrong(f"{what} must be a {kind.__name__}", value, like)
    return value


def text(value: object, what: str) -> str:
    """Return a text.

    Raises
    ------
    InputError
        If it is none.
    """
    if not isinstance(value, str):
        raise _wrong(f"{what} must be a text", value, "'all x > 0'")
    return value


def words(value: object, what: str) -> str:
    """Return a text that says something.

    Raises
    ------
    InputError
        If it is none, or blank.
    """
    if not text(value, what).strip():
        raise InputError(f"{what} must not be blank; got {value!r}; write it out.")
    return str(value)


def mapping(value: object, what: str, like: str) -> Mapping[Any, Any]:
    """Return a mapping.

    Raises
    ------
    InputError
        If it is none.
    """
    if not isinstance(value, Mapping):
        raise _wrong(f"{what} must be a mapping", value, like)
    return value


def named(value: object, kind: type, what: str) -> dict[Any, Any]:
    """Return a mapping from names to instances of a class.

    Raises
    ------
    InputError
        If it is none.
    """
    like = f"{{'name': {kind.__name__}}}"
    found = dict(mapping(value, what, like))
    for name, one in found.items():
        instance_of(one, kind, f"{shown(name)} of {what}", like)
    return found


def _wrong(rule: str, given: object, like: str) -> InputError:
    return InputError(f"{rule}; got {shown(given)}; write it like {like}.")
