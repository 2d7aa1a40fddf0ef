"""Uniform cohorts: p-values by hand and by listing, false alarms, and power."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from flverify.advise.log import AvailabilityLog
from flverify.advise.uniform_cohorts import equal_chances, equal_pairs
from flverify.participation import ExplicitLaw, UniformCohort

LEVEL = 0.05


def test_the_chi_square_of_single_clients_is_pearsons():
    mask = np.eye(3, dtype=bool)[[0, 0, 0, 0]]
    # (4 - 4/3)^2/(4/3) + 2 (4/3)^2/(4/3) = 8, of two degrees of freedom
    found = equal_chances(AvailabilityLog(mask, 0), 1)
    assert found == pytest.approx(np.exp(-4))


def test_equal_chances_are_seldom_denied_to_uniform_cohorts():
    masks = UniformCohort(7, 3).sample(seed=2, runs=800, rounds=50)
    values = [equal_chances(AvailabilityLog(mask, 0), 3) for mask in masks]
    assert np.mean(np.array(values) <= 0.05) == pytest.approx(0.05, abs=0.025)


def test_pairs_by_listing_all_logs():
    cohorts = list(combinations(range(4), 2))

    def uneven(log):
        return sum(log.count(pair) ** 2 for pair in cohorts)

    listed = [uneven(log) for log in product(cohorts, repeat=4)]
    for log in ([(0, 1)] * 4, [(0, 1), (0, 1), (2, 3), (2, 3)], cohorts[:4]):
        mask = np.array([[i in pair for i in range(4)] for pair in log])
        exactly = np.mean([one >= uneven(log) for one in listed])
        found = equal_pairs(AvailabilityLog(mask, 0), 2, 4000)
        assert found == pytest.approx(exactly, abs=0.03)


@pytest.mark.slow
def test_equal_pairs_are_seldom_denied_to_uniform_cohorts():
    masks = UniformCohort(6, 3).sample(seed=2, runs=300, rounds=40)
    values = [equal_pairs(AvailabilityLog(mask, 0), 3, 199) for mask in masks]
    assert np.mean(np.array(values) <= LEVEL) == pytest.approx(LEVEL, abs=0.04)


def test_pairs_that_shun_each_other_are_seen():
    pairs = {pair: "1/4" for pair in combinations(range(4), 2) if sum(pair) != 3}
    masks = ExplicitLaw(pairs, 4).sample(seed=3, runs=40, rounds=60)
    logs = [AvailabilityLog(mask, 0) for mask in masks]
    assert all(equal_pairs(log, 2, 199) <= LEVEL for log in logs)
    assert np.mean([equal_chances(log, 2) > LEVEL for log in logs]) > 0.8
    alone = AvailabilityLog(np.eye(4, dtype=bool), 0)
    assert equal_pairs(alone, 1, 199) == 1
