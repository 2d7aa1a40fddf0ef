"""Rates of f(x) - f(x*) where the gradient dominates it, against formulas by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify._core.errors import DomainError, RefusedError
from flverify.algorithms import FedAvg, Focus, GradientDescent, Mifa, Scaffold
from flverify.certify.averages.gap_rate import gap_rate
from flverify.certify.certificate import digest
from flverify.certify.check import Rejected, check
from flverify.certify.sandwich import worst_quadratic
from flverify.participation import Bernoulli, Full, UniformCohort
from tests.certify import momentum

WARM = {"initial_gradients": "start", "initial_tracker": "sum"}
BETA = Fraction(1, 10)
TWO_OF_FIVE = UniformCohort(5, 2)


@pytest.mark.parametrize("step", ["1/100", "1/2", "1", "3/2", "19/10"])
def test_gradient_descent_has_the_rate_of_textbooks(step):
    """f(x+) <= f(x) - eta (1 - eta L/2) |g|^2, and |g|^2 >= 2 beta (f - f*)."""
    eta = Fraction(step)
    found = gap_rate(GradientDescent(step), Full(1), 1, BETA)
    rate = 1 - 2 * BETA * eta * (1 - eta / 2)
    assert rate <= found.rate <= rate + Fraction(1, 10**5)
    assert 1 <= found.by_gap < Fraction(10001, 10000)


def test_no_rate_where_gradient_descent_does_not_contract():
    found = gap_rate(GradientDescent("5/2"), Full(1), 1, BETA)
    assert found.status == "not_certified"
    assert "this says nothing about the method" in found.reason
    # at 2/L nothing grows, so that a rate above .999999 is not ruled out by floats
    assert gap_rate(GradientDescent(2), Full(1), 1, BETA).status == "inconclusive"
    slow = gap_rate(GradientDescent("1/2"), Full(1), 1, BETA, rate="0.92")
    assert slow.status == "not_certified"
    assert gap_rate(GradientDescent("1/2"), Full(1), 1, BETA, rate="0.926").rate


@pytest.mark.parametrize(
    ("algorithm", "law"),
    [
        (Focus("1/20", **WARM), TWO_OF_FIVE),
        (Focus("1/40", 2, **WARM), UniformCohort(3, 1)),
        (Focus("1/20", **WARM), Bernoulli(["1/2", "1/5"])),
        (Mifa("1/10"), UniformCohort(3, 1)),
    ],
)
def test_no_rate_is_below_that_of_quadratics(algorithm, law):
    """Strongly convex quadratics with mu = beta are among the functions."""
    found = gap_rate(algorithm, law, 1, BETA)
    assert found.status == "certified", found.reason
    assert worst_quadratic(algorithm, law, BETA, 1).lower_bound < found.rate < 1
    proved = check(found.certificate)
    assert (proved.kind, proved.rho, proved.beta) == ("gap", found.rate, BETA)
    assert found.by_gap == proved.C0


def test_units_follow_the_smoothness():
    """f/4 with four times the step: the same rate and C0, four times the beta."""
    small = gap_rate(Focus("1/20", **WARM), TWO_OF_FIVE, 1, BETA)
    large = gap_rate(Focus("1/80", **WARM), TWO_OF_FIVE, 4, 4 * BETA)
    assert (small.rate, small.by_gap) == (large.rate, large.by_gap)
    assert check(large.certificate).beta == 4 * BETA


def test_a_method_of_one_s_own():
    own = momentum.Momentum(Fraction(1, 2), Fraction(1, 4))
    found = gap_rate(own, Full(2), 1, BETA, loop=momentum)
    assert found.status == "certified", found.reason
    assert worst_quadratic(own, Full(2), BETA, 1).lower_bound < found.rate < 1


@pytest.fixture(scope="module")
def certificate():
    return gap_rate(Focus("1/20", **WARM), TWO_OF_FIVE, 1, BETA).certificate


def changed(certificate, part, key, value):
    inner = dict(certificate[part], **{key: value})
    body = dict(certificate, **{part: inner})
    return {**body, "digest": digest(body)}


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("dominance", "beta", "1/9"),
        ("dominance", "beta", "1/5"),
        ("dominance", "weight", "0"),
        ("dominance", "weight", "1"),
        ("dominance", "v", "1001/1000"),
        ("dominance", "v", "0"),
        ("dominance", "beta", "-1/10"),
        ("positivity", "minimum", []),
        ("positivity", "minimum", [[0, "2"]]),
        ("start", "C0", "1"),
        ("function_class", "smoothness", "2"),
        ("function_class", "strong_convexity", "-2"),
    ],
)
def test_a_changed_number_is_rejected(certificate, part, key, value):
    assert check(certificate)
    with pytest.raises(Rejected):
        check(changed(certificate, part, key, value))


@pytest.mark.parametrize("key", ["rho", "kind", "neighbourhood", "statement"])
def test_a_changed_word_is_rejected(certificate, key):
    values = {
        "rho": str(Fraction(certificate["rho"]) - Fraction(1, 10**4)),
        "kind": "rate",
        "neighbourhood": {"weight": "0", "constant": "1"},
        "statement": certificate["statement"].replace("v E", "E"),
    }
    body = dict(certificate, **{key: values[key]})
    with pytest.raises(Rejected):
        check({**body, "digest": digest(body)})


def test_a_weaker_statement_is_accepted(certificate):
    """V >= v (f - f*) holds for a smaller v; the checker does not compare texts."""
    assert check(changed(certificate, "dominance", "v", "1/2")).C0 > 2


@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        (FedAvg("1/10", 2), "must stay at x"),
        (Scaffold("1/10"), None),
        (Focus("1/20"), None),
    ],
)
def test_what_has_no_certificate_says_why(algorithm, words):
    if words:
        with pytest.raises(RefusedError, match=words):
            gap_rate(algorithm, TWO_OF_FIVE, 1, BETA)
        return
    found = gap_rate(algorithm, TWO_OF_FIVE, 1, BETA)
    assert found.status == "not_certified"
    assert "must start at that of x_0" in found.reason


@pytest.mark.parametrize("beta", [0, "-1/10", "3/2", 0.5, "x"])
def test_a_beta_outside_its_domain_is_told(beta):
    with pytest.raises(DomainError):
        gap_rate(GradientDescent("1/2"), Full(1), 1, beta)
