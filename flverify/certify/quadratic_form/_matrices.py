"""One-step lemmas on quadratics as homogeneous quadratic forms of the state.

Every symbol of the vocabulary is an affine map of the state, so an expression becomes
one symmetric matrix over (state, 1).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import flint
import numpy as np

from flverify._core.checks import whole
from flverify._core.exact import Array, Scalar
from flverify._core.rationals import entries, matrix, solve, to_flint
from flverify.certify._vectors import Expression, Symbol, Vector, vector
from flverify.certify.quadratic_form._rounds import Round
from flverify.certify.quadratic_form._words import (
    Fixed,
    GradientAt,
    Mean,
    MeanProduct,
    Minimiser,
    PointOf,
    Slot,
    entries_of,
    foreign,
    no_such_slot,
    require_expected,
    singular,
)
from flverify.problems._minimiser import minimiser_of


class Matrices:
    """Turns vectors and expressions into matrices for one problem and round."""

    def __init__(self, problem: Any, round_: Round) -> None:
        self.problem, self.round = problem, round_
        self.size, self.dim = round_.layout.size, round_.layout.dim
        self._known: dict[Symbol, Array] = {}

    @cached_property
    def _minimiser(self) -> Array:
        return to_flint(minimiser_of(self.problem))

    def rows(self, v: Vector) -> Array:
        """Parts of a vector, shape (K, d, n)."""
        total = self._still(self._zero())
        for symbol, factor in v.terms:
            if symbol not in self._known:
                self._known[symbol] = self._symbol(symbol)
            scale = flint.fmpq(factor.numerator, factor.denominator)
            total = total + scale * self._known[symbol]
        return total

    def _zero(self) -> Array:
        return np.full((self.dim, self.size), flint.fmpq(0), dtype=object)

    def _still(self, rows: Array) -> Array:
        """Parts of a form that does not depend on the draw."""
        return np.asarray(self.round.still[:, None, None] * rows)

    def _constant(self, values: Array) -> Array:
        rows = self._zero()
        rows[:, -1] = values
        return self._still(rows)

    def _symbol(self, symbol: Any) -> Array:
        if isinstance(symbol, Slot):
            return self._slot(symbol)
        if isinstance(symbol, GradientAt):
            hessian, linear = self._function(symbol.client)
            return hessian @ self.rows(symbol.point) - self._constant(linear)
        if isinstance(symbol, PointOf):
            hessian, linear = self._function(symbol.client)
            return self._solved(
                hessian, self.rows(symbol.gradient) + self._constant(linear), symbol
            )
        if isinstance(symbol, Minimiser):
            return self._constant(self._minimiser)
        if isinstance(symbol, Fixed):
            return self._constant(to_flint(entries_of(symbol, self.dim)))
        if isinstance(symbol, Mean):
            parts = self.rows(symbol.of)
            weights = self.round.weights * self.round.still
            return self._still((weights[:, None, None] * parts).sum(axis=0))
        raise foreign(symbol, "slots, gradients and x*")

    def _slot(self, symbol: Slot) -> Array:
        layout = self.round.layout
        kind, owner = (
            ("server", -1) if symbol.client is None else ("client", symbol.client)
        )
        block = (kind, symbol.name, owner)
        if block not in layout.places:
            names = (*layout.server_slots, *layout.client_slots)
            raise no_such_slot(symbol, names, layout.n_clients)
        if symbol.after:
            return self.round.parts[:, layout.places[block], :]
        rows = self._zero()
        place = layout.places[block]
        rows[range(self.dim), range(place.start, place.stop)] = flint.fmpq(1)
        return self._still(rows)

    def _function(self, client: int | None) -> tuple[Array, Array]:
        hessians, linear = self.problem.hessians, self.problem.linear
        if client is None:
            return to_flint(hessians.mean(axis=0)), to_flint(linear.mean(axis=0))
        i = whole(client, "client", 0, self.problem.n_clients - 1)
        return to_flint(hessians[i]), to_flint(linear[i])

    def _solved(self, hessian: Array, parts: Array, symbol: PointOf) -> Array:
        count = len(parts)
        right = parts.transpose(1, 0, 2).reshape(self.dim, -1)
        try:
            found = solve(hessian, right)
        except ZeroDivisionError as error:
            raise singular(symbol.client) from error
        return found.reshape(self.dim, count, -1).transpose(1, 0, 2)

    def form(self, expression: Expression) -> Array:
        """Symmetric homogeneous matrix of an expression, (n, n) flint rationals."""
        total = matrix(np.full((self.size, self.size), flint.fmpq(0), dtype=object))
        for (left, right), factor in expression.pairs:
            require_expected(left, right)
            total += self._product(left, right, factor)
        for symbol, factor in expression.scalars:
            if not isinstance(symbol, MeanProduct):
                raise foreign(symbol, "inner products, with values as value()")
            total += self._product(symbol.left, symbol.right, factor)
        out = entries(total)
        out = (out + out.T) / 2
        out[-1, -1] += to_flint(np.array([expression.constant], dtype=object))[0]
        return np.asarray(out)

    def _product(self, left: Symbol, right: Symbol, factor: Fraction) -> Any:
        weights = self.round.weights[:, None, None]
        first = (weights * self.rows(vector(left))).reshape(-1, self.size)
        second = self.rows(vector(right)).reshape(-1, self.size)
        scale: Scalar = flint.fmpq(factor.numerator, factor.denominator)
        return scale * (matrix(first).transpose() * matrix(second))
