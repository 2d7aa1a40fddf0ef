"""Spectral radii with enclosures: rational ones for rational matrices.

In exact mode the radius is the largest modulus of the roots of a characteristic
polynomial. Its roots are squared again and again (Dandelin and Graeffe), in ball
arithmetic, until their sizes can be read off the coefficients; roots that nearly agree,
as those of tiny step sizes do, cost no more than others. For floats the enclosure of a
positive operator T comes from X > 0: c X <= T(X) <= C X gives c <= rho(T) <= C (Collatz
and Wielandt).
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

import flint
import numpy as np
from scipy.linalg import eigh

from flverify._core.exact import Array, Scalar
from flverify._core.rationals import dyadic, matrix
from flverify.engines.moments._operator import SecondMoments

DIGITS = 15  # decimal digits kept when an algebraic number is enclosed
PRECISION = 320  # bits of the ball arithmetic, to begin with
SQUARINGS = 130  # of all roots, after which a factor 2n is 1e-37 of a root
LONG = 10**99  # denominators from which on a root is enclosed, though it is rational
MARGINS = (1e-9, 1e-7, 1e-5)  # relative: how far above a float rate X is taken
ENTRIES = 2  # times what is added up: for how often entries of maps were rounded
FINER = 1500  # squarings where the side of 1 is not clear: it is then, to 1e-450

Interval: TypeAlias = tuple[Scalar, Scalar]


def exact_radius(values: Array, digits: int = DIGITS) -> Interval:
    """Enclose the spectral radius of a matrix of flint rationals.

    Parameters
    ----------
    values : (n, n) array of flint rationals
    digits : int
        Decimal digits of the ends, at most 36; more where the side of 1 asks for them.

    Returns
    -------
    lower, upper : Fraction
        Equal when the radius is rational and recognised.
    """
    if not len(values):
        return Fraction(0), Fraction(0)
    return largest_root(matrix(values).charpoly().numer(), digits)


def largest_root(polynomial: flint.fmpz_poly, digits: int = DIGITS) -> Interval:
    """Enclose the largest modulus of the roots of a polynomial.

    Examples
    --------
    >>> largest_root(flint.fmpz_poly([-1, 0, 4]))
    (Fraction(1, 2), Fraction(1, 2))
    """
    polynomial = _simple(polynomial)
    if polynomial.degree() == 1 and polynomial[1] < LONG:
        root = abs(Fraction(int(polynomial[0]), int(polynomial[1])))
        return root, root
    low, high = _largest(polynomial)
    guess = ((low + high) / 2).limit_denominator(10**12)
    if low <= guess <= high and _is_largest(guess, polynomial):
        return guess, guess
    if low < 1 < high:
        low, high = _largest(polynomial, FINER)
    ends = outward(low, high, digits)
    while (ends[0] > 1, ends[1] < 1) != (low > 1, high < 1):  # what is cut hides it
        digits *= 2
        ends = outward(low, high, digits)
    return ends


def _simple(polynomial: flint.fmpz_poly) -> flint.fmpz_poly:
    """Return the polynomial with the same roots other than 0, each once."""
    while polynomial.degree() > 0 and polynomial[0] == 0:
        polynomial //= flint.fmpz_poly([0, 1])
    if polynomial.degree() < 1:
        return polynomial
    return polynomial // polynomial.gcd(polynomial.derivative())


def _is_largest(guess: Fraction, polynomial: flint.fmpz_poly) -> bool:
    """Whether a rational is a root up to its sign, and no root is larger, exactly.

    Roots of the same size are common to the polynomial and its image under inversion
    at that circle; common roots all lie on the circle if those of the derivative do
    not lie outside (Cohn), and no other may lie outside.
    """
    at = flint.fmpq(guess.numerator, guess.denominator)
    if 0 not in (polynomial(at), polynomial(-at)):
        return False
    top = polynomial.degree()
    inverted = [polynomial[top - k] / at ** (2 * k) for k in range(top + 1)]
    common = polynomial.gcd(flint.fmpq_poly(inverted).numer())
    others = (common.derivative(), polynomial // common)
    return all(_largest(_simple(other))[1] <= guess for other in others)


def _largest(
    polynomial: flint.fmpz_poly, squarings: int = SQUARINGS
) -> tuple[Fraction, Fraction]:
    """Enclose the largest modulus of the roots."""
    if polynomial.degree() < 1:
        return Fraction(0), Fraction(0)
    bits, found = PRECISION, None
    while found is None:
        with flint.ctx.workprec(bits):
            found = _squared(polynomial, squarings)
        bits *= 2
    return found


def _squared(
    polynomial: flint.fmpz_poly, squarings: int
) -> tuple[Fraction, Fraction] | None:
    """Enclose it at the precision at hand; None if that is not enough."""
    top = polynomial.degree()
    lead = flint.arb(polynomial[top])
    powers = flint.arb_poly([flint.arb(c) / lead for c in polynomial.coeffs()])
    for _ in range(squarings):
        listed = [powers[k] for k in range(top + 1)]
        even, odd = flint.arb_poly(listed[::2]), flint.arb_poly(listed[1::2])
        powers = (even * even - flint.arb_poly([0, 1]) * odd * odd) * (-1) ** top
    sizes = [(k, abs(powers[top - k])) for k in range(1, top + 1)]
    # with |c_k| the sums of products of k roots: a mean of them is at most the
    # largest root, which is at most twice the largest of |c_k|^(1/k) (Fujiwara)
    above = [size.upper().log() / k for k, size in sizes if size.upper() > 0]
    below = [
        (size.lower() / flint.fmpz.bin_uiui(top, k)).log() / k
        for k, size in sizes
        if size.lower() > 0
    ]
    if not below or not all(size.is_finite() for _, size in sizes):
        return None
    low = max(one.lower() for one in below)
    high = max(one.upper() for one in above) + flint.arb(2).log()
    if not high - low < math.log(4 * top) + 1:
        return None
    share = flint.arb(2) ** squarings
    return dyadic((low / share).exp().lower()), dyadic((high / share).exp().upper())


def outward(
    low: Fraction, high: Fraction, digits: int = DIGITS
) -> tuple[Fraction, Fraction]:
    """Round an interval outward to short decimals relative to its size."""
    if high == 0:
        return Fraction(0), Fraction(0)
    # of integers: a rate of many local steps may lie below all floats
    size = math.log10(high.numerator) - math.log10(high.denominator)
    unit = Fraction(10) ** (digits - math.floor(size) - 1)
    lower = Fraction(max(math.floor(low * unit), 0))
    return lower / unit, Fraction(math.ceil(high * unit)) / unit


def float_radius(values: Array) -> float:
    """Spectral radius of a float matrix."""
    return float(np.abs(np.linalg.eigvals(values)).max(initial=0.0))


def collatz_wielandt(operator: SecondMoments, rate: float) -> tuple[float, float]:
    """Enclose the radius of a float operator between Loewner quotients.

    X solves c X = T(X) + identity with c slightly above the rate, so that it is
    positive definite even where the operator is reducible. Any such X will do: ends
    are those of the X at hand, moved outward by what T(X) is rounded.
    """
    low, high = 0.0, math.inf
    for margin in MARGINS:
        ends = _loewner(operator, rate * (1 + margin) + 1e-300)
        low, high = max(low, ends[0]), min(high, ends[1])
    return low, high


def _loewner(operator: SecondMoments, shift: float) -> tuple[float, float]:
    sizes = operator.system.sizes
    identity = operator.stack(tuple(np.eye(size) for size in sizes))
    resolvent = shift * np.eye(len(identity)) - operator.matrix()
    parts = operator.unstack(np.linalg.solve(resolvent, identity))
    # two products, then a sum over all maps
    added = 2 * max(sizes) + sum(len(move.terms) for move in operator.system.moves)
    pairs = zip(parts, operator.apply(parts), _terms(operator, parts), strict=True)
    ends = [quotients(*pair, added) for pair in pairs if len(pair[0])]
    if not ends:
        return 0.0, 0.0
    return min(low for low, _ in ends), max(high for _, high in ends)


def _terms(operator: SecondMoments, parts: tuple[Array, ...]) -> tuple[Array, ...]:
    """Sum the sizes of what T(X) is made of; entries of maps are rounded beside 1."""
    moves = tuple(
        replace(move, terms=tuple((w, np.abs(a) + 1) for w, a in move.terms))
        for move in operator.system.moves
    )
    larger = SecondMoments(replace(operator.system, moves=moves))
    return larger.apply(tuple(np.abs(part) for part in parts))


def quotients(
    part: Array, image: Array, terms: Array, added: int
) -> tuple[float, float]:
    """Least and largest quotient of T(X) by X, moved outward by the rounding of T(X).

    Whatever errors are at most e times the terms, entry by entry, move quotients by at
    most the norm of e |L^-1| terms |L^-1|', where X = L L'. A sum of n products is off
    by n units of rounding (Higham, Accuracy and Stability, section 3.1). How often
    entries of maps were rounded is a guess, and eigenvalues are taken in floats: the
    interval is no proof.
    """
    try:
        values = eigh(image, part, eigvals_only=True)
        inverse = np.abs(np.linalg.inv(np.linalg.cholesky(part)))
    except (np.linalg.LinAlgError, ValueError):  # a rate of 0: X is beyond floats
        return 0.0, math.inf
    moved = float(np.linalg.norm(inverse @ terms @ inverse.T, 2))
    off = ENTRIES * added * sys.float_info.epsilon * moved
    if not math.isfinite(off):
        return 0.0, math.inf
    return max(float(values[0]) - off, 0.0), float(values[-1]) + off
