"""The rate that runs of one rational instance have: of what is begun and is seen.

A map of second moments may have modes that no run has: two slots that start alike and
stay alike differ by nothing, however slowly their difference would shrink. E|x_r|^2 =
c T^r b is a sum over the roots of those factors of the characteristic polynomial that
this sequence has. A factor f is one of them if the rest g of the polynomial leaves some
c T^k g(T) b other than 0. Modulo a prime that is quickly found, and what differs from 0
there differs from 0: so no rate is too large. One that vanishes by chance is left out,
and the rate is too small, still below that of the class.
"""

from __future__ import annotations

from itertools import islice

import flint
import numpy as np

from flverify._core.exact import Array
from flverify._core.rationals import matrix
from flverify.certify.coordinates import Structure
from flverify.certify.forms import Reading
from flverify.certify.quadratics._map import moment_matrix
from flverify.certify.quadratics.begun import ends
from flverify.certify.quadratics.rows import Batch
from flverify.engines.moments._radius import DIGITS, Interval, largest_root

PRIMES = ((1 << 61) - 1, (1 << 62) - 57, (1 << 63) - 25)  # one divides no denominator


def occurring(
    reading: Reading,
    structure: Structure,
    batch: Batch,
    unseen: frozenset[str],
    digits: int = DIGITS,
) -> Interval:
    """Enclose the factor per round of E|x_r|^2 from x_0 = 1; it may be too small.

    Parameters
    ----------
    batch : Batch
        One instance, in rationals.
    digits : int
        Decimal digits of the ends, at most 36.
    """
    table = moment_matrix(reading, structure, batch, unseen)[0]
    of_model, begun = ends(reading, structure, batch, len(table))
    used = ((table != 0).any(axis=0) | (table != 0).any(axis=1)).astype(bool)
    table, of_model, begun = table[np.ix_(used, used)], of_model[used], begun[used]
    found = flint.fmpz_poly([1])
    if len(table):
        whole = matrix(table).charpoly().numer()
        found = _factors_of(whole, _sequence(table, of_model, begun))
    return largest_root(found, digits)


def _sequence(table: Array, of_model: Array, begun: Array) -> list[flint.nmod]:
    """Return c T^k b for k = 0, 1, ..., twice the order, modulo a prime; or nothing."""
    for prime in PRIMES:
        try:
            columns = [_modulo(v, prime) for v in (table, begun[:, None])]
            row = _modulo(of_model[None], prime)
        except ZeroDivisionError:  # it divides a denominator
            continue
        step, state = columns
        out = []
        for _ in range(2 * len(begun)):
            out.append((row * state)[0, 0])
            state = step * state
        return out
    return []


def _modulo(values: Array, prime: int) -> flint.nmod_mat:
    rows, columns = values.shape
    flat = [_residue(flint.fmpq(v), prime) for v in values.flat]
    return flint.nmod_mat(rows, columns, flat, prime)


def _residue(value: flint.fmpq, prime: int) -> int:
    below = int(value.q) % prime
    if not below:
        raise ZeroDivisionError
    return int(value.p) * pow(below, -1, prime) % prime


def _factors_of(whole: flint.fmpz_poly, sequence: list[flint.nmod]) -> flint.fmpz_poly:
    """Multiply the factors, other than z, whose roots a sequence has, each once."""
    found = flint.fmpz_poly([1])
    for factor, power in whole.factor()[1]:
        rest = whole // factor**power
        left = range(factor.degree() * power)
        if factor[0] != 0 and any(_applied(rest, sequence, k) for k in left):
            found *= factor
    return found


def _applied(rest: flint.fmpz_poly, sequence: list[flint.nmod], first: int) -> bool:
    """Whether sum_j rest_j s_{first + j} differs from 0 modulo the prime."""
    if not sequence:
        return False
    prime = sequence[0].modulus()
    terms = zip(rest.coeffs(), islice(sequence, first, None), strict=False)
    return sum(int(c) % prime * int(s) for c, s in terms) % prime != 0
