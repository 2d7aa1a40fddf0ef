"""What a certificate proves does not depend on the order of its keys."""

from __future__ import annotations

import pytest

from flverify.algorithms import FedAvg, Focus, GradientDescent, Scaffold
from flverify.certify.averages import average
from flverify.certify.averages.gap_rate import gap_rate
from flverify.certify.check import check
from flverify.certify.check.plain import check_plainly
from flverify.certify.neighbourhood import distance
from flverify.certify.rates import certify
from flverify.participation import Bernoulli, Full, UniformCohort

TWO = UniformCohort(3, 2)
UNEVEN = Bernoulli(["1/2", "1/3"])
FOUND = {
    "rate": lambda: certify(Focus("1/10", 2), TWO, "1/10", 1),
    "classes": lambda: certify(Scaffold("1/10"), UNEVEN, "1/10", 1),
    "neighbourhood": lambda: distance(FedAvg("1/10", 2), TWO, "1/10", 1),
    "average": lambda: average(FedAvg("1/10", 2), TWO, 1),
    "gap": lambda: gap_rate(GradientDescent("1/2"), Full(2), 1, "1/10"),
}


def turned(value):
    """Write the keys of all objects backwards."""
    if isinstance(value, list):
        return [turned(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {key: turned(value[key]) for key in reversed(value)}


@pytest.mark.parametrize("kind", FOUND)
def test_the_order_of_keys_means_nothing(kind):
    certificate = FOUND[kind]().certificate
    other = turned(certificate)
    assert list(other) != list(certificate)
    assert check(other) == check(certificate)
    assert check_plainly(other) == check_plainly(certificate)
