"""A problem under a law, exact and in floats, whose tables are computed once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from flverify._core.errors import ReadingError, Refusal, RefusedError
from flverify._core.exact import Array
from flverify.algorithms._algorithm import Algorithm, Server
from flverify.engines.moments import Moments, moments
from flverify.engines.moments._large import LargeMoments
from flverify.engines.trace import trace
from flverify.participation._law import Modes, Participation
from flverify.participation.explicit_law import ExplicitLaw

MIDDLING = 20  # state numbers from which float operators are slow to write out


@Participation.register
class Remembered:
    """A law whose tables are computed once: searches ask for them again and again."""

    def __init__(self, law: Participation) -> None:
        self._law = law

    def __getattr__(self, name: str) -> Any:
        return getattr(self._law, name)

    @cached_property
    def _inclusion(self) -> Array:
        return self._law.inclusion()

    @cached_property
    def _averaging_weights(self) -> Array:
        return self._law.averaging_weights()

    @cached_property
    def _joint_inclusion(self) -> Array:
        return self._law.joint_inclusion() if self._slow else self._product(0)

    @cached_property
    def _cross(self) -> Array:
        return self._law.cross() if self._slow else self._product(1)

    @cached_property
    def _joint_averaging(self) -> Array:
        return self._law.joint_averaging() if self._slow else self._product(2)

    @property
    def _slow(self) -> bool:
        """Whether pairs are asked one by one: all but listed cohorts in floats."""
        return self._law.exact or not isinstance(self._law, ExplicitLaw)

    def _product(self, power: int) -> Array:
        """E[I_i I_j/|S|^power] from listed cohorts, as one product of matrices."""
        outcomes = self._law.support()
        listed = [members for members in outcomes if members]
        chances = [outcomes[members] for members in listed]
        inside = np.zeros((len(listed), self._law.n_clients))
        for row, members in zip(inside, listed, strict=True):
            row[list(members)] = 1.0
        weights = np.array(chances) / inside.sum(axis=1) ** power
        return np.asarray(inside.T @ (weights[:, None] * inside))

    def inclusion(self) -> Array:
        """Inclusion probabilities p_i."""
        return self._inclusion

    def averaging_weights(self) -> Array:
        """Averaging weights q_i."""
        return self._averaging_weights

    def joint_inclusion(self) -> Array:
        """P(i and j in S)."""
        return self._joint_inclusion

    def cross(self) -> Array:
        """E[I_i I_j/|S|]."""
        return self._cross

    def joint_averaging(self) -> Array:
        """E[I_i I_j/|S|^2]."""
        return self._joint_averaging

    @cached_property
    def _modes(self) -> Modes:
        found = self._law.modes()
        laws: tuple[Any, ...] = (self,)
        if len(found.laws) > 1:
            laws = tuple(Remembered(law) for law in found.laws)
        return replace(found, laws=laws)

    def modes(self) -> Modes:
        """Return the chain of modes, each with remembered tables."""
        return self._modes


@dataclass(frozen=True)
class Tried:
    """A problem, an algorithm and a law, at any step size.

    Parameters
    ----------
    problem, algorithm, law
        As the moments engine takes them; the algorithm's step size plays no role.
    """

    problem: Any
    algorithm: Algorithm
    law: Any

    def at(self, step_size: Any, *, quickly: bool = False) -> Moments | Refusal:
        """Return the moments at one step size.

        Parameters
        ----------
        quickly : bool
            Whether to read a middling float state as the engine reads large ones,
            which gives the same rate sooner, or fails.
        """
        tuned = self.algorithm.retuned(step_size)
        try:
            if quickly and self._middling:
                large = LargeMoments(self.problem, tuned, self.law)
                return Moments(self.problem, tuned, self.law, large)
            return moments(self.problem, tuned, self.law)
        except RefusedError as error:
            return Refusal("moments", str(error))

    @cached_property
    def _middling(self) -> bool:
        if self.exact or self.state_size < MIDDLING or len(self.law.modes().laws) > 1:
            return False
        try:
            trace(self.algorithm, self.problem.n_clients)
        except ReadingError:
            return False
        return True

    @property
    def exact(self) -> bool:
        """Whether problem and law are rational."""
        return bool(self.problem.exact and self.law.exact)

    @property
    def state_size(self) -> int:
        """Numbers of the algorithm's state."""
        kinds = self.algorithm.slots().values()
        copies = sum(1 if kind is Server else self.problem.n_clients for kind in kinds)
        return copies * int(self.problem.dim)


def rate(tried: Tried, step_size: Any) -> Any:
    """Mean-square rate at one step size.

    Raises
    ------
    RefusedError
        If the engine refuses the setting, or cannot find the rate.
    """
    try:
        return _rate_of(tried.at(step_size, quickly=True))
    except RefusedError:
        return _rate_of(tried.at(step_size))


def _rate_of(found: Moments | Refusal) -> Any:
    if not isinstance(found, Moments):
        raise RefusedError(found.reason)
    return found.mean_square_rate


def short(value: float, digits: int) -> Fraction:
    """Return the rational of few significant digits next to a float.

    Examples
    --------
    >>> short(0.123456, 3)
    Fraction(123, 1000)
    """
    return Fraction(f"{value:.{digits - 1}e}")
