"""A lower bound is the rate of runs: modes that no run has are none of it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.algorithms import FedDyn, FedVarp, Focus, Mifa, Scaffold
from flverify.certify.quadratics import Group, Instance, QuadraticRates
from flverify.certify.quadratics.occurring import PRIMES
from flverify.certify.sandwich import worst_quadratic
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort
from flverify.testing import Broken, Inconclusive, assert_certified_rate
from tests.certify import beside

KINDS = ["nothing", "average", "twin"]
SLOW = Fraction(99, 100)  # what no run has would shrink by its square
CLASS = {"strong_convexity": "1/10", "smoothness": 1}
DESCENT = Fraction(9, 10) ** 2  # of gradient descent with the step size 1


@pytest.mark.parametrize("kind", KINDS)
def test_what_no_run_has_is_no_lower_bound(kind):
    method = beside.Beside(Fraction(1), SLOW, kind)
    worst = worst_quadratic(method, Full(2), "1/10", 1)
    assert worst.lower_bound == DESCENT
    assert worst.rate == pytest.approx(float(DESCENT))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("around", [False, True])
def test_a_true_rate_is_not_broken_by_what_no_run_has(kind, around):
    method = beside.Beside(Fraction(1), SLOW, kind)
    asked = {**CLASS, "neighbourhood": around, "loop": beside}
    with pytest.raises(Inconclusive, match=r"the rate 0\.81\n"):
        assert_certified_rate(method, Full(2), rate="0.82", **asked)
    with pytest.raises(Broken, match=r"rate above 0\.81 "):
        assert_certified_rate(method, Full(2), rate="0.80", **asked)


def test_an_average_kept_beside_does_not_hide_the_slowest_quadratic():
    """At the step size 19/10 functions with the curvature L are the slow ones."""
    method = beside.Beside(Fraction(19, 10), SLOW, "average")
    worst = worst_quadratic(method, Full(2), "1/2", 1)
    assert (str(worst.instance), worst.lower_bound) == ("2 x 1", Fraction(81, 100))


@pytest.mark.parametrize("law", [Full(2), Bernoulli(["1/2"] * 2), UniformCohort(3, 1)])
@pytest.mark.parametrize(
    "algorithm",
    [
        Focus("1/8", 2),
        Scaffold("1/4"),
        Mifa("1/8"),
        FedVarp("1/4"),
        FedDyn("1/4", 1),
    ],
    ids=lambda one: type(one).__name__,
)
def test_runs_of_the_methods_of_the_package_have_their_rate(algorithm, law):
    worst = worst_quadratic(algorithm, law, "1/10", 1)
    rates = QuadraticRates.of(algorithm, law)
    assert worst.occurs
    assert worst.lower_bound == rates.enclosure(worst.instance)[0]


def test_beside_an_instance_that_no_start_leads_to_the_rate_of_runs_is_close():
    """At eta h = 1 a client keeps the gradient it stores, which is 0 at first."""
    algorithm, law = Focus(1, 2), Bernoulli(["1/2"] * 2)
    rates = QuadraticRates.of(algorithm, law)
    low, near = Fraction(1, 10), 1 - Fraction(1, 10**9)
    at = Instance((Group(0, 1, Fraction(1)), Group(0, 1, low)))
    beside_it = Instance((Group(0, 1, near), Group(0, 1, low)))
    assert rates.enclosure(at) == (1, 1)
    assert rates.occurring(at)[1] < Fraction(99, 100)
    assert 1 - Fraction(1, 10**6) < rates.occurring(beside_it)[0] <= 1


def test_denominators_that_a_prime_divides_are_taken_modulo_another():
    law = AllOrNothing(2, Fraction(1, PRIMES[0]))
    rates = QuadraticRates.of(Scaffold("1/2"), law)
    one = Instance((Group(0, 2, Fraction(1, 2)),))
    assert rates.occurring(one) == rates.enclosure(one)
