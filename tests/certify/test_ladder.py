"""Ladders: a firm no only where the solver answered and floats could have seen one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from flverify.algorithms import FedAvg, Focus, GradientDescent
from flverify.certify import ladder as ladders
from flverify.certify import neighbourhood, search
from flverify.certify.ladder import Ladder
from flverify.certify.rates import TOO_NEAR, TOO_SLOW
from flverify.certify.sandwich import worst_quadratic
from flverify.certify.search import NO_CERTIFICATE
from flverify.certify.solve import Solution, widest_margin
from flverify.participation import Bernoulli, Full

HALF = Bernoulli(["1/2", "1/2"])
INSIDE, OUTSIDE = Fraction(1, 5), Fraction(59, 100)  # certified below 0.5867
SLOW = 1 - Fraction(1, 10**8)


@pytest.fixture(scope="module")
def focus():
    return Ladder.of(Focus(1), HALF, "1/10", 1)


@pytest.fixture(scope="module")
def fedavg():
    return Ladder.of(FedAvg(1, 2), HALF, "1/10", 1)


def floor_of(algorithm, law=HALF):
    return worst_quadratic(algorithm, law, "1/10", 1).lower_bound


def gives_up(programme, *_):
    nothing = np.zeros(programme.size)
    return Solution("failed", "InsufficientProgress", float("nan"), nothing)


@pytest.fixture
def giving_up(monkeypatch):
    monkeypatch.setattr(search, "widest_margin", gives_up)


# -- certify -----------------------------------------------------------------------


def test_a_solver_that_gives_up_is_no_absence(focus, giving_up):
    found = focus.certify(INSIDE, floor_of(Focus(INSIDE)))
    assert (found.status, found.rate) == ("inconclusive", None)
    assert found.reason == "the solver stopped with InsufficientProgress"


def test_one_ansatz_that_is_given_up_leaves_all_open(focus, monkeypatch):
    widest = max(found.ansatz.sizes["decrease/mean"] for found in focus.searches(1))

    def sometimes(programme):
        large = max(len(block.constant) for block in programme.blocks) >= widest
        return gives_up(programme) if large else widest_margin(programme)

    monkeypatch.setattr(search, "widest_margin", sometimes)
    found = focus.certify(OUTSIDE, floor_of(Focus(OUTSIDE)))
    assert (found.status, found.rate) == ("inconclusive", None)
    assert focus.promising(OUTSIDE) is None
    assert focus.certifiable(OUTSIDE) is None


def test_where_floats_see_none_and_could_the_answer_is_no(focus):
    found = focus.certify(OUTSIDE, floor_of(Focus(OUTSIDE)))
    assert (found.status, found.reason) == ("not_certified", NO_CERTIFICATE)


@pytest.mark.parametrize(
    ("floor", "status"),
    [
        (ladders.NEARLY_ONE - Fraction(1, 10**7), "not_certified"),
        (SLOW, "inconclusive"),
    ],
)
def test_rates_too_near_one_are_open(focus, floor, status):
    found = focus.certify(OUTSIDE, floor)
    assert (found.status, found.rate) == (status, None)
    assert found.reason == (TOO_SLOW if status == "inconclusive" else NO_CERTIFICATE)


def test_a_contraction_too_near_one_is_open(fedavg, monkeypatch):
    step = Fraction(3)  # beyond stability, so that there is none
    assert fedavg.certify(step, Fraction(9, 10)).status == "not_certified"
    found = fedavg.certify(step, SLOW)
    assert (found.status, found.reason) == ("inconclusive", TOO_SLOW)


def test_a_rate_above_the_largest_that_is_searched_for_is_open(focus, monkeypatch):
    # as if floats saw nothing above 0.9, where the rate is 0.918
    monkeypatch.setattr(ladders, "NEARLY_ONE", Fraction(9, 10))
    found = focus.certify(INSIDE, Fraction(1, 2))
    assert (found.status, found.reason) == ("inconclusive", TOO_NEAR)
    assert focus.certify(OUTSIDE, Fraction(1, 2)).status == "not_certified"


def test_a_slow_rate_is_still_certified():
    slow = Ladder.of(GradientDescent(1), Full(2), Fraction(1, 10**9), 1)
    step = Fraction(1, 10)
    floor = (1 - 2 * step / 10**9) ** 2
    found = slow.certify(step, floor)
    assert found.status == "certified"
    assert ladders.NEARLY_ONE < floor <= found.rate < 1


def test_what_floats_saw_is_not_absent_where_no_try_is_proved(focus, monkeypatch):
    monkeypatch.setattr(ladders, "prove", lambda *_: (None, NO_CERTIFICATE))
    found = focus.certify(INSIDE, Fraction(9, 10))
    assert (found.status, found.rate) == ("inconclusive", None)


def test_a_rate_without_room_to_round_is_open(focus, monkeypatch):
    asked = []
    monkeypatch.setattr(ladders, "smallest", lambda *_: (0.9999985, ""))
    monkeypatch.setattr(ladders, "prove", lambda *_: asked.append(_) or (None, "no"))
    rungs = len(focus.rungs)
    found = focus.certify(INSIDE, Fraction(9, 10))
    assert found.status == "inconclusive"
    assert found.reason == "rounding would take the rate to 1"
    assert len(asked) == rungs  # just above the floor, and never at 1


# -- yes, no, and open ---------------------------------------------------------------


def test_floats_answer_yes_or_no(focus, fedavg):
    for ladder, beyond in ((focus, OUTSIDE), (fedavg, Fraction(3))):
        for ask in (ladder.promising, ladder.certifiable):
            assert ask(INSIDE) is True
            assert ask(beyond) is False


def test_floats_that_give_up_answer_nothing(focus, giving_up):
    assert focus.promising(INSIDE) is None
    assert focus.certifiable(INSIDE) is None


def test_a_contraction_that_is_given_up_is_open(fedavg, monkeypatch):
    monkeypatch.setattr(neighbourhood, "least", lambda one, _: gives_up(one))
    assert fedavg.promising(INSIDE) is None
    found = fedavg.certify(INSIDE, floor_of(FedAvg(INSIDE, 2)))
    assert (found.status, found.rate) == ("inconclusive", None)
