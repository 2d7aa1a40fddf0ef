"""Exact moments of a setting, in rationals where that is possible, else in floats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from flverify._core.errors import Refusal, RefusedError
from flverify.engines.moments import Moments, moments
from flverify.engines.moments._small import SmallMoments
from flverify.testing.setting import Setting

EXACT = "exact moments (rationals)"
FLOATS = "moments in floats"
FAULTS = (RefusedError, np.linalg.LinAlgError, OverflowError)  # no answer of moments
LARGEST = 1e100  # coefficient of a float round


@dataclass(frozen=True)
class Answer:
    """Moments and the words for how exact they are."""

    asked: Setting
    found: Moments
    floats: bool

    @property
    def answered_by(self) -> str:
        """How a value of these moments was computed."""
        return FLOATS if self.floats else EXACT

    @cached_property
    def contraction(self) -> float:
        """Mean-square rate of differences in floats; not a number if refused."""
        try:
            return float(self.in_floats.mean_square_rate)
        except FAULTS:
            return math.nan

    @cached_property
    def in_floats(self) -> Moments:
        """The same moments in floats, for numbers that are only shown."""
        if self.floats:
            return self.found
        plain = _ask_in_floats(self.asked)
        return self.found if isinstance(plain, Refusal) else plain


def answers(asked: Setting) -> list[Answer] | Refusal:
    """Return the moments in rationals, if the setting is exact, then in floats.

    Whoever asks takes the first that can give what is wanted: rationals are refused
    where they would take too long.
    """
    if asked.is_function:
        why = "an algorithm given as a function of masks and gradients is not traced."
        return Refusal("moments", why)
    first = _ask(asked.problem, asked)
    out = [] if isinstance(first, Refusal) else [Answer(asked, first, not first.exact)]
    if isinstance(first, Refusal) or first.exact:
        second = _ask_in_floats(asked)
        out += [] if isinstance(second, Refusal) else [Answer(asked, second, True)]
    return out if out or not isinstance(first, Refusal) else first


def refusal(error: Exception) -> Refusal:
    """Word one of `FAULTS`."""
    if isinstance(error, OverflowError):
        return Refusal("moments", "a number lies beyond the range of floats.")
    return Refusal("moments", str(error))


def _ask_in_floats(asked: Setting) -> Moments | Refusal:
    if not hasattr(asked.problem, "as_float"):  # a user's own need not have it
        return Refusal("moments", "the problem has no method as_float().")
    try:
        problem = asked.problem.as_float()
    except OverflowError as error:
        return refusal(error)
    return _ask(problem, asked)


def _ask(problem: Any, asked: Setting) -> Moments | Refusal:
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            found = moments(problem, asked.algorithm, asked.participation)
            if isinstance(found, Refusal) or found.exact:
                return found
            largest = _largest(found._engine)
    except FAULTS as error:
        return refusal(error)
    if not largest <= LARGEST:
        why = f"a round in floats must have coefficients up to {LARGEST:g}."
        return Refusal("moments", why)
    return found


def _largest(engine: Any) -> float:
    """Largest coefficient of a float round; their squares are summed later."""
    system = engine.system
    if isinstance(engine, SmallMoments):
        maps = [a for move in system.moves for _, a in move.terms]
    else:
        maps = [system.mean, system.rows, system.columns]
    return max((float(np.abs(a).max(initial=0.0)) for a in maps), default=0.0)
