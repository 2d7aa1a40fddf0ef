"""A problem under a law, exact and in floats, whose tables are computed once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from flverify._core.errors import Refusal, RefusedError
from flverify._core.exact import Array
from flverify.algorithms._algorithm import Algorithm, Server
from flverify.engines.moments import Moments, moments
from flverify.participation._law import Modes, Participation


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
        return self._law.joint_inclusion()

    @cached_property
    def _cross(self) -> Array:
        return self._law.cross()

    @cached_property
    def _joint_averaging(self) -> Array:
        return self._law.joint_averaging()

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

    def at(self, step_size: Any) -> Moments | Refusal:
        """Return the moments at one step size."""
        tuned = self.algorithm.retuned(step_size)
        try:
            return moments(self.problem, tuned, self.law)
        except RefusedError as error:
            return Refusal("moments", str(error))

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
    found = tried.at(step_size)
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
