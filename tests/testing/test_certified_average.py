"""Bounds of averages over a whole function class, asserted."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify._core.errors import DomainError, InputError
from flverify.algorithms import FedAvg, Focus, GradientDescent, ProxSkip, Scaffold
from flverify.participation import Full, UniformCohort
from flverify.testing import Broken, Inconclusive, Status, assert_certified_average
from tests.certify import momentum
from tests.commands.conftest import run_cli

CONVEX = {"smoothness": 1}
SMOOTH = {"smoothness": 1, "strong_convexity": -1}
DESCENT = GradientDescent("1/2"), Full(2)  # a step of 1/L, with the factor N
ONE = UniformCohort(3, 1)


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"by_gap": "2.0001", **SMOOTH}, Status.HOLDS),
        ({"by_gap": "1.999", **SMOOTH}, Status.BROKEN),
        ({"by_distance": "0.5001", **CONVEX}, Status.HOLDS),
        ({"by_distance": "0.499", **CONVEX}, Status.BROKEN),
    ],
)
def test_the_two_sides_of_a_bound_by_hand(asked, status):
    """At the step 1/L, 1/(eta (1 - eta L/2)) = 2 and h/2 sum (1 - h)^(2r) <= 1/2."""
    try:
        found = assert_certified_average(*DESCENT, **asked)
    except Broken as error:
        found = error.outcome
    assert found.status == status
    command = found.reproduce.split()[1:]
    assert run_cli(*command).code == (0 if status == Status.HOLDS else 1)


def test_units_follow_the_smoothness():
    """L = 4 with a quarter of the step: four times the C1."""
    step = GradientDescent("1/8"), Full(2)
    assert assert_certified_average(*step, smoothness=4, by_distance="2.001")
    with pytest.raises(Broken, match=r"C1 at least (2|1\.99999\d*), on"):
        assert_certified_average(*step, smoothness=4, by_distance="1.999")


def test_a_number_is_paid_for_with_the_others():
    """SCAFFOLD: C1 may come down while C2 is free."""
    scaffold = Scaffold("1/5"), ONE
    held = assert_certified_average(*scaffold, by_distance="2.6", **CONVEX)
    assert held.status == Status.HOLDS
    assert "C2 M)/K" in held.claimed
    with pytest.raises(Inconclusive, match="one of C1 = "):
        assert_certified_average(
            *scaffold, by_distance="2.6", by_gradients="1/100", **CONVEX
        )


def test_a_number_that_must_be_zero():
    """FOCUS from true gradients needs no C2; a biased method cannot do without c."""
    start = {"initial_gradients": "start", "initial_tracker": "sum"}
    focus = Focus("1/20", **start), UniformCohort(5, 2)
    found = assert_certified_average(*focus, by_gradients=0, **CONVEX)
    assert found.found.startswith("a certificate of C1 = ")
    assert "C2" not in found.found
    fedavg = FedAvg("1/20", 2), ONE
    with pytest.raises(Inconclusive, match="no certificate of such a bound; one of"):
        assert_certified_average(*fedavg, constant=0, **CONVEX)
    assert assert_certified_average(*fedavg, constant="3/50", **CONVEX)


def test_a_method_of_one_s_own():
    own = momentum.Momentum(Fraction(1, 2), Fraction(1, 4)), Full(2)
    asked = {"loop": momentum, **CONVEX}
    assert assert_certified_average(*own, by_distance=5, **asked).reproduce == ""
    with pytest.raises(Broken, match="f_i = h_i x"):
        assert_certified_average(*own, by_distance="1/2", **asked)


def test_a_refusal_is_no_answer():
    with pytest.raises(Inconclusive, match="no answer because"):
        assert_certified_average(
            ProxSkip("1/2", probability="1/2"), Full(2), by_distance=5, **CONVEX
        )


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        (CONVEX, InputError, "must be given a number; got none"),
        ({"by_gap": 3, **CONVEX}, InputError, "by_distance, by_gradients, constant"),
        ({"by_distance": 3, **SMOOTH}, InputError, "must be one of by_gap; got by_d"),
        ({"by_distance": -1, **CONVEX}, DomainError, "must not be negative; got -1"),
        ({"by_distance": 0.5, **CONVEX}, DomainError, "by_distance must be a rational"),
        ({"by_distance": "1e999", **CONVEX}, DomainError, "range of floats"),
        ({"by_distance": 1, "smoothness": 0}, DomainError, "smoothness must be"),
        ({"by_distance": 1, "loop": momentum, **CONVEX}, InputError, "loop"),
    ],
)
def test_bad_input_is_told(asked, error, words):
    with pytest.raises(error, match=words):
        assert_certified_average(*DESCENT, **asked)
