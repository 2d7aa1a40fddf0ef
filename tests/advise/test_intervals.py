"""Intervals: the definition in rationals, coverage by sampling, and a bad interval."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from flverify.advise.intervals import betting_interval, clopper_pearson
from flverify.participation import SuccessiveSampling

LEVEL = 0.95


def tail(k, n, p):
    """P(at least k of n) in rationals."""
    p = Fraction(p)
    return sum(comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1))


@pytest.mark.parametrize(("k", "n"), [(1, 7), (3, 7), (6, 7), (20, 60), (59, 60)])
def test_ends_are_where_the_binomial_tails_are_half_the_miss(k, n):
    low, high = clopper_pearson(np.array([k]), n, LEVEL)[0].tolist()
    assert float(tail(k, n, low)) == pytest.approx(0.025, rel=1e-9)
    assert float(1 - tail(k + 1, n, high)) == pytest.approx(0.025, rel=1e-9)


def test_none_and_all():
    low, high = clopper_pearson(np.array([0, 10]), 10, LEVEL)
    assert low.tolist() == [0.0, pytest.approx(1 - 0.025 ** (1 / 10))]
    assert high.tolist() == [pytest.approx(0.025 ** (1 / 10)), 1.0]


def covered(interval, chances, counts_of):
    """Share of intervals that hold the truth, over many logs."""
    hits = [interval(k) for k in counts_of]
    inside = [(e[:, 0] <= chances) & (chances <= e[:, 1]) for e in hits]
    return np.mean(inside, axis=0)


def test_coverage_of_inclusion_probabilities_and_that_a_wald_interval_fails():
    p, rounds, logs = np.array([0.02, 0.1, 0.5, 0.93]), 80, 3000
    counts = np.random.default_rng(3).binomial(rounds, p, size=(logs, 4))
    found = covered(lambda k: clopper_pearson(k, rounds, LEVEL), p, counts)
    noise = 4 * np.sqrt(0.05 * 0.95 / logs)
    assert (found >= LEVEL - noise).all()

    def wald(k):
        mean = k / rounds
        reach = 1.96 * np.sqrt(mean * (1 - mean) / rounds)
        return np.stack([mean - reach, mean + reach], axis=1)

    assert (covered(wald, p, counts) < LEVEL - noise).any()


def test_coverage_of_averaging_weights_that_are_not_binomial():
    law = SuccessiveSampling((1, 3, 4, 8), 2)
    q = law.averaging_weights().astype(float)
    logs = law.sample(seed=5, runs=400, rounds=60)
    found = covered(lambda mask: betting_interval(mask / 2, LEVEL), q, logs)
    assert (found >= LEVEL - 4 * np.sqrt(0.05 * 0.95 / 400)).all()


def test_coverage_where_cohorts_differ_in_size_and_some_are_empty():
    stream = np.random.default_rng(8)
    chances = np.array([0.05, 0.5, 0.9])
    masks = stream.random((400, 60, 3)) < chances
    sizes = np.maximum(masks.sum(axis=2, keepdims=True), 1)
    # by all eight outcomes
    q = np.zeros(3)
    for code in range(8):
        member = np.array([code >> i & 1 for i in range(3)])
        weight = np.where(member, chances, 1 - chances).prod()
        q += weight * member / max(member.sum(), 1)
    found = covered(lambda x: betting_interval(x, LEVEL), q, masks / sizes)
    assert (found >= LEVEL - 4 * np.sqrt(0.05 * 0.95 / 400)).all()


def test_betting_narrows_with_rounds_and_mirrors():
    values = (np.arange(4000) % 5 == 0).astype(float)[:, None]
    widths = [np.ptp(betting_interval(values[:n], LEVEL)[0]) for n in (40, 400, 4000)]
    assert widths[0] > 2.5 * widths[1] > 6 * widths[2]
    low, high = betting_interval(values, LEVEL)[0]
    assert low < 0.2 < high
    mirrored = betting_interval(1 - values, LEVEL)[0]
    assert mirrored == pytest.approx([1 - high, 1 - low], abs=1e-9)


def test_betting_holds_the_definition():
    """At each end the capital of the bets is 2/miss, recomputed in a plain loop."""
    values = np.random.default_rng(2).random((50, 1))
    low = betting_interval(values, LEVEL)[0, 0]
    seen, gaps, capital = [], [], 1.0
    for x in values[:, 0].tolist():
        spread = (0.25 + sum(gaps)) / (1 + len(gaps))
        bet = min((2 * np.log(40) / (50 * spread)) ** 0.5, 0.5 / low)
        capital *= 1 + bet * (x - low)
        seen.append(x)
        gaps.append((x - (0.5 + sum(seen)) / (1 + len(seen))) ** 2)
    assert capital == pytest.approx(40, rel=1e-6)
