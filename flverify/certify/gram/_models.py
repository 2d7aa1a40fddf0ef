"""Models of formal lemmas: rational vectors and functions, evaluated exactly.

A function of R^1 is quadratic, or has one curvature near its centre and another
beyond; both lie in the class if their curvatures do. In R^d it is quadratic with one
curvature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from flverify.certify._vectors import Expression, Inequality, Symbol, Vector
from flverify.certify.gram._functions import Function, Hypothesis, Level, Slope
from flverify.certify.gram._symbols import points, vocabulary

Point: TypeAlias = tuple[Fraction, ...]


@dataclass(frozen=True)
class Shape:
    """A function given by its slope at a centre, its curvature near it, and beyond."""

    centre: Point
    tilt: Point
    inside: Fraction
    outside: Fraction
    width: Fraction | None = None

    def slope(self, point: Point) -> Point:
        """Gradient."""
        away = [p - c for p, c in zip(point, self.centre, strict=True)]
        if self.width is not None:
            (u,) = away
            near = max(-self.width, min(self.width, u))
            return (self.tilt[0] + self.inside * near + self.outside * (u - near),)
        return tuple(b + self.inside * u for b, u in zip(self.tilt, away, strict=True))

    def level(self, point: Point) -> Fraction:
        """Value, zero at the centre."""
        away = [p - c for p, c in zip(point, self.centre, strict=True)]
        tilted = sum((b * u for b, u in zip(self.tilt, away, strict=True)), Fraction(0))
        if self.width is None:
            return tilted + self.inside / 2 * sum((u * u for u in away), Fraction(0))
        near = min(self.width, abs(away[0]))
        far = abs(away[0]) - near
        bent = self.inside * near * (near / 2 + far) + self.outside * far * far / 2
        return tilted + bent

    def __str__(self) -> str:
        centre, tilt = (f"({', '.join(map(str, v))})" for v in (self.centre, self.tilt))
        word = f"slope {tilt} at {centre}, curvature {self.inside}"
        if self.width is None:
            return word
        return f"{word} within {self.width} of it and {self.outside} beyond"


@dataclass(frozen=True)
class Model:
    """Vectors and numbers for the plain symbols, shapes for the functions."""

    vectors: dict[Symbol, Point]
    numbers: dict[Symbol, Fraction]
    shapes: dict[Function, Shape]
    slopes: dict[Slope, Point] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    @property
    def dimension(self) -> int:
        """Dimension of the space that the vectors live in."""
        known = [*self.vectors.values(), *(s.centre for s in self.shapes.values())]
        return len(known[0]) if known else 1

    def completed(self, expressions: Sequence[Expression]) -> Model:
        """Add values, 0 and plain quadratics, for what only occurs in expressions.

        They are what cancels in right - left, where any value will do.
        """
        words, origin = words_of(expressions, ()), (Fraction(0),) * self.dimension
        shapes = {
            f: Shape(origin, origin, f.strong_convexity, f.strong_convexity)
            for f in words.functions
        }
        return Model(
            {**dict.fromkeys(words.vectors, origin), **self.vectors},
            {**dict.fromkeys(words.numbers, Fraction(0)), **self.numbers},
            {**shapes, **self.shapes},
        )

    def vector(self, v: Vector) -> Point:
        """Value of a formal vector."""
        total = [Fraction(0)] * self.dimension
        for symbol, factor in v.terms:
            part = self._symbol(symbol)
            total = [t + factor * p for t, p in zip(total, part, strict=True)]
        return tuple(total)

    def _symbol(self, symbol: Symbol) -> Point:
        if not isinstance(symbol, Slope):
            return self.vectors[symbol]
        if symbol not in self.slopes:  # a nested point asks for the same ones again
            shape = self.shapes[symbol.function]
            self.slopes[symbol] = shape.slope(self.vector(symbol.point))
        return self.slopes[symbol]

    def value(self, expression: Expression) -> Fraction:
        """Value of an expression."""
        total = expression.constant
        for (a, b), factor in expression.pairs:
            pair = zip(self._symbol(a), self._symbol(b), strict=True)
            total += factor * sum((u * v for u, v in pair), Fraction(0))
        for symbol, factor in expression.scalars:
            total += factor * self._scalar(symbol)
        return total

    def _scalar(self, symbol: Symbol) -> Fraction:
        if isinstance(symbol, Level):
            return self.shapes[symbol.function].level(self.vector(symbol.point))
        return self.numbers[symbol]

    def refutes(
        self,
        lemma: Inequality,
        assumed: Sequence[Hypothesis],
        zero: Sequence[Vector],
    ) -> bool:
        """Whether all assumptions hold here and the lemma does not."""
        for f, shape in self.shapes.items():
            for curvature in (shape.inside, shape.outside):
                top = f.smoothness
                low = curvature < f.strong_convexity
                if low or (top is not None and curvature > top):
                    return False
        if any(any(self.vector(v)) for v in zero):
            return False
        for hypothesis in assumed:
            gap = self.value(hypothesis.gap)
            if gap < 0 or (hypothesis.equality and gap != 0):
                return False
        return self.value(lemma.gap) < 0


@dataclass(frozen=True)
class Words:
    """Symbols without a formula, of vectors and of numbers, and functions."""

    vectors: list[Symbol]
    numbers: list[Symbol]
    functions: list[Function]


def words_of(expressions: Sequence[Expression], zero: Sequence[Vector]) -> Words:
    """Return all plain symbols and functions of expressions and of zero vectors."""
    vectors, scalars = vocabulary(expressions, zero)
    plain = [s for s in vectors if not isinstance(s, Slope)]
    numbers = [s for s in scalars if not isinstance(s, Level)]
    return Words(_once(plain), _once(numbers), list(points([*vectors, *scalars])))


def _once(symbols: list[Symbol]) -> list[Symbol]:
    return sorted(dict.fromkeys(symbols), key=str)
