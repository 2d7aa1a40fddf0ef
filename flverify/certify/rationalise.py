"""Turn a solver's floats into rationals that satisfy every equality exactly.

Numbers are rounded, negative multipliers become 0, and each equality is repaired in an
unknown of its own: totals of weights in their largest weight, values of f at a point in
the multiplier between that point and the star. Whether the blocks are still positive
semidefinite is the checker's question.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from flverify._core.exact import Array
from flverify.certify.inequality import Inequality, Unknown

Values = dict[Unknown, Fraction]


def rationalise(
    inequality: Inequality,
    found: Array,
    rho: Fraction,
    digits: int,
    fixed: Mapping[Unknown, Fraction] | None = None,
) -> Values:
    """Round to multiples of 10^-digits and repair the equalities.

    Parameters
    ----------
    found : (n,) array
        The solver's values.
    fixed : mapping, optional
        Unknowns whose exact value is given.

    Examples
    --------
    >>> import numpy as np
    >>> total = Inequality({}, np.float64)
    >>> a, b = total.new(("a",), True), total.new(("b",), True)
    >>> total.equal("upper 0/class 0", a, 1)
    >>> total.equal("upper 0/class 0", b, -2)
    >>> rationalise(total, np.array([0.6667, 0.3333]), Fraction(1), 2)
    {('a',): Fraction(33, 50), ('b',): Fraction(33, 100)}
    """
    scale = 10**digits
    values: Values = {}
    for unknown, place in inequality.place.items():
        value = Fraction(round(float(found[place]) * scale), scale)
        values[unknown] = max(value, Fraction(0)) if inequality.signed[place] else value
    values |= fixed or {}
    totals = [n for n in inequality.equalities if _is_total(n)]
    for name in [*totals, *(n for n in inequality.equalities if n not in totals)]:
        _repair(inequality, name, values, rho)
    return values


def worst_pivot(inequality: Inequality, found: Array, rho: float) -> float:
    """Smallest eigenvalue of the blocks once signs and equalities are mended in floats.

    A solver's own margin may be positive where nothing is feasible, since it meets the
    equalities only roughly; mending them first shows it.
    """
    values = {
        u: max(float(found[k]), 0.0) if inequality.signed[k] else float(found[k])
        for u, k in inequality.place.items()
    }
    totals = [n for n in inequality.equalities if _is_total(n)]
    for name in [*totals, *(n for n in inequality.equalities if n not in totals)]:
        _repair(inequality, name, values, rho)
    if any(values[u] < 0 for u, k in inequality.place.items() if inequality.signed[k]):
        return -1.0
    blocks = inequality.blocks_at(values, rho)
    return min(float(np.linalg.eigvalsh(b)[0]) for b in blocks.values())


def _is_total(name: str) -> bool:
    return any(word in name for word in ("upper", "lower"))


def _repair(inequality: Inequality, name: str, values: Any, rho: Any) -> None:
    row = inequality.equalities[name]
    number = type(rho)
    coefficients = {
        u: number(fixed) + rho * number(moving) for u, (fixed, moving) in row.items()
    }
    excess = sum((c * values[u] for u, c in coefficients.items()), number(0))
    if excess == 0:
        return
    if _is_total(name):
        # the largest weight stays positive whatever a rounding leaves over
        weights = [u for u, c in coefficients.items() if c == 1]
        largest = max(weights, key=lambda u: values[u])
        values[largest] -= excess
        return
    point = name.rsplit("/", 1)[1]
    sign = -1 if excess > 0 else 1
    stars = [
        u
        for u, c in coefficients.items()
        if c == sign and len(u) == 4 and {u[2], u[3]} == {point, "star"}
    ]
    if stars:
        values[stars[0]] += abs(excess)
