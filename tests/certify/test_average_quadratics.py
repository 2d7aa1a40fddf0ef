"""What averages are at least, against runs of the plain loops in rationals."""

from fractions import Fraction
from itertools import combinations

import pytest

from flverify import reference
from flverify.algorithms import FedAvg, Focus, GradientDescent, Scaffold
from flverify.certify.averages.quadratics import least_constant
from flverify.participation import Full, UniformCohort

AT_START = {"initial_gradients": "start", "initial_tracker": "sum"}
ONE = Fraction(1)


def played(loop, settings, cohorts, curvatures, rounds):
    """Sum E x_r^2 over rounds, every sequence of cohorts being played."""

    def gradient(i, x):
        return [curvatures[i] * x[0]]

    def asked(part):
        names = part.__kwdefaults__ or {}
        names = {*names, *(n for n in part.__annotations__ if n in settings)}
        return {k: v for k, v in settings.items() if k in names}

    n = len(curvatures)
    states = [loop.start(gradient, n, [ONE], **asked(loop.start))]
    total = Fraction(0)
    for _ in range(rounds):
        total += sum(s["model"][0] ** 2 for s in states) / len(states)
        states = [
            loop.play(s, gradient, n, list(cohort), **asked(loop.play))
            for s in states
            for cohort in cohorts
        ]
    return total


@pytest.mark.parametrize("convex", [True, False])
@pytest.mark.parametrize(
    ("algorithm", "loop", "settings"),
    [
        (Focus("1/8", **AT_START), "focus", {"step_size": ONE / 8, **AT_START}),
        (
            FedAvg("1/4", 2),
            "fedavg",
            {"step_size": ONE / 4, "local_steps": 2},
        ),
        (Scaffold("1/4"), "scaffold", {"step_size": ONE / 4}),
    ],
)
def test_a_sum_is_that_of_the_plain_loop(
    algorithm, loop, settings, convex, monkeypatch
):
    monkeypatch.setattr("flverify.certify.averages.quadratics.EXACT_ROUNDS", 4)
    mu = Fraction(0) if convex else -ONE
    found = least_constant(algorithm, UniformCohort(3, 2), ONE, mu)
    loop = getattr(reference, loop)
    cohorts = list(combinations(range(3), 2))
    total = played(loop, settings, cohorts, found.curvatures, 4)
    mean = sum(found.curvatures) / 3
    assert found.constant == total * (mean / 2 if convex else 2 * mean)


def test_units_change_it_as_they_should():
    law = UniformCohort(3, 1)
    one = least_constant(Focus("1/8", **AT_START), law, ONE, -ONE)
    ten = least_constant(Focus("1/80", **AT_START), law, 10 * ONE, -10 * ONE)
    assert ten.constant == 10 * one.constant


def test_it_is_not_asked_of_many_clients():
    assert least_constant(GradientDescent("1/50"), Full(13), ONE, -ONE) is None
