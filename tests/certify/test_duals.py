"""FedDyn: what its duals remember is no gradient, so V has to know more than slots."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.algorithms import FedDyn, GradientDescent, ProxSkip
from flverify.certify.check import check
from flverify.certify.check.plain import check_plainly
from flverify.certify.discover import discover
from flverify.certify.rates import certify
from flverify.certify.sandwich import worst_quadratic
from flverify.certify.search import levels, problem, read_round, searches, smallest
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort

MU = Fraction(1, 10)


def rates(algorithm, law):
    """Smallest rates in floats, by ansatz."""
    setting = problem(algorithm, law, MU, 1)
    reading = read_round(setting)
    rungs = levels(reading, discover(reading))
    found = searches(reading, rungs, setting.mu)
    return {one.level.name: smallest(one)[0] for one in found}


@pytest.mark.parametrize("law", [Full(3), Bernoulli(["1/2"])], ids=lambda law: law.spec)
def test_without_the_last_gradients_few_steps_have_no_certificate(law):
    found = rates(FedDyn("2/5", "1/4"), law)
    assert [*found] == ["slots", "previous gradients"]
    assert found["slots"] is None
    floor = worst_quadratic(FedDyn("2/5", "1/4"), law, MU, 1).lower_bound
    assert floor < found["previous gradients"] < floor + Fraction(1, 30)


@pytest.mark.parametrize(
    ("algorithm", "law", "gap"),
    [
        (FedDyn("1/2", 1, 4), UniformCohort(4, 2), "1/1000"),
        (FedDyn("1/2", 1, 1), UniformCohort(4, 2), "3/1000"),
        (FedDyn("1/2", 1, 4), UniformCohort(1000, 10), "1/1000"),
        (FedDyn("1/2", 2, 2), Bernoulli(["1/2", "1/2", "1/5"]), "1/1000"),
        (ProxSkip("1/2", probability="1/5"), AllOrNothing(4, "1/5"), "1/100000"),
    ],
)
def test_certificates_come_near_quadratics(algorithm, law, gap):
    floor = worst_quadratic(algorithm, law, MU, 1).lower_bound
    found = certify(algorithm, law, MU, 1)
    assert floor <= found.rate < floor + Fraction(gap)
    assert check(found.certificate).rho == found.rate
    if law.n_clients < 10:
        assert check_plainly(found.certificate) == found.rate


def test_where_clients_keep_nothing_there_is_nothing_more_to_know():
    assert [*rates(GradientDescent("1/2"), Full(2))] == ["slots"]


def test_duals_of_a_small_weight_are_seen_in_its_units():
    algorithm, law, mu = FedDyn("1/100", "1/50"), Full(1), Fraction(1, 100)
    floor = worst_quadratic(algorithm, law, mu, 1).lower_bound
    halfway = (1 + floor) / 2  # certified, whatever the search for the smallest says
    assert certify(algorithm, law, mu, 1, halfway).status == "certified"
    found = certify(algorithm, law, mu, 1)
    assert floor <= found.rate < floor + Fraction(1, 10**4)
    assert check(found.certificate).rho == check_plainly(found.certificate)


@pytest.mark.parametrize("weight", [1, "1/50"])
def test_other_units_are_tried_where_the_weight_is_not_one(weight):
    setting = problem(FedDyn("1/100", weight), Full(1), MU, 1)
    reading = read_round(setting)
    found = searches(reading, levels(reading, discover(reading)), setting.mu)
    other = [one.name for one in found if one.name != one.level.name]
    expected = "previous gradients, duals in units of the weight"
    assert other == ([] if weight == 1 else [expected])
