"""The generating function of a drawn cohort, beside all orders of draws."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from flverify.claims import agnostic_clocks as clocks
from flverify.claims import cohorts

SHARES = (1.0, 0.9, 0.7, 0.2, 0.1)


@pytest.mark.parametrize("m", [1, 2, 4])
def test_it_is_the_mean_of_products_over_cohorts(m):
    law = cohorts.without_replacement(SHARES, m)
    factors = np.array([[1.0] * 5, [0.5, 0.1, 1.0, 0.0, 0.3]])
    rows = clocks.generating(np.array(SHARES), m, factors)
    for found, z in zip(rows, factors, strict=True):
        listed = cohorts.mean(law, lambda s, z=z: np.prod([z[i - 1] for i in s]))
        assert found == pytest.approx(float(listed), rel=1e-10)


@pytest.mark.parametrize("m", [1, 2, 4])
def test_inclusion_and_mean_logarithm_are_those_of_the_listed_law(m):
    law = cohorts.without_replacement(SHARES, m)
    rates = np.array(SHARES)
    listed = [float(cohorts.inclusion(law, i)) for i in range(1, 6)]
    assert clocks.inclusion(rates, m) == pytest.approx(listed, rel=1e-9)
    values = np.array([1.0, 4.0, 9.0, 0.01, 25.0])
    mean = cohorts.mean(law, lambda s: log(sum(values[i - 1] for i in s)))
    assert clocks.mean_log(rates, m, values) == pytest.approx(float(mean), rel=1e-9)


def test_a_planted_rate_is_noticed():
    changed = np.array([1.0, 0.9, 0.7, 0.2, 0.11])
    law = cohorts.without_replacement(SHARES, 2)
    listed = [float(cohorts.inclusion(law, i)) for i in range(1, 6)]
    assert clocks.inclusion(changed, 2) != pytest.approx(listed, rel=1e-3)
