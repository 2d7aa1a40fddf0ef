"""Counterexamples to formal lemmas: models that satisfy the assumptions and refute.

Models where a lemma holds with equality tell a proof which multipliers are zero and
where its sum of squares vanishes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product

import flint
import numpy as np

from flverify._core.exact import Array
from flverify._core.rationals import rational
from flverify.certify import _definite
from flverify.certify._vectors import Expression, Inequality, Symbol, Vector
from flverify.certify.gram._functions import Hypothesis, Slope
from flverify.certify.gram._lines import Line, curvature_choices, curvatures
from flverify.certify.gram._models import Model, Shape, Words, words_of

MOST_FORMS = 128  # choices of curvatures for which a form is decided
DRAWS = 4000  # models drawn where forms do not decide
PENALTIES = ("0", "1", "4", "1/4")  # weights of assumptions when a form is decided
SCALES = ("1", "1/2", "1/4", "1/10", "1/100", "2", "10")


@dataclass(frozen=True)
class Tight:
    """A space of quadratic models on which a lemma holds with equality."""

    line: Line
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
    words = words_of([lemma.gap, *(h.gap for h in assumed)], zero)
    ties = []
    for chosen in islice(curvature_choices(words.functions), MOST_FORMS):
        line = Line(words, chosen)
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
    words = words_of([lemma.gap, *(h.gap for h in assumed)], zero)
    if not words.functions and not assumed:
        return None  # the form was decisive
    random = np.random.default_rng(0)
    for _ in range(DRAWS):
        model = _drawn(random, words, zero)
        if model.refutes(lemma, assumed, zero):
            return model
    return None


def _candidates(
    line: Line, basis: Array, lemma: Inequality, assumed: Sequence[Hypothesis]
) -> Iterator[Model]:
    """Points where the lemma's form is negative and those of assumptions are not."""
    gaps = [_definite.congruent(line.form(h.gap), basis) for h in assumed]
    form = _definite.congruent(line.form(lemma.gap), basis)
    for weights in product(PENALTIES, repeat=len(gaps)) if len(gaps) < 4 else [()]:
        mixed = form
        for weight, gap in zip(weights, gaps, strict=False):
            mixed = mixed - rational(Fraction(weight)) * gap
        for state in _negative(mixed, bool(gaps)):
            held = (_definite.value(gap, state) >= 0 for gap in gaps)
            if _definite.value(form, state) < 0 and all(held):
                yield line.model((basis @ state)[:-1])


def _negative(form: Array, scaled: bool) -> Iterator[Array]:
    """States with last entry 1 on a line where a form is negative."""
    _, witness = _definite.squares(form)
    if witness is None:
        return
    state = _definite.negative_state(form, witness)
    for scale in SCALES if scaled else SCALES[:1]:
        moved = rational(Fraction(scale)) * state
        moved[-1] = state[-1]
        yield moved


def _drawn(random: np.random.Generator, words: Words, zero: Sequence[Vector]) -> Model:
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
        tried = curvatures(f)
        inside, outside = random.integers(len(tried), size=2)
        shapes[f] = Shape(
            bare.vector(plain[0]) if plain else (_short(random),),
            (_short(random) if tilted else Fraction(0),),
            tried[inside],
            tried[outside],
            Fraction(int(random.integers(1, 9)), 4),
        )
    return Model(vectors, numbers, shapes)


def _short(random: np.random.Generator) -> Fraction:
    return Fraction(int(random.integers(-8, 9)), 2 ** int(random.integers(3)))
