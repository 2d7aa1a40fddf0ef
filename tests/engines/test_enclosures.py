"""Intervals of float rates hold the rate in rationals, and rates take few steps."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from flverify import moments
from flverify.algorithms import FedAvg, Focus, GradientDescent, ProxSkip, Scaffold
from flverify.engines.moments._large import LargeMoments
from flverify.engines.moments._perron import MessageMap
from flverify.participation import Bernoulli, UniformCohort
from flverify.problems import Quadratics, synthetic_ridge


def settings(seed):
    """A setting whose numbers are the same in rationals and in floats."""
    draw = random.Random(seed)

    def eighths(low, high):
        return Fraction(draw.randint(8 * low, 8 * high), 8)

    clients = draw.choice([1, 2, 3])
    curved = [[[eighths(1, 3)]] for _ in range(clients)]
    problem = Quadratics(curved, [[eighths(-2, 2)] for _ in range(clients)])
    step = Fraction(draw.choice([1, 3, 5]), draw.choice([8, 32, 1024]))
    steps = draw.choice([1, 2, 3])
    kinds = (
        FedAvg(step, steps),
        Focus(step, steps),
        Scaffold(step, steps),
        GradientDescent(step),
    )
    chances = [draw.choice([Fraction(k, 8) for k in range(9)]) for _ in range(clients)]
    cohort = UniformCohort(clients, draw.randint(1, clients))
    laws = [(Bernoulli(chances), Bernoulli(list(map(float, chances)))), (cohort,) * 2]
    return problem, draw.choice(kinds), *draw.choice(laws)


@pytest.mark.parametrize("seed", range(40))
def test_the_true_rate_lies_within(seed):
    problem, algorithm, law, same = settings(seed)
    low, high = moments(problem, algorithm, law).mean_square_rate_interval
    floats = algorithm.retuned(float(algorithm.step_size))
    given = problem.as_float(), floats, same
    small, large = moments(*given), LargeMoments(*given)
    for found in (small, large):
        below, above = found.mean_square_rate_interval
        assert below <= high, found
        assert low <= above, found
    below, above = small.mean_square_rate_interval
    assert below <= small.mean_square_rate <= above


@pytest.mark.parametrize("power", [20, 22, 24])
def test_an_interval_holds_the_true_rate_and_the_one_that_is_told(power):
    # of two modes that nearly agree the rate is known to half of the digits or so
    curved = [
        Fraction(5, 4) + Fraction(1, 2**power),
        Fraction(5, 4) + Fraction(1, 2**24),
    ]
    problem = Quadratics([[[curved[0], 0], [0, curved[1]]]], [[1, 1]])
    low, high = moments(
        problem, Scaffold("1/2"), Bernoulli(["1/8"])
    ).mean_square_rate_interval
    large = LargeMoments(problem.as_float(), Scaffold(0.5), Bernoulli([0.125]))
    below, above = large.mean_square_rate_interval
    assert below <= low <= high <= above
    assert below <= large.mean_square_rate <= above
    assert large.mean_square_rate == pytest.approx(float(high), rel=1e-8)


def test_a_step_that_is_sure_to_be_close_enough_is_not_checked_by_another(monkeypatch):
    steps, plain = [], MessageMap.step

    def counted(self, vector, rate):
        steps.append(rate)
        return plain(self, vector, rate)

    monkeypatch.setattr(MessageMap, "step", counted)
    setting = synthetic_ridge(16, 12, 50), Focus(4e-4, 5), Bernoulli([0.5] * 16)
    found = moments(*setting).mean_square_rate
    assert len(steps) < 50  # a secant step more takes 18
    assert found == pytest.approx(0.62226332649804, rel=1e-10)  # of many more steps


@pytest.mark.parametrize("chance", ["1", "1/2", "1/1000", "1/1000000"])
def test_directions_that_are_left_out_are_in_the_interval(chance):
    # one start moves stored gradients almost as it moves the model: the rest is weak
    one, step = Quadratics([[[4]]], [[1]]), Fraction(1, 2**21)
    law, readings = Bernoulli([chance]), ("step", "start", "sum")
    exact = moments(one, Focus(step, 1, *readings), law).mean_square_rate_interval
    found = LargeMoments(one.as_float(), Focus(float(step), 1, *readings), law)
    low, high = found.mean_square_rate_interval
    assert low <= exact[0] <= exact[1] <= high


def test_a_mean_that_stays_is_within_the_interval():
    # rounding of a turned map put the lower end above the rate, which is 1
    one, law = Quadratics([[[0.58]]], [[0.6032]]), Bernoulli([1e-6])
    algorithm = ProxSkip(3.4482758620689657, 2, variant="notebook")
    exact = Quadratics([[[Fraction(0.58)]]], [[Fraction(0.6032)]])
    twin = algorithm.retuned(Fraction(3.4482758620689657))
    known = moments(exact, twin, Bernoulli([Fraction(1e-6)])).mean_square_rate_interval
    low, high = LargeMoments(one, algorithm, law).mean_square_rate_interval
    assert low <= known[1] <= 1 + 1e-9
    assert known[0] <= high
