"""Sizes of a random set of independent members, exactly.

The size of a set whose members i are in it independently with probability p_i has
the generating function prod_i (1 - p_i + p_i z). Only sums, products and divisions
by whole numbers are used, so the p_i may be symbols; of rationals, members alike are
included at once, as powers of polynomials in whole numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import reduce
from itertools import combinations
from math import prod
from typing import NamedTuple

import flint

from flverify._core.errors import RefusedError
from flverify._core.exact import Scalar, is_symbolic
from flverify._core.rationals import to_fraction
from flverify.participation._law import inverse_power
from flverify.participation._leave_out import without_one, without_two


class Coin(NamedTuple):
    """One member: out with probability miss/unit, in with probability hit/unit."""

    miss: Scalar
    hit: Scalar
    unit: int


class Sizes(NamedTuple):
    """Generating function of a size times `unit`; whole numbers for rational p."""

    counts: tuple[Scalar, ...]
    unit: int


NOBODY = Sizes((1,), 1)
MOST_DIFFERENT = 200  # probabilities whose pairs are asked one by one


def coins(probabilities: Iterable[Scalar]) -> list[Coin]:
    """Put each probability over its own denominator."""
    return [
        Coin(p.denominator - p.numerator, p.numerator, p.denominator)
        if isinstance(p, Fraction)
        else Coin(1 - p, p, 1)
        for p in probabilities
    ]


def include(sizes: Sizes, coin: Coin) -> Sizes:
    """Add one independent member."""
    counts = sizes.counts
    out = [coin.miss * count for count in counts] + [0]
    for size, count in enumerate(counts):
        out[size + 1] = out[size + 1] + coin.hit * count
    return Sizes(tuple(expanded(c) for c in out), sizes.unit * coin.unit)


def sizes_of(members: list[Coin]) -> Sizes:
    """Sizes of a set of members, each alike ones at once if all are rational.

    Examples
    --------
    >>> sizes_of(coins([Fraction(1, 2), Fraction(1, 3), Fraction(1, 2)]))
    Sizes(counts=(2, 5, 4, 1), unit=12)
    """
    if any(is_symbolic(coin.hit) for coin in members):
        return reduce(include, members, NOBODY)
    polynomial = flint.fmpz_poly([1])
    for coin, times in Counter(members).items():
        polynomial *= flint.fmpz_poly([coin.miss, coin.hit]) ** times
    counts = [int(c) for c in polynomial.coeffs()]
    counts += [0] * (len(members) + 1 - len(counts))  # where nobody can be in
    return Sizes(tuple(counts), prod(coin.unit for coin in members))


def expanded(value: Scalar) -> Scalar:
    """One normal form for a polynomial in symbols; numbers stay as they are."""
    return value.expand() if is_symbolic(value) else value


def mean_inverse_power(sizes: Sizes, known: int, power: int) -> Scalar:
    """E[1/(known + size)^power], 0 where the sum is 0 and power is not."""
    terms = [(c, inverse_power(known + k, power)) for k, c in enumerate(sizes.counts)]
    if any(is_symbolic(c) for c, _ in terms):
        return expanded(sum(c * w for c, w in terms) * Fraction(1, sizes.unit))
    total = flint.fmpq(0)
    for c, weight in terms:
        total += flint.fmpq(c * weight.numerator, weight.denominator)
    return to_fraction(total / sizes.unit)


def moment(
    probabilities: tuple[Scalar, ...], chosen: frozenset[int], power: int
) -> Scalar:
    """E[1{chosen in S} / |S|^power]."""
    others = (p for i, p in enumerate(probabilities) if i not in chosen)
    sizes = sizes_of(coins(others))
    hits = prod(probabilities[i] for i in sorted(chosen))
    return expanded(hits * mean_inverse_power(sizes, len(chosen), power))


def single_moments(probabilities: tuple[Scalar, ...], power: int) -> list[Scalar]:
    """E[I_i / |S|^power] for every i."""
    if _repeated(probabilities):
        first = {p: i for i, p in reversed(list(enumerate(probabilities)))}
        known = {
            p: moment(probabilities, frozenset({i}), power) for p, i in first.items()
        }
        return [known[p] for p in probabilities]
    others = without_one(coins(probabilities), NOBODY, include)
    return [
        expanded(p * mean_inverse_power(sizes, 1, power))
        for p, sizes in zip(probabilities, others, strict=True)
    ]


def pair_moments(
    probabilities: tuple[Scalar, ...], power: int
) -> Iterator[tuple[int, int, Scalar]]:
    """(i, j, E[I_i I_j / |S|^power]) for every i < j.

    Raises
    ------
    RefusedError
        If more than 200 probabilities differ: every pair of them is one more sum.
    """
    p = probabilities
    if _repeated(p):
        yield from _pairs_of_kinds(p, power)
        return
    if len(p) > MOST_DIFFERENT:
        raise RefusedError(
            f"exact tables of pairs must be of at most {MOST_DIFFERENT} different "
            f"probabilities; got {len(p)}; compute in floats (--float), or round them."
        )
    for i, j, sizes in without_two(coins(p), NOBODY, include):
        yield i, j, expanded(p[i] * p[j] * mean_inverse_power(sizes, 2, power))


def _repeated(probabilities: tuple[Scalar, ...]) -> bool:
    """Whether so many rational members are alike that each kind is asked once."""
    if any(is_symbolic(p) for p in probabilities):
        return False
    return 4 * len(set(probabilities)) <= len(probabilities)


def _pairs_of_kinds(
    probabilities: tuple[Scalar, ...], power: int
) -> Iterator[tuple[int, int, Scalar]]:
    known: dict[frozenset[Scalar], Scalar] = {}
    for (i, p), (j, q) in combinations(enumerate(probabilities), 2):
        kind = frozenset({p, q})
        if kind not in known:
            known[kind] = moment(probabilities, frozenset({i, j}), power)
        yield i, j, known[kind]
