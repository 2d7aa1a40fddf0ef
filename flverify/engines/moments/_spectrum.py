"""Eigenvalues of a real mean map, with complex pairs kept once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from flverify._core.errors import RefusedError
from flverify._core.exact import Array
from flverify.engines.moments._eigen import eigenpairs
from flverify.engines.moments._thin import Thin

Parts: TypeAlias = list[Array]  # on pairs (R,R), (R,C), (C,C), (C, conj C)


@dataclass(frozen=True)
class Split:
    """Rows of W^-1 E, or of (C W)^H, for real eigenvalues and for upper ones."""

    real: Array
    upper: Array


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues lambda of the mean map, real ones first, then those above."""

    real: Array
    upper: Array
    said: Split  # W^-1 E
    heard: Split  # (C W)^H

    @classmethod
    def of(cls, system: Thin) -> Spectrum:
        """Decompose the mean map of a thin system.

        Raises
        ------
        RefusedError
            If it has too few eigenvectors.
        """
        values, vectors = eigenpairs(system.mean)
        flat, upper = np.flatnonzero(values.imag == 0), np.flatnonzero(values.imag > 0)
        try:
            said = np.linalg.solve(vectors, system.rows.astype(vectors.dtype))
        except np.linalg.LinAlgError as error:
            raise RefusedError(
                "the mean map of a large float system must have independent "
                "eigenvectors; got some that coincide, as where values are handed from "
                "slot to slot; use fewer clients, in rationals."
            ) from error
        heard = (system.columns @ vectors).conj().T

        def split(rows: Array) -> Split:
            return Split(np.ascontiguousarray(rows[flat].real), rows[upper])

        return cls(values[flat].real, values[upper], split(said), split(heard))

    @property
    def radius(self) -> float:
        """Spectral radius of the mean map."""
        return abs(self.largest)

    @property
    def largest(self) -> complex:
        """An eigenvalue of the largest modulus."""
        both = [*self.real, *self.upper, 0.0]
        return complex(both[int(np.argmax(np.abs(both)))])

    def gaps(self, rate: float) -> Parts:
        """Return c - lambda_k conj(lambda_l) on the pairs."""
        real, upper = self.real, self.upper
        return [
            rate - np.multiply.outer(real, real),
            rate - np.multiply.outer(real, upper.conj()),
            rate - np.multiply.outer(upper, upper.conj()),
            rate - np.multiply.outer(upper, upper),
        ]


def spread(rows: Split, middles: list[Array], cells: list[Array]) -> Parts:
    """Multiply rows middle rows^H on the pairs; middle is block diagonal."""
    pushed = Split(np.empty_like(rows.real), np.empty_like(rows.upper))
    for cell, middle in zip(cells, middles, strict=True):
        for part, out in ((rows.real, pushed.real), (rows.upper, pushed.upper)):
            out[:, cell] = (_stacked(part, cell) @ middle).transpose(1, 0, 2)
    return [
        pushed.real @ rows.real.T,
        pushed.real @ rows.upper.conj().T,
        pushed.upper @ rows.upper.conj().T,
        pushed.upper @ rows.upper.T,
    ]


def gather(rows: Split, parts: Parts, cells: list[Array]) -> list[Array]:
    """Sum rows_k^H part_kl rows_l over all eigenvalues, on the diagonal blocks."""
    both, mixed, same, cross = parts
    real, upper = rows.real, rows.upper
    flat = both @ real
    if len(upper):
        flat = flat + 2 * (mixed @ upper).real
        half = mixed.conj().T @ real + same @ upper + cross @ upper.conj()
    out = []
    for cell in cells:
        block = _turned(real, cell) @ _stacked(flat, cell)
        if len(upper):
            across = _turned(upper, cell).conj() @ _stacked(half, cell)
            block = block + 2 * across.real
        out.append((block + block.transpose(0, 2, 1)) / 2)
    return out


def _stacked(rows: Array, cell: Array) -> Array:
    """Columns of every run of coordinates, one matrix each."""
    return np.asarray(rows[:, cell].transpose(1, 0, 2))


def _turned(rows: Array, cell: Array) -> Array:
    return np.asarray(rows[:, cell].transpose(1, 2, 0))
