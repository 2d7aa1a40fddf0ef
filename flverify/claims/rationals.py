"""Constants of claims in formulas: exact, whatever they were written as."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy


def rational(value: Any) -> sympy.Rational:
    """Return a constant of a claim as a number of sympy, exactly.

    Parameters
    ----------
    value : int, Fraction, decimal text or text such as 16/3

    Raises
    ------
    ValueError
        If text is no number.

    Examples
    --------
    >>> rational("16/3"), rational("0.1")
    (16/3, 1/10)
    """
    number = Fraction(value)
    return sympy.Rational(number.numerator, number.denominator)
