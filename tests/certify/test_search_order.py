"""One ansatz of several is proved; those passed over are there if rounding loses it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from flverify._core.errors import DomainError
from flverify.algorithms import FedAvg, Focus, GradientDescent, Scaffold
from flverify.certify import ladder as ladder_module
from flverify.certify import rates
from flverify.certify import search as search_module
from flverify.certify.check import check
from flverify.certify.ladder import Ladder
from flverify.certify.neighbourhood import contraction, distance
from flverify.certify.rates import BLURRED, certify
from flverify.certify.search import LEVELS, prove, smallest
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort

# rates of every ansatz differ; a poor one is as good as any; two of five are
DIFFERENT = Focus("1/20", 1), UniformCohort(8, 1), "1/10", 1
ALIKE = Scaffold("1/10", 1), UniformCohort(4, 2), "1/10", 1
MIXED = Focus("1/10", 2), Bernoulli(["1/2"] * 3), "1/10", 1


@pytest.fixture
def tried(monkeypatch):
    """Record which ansatz was searched in floats and which rates were tried."""
    searched, proved = [], []

    def watched_search(found, *limits):
        searched.append(found.level.name)
        return smallest(found, *limits)

    def watched_proof(found, rho, setting):
        proved.append((found.level.name, rho))
        return prove(found, rho, setting)

    monkeypatch.setattr(rates, "smallest", watched_search)
    monkeypatch.setattr(rates, "prove", watched_proof)
    return searched, proved


@pytest.mark.parametrize("setting", [ALIKE, MIXED])
def test_no_programme_is_solved_twice(setting, monkeypatch):
    """An ansatz that is passed over is asked where the proved rate asks it again."""
    solved, asked = [], []
    solve, ask = search_module.Search._margin, search_module.Search.margin

    def watched_solve(found, rho):
        solved.append((found.level.name, rho))
        return solve(found, rho)

    def watched_ask(found, rho):
        asked.append((found.level.name, rho))
        return ask(found, rho)

    monkeypatch.setattr(search_module.Search, "_margin", watched_solve)
    monkeypatch.setattr(search_module.Search, "margin", watched_ask)
    certify(*setting)
    assert len(solved) == len(set(solved)) < len(asked)


def refusing(monkeypatch, refused, word="not today"):
    """Let rounding fail wherever `refused(level, rho)` says so."""
    real = rates.prove

    def fails(found, rho, setting):
        if refused(found.level.name, rho):
            return None, word
        return real(found, rho, setting)

    monkeypatch.setattr(rates, "prove", fails)


def stopping_above(monkeypatch, module, gap):
    """Let the search in floats stop above the smallest rate."""
    real = module.smallest

    def high(found, *limits):
        rho, word = real(found, *limits)
        return rho and rho + gap, word

    monkeypatch.setattr(module, "smallest", high)


@pytest.mark.parametrize("setting", [DIFFERENT, ALIKE, MIXED])
def test_one_certificate_is_proved(setting, tried):
    searched, proved = tried
    found = certify(*setting)
    assert len(searched) == len(set(searched)) > 1
    first, *lower = proved
    assert first == (found.level, found.rate)
    # that 1e-5 less is out of reach is asked of every ansatz, once
    assert {rate for _, rate in lower} == {found.rate - rates.PRECISION}
    assert sorted(level for level, _ in lower) == sorted(searched)
    assert check(found.certificate).rho == found.rate


def test_every_ansatz_gains_on_those_before_it():
    setting = Focus("1/10", 1), UniformCohort(10, 1), "1/3", 1
    ladder = list(Ladder.of(*setting).searches(Fraction(1, 10)))
    assert [found.level.name for found in ladder] == list(LEVELS)
    rates = [smallest(found)[0] for found in ladder]
    assert all(b < a - 1e-3 for a, b in pairwise(rates))


def test_where_a_quadratic_is_as_slow_one_ansatz_is_laid_out(tried, monkeypatch):
    free = certify(*ALIKE)
    laid = []
    real = search_module._laid_out
    keep = lambda *a: laid.append(a) or real(*a)  # noqa: E731
    monkeypatch.setattr(search_module, "_laid_out", keep)
    tried[0].clear()
    found = certify(*ALIKE, lower_bound=free.rate - Fraction(2, 10**6))
    assert found.status == "certified"
    assert tried[0] == []
    assert len(laid) == 1


def test_the_next_best_is_proved_where_rounding_loses_the_best(monkeypatch):
    best = certify(*DIFFERENT)
    refusing(monkeypatch, lambda level, _: level == best.level)
    found = certify(*DIFFERENT)
    assert found.status == "certified"
    assert found.level != best.level
    assert found.rate > best.rate + rates.PRECISION


def test_what_was_passed_over_is_searched_where_rounding_loses_the_rest(
    tried, monkeypatch
):
    best = certify(*ALIKE)  # the poorest, since none is better
    assert best.level == "slots"
    tried[0].clear()
    refusing(monkeypatch, lambda level, _: level == "slots")
    found = certify(*ALIKE)
    assert found.status == "certified"
    assert found.level != "slots"
    assert abs(found.rate - best.rate) < rates.PRECISION
    assert tried[0].count(found.level) == 2


def test_a_later_rate_of_the_best_comes_before_an_earlier_one_of_the_rest(monkeypatch):
    best = certify(*DIFFERENT)
    refusing(monkeypatch, lambda level, rho: level == best.level and rho <= best.rate)
    found = certify(*DIFFERENT)
    assert found.level == best.level
    assert best.rate < found.rate < best.rate + Fraction(2, 10**5)


# floats see "lifted" gain less than 1e-5 on "slots", and then stop
CLOSE_BY = Scaffold("296197/957148", 2), UniformCohort(10, 8), "1/4", 1


@pytest.mark.parametrize("setting", [DIFFERENT, CLOSE_BY])
def test_less_by_1e_5_is_not_certified(setting):
    found = certify(*setting)
    again = certify(*setting, rate=found.rate - rates.PRECISION)
    assert again.status != "certified"


def test_a_search_that_stops_too_high_is_lowered(monkeypatch):
    best = certify(*DIFFERENT)
    stopping_above(monkeypatch, rates, 1e-3)
    assert abs(certify(*DIFFERENT).rate - best.rate) < 2 * rates.PRECISION


@pytest.mark.one_in(8)
@pytest.mark.parametrize("above", range(1, 9))  # in 1e-5, where the search stops
def test_a_bound_below_does_not_stop_it_early(monkeypatch, above):
    best = certify(*DIFFERENT)
    stopping_above(monkeypatch, rates, above * 1e-5)
    bound = best.rate - Fraction(12, 10**6)
    found = certify(*DIFFERENT, lower_bound=bound)
    assert found.rate - best.rate < rates.PRECISION


@pytest.mark.slow
def test_a_region_is_lowered_too(monkeypatch):
    ladder = Ladder.of(*DIFFERENT)
    step_size, bound = DIFFERENT[0].step_size, Fraction(1, 2)
    best = ladder.certify(step_size, bound)
    stopping_above(monkeypatch, ladder_module, 1e-3)
    found = ladder.certify(step_size, bound)
    assert abs(found.rate - best.rate) < 2 * rates.PRECISION


# V is large here, and a solver's start constants are off by more than it was asked for
LARGE = Focus("81437/818566"), Bernoulli(["17/20"] * 26), "1/15", 1


@pytest.mark.parametrize("rate", ["944654", "944665", "944734", "944834"])
def test_constants_of_a_large_form_survive_rounding(rate):
    found = certify(*LARGE, rate=Fraction(int(rate), 10**6))
    assert found.status == "certified", found.reason


@pytest.mark.parametrize("word", ["not today", rates.NO_CERTIFICATE])
def test_what_floats_saw_is_never_called_absent(monkeypatch, word):
    refusing(monkeypatch, lambda *_: True, word)
    found = certify(*DIFFERENT)
    assert (found.status, found.certificate) == ("inconclusive", None)
    for name in ("slots", "lifted"):
        assert f"{name}: {word}" in found.reason


def test_a_solver_that_stops_is_no_answer(monkeypatch):
    monkeypatch.setattr(rates, "smallest", lambda *_: (None, "MaxIterations"))
    found = certify(*DIFFERENT)
    assert found.status == "inconclusive"
    assert "slots: the solver stopped with MaxIterations; lifted: " in found.reason


@pytest.mark.parametrize("place", range(3))
def test_one_float_is_enough_to_be_refused(place):
    step, mu, smooth = (0.1 if k == place else Fraction(1, 10) for k in range(3))
    with pytest.raises(DomainError, match="must be given rational numbers"):
        certify(Focus(step), UniformCohort(2, 1), mu, 2 * smooth)


def test_a_point_that_cannot_be_scaled_is_no_absence(monkeypatch):
    assert certify(*ALIKE, rate="99/100").status == "certified"
    monkeypatch.setattr(search_module, "_normalised", lambda *_: None)
    assert certify(*ALIKE, rate="99/100").status == "inconclusive"
    assert certify(*ALIKE, rate="1/100").status == "not_certified"


@pytest.mark.parametrize(
    ("rate", "status"),
    [
        (Fraction(999, 1000), "not_certified"),
        (BLURRED + Fraction(1, 10**7), "inconclusive"),
    ],
)
def test_of_contractions_near_one_nothing_is_said(rate, status):
    # steps of 4/L: there is no rate, which floats see only from afar
    found = contraction(FedAvg(4), UniformCohort(2, 1), "1/10", 1, rate=rate)
    assert found.status == status


@pytest.mark.parametrize(
    ("step_size", "status"),
    [("4", "not_certified"), ("1/10", "certified"), ("1e-10", "inconclusive")],
)
def test_of_distances_of_steps_too_short_for_floats_nothing_is_said(step_size, status):
    # a round of 1e-10 leaves 1 - 4e-11 of a square, and a firm no would be false
    found = distance(FedAvg(step_size, 2), Full(2), "1/10", 1)
    assert found.status == status


def test_curvatures_that_hardly_differ_have_a_distance_at_short_steps():
    setting = FedAvg("1/100000", 2), AllOrNothing(3, "1/1000"), "999/1000", 1
    assert distance(*setting).status == "certified"


def test_a_distance_of_steps_beyond_floats_is_open():
    with np.errstate(all="ignore"):
        found = distance(FedAvg("1e200", 2), Full(2), "1/10", 1)
    assert found.status == "inconclusive"


@pytest.mark.parametrize("bound", [-1, -(10**400), 0])
def test_no_rate_is_negative_so_a_lower_bound_may_be(bound):
    found = certify(Focus("1/5"), Full(2), "1/10", 1, lower_bound=bound)
    assert (found.status, found.rate) == (
        "certified",
        certify(Focus("1/5"), Full(2), "1/10", 1).rate,
    )


@pytest.mark.parametrize("bound", [1, None])
def test_where_a_quadratic_does_not_contract_that_is_the_reason(bound):
    found = certify(GradientDescent(2), Full(1), "1/10", 1, lower_bound=bound)
    assert found.status == "not_certified"
    assert found.reason == "a quadratic does not contract"


@pytest.mark.parametrize(
    ("margin", "status"), [(5e-12, "inconclusive"), (-5e-12, "not_certified")]
)
def test_a_margin_too_narrow_for_floats_is_no_sign_of_none(margin, status, monkeypatch):
    """So narrow ones were proved where a rate of one's own was asked for."""
    solved = search_module.Search.margin

    def narrowed(found, rho):
        return replace(solved(found, rho), margin=margin)

    monkeypatch.setattr(search_module.Search, "margin", narrowed)
    found = certify(*ALIKE)
    assert (found.status, rates.NARROW in found.reason) == (status, margin > 0)
