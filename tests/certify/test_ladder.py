"""Ladders: a firm no only where the solver answered and floats could have seen one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from flverify.algorithms import FedAvg, Focus, GradientDescent
from flverify.certify import ladder as ladders
from flverify.certify import neighbourhood
from flverify.certify.ladder import Ladder
from flverify.certify.rates import TOO_NEAR, TOO_SLOW
from flverify.certify.sandwich import worst_quadratic
from flverify.certify.search import NO_CERTIFICATE
from flverify.certify.short_rates import just_above
from flverify.certify.solve import Pencil, Solution
from flverify.participation import Bernoulli, Full, UniformCohort

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
    monkeypatch.setattr(
        Pencil, "widest_margin", lambda pencil, _: gives_up(pencil.fixed)
    )


# -- certify -----------------------------------------------------------------------


def test_a_solver_that_gives_up_is_no_absence(focus, giving_up):
    found = focus.certify(INSIDE, floor_of(Focus(INSIDE)))
    assert (found.status, found.rate) == ("inconclusive", None)
    assert found.reason == "the solver stopped with InsufficientProgress"


def give_up_at(place, ladder, monkeypatch):
    """Let the solver give up on one ansatz, from poor to rich."""
    sizes = [found.sweep.at(0.5).size for found in ladder.searches(Fraction(1))]
    assert len(set(sizes)) == len(sizes)

    solves = Pencil.widest_margin

    def sometimes(pencil, rho):
        given_up = pencil.fixed.size == sizes[place]
        return gives_up(pencil.fixed) if given_up else solves(pencil, rho)

    monkeypatch.setattr(Pencil, "widest_margin", sometimes)


@pytest.mark.parametrize("place", [0, -1])
def test_one_ansatz_that_is_given_up_leaves_all_open(focus, monkeypatch, place):
    give_up_at(place, focus, monkeypatch)
    found = focus.certify(OUTSIDE, floor_of(Focus(OUTSIDE)))
    assert (found.status, found.rate) == ("inconclusive", None)
    assert focus.promising(OUTSIDE) is None
    assert focus.certifiable(OUTSIDE) is None


def test_a_poorer_ansatz_will_do_where_the_richest_is_given_up(focus, monkeypatch):
    give_up_at(-1, focus, monkeypatch)
    found = focus.certify(INSIDE, Fraction(1, 2))
    assert (found.status, found.level) == ("certified", "last step")
    assert focus.promising(INSIDE)
    assert focus.certifiable(INSIDE)


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


def test_a_contraction_is_tried_just_above_its_floor_and_then_searched_for(fedavg):
    floor = floor_of(FedAvg(INSIDE, 2))
    assert fedavg.certify(INSIDE, floor).rate == just_above(floor)
    low = fedavg.certify(INSIDE, Fraction(1, 2))
    assert floor < low.rate < floor + Fraction(1, 10**5)


def test_a_contraction_too_near_one_is_open(fedavg):
    step = Fraction(3)  # beyond stability, so that there is none
    assert fedavg.certify(step, Fraction(9, 10)).status == "not_certified"
    found = fedavg.certify(step, SLOW)
    assert (found.status, found.reason) == ("inconclusive", TOO_SLOW)


def test_a_rate_above_the_largest_that_is_searched_for_is_open(focus, monkeypatch):
    # as if floats saw nothing above 0.9, where the rate is 0.918
    monkeypatch.setattr(ladders, "NEARLY_ONE", Fraction(9, 10))
    for step in (INSIDE, Fraction(29, 50)):  # there the richest ansatz alone has it
        found = focus.certify(step, Fraction(1, 2))
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


@pytest.mark.parametrize("rho", [0.9999955, 0.9999985])  # the first is rounded to 1
def test_a_rate_without_room_to_round_is_open(focus, monkeypatch, rho):
    asked = []
    monkeypatch.setattr(ladders, "smallest", lambda *_: (rho, ""))
    monkeypatch.setattr(ladders, "prove", lambda *_: asked.append(_) or (None, "no"))
    rungs = len(focus.rungs)
    found = focus.certify(INSIDE, Fraction(9, 10))
    assert found.status == "inconclusive"
    assert found.reason == "rounding would take the rate to 1"
    assert len(asked) == rungs  # just above the floor, and never at 1


@pytest.mark.parametrize("bound", [1, Fraction(3, 2)])
def test_where_a_quadratic_does_not_contract_the_answer_is_no(focus, fedavg, bound):
    for ladder in (focus, fedavg):
        found = ladder.certify(INSIDE, Fraction(bound))
        assert found.status == "not_certified"
        assert found.reason == "a quadratic does not contract"


def test_rounding_is_tried_further_and_further_up(focus, monkeypatch):
    asked, rho = [], Fraction(float(Fraction(9, 10)))
    monkeypatch.setattr(ladders, "smallest", lambda *_: (float(rho), ""))

    def refuse(found, rate, _):
        asked.append(rate)
        return None, "not today"

    monkeypatch.setattr(ladders, "prove", refuse)
    found = focus.certify(INSIDE, Fraction(1, 2))
    assert (found.status, found.reason) == ("inconclusive", "not today")
    above = asked[len(focus.rungs) :]
    own = above[: len(above) // len(focus.rungs)]
    assert above == own * len(focus.rungs)  # the same for every ansatz
    assert 0 < own[0] - rho < Fraction(6, 10**6)
    gaps = [rate - rho for rate in own]
    assert all(2 * a < b < 3 * a for a, b in pairwise(gaps))
    assert own[-1] < 1 < rho + 3 * gaps[-1]


# -- yes, no, and open ---------------------------------------------------------------


def test_floats_answer_yes_or_no(focus, fedavg):
    for ladder, beyond in ((focus, OUTSIDE), (fedavg, Fraction(3))):
        for ask in (ladder.promising, ladder.certifiable):
            assert ask(INSIDE) is True
            assert ask(beyond) is False


@pytest.mark.parametrize(
    ("status", "margin", "seen"),
    [
        ("solved", 1e-10, True),
        ("failed", 1e-10, True),  # what it came to is measured
        ("solved", 1e-12, False),
        ("almost", -1e-9, False),
        ("failed", 1e-12, None),
        ("failed", float("nan"), None),
    ],
)
def test_a_margin_within_rounding_is_none(status, margin, seen):
    solution = Solution(status, "", margin, np.zeros(1))
    found = SimpleNamespace(margin=lambda _: solution)
    assert ladders._sees(found, Fraction(1, 2)) is seen


def test_floats_that_give_up_answer_nothing(focus, giving_up):
    assert focus.promising(INSIDE) is None
    assert focus.certifiable(INSIDE) is None


def test_a_contraction_that_is_given_up_is_open(fedavg, monkeypatch):
    monkeypatch.setattr(neighbourhood, "least", lambda one, _: gives_up(one))
    assert fedavg.promising(INSIDE) is None
    for floor in (floor_of(FedAvg(INSIDE, 2)), SLOW):
        found = fedavg.certify(INSIDE, floor)
        assert (found.status, found.rate) == ("inconclusive", None)
        assert found.reason == "the solver stopped with InsufficientProgress"


# -- rungs at other step sizes -------------------------------------------------------


@pytest.fixture(scope="module")
def several():
    return Ladder.of(Focus("1/5", 3), UniformCohort(4, 1), "1/10", 1)


def test_what_does_not_scale_is_discovered_anew(several):
    anew, step = replace(several, powers=None), Fraction(3, 70)
    moved, found = (
        [(one.space.structure, one.level) for one in ladder.searches(step)]
        for ladder in (several, anew)
    )
    assert moved == found != list(several.rungs)


def test_rungs_that_grow_by_no_power_are_not_scaled(several):
    here = several.rungs

    def times(factor):
        return tuple(
            (
                shape,
                replace(
                    level,
                    values=tuple(
                        {name: factor * v for name, v in point.items()}
                        for point in level.values
                    ),
                ),
            )
            for shape, level in here
        )

    for factor, power in ((1, 0), (2, 1), (Fraction(1, 4), -2)):
        powers = ladders._powers(here, times(factor))
        found = {p for rung in powers for point in rung for p in point.values()}
        assert found == {power}
    assert ladders._powers(here, times(3)) is None
    assert ladders._powers(here, here[:-1]) is None
    assert ladders._powers(here, here[::-1]) is None
