"""Rounds of a user's own algorithm: what goes wrong in them is one sentence.

The package's rounds are compared with plain loops by its tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from flverify._core.errors import (
    FlverifyError,
    InputError,
    ReadingError,
    TerminatedError,
)
from flverify._core.exact import is_symbolic, scalar
from flverify._core.places import is_own, own_line
from flverify._core.sentences import number_of
from flverify._core.shown import shown
from flverify._core.vectors import Vector, in_words
from flverify._core.whole_files import FULL
from flverify.algorithms._algorithm import Algorithm, Cohort, Numbers

DOUBTFUL = (bool, float, complex, np.generic, np.ndarray)  # perhaps no finite number
DRAWN = {"pull", "select", "sum", "mean", "weighted_mean"}  # verbs that need a round
TOO_LARGE = (MemoryError, OverflowError)  # said by whoever asked for the numbers


def require_number(algorithm: Algorithm) -> None:
    """Refuse a step size that a user's class has left as text, or that is no number.

    Raises
    ------
    InputError
        If it is text, a bool, an array, complex, infinite or not a number.
    """
    step_size = getattr(algorithm, "step_size", 0)
    if isinstance(step_size, str):
        raise InputError(
            f"step_size must be a number; {type(algorithm).__name__} keeps the text "
            f"{step_size!r}; pass a Fraction, or call self.check_common()."
        )
    if is_symbolic(step_size) or isinstance(step_size, DOUBTFUL):
        scalar(step_size, "step_size")


@contextmanager
def running(algorithm: Algorithm, method: str) -> Iterator[None]:
    """Run a method of an algorithm; what its own code raises is told with its place.

    Raises
    ------
    InputError
        If own code raises anything but an exception of this package.
    """
    if not is_own(algorithm):
        yield
        return
    with failing(f"{method} of {type(algorithm).__name__}"):
        yield


@contextmanager
def failing(what: str) -> Iterator[None]:
    """Run a user's own code; what it raises is told with its place.

    Raises
    ------
    InputError
        If it raises anything but an exception of this package.
    """
    try:
        yield
    except (FlverifyError, TerminatedError, *TOO_LARGE):
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, OSError) and error.errno in FULL:
            raise
        raise InputError(
            f"{what} must run without an error; {place(error)} raised "
            f"{type(error).__name__}: {_reason(error)}; mend it."
        ) from error


class Undrawn:
    """A cohort as init sees it: no round has been drawn, and no verb may ask for it."""

    def __init__(self, cohort: Any) -> None:
        self._cohort = cohort

    def __getattr__(self, verb: str) -> Any:
        if verb in DRAWN:
            raise ReadingError(
                f"init must not ask who participates; got {verb}(), and no round has "
                "been drawn; use broadcast and everyone."
            )
        return getattr(self._cohort, verb)


def performed(algorithm: Algorithm, method: str, *given: Any) -> Any:
    """Run init or round, and return the state that it must return.

    Raises
    ------
    InputError
        If own code raises, or returns no State.
    ReadingError
        If init asks who participates.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg
    >>> performed(FedAvg("1/4"), "init", 2, None, None).model
    2
    """
    if method == "init":
        start, cohort, oracle = given
        given = start, Undrawn(cohort), oracle
    with running(algorithm, method):
        state = getattr(algorithm, method)(*given)
    _require_state(algorithm, method, state, algorithm.slots())
    return state


def _require_state(
    algorithm: Algorithm, method: str, state: Any, slots: Mapping[str, type]
) -> None:
    """Check that init or round returned every slot."""
    if getattr(state, "_fields", None) != tuple(slots):
        raise InputError(
            f"{method} of {type(algorithm).__name__} must return its State with "
            f"{', '.join(slots)}; got {_told(state)}; return all of it."
        )


def _told(state: Any) -> str:
    """Word what was returned in place of a State, without what its vectors hold."""
    if isinstance(state, Vector):
        return state.words
    if isinstance(state, tuple | list) and any(isinstance(v, Vector) for v in state):
        return f"a {type(state).__name__} of {number_of(len(state), 'value')}"
    return shown(state)


def require_vectors(algorithm: Algorithm) -> None:
    """Refuse algorithms that keep numbers per client.

    Raises
    ------
    ReadingError
        If a slot holds numbers.
    """
    counted = [n for n, kind in algorithm.slots().items() if kind is Numbers]
    if counted:
        raise ReadingError(
            f"a linear round must keep no numbers per client; got slots {counted}; "
            "the algorithm can only be simulated."
        )


def place(error: BaseException) -> str:
    """Say where own code raised an error."""
    if isinstance(error, SyntaxError):
        return f"line {error.lineno} of {error.filename}" if error.filename else "it"
    line = own_line(error)
    return "its call" if line is None else f"line {line.lineno} of {line.filename}"


def _reason(error: BaseException) -> str:
    """Return the text of an error; a verb that no cohort has, with those it has."""
    if isinstance(error, AttributeError) and hasattr(error.obj, "pull"):
        verbs = [name for name in vars(Cohort) if not name.startswith("_")]
        return f"a cohort has no {error.name}, but {', '.join(verbs)}"
    if isinstance(error, SyntaxError):
        return error.msg
    return in_words(str(error)).rstrip(".")
