"""Rates of a whole function class, asserted."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify._core.errors import DomainError, InputError, RefusedError
from flverify.algorithms import FedAvg, Focus, GradientDescent, WeightedFedAvg
from flverify.participation import AllOrNothing, Bernoulli, Full
from flverify.testing import Broken, Inconclusive, Status, assert_certified_rate
from tests.certify import momentum
from tests.commands.conftest import run_cli

CLASS = {"strong_convexity": "1/10", "smoothness": 1}
LAW = Bernoulli(["1/2", "1/2"])


@pytest.mark.parametrize(
    ("rate", "status"), [("0.918114", Status.HOLDS), ("0.91811", Status.BROKEN)]
)
def test_the_two_sides_of_a_rate(rate, status):
    """The exact rate of the worst quadratic is 0.918111155."""
    try:
        found = assert_certified_rate(Focus("1/5"), LAW, rate=rate, **CLASS)
    except Broken as error:
        found = error.outcome
    assert found.status == status
    command = found.reproduce.split()[1:]
    assert run_cli(*command).code == (0 if status == Status.HOLDS else 1)


def test_gradient_descent_by_hand():
    """max{(1 - eta mu)^2, (1 - eta L)^2} = (19/20)^2 is the rate."""
    asked = {"strong_convexity": "1/10", "smoothness": 1}
    near = Fraction(19, 20) ** 2 + Fraction(1, 10**6)
    assert assert_certified_rate(GradientDescent("1/2"), Full(1), rate=near, **asked)
    with pytest.raises(Broken, match="clients by h_i: 1 x 1/10"):
        assert_certified_rate(
            GradientDescent("1/2"), Full(1), rate=near - Fraction(1, 500_000), **asked
        )


def test_a_rate_close_to_one_is_not_shown_as_one():
    """(19/20)^2 with probability 1e-6, else nothing moves."""
    slow, rare = 1 - Fraction(39, 400) * Fraction(1, 10**6), "1/1000000"
    parts = FedAvg("1/2"), AllOrNothing(2, rare)
    asked = {"strong_convexity": "1/10", "smoothness": 1, "neighbourhood": True}
    with pytest.raises(Broken, match=r"rate above 0\.9999999 for f_i = h_i x"):
        assert_certified_rate(*parts, rate=1 - Fraction(2, 10**7), **asked)
    near = slow - Fraction(1, 10**20)
    with pytest.raises(Broken, match=r"rate above 0\.9999999025 for f_i = h_i x"):
        assert_certified_rate(*parts, rate=near, **asked)


def test_between_the_two_there_is_no_answer():
    """The heavy ball, where functions other than quadratics are slower."""
    own = momentum.Momentum(Fraction(1, 2), Fraction(1, 2))
    asked = {"rate": "0.8", "loop": momentum, **CLASS}
    with pytest.raises(Inconclusive, match="no certificate; the slowest quadratics"):
        assert_certified_rate(own, Full(2), **asked)
    with pytest.raises(Broken):
        assert_certified_rate(own, Full(2), **{**asked, "rate": "0.78"})
    assert assert_certified_rate(own, Full(2), **{**asked, "rate": "0.82"})


def test_a_biased_method_needs_its_neighbourhood():
    fedavg = FedAvg("1/4", 2)
    with pytest.raises(Inconclusive, match="got a biased method"):
        assert_certified_rate(fedavg, LAW, rate="0.95", **CLASS)
    found = assert_certified_rate(fedavg, LAW, rate="0.95", neighbourhood=True, **CLASS)
    assert found.claimed.count("C3 M") == 1


def test_a_method_of_one_s_own():
    own = momentum.Momentum(Fraction(1, 2), Fraction(1, 4))
    asked = {"neighbourhood": True, "loop": momentum, **CLASS}
    assert assert_certified_rate(own, LAW, rate="0.902", **asked)
    with pytest.raises(Broken):
        assert_certified_rate(own, LAW, rate="0.9", **asked)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"rate": 1}, DomainError),
        ({"rate": 0.9}, DomainError),
        ({"rate": "x"}, DomainError),
        ({"rate": "0.95", "strong_convexity": 2}, DomainError),
        ({"rate": "0.95", "neighbourhood": "yes"}, InputError),
        ({"rate": "0.95", "loop": momentum}, InputError),
    ],
    ids=str,
)
def test_what_is_outside_is_one_sentence(change, error):
    with pytest.raises(error):
        assert_certified_rate(Focus("1/5"), LAW, **{**CLASS, **change})


def test_a_method_without_a_loop_is_refused():
    with pytest.raises(RefusedError, match="plain loop"):
        assert_certified_rate(
            WeightedFedAvg("1/5", ["1/2", "1/2"]), LAW, rate="0.95", **CLASS
        )


@pytest.mark.parametrize(
    ("rate", "status"), [("0.9251", Status.HOLDS), ("0.89", Status.BROKEN)]
)
def test_functions_whose_gradient_dominates_the_gap(rate, status):
    """1 - 2 beta eta (1 - eta L/2) = .925; (1 - eta beta)^2 = .9025 for quadratics."""
    asked = {"polyak_lojasiewicz": "1/10", "smoothness": 1}
    descent = GradientDescent("1/2"), Full(1)
    try:
        found = assert_certified_rate(*descent, rate=rate, **asked)
    except Broken as error:
        found = error.outcome
    assert found.status == status
    assert "2 beta (f - f*)" in found.claimed
    command = found.reproduce.split()[1:]
    assert run_cli(*command).code == (0 if status == Status.HOLDS else 1)
    with pytest.raises(Inconclusive):
        assert_certified_rate(*descent, rate="0.91", **asked)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"strong_convexity": "1/10", "polyak_lojasiewicz": "1/10"},
        {"polyak_lojasiewicz": "1/10", "neighbourhood": True},
        {"polyak_lojasiewicz": 2},
    ],
)
def test_functions_must_be_named_once(given):
    with pytest.raises((InputError, DomainError)):
        assert_certified_rate(Focus("1/5"), LAW, rate="0.95", smoothness=1, **given)
