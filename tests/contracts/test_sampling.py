"""Exact moments lie inside the sampling error of simulation.

Every linear algorithm, under an example of every law found by discovery: two engines
that share no code compute E|x_r - x*|^2, one exactly, one from sampled rounds.
"""

from __future__ import annotations

import numpy as np
import pytest

from flverify import Refusal, moments, simulate
from flverify._core.catalogue import load, member_names
from flverify.algorithms import FedAvg
from flverify.participation import Bernoulli
from flverify.problems import Quadratics
from tests.zoo import algorithms

RUNS, ROUNDS = 600, 12
SIGMAS = 6.0  # beyond this a z-score is a fault: about 2e-9 per comparison


def laws():
    for member in member_names("flverify.participation"):
        module = load("flverify.participation", member)
        (name,) = module.__all__
        yield pytest.param(getattr(module, name).examples()[-1], id=member)


def problem_for(n_clients):
    draw = np.random.default_rng(4)
    factors = draw.standard_normal((n_clients, 4, 2))
    hessians = np.einsum("nki,nkj->nij", factors, factors) / 4
    return Quadratics(hessians, draw.standard_normal((n_clients, 2)))


def scores(problem, algorithm, law, seed):
    """Distance of the sampled mean from the exact curve, in standard errors."""
    setting = moments(problem, algorithm, law)
    if isinstance(setting, Refusal):
        return None
    exact = setting.mean_square_error([1.0, -1.0], ROUNDS).astype(float)
    runs = simulate(
        problem,
        algorithm,
        law,
        rounds=ROUNDS,
        runs=RUNS,
        seed=seed,
        start=[1.0, -1.0],
    )
    spread = runs.standard_error() + 1e-9 * exact
    return np.abs(runs.mean() - exact) / spread


@pytest.mark.parametrize("law", list(laws()))
def test_exact_curves_lie_within_the_sampling_error(law):
    problem, compared = problem_for(law.n_clients), 0
    for member, algorithm in algorithms(law.n_clients):
        found = scores(problem, algorithm, law, seed=9)
        if found is not None:
            assert found.max() < SIGMAS, (member, algorithm)
            compared += 1
    assert compared >= 8


def test_a_wrong_law_is_noticed():
    # planted: moments of a law with other probabilities
    problem = problem_for(2)
    exact = moments(problem, FedAvg(0.1, 2), Bernoulli([0.5, 0.6]))
    curve = exact.mean_square_error([1.0, -1.0], ROUNDS)
    law = Bernoulli([0.5, 0.5])
    runs = simulate(
        problem,
        FedAvg(0.1, 2),
        law,
        rounds=ROUNDS,
        runs=20000,
        seed=9,
        start=[1.0, -1.0],
    )
    gap = np.abs(runs.mean() - curve) / (runs.standard_error() + 1e-12)
    assert gap.max() > SIGMAS
