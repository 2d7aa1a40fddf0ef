"""Sizes of a random set of independent members, exactly.

The size of a set whose members i are in it independently with probability p_i has
the generating function prod_i (1 - p_i + p_i z). Only sums, products and divisions
by whole numbers are used, so the p_i may be symbols.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import reduce
from math import prod
from typing import NamedTuple

from flverify._core.exact import Scalar, is_symbolic
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


def expanded(value: Scalar) -> Scalar:
    """One normal form for a polynomial in symbols; numbers stay as they are."""
    return value.expand() if is_symbolic(value) else value


def mean_inverse_power(sizes: Sizes, known: int, power: int) -> Scalar:
    """E[1/(known + size)^power], 0 where the sum is 0 and power is not."""
    terms = (c * inverse_power(known + k, power) for k, c in enumerate(sizes.counts))
    return expanded(sum(terms, Fraction(0)) * Fraction(1, sizes.unit))


def moment(
    probabilities: tuple[Scalar, ...], chosen: frozenset[int], power: int
) -> Scalar:
    """E[1{chosen in S} / |S|^power]."""
    others = (p for i, p in enumerate(probabilities) if i not in chosen)
    sizes = reduce(include, coins(others), NOBODY)
    hits = prod(probabilities[i] for i in sorted(chosen))
    return expanded(hits * mean_inverse_power(sizes, len(chosen), power))


def single_moments(probabilities: tuple[Scalar, ...], power: int) -> list[Scalar]:
    """E[I_i / |S|^power] for every i."""
    others = without_one(coins(probabilities), NOBODY, include)
    return [
        expanded(p * mean_inverse_power(sizes, 1, power))
        for p, sizes in zip(probabilities, others, strict=True)
    ]


def pair_moments(
    probabilities: tuple[Scalar, ...], power: int
) -> Iterator[tuple[int, int, Scalar]]:
    """(i, j, E[I_i I_j / |S|^power]) for every i < j."""
    p = probabilities
    for i, j, sizes in without_two(coins(p), NOBODY, include):
        yield i, j, expanded(p[i] * p[j] * mean_inverse_power(sizes, 2, power))
