"""Counterexamples to formal lemmas: rational vectors and functions, checked exactly.

A function of R^1 is quadratic, or has one curvature near its centre and another
beyond; both lie in the class if their curvatures do. In R^d it is quadratic with one
curvature. Models where a lemma holds with equality tell a proof which multipliers are
zero and where its sum of squares vanishes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from typing import Any, TypeAlias

import flint
import numpy as np

from flverify._core.exact import Array
from flverify._core.rationals import from_flint
from flverify.certify import _definite
from flverify.certify._vectors import Expression, Inequality, Symbol, Vector
from flverify.certify.gram._functions import (
    Function,
    Hypothesis,
    Level,
    Slope,
    points,
    vocabulary,
)

Point: TypeAlias = tuple[Fraction, ...]

MOST_FORMS = 128  # choices of curvatures for which a form is decided
DRAWS = 4000  # models drawn where forms do not decide
PENALTIES = ("0", "1", "4", "1/4")  # weights of assumptions when a form is decided
SCALES = ("1", "1/2", "1/4", "1/10", "1/100", "2", "10")


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

    @property
    def dimension(self) -> int:
        """Dimension of the space that the vectors live in."""
        known = [*self.vectors.values(), *(s.centre for s in self.shapes.values())]
        return len(known[0]) if known else 1

    def completed(self, expressions: Sequence[Expression]) -> Model:
        """Add values, 0 and plain quadratics, for what only occurs in expressions.

        They are what cancels in right - left, where any value will do.
        """
        words, origin = _words(expressions, ()), (Fraction(0),) * self.dimension
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
        if isinstance(symbol, Slope):
            return self.shapes[symbol.function].slope(self.vector(symbol.point))
        return self.vectors[symbol]

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
class Tight:
    """A space of quadratic models on which a lemma holds with equality."""

    line: _Line
    columns: Array  # (parameters and the constant, k)

    def values(self, vectors: Sequence[Symbol]) -> Array:
        """Values of vector symbols, (k, number of symbols) flint rationals."""
        rows = [self.line.symbol(s) @ self.columns[:-1] for s in vectors]
        shape = (len(vectors), self.columns.shape[1])
        return np.array(rows, dtype=object).reshape(shape).T

    def vanishes(self, expression: Expression) -> bool:
        """Whether an expression is zero on all of these models."""
        form = _definite.congruent(self.line.form(expression), self.columns)
        return not (form != 0).any()

    @property
    def anchored(self) -> bool:
        """Whether some of the models have a constant that is not scaled away."""
        return bool((self.columns[-1] != 0).any())


def by_forms(
    lemma: Inequality, assumed: Sequence[Hypothesis], zero: Sequence[Vector]
) -> tuple[Model | None, list[Tight]]:
    """Decide a lemma on quadratics of the line: a model that refutes it, or ties."""
    words = _vocabulary(lemma, assumed, zero)
    ties = []
    for chosen in islice(_choices(words.functions), MOST_FORMS):
        line = _Line(words, chosen)
        rows = [[*line.vector(v), flint.fmpq(0)] for v in zero]
        equations = np.array(rows, dtype=object).reshape(len(rows), line.size + 1)
        basis, _ = _definite.kernel(equations, line.size + 1)
        for model in _candidates(line, basis, lemma, assumed):
            if model.refutes(lemma, assumed, zero):
                return model, []
        if not assumed:
            form = _definite.congruent(line.form(lemma.gap), basis)
            null, _ = _definite.kernel(form, len(form))
            ties.append(Tight(line, basis @ null))
    return None, [tie for tie in ties if tie.columns.shape[1]]


def by_chance(
    lemma: Inequality, assumed: Sequence[Hypothesis], zero: Sequence[Vector]
) -> Model | None:
    """Draw models until one refutes a lemma."""
    words = _vocabulary(lemma, assumed, zero)
    if not words.functions and not assumed:
        return None  # the form was decisive
    random = np.random.default_rng(0)
    for _ in range(DRAWS):
        model = _drawn(random, words, zero)
        if model.refutes(lemma, assumed, zero):
            return model
    return None


@dataclass(frozen=True)
class _Words:
    """Symbols without a formula, of vectors and of numbers, and functions."""

    vectors: list[Symbol]
    numbers: list[Symbol]
    functions: list[Function]


def _vocabulary(
    lemma: Inequality, assumed: Sequence[Hypothesis], zero: Sequence[Vector]
) -> _Words:
    return _words([lemma.gap, *(h.gap for h in assumed)], zero)


def _words(expressions: Sequence[Expression], zero: Sequence[Vector]) -> _Words:
    vectors, scalars = vocabulary(expressions, zero)
    plain = [s for s in vectors if not isinstance(s, Slope)]
    numbers = [s for s in scalars if not isinstance(s, Level)]
    return _Words(_once(plain), _once(numbers), list(points([*vectors, *scalars])))


def _once(symbols: list[Symbol]) -> list[Symbol]:
    return sorted(dict.fromkeys(symbols), key=str)


def _curvatures(f: Function) -> list[Fraction]:
    """Curvatures of a class that are tried; near 0 too if 0 is the least."""
    low, high = f.strong_convexity, f.smoothness
    top = low + 100 if high is None else high
    tried = [low, top, (low + top) / 2]
    tried += [Fraction(0)] * (low < 0 < top)
    tried += [top / 10**3, top / 10**6] * (low == 0)
    return list(dict.fromkeys(tried))


def _choices(functions: Sequence[Function]) -> Iterator[tuple[Fraction, ...]]:
    """Curvatures for all functions, first those of the same place in their lists."""
    lists = [_curvatures(f) for f in functions]
    shortest = min(map(len, lists), default=0)
    alike = [tuple(listed[k] for listed in lists) for k in range(shortest)]
    yield from alike
    yield from (chosen for chosen in product(*lists) if chosen not in alike)


class _Line:
    """Everything as linear maps of parameters, on quadratics of the line."""

    def __init__(self, words: _Words, chosen: Sequence[Fraction]) -> None:
        self.words = words
        # a function stands for its slope at the origin
        self.parameters = [*words.vectors, *words.functions, *words.numbers]
        self.curvature = dict(zip(words.functions, chosen, strict=True))
        self.size = len(self.parameters)

    def vector(self, v: Vector) -> Array:
        """Row of a formal vector over the parameters."""
        total = np.full(self.size, flint.fmpq(0), dtype=object)
        for symbol, factor in v.terms:
            total = total + _rational(factor) * self.symbol(symbol)
        return total

    def symbol(self, symbol: Any) -> Array:
        """Row of a vector symbol."""
        out = np.full(self.size, flint.fmpq(0), dtype=object)
        if isinstance(symbol, Slope):
            steepness = _rational(self.curvature[symbol.function])
            out = steepness * self.vector(symbol.point)
            symbol = symbol.function
        out[self.parameters.index(symbol)] += 1
        return np.asarray(out)

    def _level(self, symbol: Level) -> Array:
        """Form of h/2 p^2 + b p."""
        point = self.vector(symbol.point)
        steepness = _rational(self.curvature[symbol.function])
        tilt = np.full(self.size, flint.fmpq(0), dtype=object)
        tilt[self.parameters.index(symbol.function)] = flint.fmpq(1)
        both = np.outer(point, steepness / 2 * point + tilt)
        return np.asarray((both + both.T) / 2)

    def form(self, expression: Expression) -> Array:
        """Homogeneous symmetric matrix over (parameters, 1)."""
        total = np.full((self.size + 1,) * 2, flint.fmpq(0), dtype=object)
        inside = total[:-1, :-1]
        for (a, b), factor in expression.pairs:
            outer = np.outer(self.symbol(a), self.symbol(b))
            inside += _rational(factor) / 2 * (outer + outer.T)
        for symbol, factor in expression.scalars:
            if isinstance(symbol, Level):
                inside += _rational(factor) * self._level(symbol)
            else:
                place = self.parameters.index(symbol)
                total[place, -1] += _rational(factor / 2)
                total[-1, place] += _rational(factor / 2)
        total[-1, -1] = _rational(expression.constant)
        return total

    def model(self, values: Array) -> Model:
        """Model with the given parameters."""
        known = dict(zip(self.parameters, from_flint(values), strict=True))
        origin = (Fraction(0),)
        shapes = {
            f: Shape(origin, (known[f],), h, h) for f, h in self.curvature.items()
        }
        vectors: dict[Symbol, Point] = {s: (known[s],) for s in self.words.vectors}
        return Model(vectors, {s: known[s] for s in self.words.numbers}, shapes)


def _candidates(
    line: _Line, basis: Array, lemma: Inequality, assumed: Sequence[Hypothesis]
) -> Iterator[Model]:
    """Points where the lemma's form, with assumptions subtracted, is negative."""
    gaps = [_definite.congruent(line.form(h.gap), basis) for h in assumed]
    form = _definite.congruent(line.form(lemma.gap), basis)
    for weights in product(PENALTIES, repeat=len(gaps)) if len(gaps) < 4 else [()]:
        mixed = form
        for weight, gap in zip(weights, gaps, strict=False):
            mixed = mixed - _rational(Fraction(weight)) * gap
        yield from _negative(line, basis, mixed, bool(gaps))


