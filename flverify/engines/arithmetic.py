"""The arithmetic an engine computes in: flint rationals, floats, or sympy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from numbers import Rational
from typing import Any

import flint
import numpy as np

from flverify._core.errors import BeyondFloatsError
from flverify._core.exact import Array, Scalar, is_symbolic, within_floats
from flverify._core.rationals import from_flint, to_flint, to_fraction
from flverify.engines.own_factors import computes_in_floats


@dataclass(frozen=True)
class Arithmetic:
    """How scalars and arrays enter a computation, and how they leave it."""

    exact: bool
    convert: Callable[[Scalar], Scalar]
    array: Callable[[Array], Array]
    back: Callable[[Array], Array]
    number: Callable[[Scalar], Scalar]


def _rational(value: Scalar) -> Any:
    if isinstance(value, flint.fmpq):
        return value
    fraction = Fraction(value)
    return flint.fmpq(int(fraction.numerator), int(fraction.denominator))


def _nearest(value: Scalar) -> Any:
    """Convert a rational as it is, and another number as the float it is near."""
    exact = isinstance(value, flint.fmpq | Rational)
    return _rational(value if exact else within_floats(value))


def _float(value: Scalar) -> float:
    return within_floats(value)


def _float_array(values: Array) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except OverflowError:
        raise BeyondFloatsError(
            "numbers must lie within the range of floats, about 1e308, where one of "
            "them is a float; got a larger one; pass rationals alone."
        ) from None


RATIONAL = Arithmetic(True, _rational, to_flint, from_flint, to_fraction)
NEAREST = replace(RATIONAL, convert=_nearest)  # the rationals that floats are
FLOAT = Arithmetic(False, _float, _float_array, _float_array, float)


def is_exact_on(algorithm: Any, n_clients: int) -> bool:
    """Whether no setting is a float, nor what an own round multiplies vectors by."""
    if any(isinstance(value, float) for value in _settings(algorithm)):
        return False
    return not computes_in_floats(algorithm, n_clients)


def settings_are_symbolic(algorithm: Any) -> bool:
    """Whether some setting of an algorithm is a sympy expression, and no rational."""
    values = _settings(algorithm)
    return any(is_symbolic(v) and not isinstance(v, Rational) for v in values)


def _settings(algorithm: Any) -> Iterator[Any]:
    """Yield the values of all settings, those of tuples one by one."""
    for field in fields(algorithm):
        value = getattr(algorithm, field.name)
        yield from value if isinstance(value, tuple) else (value,)


def arithmetic_for(problem: Any, algorithm: Any, participation: Any) -> Arithmetic:
    """Rationals when every input is rational, floats otherwise."""
    exact = problem.exact and participation.exact
    exact = exact and is_exact_on(algorithm, problem.n_clients)
    return RATIONAL if exact else FLOAT
