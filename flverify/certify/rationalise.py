"""Turn a solver's floats into rationals that satisfy every equality exactly.

Numbers are rounded, negative multipliers become 0, and each equality is repaired in an
unknown of its own: totals of weights in their largest weight, values of f at a point in
the multiplier between that point and the star. Whether the blocks are still positive
semidefinite is the checker's question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from flverify._core.exact import Array
from flverify.certify.inequality import Inequality, Sweep, Unknown

Values = dict[Unknown, Fraction]
_Row = dict[Unknown, tuple[Fraction, Fraction]]


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
    for name, row in _totals_first(inequality):
        _repair(row, name, values, rho)
    return values


class Mended:
    """A float inequality whose blocks are measured at points once these are mended.

    A solver's own margin may be positive where nothing is feasible, since it meets the
    equalities only roughly; mending them first shows it.
    """

    def __init__(self, sweep: Sweep) -> None:
        self._inequality = inequality = sweep.inequality
        self._signed = np.array(inequality.signed, dtype=bool)
        self._blocks = sweep.plain.values()
        self._rows = {
            name: {u: (float(a), float(b)) for u, (a, b) in row.items()}
            for name, row in _totals_first(inequality)
        }

    def worst_pivot(self, found: Array, rho: float) -> float:
        """Smallest eigenvalue of the blocks once signs and equalities are mended."""
        mended = np.where(self._signed, np.maximum(found, 0.0), found)
        values = dict(zip(self._inequality.place, mended.tolist(), strict=True))
        for name, row in self._rows.items():
            _repair(row, name, values, rho)
        y = np.array(list(values.values()))
        if (y[self._signed] < 0).any():
            return -1.0
        blocks = (
            np.tensordot(y, base, 1) + rho * np.tensordot(y, slope, 1)
            for base, slope in self._blocks
        )
        return min(float(np.linalg.eigvalsh(block)[0]) for block in blocks)


def _totals_first(inequality: Inequality) -> Iterator[tuple[str, _Row]]:
    """Yield the equalities in the order in which they are repaired."""
    rows = inequality.equalities.items()
    yield from ((name, row) for name, row in rows if _is_total(name))
    yield from ((name, row) for name, row in rows if not _is_total(name))


def _is_total(name: str) -> bool:
    return any(word in name for word in ("upper", "lower"))


def _repair(row: Mapping[Unknown, Any], name: str, values: Any, rho: Any) -> None:
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
