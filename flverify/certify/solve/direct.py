"""Small semidefinite programmes, laid out as cone data for Clarabel.

A status is never evidence: whatever comes back is rounded to rationals and checked
exactly, so a wrong answer costs a certificate and never makes a false one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import sqrt
from typing import Any, Literal

import clarabel
import numpy as np
from scipy import sparse

from flverify._core.exact import Array
from flverify.certify.solve.words import plain

_SOLVER: Any = clarabel.DefaultSolver
MOST_ITERATIONS = 60  # of 7,000 that were solved none took 40; others went on to 170

Status = Literal["solved", "almost", "failed"]


@dataclass(frozen=True)
class Block:
    """A symmetric matrix constant + sum_j y_j coefficients[j], wanted PSD.

    Parameters
    ----------
    constant : (m, m) array
    coefficients : (n, m, m) array
    """

    constant: Array
    coefficients: Array


@dataclass(frozen=True)
class Programme:
    """Blocks wanted PSD, signs, and linear equalities, over n real variables y.

    Parameters
    ----------
    blocks : tuple of Block
    nonnegative : (n,) array of bool
        Which y_j must not be negative.
    equalities, values : (k, n) array, (k,) array
        equalities @ y = values.
    normal : (n,) array
        `widest_margin` keeps normal @ y at most 1; it should be positive where all
        blocks and signs are, as traces of blocks and sums of signed y_j are.
    """

    blocks: tuple[Block, ...]
    nonnegative: Array
    equalities: Array
    values: Array
    normal: Array

    @property
    def size(self) -> int:
        """Number of variables n."""
        return len(self.nonnegative)


@dataclass(frozen=True)
class Solution:
    """What a solver said: a status of three values, its words, a margin and y.

    `grams` are the dual matrices of the blocks and `prices` the duals of equalities;
    `slope` is how fast the margin grows with what a sweep varies, where it was asked.
    """

    status: Status
    detail: str
    margin: float
    values: Array
    grams: tuple[Array, ...] = ()
    prices: Array = field(default_factory=lambda: np.zeros(0))
    slope: float = 0.0


def widest_margin(programme: Programme) -> Solution:
    """Maximise t with every block >= t I, signed y_j >= t, and normal @ y <= 1.

    This form is feasible (when blocks and equalities are homogeneous, y = 0 will do)
    and, with a normal as described, bounded; its solution is the centred point that
    rounding wants.

    Returns
    -------
    solution : Solution
        `margin` is t; a positive one says that the strict inequalities hold up to the
        solver's accuracy.

    Examples
    --------
    >>> one = Block(np.zeros((1, 1)), np.ones((1, 1, 1)))
    >>> free = np.array([False])
    >>> none = np.zeros((0, 1))
    >>> found = widest_margin(Programme((one,), free, none, np.zeros(0), np.ones(1)))
    >>> found.status, round(found.margin, 6)
    ('solved', 1.0)
    """
    cone = Cone(programme, margin=None)
    return cone.solve(cone.widest)


def least(programme: Programme, objective: Array, margin: float = 0.0) -> Solution:
    """Minimise objective @ y with every block >= margin I and signed y_j >= 0.

    Examples
    --------
    >>> one = Block(-np.ones((1, 1)), np.ones((1, 1, 1)))
    >>> free, none = np.array([False]), np.zeros((0, 1))
    >>> found = least(
    ...     Programme((one,), free, none, np.zeros(0), np.zeros(1)), np.ones(1)
    ... )
    >>> round(found.values[0], 5)
    np.float64(1.0)
    """
    return Cone(programme, margin).solve(np.asarray(objective, dtype=float))


def given(programme: Programme, place: int, value: float) -> Programme:
    """Fix one unknown that occurs in the equalities alone."""
    columns = programme.equalities.copy()
    right = programme.values - value * columns[:, place]
    columns[:, place] = 0.0
    return replace(programme, equalities=columns, values=right)


@lru_cache(maxsize=256)
def _triangle(m: int) -> tuple[Array, Array, Array]:
    """Rows, columns and weights of the upper triangle, column by column."""
    columns, rows = np.tril_indices(m)
    return rows, columns, np.where(rows == columns, 1.0, sqrt(2.0))


def vectorised(matrices: Array) -> Array:
    """Stack the upper triangles of symmetric matrices (..., m, m), scaled for a cone.

    Examples
    --------
    >>> vectorised(np.array([[1.0, 2.0], [2.0, 3.0]])).round(3).tolist()
    [1.0, 2.828, 3.0]
    """
    rows, columns, weights = _triangle(matrices.shape[-1])
    return matrices[..., rows, columns] * weights


class Cone:
    """Cone data A x + s = b over x = (y, t), or x = y at a fixed margin."""

    def __init__(self, programme: Programme, margin: float | None) -> None:
        n, moving = programme.size, margin is None
        signed = np.flatnonzero(programme.nonnegative)
        size = n + moving
        equal = np.zeros((len(programme.values), size))
        equal[:, :n] = programme.equalities
        signs = np.zeros((len(signed), size))
        signs[np.arange(len(signed)), signed] = -1.0
        rows, right = [equal, signs], [programme.values, np.zeros(len(signed))]
        if moving:
            signs[:, -1] = 1.0
            rows.append(np.append(programme.normal, 0.0)[None])
            right.append(np.ones(1))
        for block in programme.blocks:
            identity = vectorised(np.eye(len(block.constant)))
            part = np.zeros((len(identity), size))
            part[:, :n] = -vectorised(block.coefficients).T
            if moving:
                part[:, -1] = identity
            rows.append(part)
            shift = 0.0 if margin is None else margin
            right.append(vectorised(block.constant) - shift * identity)
        self.matrix = np.concatenate(rows)
        self.right = np.concatenate(right)
        self.cones = [
            clarabel.ZeroConeT(len(equal)),
            clarabel.NonnegativeConeT(len(signs) + moving),
            *(clarabel.PSDTriangleConeT(len(b.constant)) for b in programme.blocks),
        ]
        self.size, self.margin = n, margin
        self.equal = len(equal)
        self.orders = [len(b.constant) for b in programme.blocks]

    @property
    def widest(self) -> Array:
        """The objective that maximises t."""
        return np.append(np.zeros(self.size), -1.0)

    def solve(self, objective: Array) -> Solution:
        """Minimise objective @ x over the cone data."""
        solver = self.solver(objective, columns(self.matrix))
        return self.read(solver.solve())

    def solver(self, objective: Array, matrix: Any) -> Any:
        """Set up Clarabel, given the matrix column by column."""
        nothing = _nothing(self.matrix.shape[1])
        return _SOLVER(nothing, objective, matrix, self.right, self.cones, _settings())

    def read(self, answer: Any) -> Solution:
        """Read what it answers."""
        status = _status(answer)
        word = plain(str(answer.status))
        x = np.asarray(answer.x, dtype=float)
        if not np.isfinite(x).all():
            return Solution("failed", word, float("nan"), np.zeros(self.size))
        z = np.asarray(answer.z, dtype=float)
        prices, grams = z[: self.equal], self._grams(z)
        if self.margin is None:
            return Solution(status, word, float(x[-1]), x[:-1], grams, prices)
        return Solution(status, word, self.margin, x, grams, prices)

    def _grams(self, z: Array) -> tuple[Array, ...]:
        out, place = [], len(z) - sum(m * (m + 1) // 2 for m in self.orders)
        for m in self.orders:
            rows, columns, weights = _triangle(m)
            gram = np.zeros((m, m))
            size = len(rows)
            gram[rows, columns] = gram[columns, rows] = (
                z[place : place + size] / weights
            )
            out.append(gram)
            place += size
        return tuple(out)


def columns(matrix: Array) -> Any:
    """Return the nonzero entries column by column."""
    places, rows = np.nonzero(matrix.T)
    starts = np.searchsorted(places, np.arange(matrix.shape[1] + 1))
    return sparse.csc_matrix((matrix[rows, places], rows, starts), matrix.shape)


@lru_cache(maxsize=256)
def _nothing(size: int) -> Any:
    return sparse.csc_matrix((size, size))


def _status(answer: Any) -> Status:
    words: dict[str, Status] = {"Solved": "solved", "AlmostSolved": "almost"}
    return words.get(str(answer.status), "failed")


def _settings() -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1  # the same answer whatever the machine
    settings.presolve_enable = False
    settings.chordal_decomposition_enable = False  # blocks are small and full
    # and steps are refined: a third faster without, certificates near the edge are lost
    settings.max_iter = MOST_ITERATIONS
    return settings
