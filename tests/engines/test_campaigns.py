"""Long searches for settings on which two readings disagree; left out by default."""

from __future__ import annotations

import dataclasses
import random
from fractions import Fraction

import numpy as np
import pytest

from flverify import RefusedError, moments
from flverify._core.errors import InputError
from flverify.algorithms import FedAvg, Focus, GradientDescent, Scaffold
from flverify.engines.moments._large import LargeMoments
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort
from flverify.problems import Quadratics, synthetic_ridge

F = Fraction
pytestmark = pytest.mark.slow


def hessian(draw, dim):
    """A rational positive semidefinite matrix, often singular."""
    out = np.full((dim, dim), F(0), dtype=object)
    for _ in range(draw.randint(0, dim + 1)):
        row = [F(draw.randint(-3, 3), draw.randint(1, 3)) for _ in range(dim)]
        out = out + np.array([[a * b for b in row] for a in row], dtype=object)
    return out


def setting(draw):
    n_clients, dim = draw.randint(1, 3), draw.randint(1, 2)
    hessians = np.array([hessian(draw, dim) for _ in range(n_clients)], dtype=object)
    linear = np.array(
        [[F(draw.randint(-3, 3)) for _ in range(dim)] for _ in range(n_clients)],
        dtype=object,
    )
    problem = Quadratics(hessians.tolist(), linear.tolist())
    problem.minimiser()
    size = max(1.0, *(np.linalg.eigvalsh(h.astype(float)).max() for h in hessians))
    step = F(1, int(size * n_clients * draw.choice([1, 2, 4]) + 1))
    algorithm = draw.choice(
        [
            Focus(step, draw.randint(1, 3)),
            Focus(step, 2, "skip"),
            Focus(step, 1, initial_gradients="start"),
            FedAvg(step, draw.randint(1, 3)),
            Scaffold(step, draw.randint(1, 2)),
            Scaffold(step, 2, option="I"),
            GradientDescent(step),
        ]
    )
    chances = [F(draw.choice([0, 1, 2, 5, 9, 10]), 10) for _ in range(n_clients)]
    law = draw.choice(
        [
            Bernoulli(chances),
            UniformCohort(n_clients, draw.randint(1, n_clients)),
            AllOrNothing(n_clients, F(draw.randint(1, 9), 10)),
            Full(n_clients),
        ]
    )
    return problem, algorithm, law


def test_float_rates_are_the_rational_ones_or_refused():
    draw = random.Random(11)
    refused = tried = 0
    while tried < 2500:
        try:
            problem, algorithm, law = setting(draw)
        except InputError:
            continue  # no unique minimiser
        tried += 1
        rate = float(moments(problem, algorithm, law).mean_square_rate)
        inexact = dataclasses.replace(algorithm, step_size=float(algorithm.step_size))
        floats = problem.as_float()
        small = moments(floats, inexact, law)
        assert small.mean_square_rate == pytest.approx(rate, rel=1e-6)
        try:
            large = LargeMoments(floats, inexact, law).mean_square_rate
        except RefusedError:
            refused += 1
            continue
        assert large == pytest.approx(rate, rel=1e-6)
    assert refused < tried / 20


@pytest.mark.parametrize(
    ("chances", "rate"),
    [([0.5] * 16, 0.66689033778), (np.linspace(0.1, 0.9, 16).tolist(), 0.900306943)],
)
def test_focus_at_the_size_of_figure_4(chances, rate):
    setting = moments(synthetic_ridge(), Focus(2e-4, 5), Bernoulli(chances))
    assert setting.mean_square_rate == pytest.approx(rate, rel=1e-8)