def _negative(line: _Line, basis: Array, form: Array, scaled: bool) -> Iterator[Model]:
    _, witness = _definite.squares(form)
    if witness is None:
        return
    state = basis @ _definite.negative_state(form, witness)
    for scale in SCALES if scaled else SCALES[:1]:
        yield line.model(_rational(Fraction(scale)) * state[:-1])


def _drawn(random: np.random.Generator, words: _Words, zero: Sequence[Vector]) -> Model:
    """Draw a model on the line, or in the plane if there are no functions."""
    size = 1 if words.functions else int(random.integers(1, 3))
    vectors = {s: tuple(_short(random) for _ in range(size)) for s in words.vectors}
    numbers = {s: _short(random) for s in words.numbers}
    bare, shapes = Model(vectors, numbers, {}), {}
    flat = [v.terms[0][0] for v in zero if len(v.terms) == 1]
    for f in words.functions:
        still = [s.point for s in flat if isinstance(s, Slope) and s.function == f]
        plain = [p for p in still if {s for s, _ in p.terms} <= set(vectors)]
        tilted = not plain and random.integers(2)
        curvatures = _curvatures(f)
        inside, outside = random.integers(len(curvatures), size=2)
        shapes[f] = Shape(
            bare.vector(plain[0]) if plain else (_short(random),),
            (_short(random) if tilted else Fraction(0),),
            curvatures[inside],
            curvatures[outside],
            Fraction(int(random.integers(1, 9)), 4),
        )
    return Model(vectors, numbers, shapes)


def _short(random: np.random.Generator) -> Fraction:
    return Fraction(int(random.integers(-8, 9)), 2 ** int(random.integers(3)))


def _rational(value: Fraction) -> Any:
    return flint.fmpq(value.numerator, value.denominator)
