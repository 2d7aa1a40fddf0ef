"""Numbers in options: read exactly, with the option named where they are wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from flverify._core.checks import positive, whole
from flverify._core.errors import DomainError
from flverify._core.exact import Scalar, parse_number

_WHOLE = re.compile(r"[+-]?[0-9]+")
MANY = 10**6  # clients up to which a list of them fits every memory


class Whole(click.IntRange):
    """A whole number of a range, written as other numbers are: no 1_000."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Read digits alone."""
        if isinstance(value, str) and not _WHOLE.fullmatch(value.strip()):
            self.fail(f"{value!r} is not a whole number.", param, ctx)
        return super().convert(value, param, ctx)


def require_countable(n_clients: int) -> None:
    """Check that clients can be listed.

    Raises
    ------
    DomainError
        If there are too many.
    """
    if n_clients > MANY:
        raise DomainError(
            f"there must be at most {MANY} clients; got {n_clients}; take fewer."
        )


def count(text: str, name: str, least: int = 0) -> int:
    """Read a whole number, exactly.

    Raises
    ------
    DomainError
        If the text is not a whole number.
    """
    return whole_number(parse_number(text), name, least)


def whole_number(number: Scalar, name: str, least: int = 1) -> int:
    """Return a rational as the whole number it is.

    Raises
    ------
    DomainError
        If it is none, or too small.
    """
    if number.denominator != 1:
        raise DomainError(
            f"{name} must be an integer at least {least}; got {number}; pass one."
        )
    return whole(int(number), name, least)


def one_number(flag: str, text: str) -> Scalar:
    """Read the number of an option.

    Raises
    ------
    DomainError
        If it is not a number; the message names the option.
    """
    with naming(flag):
        return parse_number(text)


def positive_number(flag: str, text: str) -> Scalar:
    """Read the number above 0 of an option.

    Raises
    ------
    DomainError
        If it is not such a number; the message names the option.
    """
    return positive(one_number(flag, text), flag)


def numbers_of(flag: str, text: str) -> list[Scalar]:
    """Read the numbers of an option, separated by commas.

    Raises
    ------
    DomainError
        If one is not a number; the message names the option.
    """
    return [one_number(flag, part) for part in text.split(",")]


@contextmanager
def naming(flag: str) -> Iterator[None]:
    """Name the option in what is said of its numbers.

    Raises
    ------
    DomainError
        As the code inside does; the message begins with the option.
    """
    try:
        yield
    except DomainError as error:
        raise DomainError(f"{flag}: {error}") from error
