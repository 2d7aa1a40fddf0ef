"""Quadratics of the line: every symbol as a linear map of a few parameters.

With curvatures chosen, vectors are numbers, a function is its slope at the origin, and
an expression is a quadratic form; its sign is decided exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

import flint
import numpy as np

from flverify._core.exact import Array
from flverify._core.rationals import from_flint, rational
from flverify.certify import _definite
from flverify.certify._vectors import Expression, Symbol, Vector
from flverify.certify.gram._functions import Function, Level, Slope
from flverify.certify.gram._models import Model, Point, Shape, Words


def curvatures(f: Function) -> list[Fraction]:
    """Curvatures of a class that are tried; near 0 too if 0 is the least."""
    low, high = f.strong_convexity, f.smoothness
    top = low + 100 if high is None else high
    tried = [low, top, (low + top) / 2]
    tried += [Fraction(0)] * (low < 0 < top)
    tried += [top / 10**3, top / 10**6] * (low == 0)
    return list(dict.fromkeys(tried))


def curvature_choices(functions: Sequence[Function]) -> Iterator[tuple[Fraction, ...]]:
    """Curvatures for all functions, first those of the same place in their lists."""
    lists = [curvatures(f) for f in functions]
    shortest = min(map(len, lists), default=0)
    alike = [tuple(listed[k] for listed in lists) for k in range(shortest)]
    yield from alike
    yield from (chosen for chosen in product(*lists) if chosen not in alike)


class Line:
    """Everything as linear maps of parameters, on quadratics of the line."""

    def __init__(self, words: Words, chosen: Sequence[Fraction]) -> None:
        first, second = len(words.vectors), len(words.functions)
        # a function stands for its slope at the origin
        self.vectors = {s: k for k, s in enumerate(words.vectors)}
        self.tilts = {f: k for k, f in enumerate(words.functions, first)}
        self.numbers = {s: k for k, s in enumerate(words.numbers, first + second)}
        self.curvature = dict(zip(words.functions, chosen, strict=True))
        self.size = first + second + len(words.numbers)
        self._rows: dict[Symbol, Array] = {}

    def vector(self, v: Vector) -> Array:
        """Row of a formal vector over the parameters."""
        total = np.full(self.size, flint.fmpq(0), dtype=object)
        for symbol, factor in v.terms:
            total = total + rational(factor) * self.symbol(symbol)
        return total

    def symbol(self, symbol: Symbol) -> Array:
        """Row of a vector symbol."""
        if symbol not in self._rows:
            row = np.full(self.size, flint.fmpq(0), dtype=object)
            if isinstance(symbol, Slope):
                steepness = rational(self.curvature[symbol.function])
                row = steepness * self.vector(symbol.point)
                row[self.tilts[symbol.function]] += 1
            else:
                row[self.vectors[symbol]] += 1
            self._rows[symbol] = row
        return self._rows[symbol]

    def _level(self, symbol: Level) -> Array:
        """Form of h/2 p^2 + b p."""
        point = self.vector(symbol.point)
        half = rational(self.curvature[symbol.function] / 2) * point
        half[self.tilts[symbol.function]] += 1
        both = np.outer(point, half)
        return np.asarray((both + both.T) / 2)

    def form(self, expression: Expression) -> Array:
        """Homogeneous symmetric matrix over (parameters, 1)."""
        total = np.full((self.size + 1,) * 2, flint.fmpq(0), dtype=object)
        if expression.pairs and self.size:
            total[:-1, :-1] = self._products(expression)
        for symbol, factor in expression.scalars:
            if isinstance(symbol, Level):
                total[:-1, :-1] += rational(factor) * self._level(symbol)
            else:
                place = self.numbers[symbol]
                total[place, -1] += rational(factor / 2)
                total[-1, place] += rational(factor / 2)
        total[-1, -1] = rational(expression.constant)
        return total

    def _products(self, expression: Expression) -> Array:
        symbols = dict.fromkeys(s for pair, _ in expression.pairs for s in pair)
        place = {symbol: k for k, symbol in enumerate(symbols)}
        inside = np.full((len(place),) * 2, flint.fmpq(0), dtype=object)
        for (a, b), factor in expression.pairs:
            inside[place[a], place[b]] += rational(factor / 2)
            inside[place[b], place[a]] += rational(factor / 2)
        return _definite.congruent(inside, np.array([self.symbol(s) for s in place]))

    def model(self, values: Array) -> Model:
        """Model with the given parameters."""
        known, origin = from_flint(values), (Fraction(0),)
        shapes = {
            f: Shape(origin, (known[self.tilts[f]],), h, h)
            for f, h in self.curvature.items()
        }
        vectors: dict[Symbol, Point] = {s: (known[k],) for s, k in self.vectors.items()}
        return Model(vectors, {s: known[k] for s, k in self.numbers.items()}, shapes)
