"""A linear matrix inequality under construction: unknowns, blocks, equalities.

Blocks and equalities are affine in the unknowns and in rho; the blocks are kept in the
arithmetic of the coordinates, the equalities always in rationals.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from flverify._core.exact import Array
from flverify.certify.solve import Block, Pencil, Programme, Solution

Unknown: TypeAlias = tuple[Any, ...]


class Inequality:
    """Unknowns with signs, coefficient matrices per block, and rational equalities.

    Parameters
    ----------
    sizes : dict
        Name and size of every block; what is put elsewhere is dropped, and larger
        matrices are cut to their leading coordinates.
    kind : dtype
        float64, or object for rationals.
    """

    def __init__(self, sizes: dict[str, int], kind: Any) -> None:
        self.sizes, self.kind = sizes, kind
        self.place: dict[Unknown, int] = {}
        self.signed: list[bool] = []
        self._base: dict[tuple[str, Unknown], Array] = {}
        self._slope: dict[tuple[str, Unknown], Array] = {}
        self.equalities: dict[str, dict[Unknown, tuple[Fraction, Fraction]]] = {}

    @property
    def unknowns(self) -> list[Unknown]:
        """The unknowns, in order."""
        return list(self.place)

    def new(self, unknown: Unknown, signed: bool) -> Unknown:
        """Add an unknown; a signed one must not be negative."""
        self.place[unknown] = len(self.place)
        self.signed.append(signed)
        return unknown

    def put(
        self, block: str, unknown: Unknown, matrix: Array, slope: Array | None = None
    ) -> None:
        """Add unknown * (matrix + rho slope) to a block."""
        if block not in self.sizes:
            return
        size = self.sizes[block]
        for store, value in ((self._base, matrix), (self._slope, slope)):
            if value is not None:
                part = value[:size, :size]
                known = store.get((block, unknown))
                store[block, unknown] = part if known is None else known + part

    def equal(
        self, name: str, unknown: Unknown, base: int | Fraction, slope: int = 0
    ) -> None:
        """Add unknown * (base + rho slope) to an equality whose total is zero."""
        row = self.equalities.setdefault(name, {})
        old = row.get(unknown)
        added = Fraction(base), Fraction(slope)
        row[unknown] = added if old is None else (old[0] + base, old[1] + slope)

    def coefficients(self, block: str) -> tuple[Array, Array]:
        """Coefficient matrices (n, m, m) of a block: base and slope in rho."""
        size, n = self.sizes[block], len(self.place)
        zero: Any = 0.0 if self.kind is np.float64 else Fraction(0)
        base, slope = (np.full((n, size, size), zero, self.kind) for _ in range(2))
        for out, store in ((base, self._base), (slope, self._slope)):
            for (name, unknown), matrix in store.items():
                if name == block:
                    out[self.place[unknown]] = matrix
        return base, slope

    def equality_rows(self) -> tuple[Array, Array]:
        """Coefficients (k, n) of the equalities as floats: base and slope in rho."""
        shape = (len(self.equalities), len(self.place))
        base, slope = np.zeros(shape), np.zeros(shape)
        for k, row in enumerate(self.equalities.values()):
            for unknown, (fixed, moving) in row.items():
                base[k, self.place[unknown]] = fixed
                slope[k, self.place[unknown]] = moving
        return base, slope

    def blocks_at(self, values: dict[Unknown, Any], rho: Any) -> dict[str, Array]:
        """Blocks at given values of the unknowns, without constants."""
        out = {}
        for block, size in self.sizes.items():
            zero: Any = 0.0 if self.kind is np.float64 else Fraction(0)
            total = np.full((size, size), zero, self.kind)
            for store, factor in ((self._base, 1), (self._slope, rho)):
                for (name, unknown), matrix in store.items():
                    if name == block and values.get(unknown, 0):
                        total = total + factor * values[unknown] * matrix
            out[block] = total
        return out

    def totals_at(
        self, values: dict[Unknown, Fraction], rho: Fraction
    ) -> dict[str, Fraction]:
        """Add up every equality at given values; zero if it holds."""
        return {
            name: sum(
                (
                    (fixed + rho * moving) * values.get(unknown, Fraction(0))
                    for unknown, (fixed, moving) in row.items()
                ),
                Fraction(0),
            )
            for name, row in self.equalities.items()
        }


class Sweep:
    """A float inequality laid out once, and its programmes at many rho.

    Parameters
    ----------
    inequality : Inequality
        In floats.
    constants : dict
        Matrices added to blocks, whatever the unknowns.
    bases : dict
        Block by block, B such that B'MB is to be PSD in place of M; none for the
        coordinates of the inequality.

    Attributes
    ----------
    plain : dict
        Coefficient matrices of every block, base and slope in rho, in its coordinates.
    """

    def __init__(
        self,
        inequality: Inequality,
        constants: dict[str, Array] | None = None,
        bases: dict[str, Array] | None = None,
    ) -> None:
        self.inequality, self._bases = inequality, bases or {}
        self.plain = {name: inequality.coefficients(name) for name in inequality.sizes}
        self._blocks = {
            block: tuple(self._in_basis(block, m) for m in pair)
            for block, pair in self.plain.items()
        }
        base, slope = inequality.equality_rows()
        used = (base != 0).any(axis=1) | (slope != 0).any(axis=1)
        self._equal = (base[used], slope[used])
        self._constants = {
            block: self._in_basis(block, m) for block, m in (constants or {}).items()
        }
        self._signed = np.array(inequality.signed)
        self._normal = self._sizes_of_unknowns()

    def _in_basis(self, block: str, matrices: Array) -> Array:
        basis = self._bases.get(block)
        if basis is None:
            return matrices
        changed: Array = basis.T @ matrices @ basis
        return changed

    def _sizes_of_unknowns(self) -> Array:
        """Traces of V's blocks plus the signed unknowns, which a margin normalises.

        Both are positive where the margin is. The trace of V's matrices alone is not:
        values of f may outweigh a negative quadratic, and then no margin is widest.
        """
        out: Array = self._signed.astype(float)
        for name, (base, _) in self._blocks.items():
            if name.startswith("positivity"):
                out = out + np.trace(base, axis1=1, axis2=2)
        return out

    def slope(self, solution: Solution) -> float:
        """Return how fast the widest margin grows with rho, from a solution's duals.

        The derivative of the optimum is that of the Lagrangian at fixed variables.
        """
        y, total = solution.values, 0.0
        for (_, slope), gram in zip(self._blocks.values(), solution.grams, strict=True):
            total += float(y @ np.einsum("jab,ab->j", slope, gram))
        return total - float(solution.prices @ self._equal[1] @ y)

    def at(self, rho: float) -> Programme:
        """Lay out the programme at one rho."""
        return self._programme(1.0, rho)

    @cached_property
    def pencil(self) -> Pencil:
        """The programmes at all rho."""
        return Pencil(self._programme(1.0, 0.0), self._programme(0.0, 1.0))

    def _programme(self, share: float, rho: float) -> Programme:
        """Lay out a share of what does not move with rho, and rho times what does."""
        blocks = []
        for name, (base, slope) in self._blocks.items():
            size = self.inequality.sizes[name]
            constant = self._constants.get(name, np.zeros((size, size)))
            blocks.append(Block(constant, share * base + rho * slope))
        base, slope = self._equal
        return Programme(
            tuple(blocks),
            self._signed,
            share * base + rho * slope,
            np.zeros(len(base)),
            self._normal,
        )
