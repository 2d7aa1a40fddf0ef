"""One error against one bound: kept, broken, or not told by these numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import sympy
from sympy.core.evalf import PrecisionExhausted

from flverify._core.algebra import is_nought
from flverify._core.exact import Scalar, is_symbolic
from flverify.testing.given import as_float

SLACK = 1e-9  # relative: this close above its bound an error keeps it, in floats
DIGITS = 60  # of an irrational bound that is compared with a rational


def keeps(
    error: Scalar, bound: Scalar, floor: float = 0.0, fine: float = 0.0
) -> bool | None:
    """Whether error <= bound; None where rounding or overflow decides.

    Parameters
    ----------
    floor : float
        Of errors in floats: a bound below is no answer, nor is a break by less.
    fine : float
        What an error in floats may be too small by.

    Examples
    --------
    >>> keeps(Fraction(1, 3), Fraction(1, 3)), keeps(2.0, 1.0), keeps(math.nan, 1.0)
    (True, False, None)
    >>> keeps(Fraction(1, 3), 1 / 3), keeps(Fraction(1, 3), 1 / 3 - 1e-8)
    (True, False)
    """
    if not isinstance(error, float):
        return _exactly(error, bound)
    allowed = as_float(bound)  # infinite where it exceeds every finite error
    if not math.isfinite(error):
        return None
    if error > allowed * (1 + SLACK) + floor:
        return False
    told = allowed >= floor and error + fine <= allowed * (1 + SLACK)
    return True if told else None


def slackened(bound: Scalar) -> Fraction:
    """Return what a bound of at least 0 that has been rounded may have been."""
    return Fraction(bound) * (1 + Fraction(SLACK))


def _exactly(error: Scalar, bound: Scalar) -> bool | None:
    """Compare a rational: exactly, but for the rounding of a bound in floats."""
    if isinstance(bound, float) and math.isfinite(bound):
        bound = slackened(bound)
    if not (is_symbolic(bound) or is_symbolic(error)):
        return bool(error <= bound)
    gap = _expression(bound) - _expression(error)
    try:  # strict: what is left of a zero has a sign too, and no correct digit
        told = gap.evalf(DIGITS, maxn=4 * DIGITS, strict=True)
    except PrecisionExhausted:
        return True if is_nought(gap) else None
    if told.is_negative:
        return False
    return True if told.is_nonnegative else None


def _expression(value: Scalar) -> sympy.Expr:
    if is_symbolic(value):
        return value
    given = Fraction(value)
    return sympy.Rational(given.numerator, given.denominator)
