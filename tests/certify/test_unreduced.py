"""Nothing is lost by treating clients of a class alike; a second solver agrees."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.algorithms import Focus, Scaffold
from flverify.certify.discover import discover
from flverify.certify.search import levels, problem, read_round, search, smallest
from flverify.certify.solve import readable, widest_margin
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort
from tests.certify.unreduced import margin

HALF, MU = Fraction(1, 2), Fraction(1, 5)  # and L = 1
NEAR = 2e-4  # of a rate; the solvers' errors are far below it
SETTINGS = {
    "focus, both of two": (Focus("1/4"), Full(2)),
    "focus, each of two by itself": (Focus("1/4"), Bernoulli([HALF, HALF])),
    "focus, uneven chances": (Focus("1/5"), Bernoulli([HALF, Fraction(1, 4), HALF])),
    "focus, one of three": (Focus("1/6"), UniformCohort(3, 1)),
    "focus, all four or nobody": (Focus("1/9"), AllOrNothing(4, HALF)),
    "scaffold, one of three": (Scaffold("1/3"), UniformCohort(3, 1)),
    "scaffold, two of four": (Scaffold("1/3"), UniformCohort(4, 2)),
}


def rungs(name):
    """Every ansatz as the package lays it out, by name."""
    setting = problem(*SETTINGS[name], MU, 1)
    reading = read_round(setting)
    found = levels(reading, discover(reading))
    return {v.name: search(reading, shape, v, setting.mu) for shape, v in found}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("level", ["slots", "lifted"])
@pytest.mark.parametrize("name", SETTINGS)
def test_writing_out_every_client_certifies_no_more_and_no_less(name, level):
    rho, word = smallest(rungs(name)[level])
    assert rho is not None, word
    asked = *SETTINGS[name], float(MU)
    # clients of several classes: their values have one factor in our V
    alike = len(set(SETTINGS[name][1].inclusion())) > 1
    beside = {"remembered": level == "lifted", "alike": alike}
    assert margin(*asked, rho + NEAR, **beside) > 0
    assert margin(*asked, rho - NEAR, **beside) < 0


def test_one_factor_for_the_values_of_several_classes_costs_the_poorest_ansatz():
    # the richest one lost nothing by it in what was tried; so V is kept simple
    name = "focus, uneven chances"
    rho, _ = smallest(rungs(name)["slots"])
    lower = *SETTINGS[name], float(MU), rho - 10 * NEAR
    assert margin(*lower, remembered=False) > 0
    assert margin(*lower, remembered=False, alike=True) < 0


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["focus, uneven chances", "scaffold, two of four"])
def test_the_second_solver_finds_the_widest_margins(name):
    for level, one in rungs(name).items():
        found = widest_margin(one.sweep.at(0.97))
        again = readable.widest_margin(one.sweep.at(0.97))
        assert found.status == again.status == "solved", level
        assert found.margin > 1e-4
        assert again.margin == pytest.approx(found.margin, rel=1e-5), level
