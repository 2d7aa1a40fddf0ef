"""Whether assumptions can hold together: shown by exact inner products, or denied.

What contradicts itself implies everything, so a lemma is proved only if its assumptions
have a model. Inner products belong to vectors if their matrix is positive semidefinite,
and to functions of the classes if all points satisfy interpolation: rational numbers
with both are searched for as multipliers are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flint
import numpy as np

from flverify._core.exact import Array
from flverify.certify._vectors import Expression, Inequality, Vector
from flverify.certify.gram._certificate import assembled
from flverify.certify.gram._check import fault
from flverify.certify.gram._faces import Task, multipliers
from flverify.certify.gram._functions import (
    Hypothesis,
    interpolation,
    points,
    statement,
    vocabulary,
)
from flverify.certify.gram._task import hints, task_of

NOTHING = Expression()
IMPOSSIBLE = Inequality(NOTHING + 1, NOTHING)  # 1 <= 0
MOST_UNKNOWNS = 300  # inner products and slacks of one search


def doubt(
    assumed: Sequence[Hypothesis],
    facts: Sequence[Hypothesis],
    where: Sequence[Vector],
) -> str:
    """Say why assumptions may not hold together; empty if they can.

    Parameters
    ----------
    assumed, facts : sequences of Hypothesis
        The assumptions, and all that may be used to refute them.
    where : sequence of Vector
        Vectors assumed to be zero.
    """
    if all(map(_holds_at_zero, assumed)) or _possible(assumed, where):
        return ""
    if _impossible(facts, where):
        return "the assumptions cannot hold together"
    return "it was not shown that the assumptions can hold together"


def _holds_at_zero(hypothesis: Hypothesis) -> bool:
    """Whether it holds where all vectors and values are 0, as `where` does."""
    constant = hypothesis.gap.constant
    return constant == 0 if hypothesis.equality else constant >= 0


def _possible(assumed: Sequence[Hypothesis], where: Sequence[Vector]) -> bool:
    """Whether rational inner products and values satisfy all assumptions."""
    vectors, scalars = vocabulary([h.gap for h in assumed], where)
    between = [
        interpolation(f, x, y)
        for f, places in points([*vectors, *scalars]).items()
        for x in places
        for y in places
        if x != y
    ]
    held = [*assumed, *between]
    task = task_of(Inequality(NOTHING, NOTHING), held, where).scaled
    search = _inner_products(task)
    if len(search.forms) > MOST_UNKNOWNS:
        return False
    nothing_known = np.zeros((0, len(search.target)), dtype=object)
    return multipliers(search, [], nothing_known)[0] is not None


def _inner_products(task: Task) -> Task:
    """Search for inner products G, values t and slacks s >= 0 of all inequalities.

    Each fact says <form, G> + values . t + constant = s, or = 0.
    """
    size = len(task.target) - 1  # the last diagonal entry belongs to the constant
    places = [(i, j) for i in range(size) for j in range(i + 1)]
    slacks = [k for k, sign in enumerate(task.signed) if sign]
    count = len(task.equations)
    units = [_unit(size, i, j) for i, j in places]
    units += [_zeros(size, size)] * (count + len(slacks))
    rows = _zeros(len(task.forms), len(units))
    for k, form in enumerate(task.forms):
        products = [form[i, j] * (1 if i == j else 2) for i, j in places]
        rows[k, : len(places)] = _array(products)
    rows[:, len(places) : len(places) + count] = task.equations.T
    for column, k in enumerate(slacks, start=len(places) + count):
        rows[k, column] = flint.fmpq(-1)
    signed = (False,) * (len(places) + count) + (True,) * len(slacks)
    forms = np.array(units, dtype=object).reshape(len(units), size, size)
    constants = _array([form[-1, -1] for form in task.forms])
    return Task(_zeros(size, size), forms, signed, rows, -constants)


def _impossible(facts: Sequence[Hypothesis], where: Sequence[Vector]) -> bool:
    """Whether 1 <= 0 has a proof that the checker accepts."""
    task = task_of(IMPOSSIBLE, facts, where)
    found, _ = multipliers(task.scaled, *hints(task, []))
    if found is None:
        return False
    words = statement(IMPOSSIBLE, (h for h in facts if h.assumed), where)
    return not fault(assembled(words, task, found).as_dict())


def _unit(size: int, i: int, j: int) -> Array:
    """Return minus the symmetric matrix of one inner product."""
    out = _zeros(size, size)
    out[i, j] = out[j, i] = flint.fmpq(-1)
    return out


def _zeros(rows: int, columns: int) -> Array:
    return np.full((rows, columns), flint.fmpq(0), dtype=object)


def _array(values: list[Any]) -> Array:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
