"""The second-moment operator P -> sum_k w_k A_k P A_k' of a reduced system.

P is one symmetric matrix per mode; the operator maps tuples to tuples. For small
systems it is written out as a matrix on upper triangles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flverify._core.exact import Array
from flverify.engines.moments._system import Move, System


@dataclass(frozen=True)
class SecondMoments:
    """The operator of a system, applied or written out."""

    system: System

    def apply(self, parts: tuple[Array, ...]) -> tuple[Array, ...]:
        """Second moments after one round, mode by mode."""
        out = [self.zero(k) for k in range(len(parts))]
        for move in self.system.moves:
            image = sum(w * (a @ parts[move.source] @ a.T) for w, a in move.terms)
            out[move.target] = out[move.target] + move.probability * image
        return tuple(out)

    def zero(self, mode: int) -> Array:
        """Zero second moment of one mode."""
        size = self.system.sizes[mode]
        exact = self.system.arithmetic.exact
        zero = self.system.arithmetic.convert(0)
        return np.full((size, size), zero, dtype=object if exact else np.float64)

    @cached_property
    def triangles(self) -> tuple[tuple[Array, Array], ...]:
        """Row and column indices of the upper triangle of every mode."""
        return tuple(np.triu_indices(size) for size in self.system.sizes)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each mode's triangle starts in the stacked vector; total last."""
        lengths = [len(rows) for rows, _ in self.triangles]
        return tuple(int(v) for v in np.cumsum([0, *lengths]))

    def matrix(self) -> Array:
        """Write the operator out on stacked upper triangles."""
        total = self.offsets[-1]
        arithmetic = self.system.arithmetic
        kind = object if arithmetic.exact else np.float64
        out = np.full((total, total), arithmetic.convert(0), dtype=kind)
        for move in self.system.moves:
            rows = slice(self.offsets[move.target], self.offsets[move.target + 1])
            columns = slice(self.offsets[move.source], self.offsets[move.source + 1])
            out[rows, columns] += move.probability * self._block(move)
        return out

    def _block(self, move: Move) -> Array:
        """Image of E_ab + E_ba (a < b) or E_aa, read on the upper triangle."""
        p, q = self.triangles[move.target]
        a, b = self.triangles[move.source]
        off = a != b
        block = 0
        for weight, matrix in move.terms:
            part = matrix[np.ix_(p, a)] * matrix[np.ix_(q, b)]
            part[:, off] += matrix[np.ix_(p, b[off])] * matrix[np.ix_(q, a[off])]
            block = block + weight * part
        return np.asarray(block)

    def stack(self, parts: tuple[Array, ...]) -> Array:
        """Upper triangles of a tuple of symmetric matrices, one vector."""
        pairs = zip(parts, self.triangles, strict=True)
        return np.concatenate([part[index] for part, index in pairs])

    def unstack(self, vector: Array) -> tuple[Array, ...]:
        """Inverse of `stack`."""
        parts = []
        for mode, (rows, columns) in enumerate(self.triangles):
            values = vector[self.offsets[mode] : self.offsets[mode + 1]]
            part = self.zero(mode)
            part[rows, columns] = values
            part[columns, rows] = values
            parts.append(part)
        return tuple(parts)

    def start(self, vector: Array) -> tuple[Array, ...]:
        """Second moment of the start from (x_0, 1), weighted by the initial mode."""
        states = [s @ vector for s in self.system.start]
        pairs = zip(self.system.initial, states, strict=True)
        return tuple(weight * np.outer(z, z) for weight, z in pairs)
