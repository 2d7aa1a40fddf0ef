"""Laurent polynomials in the step size: what coefficients of a traced round are.

A round multiplies by the step size and divides by multiples of it, so one trace with
the step size as an unknown serves every step size, and terms cancel exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from flverify._core.errors import ReadingError
from flverify._core.exact import Array, within_floats


@dataclass(frozen=True, eq=False)
class StepPolynomial:
    """sum_e c_e h^e over integers e of any sign, with rational c_e, h the step size.

    Examples
    --------
    >>> h = StepPolynomial({1: Fraction(1)})
    >>> (1 / (2 * h) * h == Fraction(1, 2)), (h * h + 1).at(np.array([3.0])).item()
    (True, 10.0)
    """

    terms: Mapping[int, Fraction]
    __array_ufunc__ = None

    def __add__(self, other: Any) -> StepPolynomial:
        added = _lifted(other)
        if added is None:
            return NotImplemented
        out = dict(self.terms)
        for power, value in added.items():
            out[power] = out.get(power, Fraction(0)) + value
        return StepPolynomial({e: c for e, c in out.items() if c})

    def __mul__(self, other: Any) -> StepPolynomial:
        factor = _lifted(other)
        if factor is None:
            return NotImplemented
        out: dict[int, Fraction] = {}
        for power, value in self.terms.items():
            for more, times in factor.items():
                place = power + more
                out[place] = out.get(place, Fraction(0)) + value * times
        return StepPolynomial({e: c for e, c in out.items() if c})

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> StepPolynomial:
        return self * -1

    def __sub__(self, other: Any) -> Any:
        return self + other * -1

    def __rsub__(self, other: Any) -> Any:
        return self * -1 + other

    def __truediv__(self, other: Any) -> StepPolynomial:
        divisor = _lifted(other)
        return NotImplemented if divisor is None else self * _inverse(divisor)

    def __rtruediv__(self, other: Any) -> Any:
        return _inverse(self.terms) * other

    def __eq__(self, other: object) -> bool:
        compared = _lifted(other)
        return compared is not None and dict(self.terms) == dict(compared)

    __hash__ = None  # type: ignore[assignment]

    def at(self, step_sizes: Array) -> Array:
        """Value at each of several step sizes."""
        out = np.zeros_like(step_sizes)
        for power, value in self.terms.items():
            out += within_floats(value) * step_sizes ** float(power)
        return out


def _lifted(value: object) -> Mapping[int, Fraction] | None:
    if isinstance(value, StepPolynomial):
        return value.terms
    if isinstance(value, Rational):
        return (
            {0: Fraction(int(value.numerator), int(value.denominator))} if value else {}
        )
    if isinstance(value, float) and math.isfinite(value):
        return {0: Fraction(value)} if value else {}
    return None


def _inverse(terms: Mapping[int, Fraction]) -> StepPolynomial:
    if len(terms) != 1:
        raise ReadingError(
            "a compiled round must divide by multiples of the step size only; got "
            f"a sum of {len(terms)} powers; simulate it with method='literal'."
        )
    ((power, value),) = terms.items()
    return StepPolynomial({-power: 1 / value})
