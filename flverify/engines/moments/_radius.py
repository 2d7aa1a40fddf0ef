"""Spectral radii with enclosures: rational ones for rational matrices.

In exact mode the radius is the largest modulus of the roots of a characteristic
polynomial, isolated by ball arithmetic and recognised when it is rational. For floats
the enclosure of a positive operator T comes from X > 0: c X <= T(X) <= C X gives
c <= rho(T) <= C (Collatz and Wielandt).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, TypeAlias

import flint
import numpy as np
from scipy.linalg import eigh

from flverify._core.exact import Array, Scalar
from flverify._core.rationals import matrix
from flverify.engines.moments._operator import SecondMoments

DIGITS = 15  # decimal digits kept when an algebraic number is enclosed
PRECISION = 192  # bits of the ball arithmetic

Interval: TypeAlias = tuple[Scalar, Scalar]


def exact_radius(values: Array) -> Interval:
    """Enclose the spectral radius of a matrix of flint rationals.

    Returns
    -------
    lower, upper : Fraction
        Equal when the radius is rational and recognised.
    """
    if not len(values):
        return Fraction(0), Fraction(0)
    polynomial = matrix(values).charpoly().numer()
    with flint.ctx.workprec(PRECISION):
        pairs: Any = polynomial.complex_roots()  # (root, multiplicity)
        sizes = [_modulus(root) for root, _ in pairs]
    low, high = max(s[0] for s in sizes), max(s[1] for s in sizes)
    guess = ((low + high) / 2).limit_denominator(10**12)
    at = flint.fmpq(guess.numerator, guess.denominator)
    if low <= guess <= high and 0 in (polynomial(at), polynomial(-at)):
        # roots that are not the recognised one, but might lie further out
        others = [b for a, b in sizes if not a <= guess <= b]
        if all(b <= guess for b in others):
            return guess, guess
    return outward(low, high)


def _modulus(root: flint.acb) -> tuple[Fraction, Fraction]:
    size = abs(root)
    return _dyadic(size.lower()), _dyadic(size.upper())


def _dyadic(value: flint.arb) -> Fraction:
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def outward(low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """Round an interval outward to short decimals relative to its size."""
    if high == 0:
        return Fraction(0), Fraction(0)
    # of integers: a rate of many local steps may lie below all floats
    size = math.log10(high.numerator) - math.log10(high.denominator)
    unit = Fraction(10) ** (DIGITS - math.floor(size) - 1)
    lower = Fraction(max(math.floor(low * unit), 0))
    return lower / unit, Fraction(math.ceil(high * unit)) / unit


def float_radius(values: Array) -> float:
    """Spectral radius of a float matrix."""
    return float(np.abs(np.linalg.eigvals(values)).max(initial=0.0))


def collatz_wielandt(operator: SecondMoments, rate: float) -> tuple[float, float]:
    """Enclose the radius of a float operator between Loewner quotients.

    X solves c X = T(X) + identity with c slightly above the rate, so that it is
    positive definite even where the operator is reducible.
    """
    sizes = operator.system.sizes
    shift = rate * (1 + 1e-9) + 1e-300
    identity = operator.stack(tuple(np.eye(size) for size in sizes))
    resolvent = shift * np.eye(len(identity)) - operator.matrix()
    parts = operator.unstack(np.linalg.solve(resolvent, identity))
    images = operator.apply(parts)
    quotients = [
        eigh(image, part, eigvals_only=True)
        for image, part in zip(images, parts, strict=True)
        if len(part)
    ]
    if not quotients:
        return 0.0, 0.0
    low = min(float(q[0]) for q in quotients)
    return max(low, 0.0), max(float(q[-1]) for q in quotients)
