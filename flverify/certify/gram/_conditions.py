"""What a model of assumptions must satisfy, and lines on which to look for one.

Every condition is linear in the inner products of the vectors and in the values: the
assumptions, and interpolation at each pair of points of a function. A model on the line
gives one number to each vector; a sum of such models, in orthogonal directions and
with positive weights, is a model of any dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, TypeAlias

import flint
import numpy as np

from flverify._core.exact import Array, objects
from flverify._core.rationals import entries, matrix, rational
from flverify.certify._definite import kernel
from flverify.certify._vectors import Symbol, Vector
from flverify.certify.gram._functions import Function, Hypothesis, Level, Slope
from flverify.certify.gram._lines import Line, curvature_choices
from flverify.certify.gram._models import Words
from flverify.certify.gram._symbols import points, vocabulary

Pair: TypeAlias = tuple[Function, Vector, Vector]

CHOICES = 3  # curvatures of quadratics: the least, the largest, and halfway
STEEP = 10**6  # L - mu where a function need not be smooth; it is differentiable then


@dataclass(frozen=True)
class Conditions:
    """Conditions form_k(vectors) + values_k . scalars + constant_k >= 0, or = 0.

    Parameters
    ----------
    assumed : tuple of Hypothesis
        The first conditions.
    pairs : tuple of (Function, Vector, Vector)
        Interpolation between two points, one condition each.
    zero : tuple of Vector
        Vectors that must be zero.
    vectors, scalars : list of symbols
        All that a model must give, both at each point of a function.
    """

    assumed: tuple[Hypothesis, ...]
    pairs: tuple[Pair, ...]
    zero: tuple[Vector, ...]
    vectors: list[Symbol]
    scalars: list[Symbol]

    @property
    def signed(self) -> Array:
        """Which conditions are inequalities."""
        told = [not h.equality for h in self.assumed] + [True] * len(self.pairs)
        return np.array(told, dtype=bool)

    def constants(self) -> Array:
        """Constant of every condition, (K,) flint rationals."""
        told = [rational(h.gap.constant) for h in self.assumed]
        return objects([*told, *[flint.fmpq(0)] * len(self.pairs)])

    def values(self) -> Array:
        """Coefficients of the scalars, (K, q) flint rationals."""
        out = _zeros(len(self.signed), len(self.scalars))
        place = {symbol: k for k, symbol in enumerate(self.scalars)}
        for k, hypothesis in enumerate(self.assumed):
            for symbol, factor in hypothesis.gap.scalars:
                out[k, place[symbol]] = rational(factor)
        for k, (f, x, y) in enumerate(self.pairs, start=len(self.assumed)):
            out[k, place[Level(f, x)]] += 1
            out[k, place[Level(f, y)]] -= 1
        return out

    def forms(
        self,
        rows: Array,
        product: Callable[[Array, Array], Array],
        number: Callable[[Fraction], Any],
    ) -> Array:
        """Form of every condition, from what stands for each vector and for <u, v>."""
        at = dict(zip(self.vectors, rows, strict=True))

        def image(v: Vector) -> Array:
            return np.asarray(_sum((number(c) * at[s] for s, c in v.terms), rows[0]))

        nothing = product(rows[0], rows[0])
        out = []
        for hypothesis in self.assumed:
            pairs = hypothesis.gap.pairs
            parts = (number(c) * product(at[a], at[b]) for (a, b), c in pairs)
            out.append(_sum(parts, nothing))
        places = {p: image(p) for _, x, y in self.pairs for p in (x, y)}
        for f, x, y in self.pairs:
            mu, L = f.strong_convexity, f.smoothness
            step, slope = places[x] - places[y], at[Slope(f, y)]
            turn = at[Slope(f, x)] - slope - number(mu) * step
            share = Fraction(1, 2 * STEEP) if L is None else 1 / (2 * (L - mu))
            bent = number(mu / 2) * product(step, step)
            out.append(
                -product(slope, step) - bent - number(share) * product(turn, turn)
            )
        return np.array(out)

    def families(self) -> list[Array]:
        """Bases of models on the line, (n, r) each: quadratics, and any gradients.

        Quadratics satisfy interpolation, and so do their sums; what is in the last
        family may need others beside it.
        """
        plain = [s for s in self.vectors if not isinstance(s, Slope)]
        functions = list(points(self.scalars))
        out = []
        for chosen in islice(curvature_choices(functions), CHOICES):
            line = Line(Words(plain, [], functions), chosen)
            zero = _table([line.vector(v) for v in self.zero], line.size)
            symbols = _table([line.symbol(s) for s in self.vectors], line.size)
            basis, _ = kernel(zero, line.size)
            out.append(entries(matrix(symbols) * matrix(basis)))
        if functions:
            out.append(self._free())
        return [family for family in out if family.shape[1]]

    def _free(self) -> Array:
        rows = [dict(v.terms) for v in self.zero]
        zero = [[rational(r.get(s, Fraction(0))) for s in self.vectors] for r in rows]
        return kernel(_table(zero, len(self.vectors)), len(self.vectors))[0]


def conditions_of(assumed: Sequence[Hypothesis], zero: Sequence[Vector]) -> Conditions:
    """State the conditions of assumptions and of vectors that are zero."""
    vectors, scalars = vocabulary([h.gap for h in assumed], zero)
    pairs: list[Pair] = []
    for f, places in points([*vectors, *scalars]).items():
        vectors += [Slope(f, p) for p in places]
        scalars += [Level(f, p) for p in places]
        pairs += [(f, x, y) for x in places for y in places if x != y]
    return Conditions(
        tuple(assumed),
        tuple(pairs),
        tuple(zero),
        list(dict.fromkeys(vectors)),
        list(dict.fromkeys(scalars)),
    )


def _sum(parts: Iterable[Array], like: Array) -> Array:
    return sum(parts, start=0 * like)


def _table(rows: Sequence[Any], width: int) -> Array:
    out = _zeros(len(rows), width)
    for k, row in enumerate(rows):
        out[k] = row
    return out


def _zeros(rows: int, columns: int) -> Array:
    return np.full((rows, columns), flint.fmpq(0), dtype=object)
