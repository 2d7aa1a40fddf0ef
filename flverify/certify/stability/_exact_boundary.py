"""The first step at which one family of quadratics stops contracting, exactly.

With curvatures s theta_i the map of second moments is a matrix of polynomials in s.
Its spectral radius is an eigenvalue, so from a point where it is below 1 up to the
first positive zero of det(I - A(s)) it stays below 1, and at the zero it is 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import numpy as np

from flverify._core.exact import Array
from flverify._core.rationals import dyadic, matrix
from flverify.certify.quadratics import Group, Instance, QuadraticRates
from flverify.certify.quadratics.rows import Batch
from flverify.engines.moments._radius import PRECISION, Interval, outward


def first_crossing(unit: QuadraticRates, ray: Instance) -> Interval | None:
    """Enclose the first s > 0 at which curvatures s theta_i have rate 1.

    Parameters
    ----------
    unit : QuadraticRates
        At step size 1.
    ray : Instance
        With theta_i for curvatures, rational.

    Returns
    -------
    interval : (Fraction, Fraction) or None
        None if there is no such s, or small s do not contract.
    """
    zeros = positive_zeros(determinant(_polynomials(unit, ray)))
    if not zeros or not _contracts(unit, ray, zeros[0][0] / 2):
        return None
    return zeros[0]


def _polynomials(unit: QuadraticRates, ray: Instance) -> Array:
    """I - A(s), entries `fmpq_poly` in s."""
    batch = ray.batch()
    slopes = np.empty(batch.curvatures.shape, dtype=object)
    flat = [flint.fmpq_poly([0, h]) for h in batch.curvatures.ravel().tolist()]
    slopes.ravel()[:] = flat
    table = unit.matrices(Batch(batch.law_classes, batch.clients, slopes))[0]
    out = np.empty(table.shape, dtype=object)
    for place, value in np.ndenumerate(table):
        out[place] = flint.fmpq_poly([int(place[0] == place[1])]) - value
    return out


def _contracts(unit: QuadraticRates, ray: Instance, s: Fraction) -> bool:
    groups = (Group(g.law_class, g.n_clients, s * g.curvature) for g in ray.groups)
    return bool(unit.enclosure(Instance(tuple(groups)))[1] < 1)


def determinant(table: Array) -> flint.fmpq_poly:
    """Take the determinant of a matrix of polynomials, by interpolation."""
    degrees = np.array([[max(p.degree(), 0) for p in row] for row in table])
    bound = min(degrees.max(axis=k).sum() for k in range(2)) if len(table) else 0
    nodes = [flint.fmpq(k - int(bound) // 2) for k in range(int(bound) + 1)]
    values = []
    for node in nodes:
        at = np.empty(table.shape, dtype=object)
        at.ravel()[:] = [p(node) for p in table.ravel().tolist()]
        values.append(matrix(at).det())
    return _interpolated(nodes, values)


def _interpolated(nodes: list[Any], values: list[Any]) -> flint.fmpq_poly:
    """Newton's divided differences, then Horner's rule on polynomials."""
    divided = list(values)
    for step in range(1, len(nodes)):
        for k in range(len(nodes) - 1, step - 1, -1):
            rise = divided[k] - divided[k - 1]
            divided[k] = rise / (nodes[k] - nodes[k - step])
    out = flint.fmpq_poly([0])
    for node, value in zip(reversed(nodes), reversed(divided), strict=True):
        out = out * flint.fmpq_poly([-node, 1]) + value
    return out


def positive_zeros(polynomial: flint.fmpq_poly) -> list[Interval]:
    """Rational enclosures of the distinct positive zeros, in order.

    Examples
    --------
    >>> positive_zeros(flint.fmpq_poly([0, 3, -4, 1]))
    [(Fraction(1, 1), Fraction(1, 1)), (Fraction(3, 1), Fraction(3, 1))]
    """
    if polynomial.degree() < 0:
        return []
    integers = polynomial.numer()
    with flint.ctx.workprec(PRECISION):
        pairs: Any = integers.complex_roots()  # (root, multiplicity), isolated
        balls = [root.real for root, _ in pairs if root.imag == 0]
        found = [_ends(integers, ball) for ball in balls]
    return sorted(interval for interval in found if interval[0] > 0)


def _ends(integers: flint.fmpz_poly, ball: Any) -> Interval:
    """Enclose a real zero by its ball, or by itself where it is a short rational."""
    low, high = dyadic(ball.lower()), dyadic(ball.upper())
    guess = ((low + high) / 2).limit_denominator(10**12)
    exact = integers(flint.fmpq(guess.numerator, guess.denominator)) == 0
    if low <= guess <= high and exact:
        return guess, guess
    return outward(low, high) if low > 0 else (low, high)
