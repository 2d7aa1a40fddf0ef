"""Numbers in options: read exactly, with the option named where they are wrong."""

from __future__ import annotations

from flverify._core.checks import whole
from flverify._core.errors import DomainError
from flverify._core.exact import Scalar, parse_number


def count(text: str, name: str) -> int:
    """Read a whole number, exactly.

    Raises
    ------
    DomainError
        If the text is not a whole number.
    """
    number = parse_number(text)
    return whole(int(number) if number.denominator == 1 else number, name, least=0)


def one_number(flag: str, text: str) -> Scalar:
    """Read the number of an option.

    Raises
    ------
    DomainError
        If it is not a number; the message names the option.
    """
    try:
        return parse_number(text)
    except DomainError as error:
        raise DomainError(f"{flag}: {error}") from error


def numbers_of(flag: str, text: str) -> list[Scalar]:
    """Read the numbers of an option, separated by commas.

    Raises
    ------
    DomainError
        If one is not a number; the message names the option.
    """
    return [one_number(flag, part) for part in text.split(",")]
