"""The error's own dynamics: floats and large systems against exact decisions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import islice

import pytest

from flverify._core.errors import FlverifyError
from flverify.engines.moments._large import LargeMoments
from flverify.problems import Quadratics
from flverify.testing.dynamics import dynamics
from flverify.testing.large import LargeDynamics
from flverify.testing.moments import answers
from flverify.testing.setting import setting
from tests.zoo import LAWS, PAIR, PLANE, algorithms

F = Fraction
PROBLEMS = {
    "pair": PAIR,
    "plane": PLANE,
    "flat": PLANE.scaled("1/1000"),
    "uneven": Quadratics([[[1]], [["1/1000"]]], [[1], ["-1/3"]]),
    "agreeing": Quadratics(PLANE.hessians, PLANE.hessians @ [1, F(-2)]),
}


@cache
def settings(name):
    """Every linear setting of a problem with its exact dynamics."""
    return tuple(solved(PROBLEMS[name]))


def solved(problem):
    for _, algorithm in algorithms(problem.n_clients):
        for law in LAWS[problem.n_clients]:
            asked = setting(problem, algorithm, law)
            known = answers(asked)
            if not known or not known[0].found.exact:
                continue  # not linear, or coins that are floats
            exact = dynamics(asked, known[0])
            if exact:
                yield asked, known, exact


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [n if n != "plane" else pytest.param(n, marks=pytest.mark.slow) for n in PROBLEMS],
)
def test_floats_never_contradict_rationals(name):
    problem, asked_for, unanswered = PROBLEMS[name], 0, 0
    for asked, known, exact in settings(name):
        _, high = exact.rate_interval
        plain = setting(problem.as_float(), asked.algorithm, asked.participation)
        engine = LargeMoments(plain.problem, plain.algorithm, plain.participation)
        found = replace(known[1].found, _engine=engine)
        ways = [dynamics(asked, known[1])]
        ways.append(LargeDynamics(plain, replace(known[1], asked=plain, found=found)))
        for claim in (F(1, 2), high * F(9999, 10_000), high * F(10_001, 10_000)):
            if not 0 < claim < 1:
                continue
            for way in ways:
                try:
                    told = way.is_bounded_by(claim)
                except FlverifyError:  # not traced, or not solved: no answer either
                    continue
                asked_for, unanswered = asked_for + 1, unanswered + (told is None)
                assert told in (None, exact.is_bounded_by(claim)), (asked.text, claim)
    assert asked_for > 20
    assert unanswered <= asked_for / 20


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pair", "agreeing"])
def test_the_curve_decays_at_the_rate_that_is_told(name):
    for asked, _, exact in settings(name):
        start = asked.begin + 1
        curve = list(islice(exact.in_floats().curve(start), 401))
        if curve[400] > 1e-250:
            seen = (curve[400] / curve[200]) ** (1 / 200)
            assert seen == pytest.approx(float(exact.rate_interval[1]), rel=0.03)
