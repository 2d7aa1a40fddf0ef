"""From a lemma on formal vectors to a search for multipliers, as matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from flverify._core.exact import Array, objects
from flverify._core.rationals import rational, row_basis
from flverify.certify._definite import as_float, congruent, kernel, power_of_two, two_to
from flverify.certify._vectors import (
    Expression,
    Inequality,
    Symbol,
    Vector,
)
from flverify.certify.gram._counterexamples import Tight
from flverify.certify.gram._faces import Task
from flverify.certify.gram._functions import Hypothesis


@dataclass(frozen=True)
class GramTask:
    """A lemma as matrices over its vector symbols, beside the scaled search task.

    `basis` parametrises the symbols by the free ones; forms carry one more diagonal
    entry for the constant.
    """

    inequality: Inequality
    facts: tuple[Hypothesis, ...]
    where: tuple[Vector, ...]
    vectors: list[Symbol]
    free: list[int]
    target: Array
    forms: Array
    sizes: Array
    units: Array
    scaled: Task


def task_of(
    inequality: Inequality, facts: Sequence[Hypothesis], where: Sequence[Vector]
) -> GramTask:
    """State the search for multipliers."""
    gaps = [inequality.gap, *(h.gap for h in facts)]
    names = [s for e in gaps for pair, _ in e.pairs for s in pair]
    names += [s for v in where for s, _ in v.terms]
    vectors = list(dict.fromkeys(names))
    scalars = list(dict.fromkeys(s for e in gaps for s, _ in e.scalars))
    rows = [row_of(v, vectors) for v in where]
    basis, free = kernel(_table(rows, len(vectors)), len(vectors))
    matrices = [_form(e, vectors, basis) for e in gaps]
    values = [[_value(e, s) for s in scalars] for e in gaps]
    scaled, sizes, units = _scaled(matrices, values, [not h.equality for h in facts])
    shape = (len(facts), *matrices[0].shape)
    forms = np.array(matrices[1:], dtype=object).reshape(shape)
    return GramTask(
        inequality,
        tuple(facts),
        tuple(where),
        vectors,
        free,
        matrices[0],
        forms,
        sizes,
        units,
        scaled,
    )


def hints(task: GramTask, ties: Sequence[Tight]) -> tuple[list[int], Array]:
    """Multipliers that are zero and null vectors of the sum of squares.

    Where a lemma holds with equality every term of a proof is zero: a hypothesis that
    is positive there has multiplier 0, and the vectors' values are a null vector.
    """
    slack = [
        j
        for j, fact in enumerate(task.facts)
        if not all(tie.vanishes(fact.gap) for tie in ties)
    ]
    symbols = [task.vectors[k] for k in task.free]
    rows = [np.zeros((0, len(task.units)), dtype=object)]
    for tie in ties:
        values = tie.values(symbols) * task.units[:-1]
        zero = np.full((len(values), 1), flint.fmpq(0), dtype=object)
        rows.append(np.concatenate([values, zero], axis=1))
    if any(tie.anchored for tie in ties):
        last = np.full((1, len(task.units)), flint.fmpq(0), dtype=object)
        last[0, -1] = flint.fmpq(1)
        rows.append(last)
    return slack, row_basis(np.concatenate(rows))


def _form(expression: Expression, vectors: list[Symbol], basis: Array) -> Array:
    """Reduced Gram coefficients, with the constant as last diagonal entry."""
    place = {symbol: k for k, symbol in enumerate(vectors)}
    full = np.full((len(vectors),) * 2, flint.fmpq(0), dtype=object)
    for (a, b), factor in expression.pairs:
        half = rational(factor / 2)
        full[place[a], place[b]] += half
        full[place[b], place[a]] += half
    size = basis.shape[1]
    out = np.full((size + 1,) * 2, flint.fmpq(0), dtype=object)
    if size:
        out[:-1, :-1] = congruent(full, basis)
    out[-1, -1] = rational(expression.constant)
    return out


def _value(expression: Expression, symbol: Symbol) -> Any:
    return rational(dict(expression.scalars).get(symbol, Fraction(0)))


def _scaled(
    matrices: list[Array], values: list[list[Any]], signed: list[bool]
) -> tuple[Task, Array, Array]:
    """Bring symbols and inequalities to size one, by powers of two."""
    # floats of numbers near 1, since those of the lemma may be beyond float range
    floats = [np.abs(as_float(m / power_of_two(m))) for m in matrices]
    diagonals = [np.diagonal(m) / max(m.max(), 1e-300) for m in floats]
    largest = np.max(diagonals, axis=0)
    units = objects([_power(np.sqrt(d)) if d > 0 else flint.fmpq(1) for d in largest])
    shrunk = [m / np.outer(units, units) for m in matrices]
    sizes = objects([_size(m) for m in shrunk])
    forms = [m / size for m, size in zip(shrunk, sizes, strict=True)]
    shape = (len(forms) - 1, *forms[0].shape)
    columns = np.array(values, dtype=object).reshape(len(matrices), -1) / sizes[:, None]
    task = Task(
        forms[0],
        np.array(forms[1:], dtype=object).reshape(shape),
        tuple(signed),
        columns[1:].T,
        columns[0],
    )
    return task, sizes, units


def _size(form: Array) -> Any:
    """Return the power of two next to the largest entry."""
    near = power_of_two(form)
    return near * _power(np.abs(as_float(form / near)).max(initial=0.0))


def _power(size: float) -> Any:
    """Return the power of two next to a size."""
    return two_to(round(float(np.log2(size)))) if size > 0 else flint.fmpq(1)


def row_of(v: Vector, names: list[Symbol]) -> list[Any]:
    known = dict(v.terms)
    return [rational(known.get(s, Fraction(0))) for s in names]


def _table(rows: list[list[Any]], width: int) -> Array:
    out = np.full((len(rows), width), flint.fmpq(0), dtype=object)
    for k, row in enumerate(rows):
        out[k] = row
    return out
