"""Sampling without replacement by weight, exactly: a race of exponential clocks.

Client i draws an exponential time of rate w_i, and the m earliest are the cohort.
With u = exp(-t) a clock has not rung at t with probability u^w_i, so for a set A the
event that A is in the cohort is a polynomial integral over u in (0, 1):

    int -d/du prod_{i in A} (1 - u^w_i) P(at least N - m others have not rung) du.

Inclusion and exclusion turn the tail into counts of subsets of the others with fewer
than m members by their total weight, which are whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import TypeAlias

Counts: TypeAlias = list[dict[int, int]]  # by size: {total weight: how many subsets}


def count_subsets(weights: Iterable[int], most: int) -> Counts:
    """Count the subsets of up to `most` members by their total weight."""
    counts: Counts = [{0: 1}, *({} for _ in range(most))]
    for weight in weights:
        for size in range(most, 0, -1):
            larger = counts[size]
            for total, ways in counts[size - 1].items():
                larger[total + weight] = larger.get(total + weight, 0) + ways
    return counts


def without(counts: Counts, weight: int) -> Counts:
    """Count the subsets that leave out one client of that weight."""
    out: Counts = [counts[0]]
    for larger in counts[1:]:
        kept = dict(larger)
        for total, ways in out[-1].items():
            kept[total + weight] -= ways
        out.append({total: ways for total, ways in kept.items() if ways})
    return out


def chance(
    counts: Counts, chosen: Sequence[int], weights: Sequence[int], m: int
) -> Fraction:
    """P(the clients of the chosen weights are in the cohort of m < N).

    `counts` counts the subsets of the others, up to any size >= m - len(chosen).
    """
    most, outside = m - len(chosen), len(weights) - m
    others, mass = len(weights) - len(chosen), sum(weights) - sum(chosen)
    ratios: dict[int, int] = {}
    for rung in range(most + 1):
        factor = (-1) ** (most - rung) * comb(others - rung - 1, outside - 1)
        for weight, ways in counts[rung].items():
            for picked, signed in _first_ringing(chosen):
                below = picked + mass - weight
                ratios[below] = ratios.get(below, 0) + factor * ways * signed
    return _sum([Fraction(above, below) for below, above in ratios.items()])


def single_chances(weights: Sequence[int], m: int) -> list[Fraction]:
    """P(i in the cohort) for every i; m < N."""
    counts = count_subsets(weights, m - 1)
    return [chance(without(counts, w), [w], weights, m) for w in weights]


def pair_chances(weights: Sequence[int], m: int) -> Iterator[tuple[int, int, Fraction]]:
    """(i, j, P(i and j in the cohort)) for every i < j; 2 <= m < N."""
    counts = count_subsets(weights, m - 1)
    for i, first in enumerate(weights):
        others = without(counts, first)
        for j, second in enumerate(weights[i + 1 :], i + 1):
            rest = without(others, second)
            yield i, j, chance(rest, [first, second], weights, m)


def _first_ringing(chosen: Sequence[int]) -> list[tuple[int, int]]:
    """Exponents e and signed coefficients c of -d/du prod (1 - u^w) = sum c u^(e-1)."""
    return [
        (sum(part), (-1) ** (size + 1) * sum(part))
        for size in range(1, len(chosen) + 1)
        for part in combinations(chosen, size)
    ]


def _sum(terms: list[Fraction]) -> Fraction:
    """Sum in pairs, so that long denominators meet late."""
    while len(terms) > 1:
        odd = [terms.pop()] if len(terms) % 2 else []
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=True)] + odd
    return terms[0] if terms else Fraction(0)
