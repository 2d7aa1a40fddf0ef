"""A mode that hardly leads back to the model has its part in a rate in floats."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.algorithms import Focus
from flverify.certify.quadratics import Group, Instance, QuadraticRates
from flverify.participation import Bernoulli, UniformCohort


@pytest.mark.parametrize(
    ("law", "step_size", "steps", "mu"),
    [
        (Bernoulli(["9/10"] * 16), "1001/1000", 3, Fraction(1, 1000)),
        (Bernoulli(["9/10"] * 4), "1001/1000", 3, Fraction(1, 10)),
        (UniformCohort(16, 8), "9/10", 8, Fraction(1, 1000)),
    ],
    ids=["many", "few", "steps"],
)
def test_a_rate_in_floats_is_the_one_in_rationals(law, step_size, steps, mu):
    # stored gradients at L differ by what is left of a local step, (1 - eta L)^2
    rates, n = QuadraticRates.of(Focus(step_size, steps), law), law.n_clients
    half = Instance.of([Group(0, n - n // 2, Fraction(1)), Group(0, n // 2, mu)])
    low, high = rates.enclosure(half)
    assert low <= high < 1
    assert rates.rate(half) == pytest.approx(float(high), abs=1e-9)
    digits = rates.enclosure(half, 36)
    assert low <= digits[0] <= digits[1] <= high
    assert digits[1] - digits[0] <= (high - low or Fraction(1, 10**30))
