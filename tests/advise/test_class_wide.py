"""Class-wide step sizes, printed caps, and the rarest client."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import pytest

from flverify.advise.class_wide import Constants, class_wide, constants
from flverify.advise.rarest import rarest
from flverify.advise.table import Place, advise
from flverify.algorithms import AgnosticFedAvg, FedAU, FedAvg, Focus, GradientDescent
from flverify.participation import Bernoulli, Full, UniformCohort
from flverify.problems import Quadratics

UNIT = Constants(Fraction(1, 10), Fraction(1), False)


def test_constants_are_the_clients_own_or_rounded_outward():
    exact = constants(Quadratics([[[1, 0], [0, 7]], [[2, 0], [0, 3]]], [[0, 0]] * 2))
    assert exact == Constants(Fraction(1), Fraction(7), False)
    hessians = [[[2, 1], [1, 3]], [[4, 1], [1, 5]]]
    found = constants(Quadratics(hessians, [[1, 0], [0, 1]]))
    ends = np.linalg.eigvalsh(np.array(hessians, dtype=float))
    assert found.rounded
    low, high = float(found.strong_convexity), float(found.smoothness)
    assert ends.min() * (1 - 1e-5) < low <= ends.min()
    assert ends.max() <= high < ends.max() * (1 + 1e-5)


def test_gradient_descent_is_certified_near_the_textbook_rate():
    found = class_wide(GradientDescent(1), Full(2), UNIT)
    # the step size is that on the sum: half of 2/(mu + L)
    assert float(found.step_size) == pytest.approx(1 / 1.1, rel=0.02)
    rate = max(abs(1 - 2 * found.step_size * h) for h in (Fraction(1, 10), 1)) ** 2
    assert 0 <= found.rate - rate < Fraction(3, 10**5)
    assert float(found.largest) == pytest.approx(1, rel=1e-3)
    assert (found.kind, found.reason) == ("rate", "")


def test_what_is_certified_scales_with_the_constants():
    thousand = Constants(Fraction(100), Fraction(1000), False)
    small = class_wide(GradientDescent(1), Full(2), UNIT)
    large = class_wide(GradientDescent(1), Full(2), thousand)
    assert float(large.step_size) == pytest.approx(float(small.step_size) / 1000)
    assert float(large.rate) == pytest.approx(float(small.rate), abs=2e-5)
    assert float(large.largest) == pytest.approx(float(small.largest) / 1000, rel=1e-3)


def test_printed_caps_by_hand():
    # N = 4, one uniform client: q_min = 1/4
    found = class_wide(Focus(1, 2), UniformCohort(4, 1), UNIT, certify=False)
    caps = (3 / 10 / (27 * 4), 1 / 3, (1 / 4) ** 1.5 / (8 * 2))
    assert float(found.cap) == pytest.approx(min(caps))
    assert found.printed_rate == 1 - found.cap * 4 / 20
    assert found.reason == "not asked for"
    fedavg = class_wide(FedAvg(1, 3), UniformCohort(4, 1), UNIT, certify=False)
    assert fedavg.cap == Fraction(1, 8)
    assert fedavg.printed_rate == (1 - Fraction(1, 160)) ** 3


def test_reasons_stand_in_place_of_numbers():
    five = Bernoulli([Fraction(1, k) for k in range(2, 7)])
    refused = class_wide(Focus(1), five, UNIT)
    assert refused.rate is None
    assert "at most 4 distinct probabilities" in refused.reason
    other = class_wide(FedAU(1), Full(2), UNIT)
    assert other.rate is None
    assert other.reason
    assert other.cap is None
    assert other.printed_by == "no theorem of the papers has one"
    equal = Constants(Fraction(1), Fraction(1), False)
    assert "must be below smoothness" in class_wide(Focus(1), Full(2), equal).reason


def test_too_many_distinct_probabilities_are_said_in_plain_words():
    law = Bernoulli(["1/2", "1/3", "1/4", "1/5", "1/6"])
    ends = Constants(Fraction(1), Fraction(2), False)
    assert class_wide(Focus(1), law, ends).reason == (
        "a certificate is for clients with at most 4 distinct probabilities; got 5; "
        "round them to fewer values."
    )
    # what no rounding would help is said as it is
    two, agnostic = Bernoulli(["1/2", "1/3"]), AgnosticFedAvg(1, period=2)
    assert "take its rate" in class_wide(agnostic, two, ends).reason


@pytest.mark.slow
def test_the_problem_is_never_slower_than_what_is_certified_for_its_class():
    """Two machineries meet: the certified rate bounds the fastest exact one."""
    problem = Quadratics([[[1]], [[2]], [[4]]], [[1], [0], [2]])
    law = Bernoulli(["1/2", "1/2", "1/4"])
    known = constants(problem)
    place = Place(problem, problem.as_float(), law, law, None, known, "")
    for algorithm in (Focus(1, 2), GradientDescent(1)):
        found = advise(algorithm, algorithm, place, 1e-6)
        assert found.class_wide.rate is not None
        assert found.steps.fastest_rate <= found.class_wide.rate
        assert found.class_wide.largest <= found.steps.stable[1]


def test_the_rarest_client_by_hand():
    problem = Quadratics([[[1]], [[1]], [[2]]], [[0], [1], [4]])
    found = rarest(problem, Bernoulli(["1/2", "1/5", "1/2"]))
    assert (found.client, found.inclusion, found.mean) == (
        1,
        Fraction(1, 5),
        Fraction(2, 5),
    )
    assert found.raised.inclusion().tolist() == [
        Fraction(1, 2),
        Fraction(2, 5),
        Fraction(1, 2),
    ]
    # x* = 5/4, and (0 + 4)/(1 + 2) without client 1
    assert found.dropped == (Fraction(4, 3) - Fraction(5, 4)) ** 2 / Fraction(25, 16)


def test_laws_that_cannot_be_raised_and_clients_that_cannot_be_dropped():
    problem = Quadratics([[[1]], [[2]]], [[1], [1]])
    uniform = rarest(problem, UniformCohort(2, 1))
    assert uniform.raised is None
    assert uniform.reason == "all clients take part equally often"
    one = rarest(Quadratics([[[1]]], [[1]]), Full(1))
    assert (one.dropped, one.dropped_reason) == (None, "there is no other client")
    flat = Quadratics([[[1, 0], [0, 0]], [[0, 0], [0, 1]]], [[1, 0], [0, 1]])
    gone = rarest(flat, Bernoulli(["1/2", "1/4"]))
    assert gone.dropped is None
    assert "singular" in gone.dropped_reason


def test_rounds_of_more_local_steps_than_a_region_takes_are_not_even_read(monkeypatch):
    monkeypatch.setattr(sys.modules[class_wide.__module__], "QuadraticRates", None)
    found = class_wide(FedAvg("1/8", 9), Full(2), UNIT)
    assert "at most 8 local steps; got 9" in found.reason
