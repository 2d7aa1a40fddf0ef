"""Tests of logs: p-values by listing all shuffles, false alarms, and planted causes."""

from __future__ import annotations

from itertools import pairwise, permutations, product
from math import comb

import numpy as np
import pytest

from flverify.advise.log import AvailabilityLog
from flverify.advise.significance import (
    all_tests,
    holm,
    pair_p_values,
    run_p_values,
)
from flverify.participation import AllOrNothing, Bernoulli, ModeChain, UniformCohort

LEVEL = 0.05


def log_of(mask):
    return AvailabilityLog(np.asarray(mask, dtype=bool), 0)


def named(log, shuffles=199):
    return {one.name: one for one in all_tests(log, shuffles)}


def arrangements(rounds, ones):
    """All 0/1 rows with so many ones."""
    return [r for r in product((0, 1), repeat=rounds) if sum(r) == ones]


@pytest.mark.parametrize("common", [0, 1, 2, 3])
def test_pairs_by_listing_all_rows_of_the_second_client(common):
    rounds, first = 8, [1, 1, 1, 0, 0, 0, 0, 0]
    second = [1] * common + [0] * (3 - common) + [1] * (3 - common)
    second += [0] * (rounds - len(second))
    (value,), _ = pair_p_values(log_of(np.array([first, second]).T))
    rows = np.array(arrangements(rounds, 3))
    met = (rows @ np.array(first)).tolist()
    below = np.mean([m <= common for m in met])
    above = np.mean([m >= common for m in met])
    assert value == pytest.approx(min(1, 2 * min(below, above)), rel=1e-12)


@pytest.mark.parametrize(
    "row",
    [
        (1, 1, 1, 0, 0, 0, 0, 0, 0),
        (1, 0, 1, 0, 1, 0, 0, 0, 0),
        (0, 1, 0, 1, 0, 1, 0, 1, 0),
        (1, 1, 0, 0, 1, 1, 1, 0, 1),
        (0, 0, 0, 0, 1, 0, 0, 0, 0),
    ],
)
def test_runs_by_listing_all_rows_of_a_client(row):
    def runs(r):
        return 1 + sum(a != b for a, b in pairwise(r))

    (value,) = run_p_values(log_of(np.array([row]).T))
    listed = [runs(r) for r in arrangements(len(row), sum(row))]
    below = np.mean([n <= runs(row) for n in listed])
    above = np.mean([n >= runs(row) for n in listed])
    assert value == pytest.approx(min(1, 2 * min(below, above)), rel=1e-12)


def test_a_client_that_is_always_or_never_there_says_nothing():
    mask = np.ones((20, 3))
    mask[:, 1] = 0
    mask[3, 2] = 0
    assert run_p_values(log_of(mask))[:2].tolist() == [1, 1]
    values, _ = pair_p_values(log_of(mask))
    assert values.tolist() == [1, 1, 1]


def test_holm_by_hand_and_by_its_definition():
    assert holm([0.2, 0.001, 0.02]) == pytest.approx([0.2, 0.003, 0.04])
    stream = np.random.default_rng(0)
    for _ in range(50):
        p = (stream.random(5) ** 4).tolist()
        rejected, left = set(), sorted(range(5), key=lambda k: p[k])
        while left and p[left[0]] <= LEVEL / len(left):  # step down
            rejected.add(left.pop(0))
        adjusted = holm(p)
        assert {k for k in range(5) if adjusted[k] <= LEVEL} == rejected


def test_shuffles_agree_with_listing_them_all():
    mask = np.array([[1, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0], [1, 1, 0]])
    found = named(log_of(mask), shuffles=3999)
    overlaps = []
    for order in permutations(range(5)):
        mixed = mask[list(order)]
        overlaps.append((mixed[1:] * mixed[:-1]).sum())
    seen = (mask[1:] * mask[:-1]).sum()
    tails = np.mean(np.array(overlaps) <= seen), np.mean(np.array(overlaps) >= seen)
    exactly = min(1, 2 * min(tails))
    assert found["overlap of consecutive rounds"].p_value == pytest.approx(
        exactly, abs=0.04
    )
    rows = [arrangements(5, int(k)) for k in mask.sum(axis=0)]
    squares = [(np.sum(c, axis=0) ** 2).sum() for c in product(*rows)]
    assert len(squares) == comb(5, 3) ** 2 * comb(5, 2)
    seen = (mask.sum(axis=1) ** 2).sum()
    tails = np.mean(np.array(squares) <= seen), np.mean(np.array(squares) >= seen)
    exactly = min(1, 2 * min(tails))
    assert found["cohort size"].p_value == pytest.approx(exactly, abs=0.04)


def alarms(law, about, logs, rounds=60):
    """Share of logs in which a test of one kind speaks."""
    masks = law.sample(seed=11, runs=logs, rounds=rounds)
    told = [
        any(
            one.about == about and one.adjusted <= LEVEL
            for one in all_tests(log_of(mask), 199)
        )
        for mask in masks
    ]
    return np.mean(told)


@pytest.mark.slow
def test_false_alarms_of_independent_clients_are_rare():
    law, logs = Bernoulli([0.1, 0.4, 0.5, 0.8]), 250
    allowed = LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / logs)
    both = alarms(law, "memory", logs) + alarms(law, "independence", logs)
    assert both <= allowed


@pytest.mark.slow
def test_cohorts_without_memory_raise_no_alarm_about_memory():
    for law in (UniformCohort(6, 2), AllOrNothing(4, "1/3")):
        assert alarms(law, "memory", 120) <= LEVEL + 3 * np.sqrt(LEVEL / 120)
        assert alarms(law, "independence", 40) == 1


@pytest.mark.slow
def test_memory_is_flagged_in_the_clients_and_in_the_overlap():
    day, night = Bernoulli([0.8, 0.7, 0.1]), Bernoulli([0.1, 0.2, 0.9])
    sticky = ModeChain([[0.9, 0.1], [0.1, 0.9]], [day, night], "stationary")
    assert alarms(sticky, "memory", 40, rounds=200) == 1
    restless = ModeChain([[0.05, 0.95], [0.95, 0.05]], [day, night], "stationary")
    assert alarms(restless, "memory", 40, rounds=200) == 1
    # the same two modes, drawn anew every round, have no memory
    forgetful = ModeChain([[0.5, 0.5], [0.5, 0.5]], [day, night], "stationary")
    assert alarms(forgetful, "memory", 100, rounds=200) <= 0.12


def test_one_client_that_avoids_another_is_found_among_many():
    mask = np.random.default_rng(4).random((400, 8)) < 0.4
    mask[:, 7] &= ~mask[:, 3]
    found = named(log_of(mask))["pairs of clients"]
    assert found.adjusted < 1e-6
    assert "clients 3 and 7 in 0 common rounds" in found.detail


def test_many_clients_are_tested_together_only():
    mask = np.random.default_rng(4).random((20, 301)) < 0.5
    found = named(log_of(mask))["pairs of clients"]
    assert found.p_value is None
    assert found.adjusted is None


def test_the_same_log_gives_the_same_answer():
    mask = np.random.default_rng(4).random((50, 3)) < 0.5
    assert all_tests(log_of(mask), 199) == all_tests(log_of(mask), 199)
