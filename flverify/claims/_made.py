"""Which claims a file makes while it is run, kept under a name or lost.

A file is searched for claims by its names. A second check of one name would take the
place of the first, which nobody would judge then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Protocol

from flverify._core.errors import FormatError

_RUNNING = list["list[Made]"]()  # a list for every file that is being run


class Made(Protocol):
    """What is needed of a claim."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def judged_by(self) -> object:
        """Its check."""


def note(claim: Made) -> None:
    """Note a claim for the file that is being run, if one is."""
    if _RUNNING:
        _RUNNING[-1].append(claim)


@contextmanager
def collected() -> Iterator[list[Made]]:
    """Collect the claims that are made meanwhile.

    Examples
    --------
    >>> with collected() as made:
    ...     note("a claim")
    >>> made
    ['a claim']
    """
    made = list[Made]()
    _RUNNING.append(made)
    try:
        yield made
    finally:
        _RUNNING.pop()


def require_kept(
    made: list[Made], kept: set[str], module: ModuleType, file: str
) -> None:
    """Check that a file keeps every claim whose check it defines, each with its own id.

    Parameters
    ----------
    made : list of Claim
        Those that were made while it was run.
    kept : set of str
        The ids of those that are found in it.
    module : module
    file : str
        Its name, for the reader.

    Raises
    ------
    FormatError
        If one has no name, or has lost it to another, or two have one id.
    """
    known = set[str]()
    for one in made:
        if getattr(one.judged_by, "__globals__", None) is not vars(module):
            continue  # of a module that the file imports
        if one.id in known:
            raise FormatError(
                f"every claim must have an id of its own; {one.id} stands twice; "
                f"rename the one in {file}."
            )
        if one.id not in kept:
            raise FormatError(
                "every claim must keep a name of its own, by which it is found; "
                f"{one.id} of {file} has none, or another has taken it; rename its "
                "check."
            )
        known.add(one.id)
