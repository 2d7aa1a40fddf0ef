"""Exceptions of the package, and the one expected outcome that is a value.

Every message says what must hold, what was given and what to do. A setting that
an engine does not accept is a `Refusal`: a value, since a refusal is an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn


class FlverifyError(Exception):
    """Base of every exception raised on purpose by this package."""


class InputError(FlverifyError, ValueError):
    """A parameter outside its domain."""


class ShapeError(InputError):
    """An array whose shape does not fit."""


class DomainError(InputError):
    """A number outside the set it must lie in."""


class BeyondFloatsError(DomainError, OverflowError):
    """A number above all floats, where floats are computed with."""


class FormatError(InputError):
    """A file or text that is damaged or of another format."""


class UnknownNameError(FlverifyError, LookupError):
    """An id, algorithm, law or figure that does not exist."""


class MissingConstantError(InputError, AttributeError):
    """A constant that a claim does not have."""


class MissingExtraError(FlverifyError, ImportError):
    """An optional dependency that is not installed."""


class RefusedError(FlverifyError):
    """An engine was asked for a value of a setting that it refuses."""


class NoAnswerError(RefusedError, AttributeError):
    """A number was asked of a `Refusal`, which has a reason in its place."""


class IncompleteClassError(FlverifyError, TypeError):
    """A class of a user's own that lacks what its base leaves to it."""


class TerminatedError(SystemExit):
    """The process was told to end; no fault of whatever was running then."""


class ReadingError(FlverifyError, TypeError):
    """A round mixes server and clients, or leaves what a reading can follow."""


@dataclass(frozen=True)
class Refusal:
    """Why an engine does not accept a setting; false in a condition.

    Parameters
    ----------
    engine : str
        The engine that refuses.
    reason : str
        One sentence: what must hold and what was given.

    Examples
    --------
    >>> bool(Refusal("moments", "the round branches on values"))
    False
    """

    engine: str
    reason: str

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"{self.engine} refuses: {self.reason}"

    if not TYPE_CHECKING:  # type checkers find it before it runs

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("__") or name in ("engine", "reason"):
                raise AttributeError(name)  # asked while one is copied
            raise NoAnswerError(
                f"{name} must be asked of an answer; {self.engine} refuses: "
                f"{self.reason}"
            )
