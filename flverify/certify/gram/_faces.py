"""Exact multipliers: target - sum of multiplier * form positive semidefinite.

A solver proposes multipliers; they are rounded and checked exactly. Where the feasible
set has no interior, as in every tight inequality, the proposal shows on which face it
lies: multipliers that are zero and null vectors of the rest. Their rational guesses
become exact linear equations, and the search goes on within the face, where rounding
has room again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np

from flverify._core.exact import Array, objects
from flverify._core.rationals import entries, matrix, rational
from flverify.certify._definite import as_float, congruent, kernel, squares
from flverify.certify.solve import Block, Programme, Solution, widest_margin

ROUNDINGS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 30, 36, 48, 60, 100, 1000)
FINE = (10**4, 10**5, 10**6, 10**7, 10**9, 10**12)
SMALL = (1e-6, 1e-5, 1e-4, 1e-3, 1e-7)  # what counts as zero when a face is guessed
GUESSES = (12, 100, 1000)  # denominators of guessed null vectors
ATTEMPTS = 60  # programmes solved before giving up
LARGEST = 1000  # sum of the multipliers, for data of size one
HOPELESS = -1e-4  # a margin below this says that no multipliers exist
DEPTH = 4


@dataclass(frozen=True)
class Task:
    """Find y with target - sum_j y_j forms[j] positive semidefinite.

    Parameters
    ----------
    target : (r, r) array of flint rationals
    forms : (m, r, r) array of flint rationals
    signed : (m,) tuple of bool
        Which y_j must not be negative.
    equations, values : (k, m), (k,) arrays of flint rationals
        equations @ y = values.
    """

    target: Array
    forms: Array
    signed: tuple[bool, ...]
    equations: Array
    values: Array


@dataclass(frozen=True)
class Face:
    """y = start + directions z, with a form that is zero off the span of `basis`."""

    start: Array
    directions: Array
    basis: Array


@dataclass
class _Budget:
    left: int
    best: float = -np.inf  # largest margin seen


def multipliers(task: Task, fixed: list[int], null: Array) -> tuple[Array | None, str]:
    """Find exact multipliers, or say why none were found.

    Parameters
    ----------
    task : Task
    fixed : list of int
        Multipliers known to be zero.
    null : (k, r) array of flint rationals
        Null vectors that the sum of squares is known to have.
    """
    whole = affine(task.equations, task.values)
    if whole is None:
        return None, "the function values of the hypotheses cannot cancel"
    everything = Face(*whole, _identity(len(task.target)))
    face = _restricted(task, everything, fixed, null)
    if face is None:
        return None, "no multipliers fit the models where the lemma is an equality"
    budget = _Budget(ATTEMPTS)
    found = _within(task, face, budget, DEPTH)
    if found is not None:
        return found, ""
    if not np.isfinite(budget.best):
        return None, "the solver proposed no multipliers"
    if budget.best < HOPELESS:
        return None, f"no multipliers exist, by floats (margin {budget.best:.1e})"
    return None, (
        f"multipliers exist to {abs(budget.best):.0e} in floats, but no exact ones "
        "were found"
    )


def _within(task: Task, face: Face, budget: _Budget, depth: int) -> Array | None:
    """Search one face, then the faces of it that the proposal suggests."""
    if face.directions.shape[1] == 0:
        return face.start if _holds(task, face.start) else None
    if budget.left == 0:
        return None
    budget.left -= 1
    programme = _programme(task, face)
    if not _finite(programme):  # the numbers are beyond what floats can guide
        return None
    solution = widest_margin(programme)
    if solution.status != "failed":
        budget.best = max(budget.best, solution.margin)
    if solution.status == "failed" or solution.margin < HOPELESS:
        return None
    found = _rounded(task, face, solution)
    inside = found is None and depth > 0
    tried: set[object] = set()
    for smaller in _faces(task, face, programme, solution) if inside else ():
        key = (smaller.directions.shape, tuple(smaller.start), smaller.basis.shape)
        if key not in tried:
            tried.add(key)
            found = _within(task, smaller, budget, depth - 1)
        if found is not None:
            break
    return found


def _programme(task: Task, face: Face) -> Programme:
    """State the search in z; margins of size one at most, multipliers bounded."""
    size, start = face.directions.shape[1], as_float(face.start)
    slopes = as_float(face.directions)
    blocks = []
    if face.basis.shape[1]:
        rest = congruent(_rest(task, face.start), face.basis)
        moves = [
            as_float(congruent(-_combined(task.forms, column), face.basis))
            for column in face.directions.T
        ]
        blocks.append(Block(as_float(rest), np.array(moves)))
    signed = [j for j, sign in enumerate(task.signed) if sign and slopes[j].any()]
    blocks += [_single(start[j], slopes[j]) for j in signed]
    blocks.append(_single(LARGEST - start[signed].sum(), -slopes[signed].sum(axis=0)))
    blocks.append(_single(1.0, np.zeros(size)))
    nothing = np.zeros((0, size))
    free = np.zeros(size, dtype=bool)
    return Programme(tuple(blocks), free, nothing, np.zeros(0), np.zeros(size))


def _finite(programme: Programme) -> bool:
    parts = [p for b in programme.blocks for p in (b.constant, b.coefficients)]
    return all(np.isfinite(part).all() for part in parts)


def _single(constant: float, slopes: Array) -> Block:
    return Block(np.array([[constant]]), slopes[:, None, None])


def _rounded(task: Task, face: Face, solution: Solution) -> Array | None:
    """Try roundings of a proposal, short ones first."""
    for denominator in (*ROUNDINGS, *FINE):
        short = [Fraction(round(v * denominator), denominator) for v in solution.values]
        z = _rationals(short)
        y = face.start + face.directions @ z
        if _holds(task, y):
            return np.asarray(y)
    return None


def _holds(task: Task, y: Array) -> bool:
    if any(sign and value < 0 for sign, value in zip(task.signed, y, strict=True)):
        return False
    return squares(_rest(task, y))[1] is None


def _rest(task: Task, y: Array) -> Array:
    return np.asarray(task.target - _combined(task.forms, y))


def _combined(forms: Array, y: Array) -> Array:
    total = np.full(forms.shape[1:], flint.fmpq(0), dtype=object)
    for value, form in zip(y, forms, strict=True):
        if value != 0:
            total = total + value * form
    return total


def _faces(
    task: Task, face: Face, programme: Programme, solution: Solution
) -> Iterator[Face]:
    """Yield faces on which the proposal nearly lies, guessed in rationals."""
    y = as_float(face.start) + as_float(face.directions) @ solution.values
    sizes, columns = np.zeros(0), np.zeros((0, 0))
    if face.basis.shape[1]:
        block = programme.blocks[0]
        value = block.constant + np.tensordot(solution.values, block.coefficients, 1)
        sizes, columns = np.linalg.eigh(value)
    for small in SMALL:
        fixed = [j for j, sign in enumerate(task.signed) if sign and y[j] < small]
        null = columns[:, sizes < small * max(1.0, float(sizes.max(initial=0.0)))]
        for guess in GUESSES if null.shape[1] else GUESSES[:1]:
            smaller = _restricted(task, face, fixed, _guessed(null, guess))
            if smaller is not None:
                yield smaller


def _restricted(task: Task, face: Face, fixed: list[int], null: Array) -> Face | None:
    """Impose y_j = 0 for j in `fixed`, and null vectors (rows, in the basis)."""
    rows, right = [face.directions[fixed]], [-face.start[fixed]]
    for vector in null:
        # (rest at z) v = 0 within the basis, one equation per coordinate
        image = face.basis @ vector
        outer = face.basis.T
        images = (task.forms @ image).reshape(len(task.forms), len(image))
        rows.append(_times(_times(outer, images.T), face.directions))
        right.append(outer @ _rest(task, face.start) @ image)
    equations, values = np.concatenate(rows), np.concatenate(right)
    solved = affine(equations, values)
    if solved is None:
        return None
    basis = face.basis
    if len(null):
        basis = basis @ kernel(null, basis.shape[1])[0]
    start = face.start + face.directions @ solved[0]
    return Face(start, _times(face.directions, solved[1]), basis)


def _times(left: Array, right: Array) -> Array:
    return entries(matrix(left) * matrix(right))


def _guessed(null: Array, denominator: int) -> Array:
    """Reduced rows spanning nearly the same space, with short rationals."""
    rows = null.T.copy()
    count, width = rows.shape
    for k in range(count):
        column = int(np.argmax(np.abs(rows[k])))
        rows[k] = rows[k] / rows[k, column]
        for other in range(count):
            if other != k:
                rows[other] = rows[other] - rows[other, column] * rows[k]
    out = np.full((count, width), flint.fmpq(0), dtype=object)
    for k in range(count):
        short = [Fraction(float(v)).limit_denominator(denominator) for v in rows[k]]
        out[k] = _rationals(short)
    return out


def affine(equations: Array, values: Array) -> tuple[Array, Array] | None:
    """Solve equations @ y = values: one solution and the directions of the others."""
    width = equations.shape[1]
    augmented = np.concatenate([equations, values[:, None]], axis=1)
    if not len(augmented):
        return _rationals([Fraction(0)] * width), _identity(width)
    reduced, rank = matrix(augmented).rref()
    rows = entries(reduced)[:rank]
    pivots = [next(k for k, v in enumerate(row) if v != 0) for row in rows]
    if width in pivots:
        return None
    start = _rationals([Fraction(0)] * width)
    for pivot, row in zip(pivots, rows, strict=True):
        start[pivot] = row[-1]
    return start, kernel(equations, width)[0]


def _identity(size: int) -> Array:
    out = np.full((size, size), flint.fmpq(0), dtype=object)
    np.fill_diagonal(out, flint.fmpq(1))
    return out


def _rationals(values: list[Fraction]) -> Array:
    return objects(map(rational, values))
