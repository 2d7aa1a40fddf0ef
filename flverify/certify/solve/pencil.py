"""Widest margins of programmes that differ in one number, laid out for the solver once.

What moves with the number are entries; where they stand, and the order in which the
solver eliminates them, stay.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse

from flverify._core.exact import Array
from flverify.certify.solve.direct import Cone, Programme, Solution, columns

SET_UP_AT = 1.0  # rho for which the solver scales the entries, whatever is asked first


@dataclass(frozen=True)
class Pencil:
    """Programmes whose coefficients and equalities are affine in one number rho.

    Parameters
    ----------
    fixed, moving : Programme
        At rho they are those of fixed plus rho times those of moving; all else is
        fixed's.

    Examples
    --------
    >>> from flverify.certify.solve import Block
    >>> one = Block(np.zeros((1, 1)), np.ones((1, 1, 1)))
    >>> free, none = np.array([False]), np.zeros((0, 1))
    >>> unit = Programme((one,), free, none, np.zeros(0), np.ones(1))
    >>> growing = Pencil(unit, unit)  # the widest t with y (1 + rho) >= t and y <= 1
    >>> [round(growing.widest_margin(rho).margin, 6) for rho in (0.5, 2.0)]
    [1.5, 3.0]
    """

    fixed: Programme
    moving: Programme
    _alone: Any = field(default_factory=Lock, compare=False, repr=False)

    def widest_margin(self, rho: float) -> Solution:
        """Maximise t at one rho, as `solve.widest_margin` does."""
        with self._alone:  # the solver holds one rho at a time
            self._solver.update(A=self._at(rho))
            answer = self._solver.solve()
        return self._cone.read(answer)

    @cached_property
    def _cone(self) -> Cone:
        return Cone(self.fixed, margin=None)

    @cached_property
    def _solver(self) -> Any:
        place, _, _ = self._entries
        stored = self._at(SET_UP_AT), place.indices, place.indptr
        matrix = sparse.csc_matrix(stored, place.shape)
        return self._cone.solver(self._cone.widest, matrix)

    def _at(self, rho: float) -> Array:
        _, fixed, moving = self._entries
        entries: Array = fixed + rho * moving
        return entries

    @cached_property
    def _entries(self) -> tuple[Any, Array, Array]:
        """Places of the entries, column by column, and what they are: fixed, moving."""
        fixed, moving = self._cone.matrix, Cone(self.moving, margin=None).matrix
        first = len(self.fixed.values)
        last = first + np.count_nonzero(self.fixed.nonnegative) + 1
        moving[first:last] = 0.0  # signs and the normal
        moving[:, -1] = 0.0  # t
        place = columns((fixed != 0) | (moving != 0))
        across = np.repeat(np.arange(place.shape[1]), np.diff(place.indptr))
        return place, fixed[place.indices, across], moving[place.indices, across]
