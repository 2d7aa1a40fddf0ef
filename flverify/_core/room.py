"""Whether what is asked for fits the memory of this machine, before it is taken."""

from __future__ import annotations

import os

from flverify._core.errors import DomainError
from flverify._core.shown import shown

UNKNOWN = 1 << 40  # bytes, where the system does not say
NUMBER = 8  # bytes of a float, and of a reference to a rational


def require_room(numbers: int, what: str, size: int = NUMBER) -> None:
    """Check that some numbers fit the memory.

    Parameters
    ----------
    numbers : int
        How many.
    what : str
        Their plural, for the message.
    size : int
        Bytes of each.

    Raises
    ------
    DomainError
        If they do not.

    Examples
    --------
    >>> require_room(1000, "errors")
    >>> require_room(10**24, "errors")
    Traceback (most recent call last):
    flverify._core.errors.DomainError: errors must fit the memory; got ...
    """
    if numbers * size > _memory():
        raise DomainError(
            f"{what} must fit the memory; got {shown(numbers)} of them, {size} "
            f"byte{'s' * (size > 1)} each; ask for fewer."
        )


def _memory() -> int:
    """Bytes of physical memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system says it
        return UNKNOWN
