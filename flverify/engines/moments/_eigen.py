"""Eigenvalues of a mean map, with vectors far apart where eigenvalues coincide.

Clients that are alike make one eigenvalue come back hundreds of times. LAPACK then
returns vectors of its eigenspace that are nearly parallel, and what is computed in
them loses as many digits. Orthonormal vectors of the same space lose none.
"""

from __future__ import annotations

import math
import sys
import warnings

import numpy as np
from scipy.linalg import LinAlgWarning, lu_factor, lu_solve

from flverify._core.exact import Array

NEAR = 1e-9  # relative difference of eigenvalues that are taken for one
UNSEEN = 1e-12  # relative: what rounding leaves of a part that cancels
BESIDE = 1e-11  # relative: how far from an eigenvalue its vectors are solved for
ENTRIES = 4  # how often those of a map were rounded, in turned coordinates: a guess
ROUNDS = 2  # corrections of vectors; each squares what is wrong with them


def eigenpairs(matrix: Array) -> tuple[Array, Array]:
    """Return eigenvalues and unit eigenvectors of a real matrix, as columns.

    Real eigenvalues have an imaginary part of 0, and complex ones come in pairs of
    exact conjugates. Where a repeated eigenvalue has too few vectors, what LAPACK
    finds is returned.

    Examples
    --------
    >>> matrix = np.array([[0.5, 0.0, 1.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.25]])
    >>> values, vectors = eigenpairs(matrix)
    >>> sorted(values.real.tolist()), round(np.linalg.cond(vectors[:, :2]), 6)
    ([0.25, 0.5, 0.5], np.float64(1.0))
    """
    values, vectors = np.linalg.eig(matrix)
    owner = _clusters(values)
    if len(set(owner.tolist())) == len(owner):
        return values, vectors
    apart = _orthonormal(values, vectors, owner)
    found = _corrected(matrix, *apart, owner)
    return (values, vectors) if found is None else found


def visible_radius(matrix: Array, start: Array, seen: Array) -> float:
    """Largest modulus of the eigenvalues that show in seen matrix^r start.

    Where parts that are alike cancel, an eigenvalue is not excited, or not seen.

    Examples
    --------
    >>> swap = np.array([[0.125, 0.375], [0.375, 0.125]])
    >>> round(visible_radius(swap, np.array([[1.0], [-1.0]]), np.eye(2)), 12)
    0.25
    """
    values, vectors = eigenpairs(matrix)
    try:
        moved = np.linalg.solve(vectors, start.astype(vectors.dtype))
    except np.linalg.LinAlgError:  # vectors that coincide hide nothing
        return float(np.abs(values).max(initial=0.0))
    looked, owner = seen @ vectors, _clusters(values)
    shown = [
        np.linalg.norm(looked[:, owner == k]) * np.linalg.norm(moved[owner == k])
        for k in owner
    ]
    most = np.linalg.norm(seen) * np.linalg.norm(start)
    return float(np.abs(values[np.array(shown) > UNSEEN * most]).max(initial=0.0))


def least_modulus(matrix: Array, value: complex) -> float:
    """Modulus of an eigenvalue, less what rounding may have added, to first order.

    It is rounded beside 1 as well: a map may be the identity less a small step.

    Examples
    --------
    >>> least_modulus(np.array([[0.5, 0.0], [1.0, 0.25]]), 0.5) < 0.5
    True
    """
    beside = matrix - value * (1 + BESIDE) * np.eye(len(matrix))
    try:
        with warnings.catch_warnings(action="error", category=LinAlgWarning):
            factors = lu_factor(beside)
    except (ValueError, LinAlgWarning):  # of an eigenvalue 0, or no numbers
        return 0.0
    right = np.ones(len(matrix)) + np.arange(len(matrix)) / len(matrix)
    for _ in range(ROUNDS):
        right = _unit(lu_solve(factors, right))
    left = right  # by what of it belongs to the eigenvalue, also to a repeated one
    for _ in range(ROUNDS):
        left = _unit(lu_solve(factors, left, trans=2))
    size = float(np.linalg.norm(np.abs(matrix), 2)) + 1
    off = ENTRIES * len(matrix) * sys.float_info.epsilon * size
    with np.errstate(all="ignore"):
        off = float(off / np.abs(left.conj() @ right))
    return max(abs(value) - off, 0.0) if math.isfinite(off) else 0.0


def _unit(vector: Array) -> Array:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-300))


def _clusters(values: Array) -> Array:
    """Say for every eigenvalue which one it is taken for, by place."""
    near = NEAR * float(np.abs(values).max(initial=0.0))
    snapped = np.where(np.abs(values.imag) <= near, values.real, values)
    owner = np.full(len(values), -1)
    for k, value in enumerate(snapped):
        if owner[k] < 0:
            owner[(owner < 0) & (np.abs(snapped - value) <= near)] = k
    return owner


def _orthonormal(values: Array, vectors: Array, owner: Array) -> tuple[Array, Array]:
    """Give each cluster its mean as eigenvalue, and orthonormal vectors."""
    values, vectors = values.astype(np.complex128), vectors.astype(np.complex128)
    for k in np.flatnonzero(np.bincount(owner) > 1):
        here = np.flatnonzero(owner == k)
        columns, mean = vectors[:, here], values[here].mean()
        if abs(mean.imag) <= NEAR * np.abs(values).max():  # closed under conjugation
            columns, mean = np.hstack([columns.real, columns.imag]), mean.real
        basis = np.linalg.svd(columns, full_matrices=False)[0]
        vectors[:, here] = basis[:, : len(here)]
        values[here] = mean
    if values.imag.any():
        return values, vectors
    return values.real, vectors.real


def _corrected(
    matrix: Array, values: Array, vectors: Array, owner: Array
) -> tuple[Array, Array] | None:
    """Remove from every vector what belongs to other eigenvalues, to first order."""
    same = owner[:, None] == owner
    gaps = np.where(same, 1.0, values - values[:, None])
    for _ in range(ROUNDS):
        try:
            error = np.linalg.solve(vectors, matrix @ vectors) - np.diag(values)
        except np.linalg.LinAlgError:  # vectors that coincide
            return None
        vectors = vectors + vectors @ np.where(same, 0.0, error / gaps)
        vectors = vectors / np.linalg.norm(vectors, axis=0)
    within = np.abs(np.where(same, error, 0.0)).max()
    if not within <= NEAR * np.abs(values).max():  # no eigenspace of full dimension
        return None
    return _paired(values, vectors)


def _paired(values: Array, vectors: Array) -> tuple[Array, Array]:
    """Make real what rounding made complex, and conjugates exact."""
    flat, upper = values.imag == 0, values.imag > 0
    vectors, above = np.where(flat, vectors.real, vectors), vectors[:, upper]
    return (
        np.concatenate([values[flat], values[upper], values[upper].conj()]),
        np.concatenate([vectors[:, flat], above, above.conj()], axis=1),
    )
