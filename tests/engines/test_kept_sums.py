"""What is conserved stays out of float spectra, however weak what is beside it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from flverify import moments, simulate
from flverify.algorithms import Focus, GradientDescent, ProxSkip
from flverify.engines.moments import _moments
from flverify.engines.moments._large import LargeMoments
from flverify.engines.moments._small import SmallMoments
from flverify.participation import AllOrNothing, Bernoulli, Full, ModeChain
from flverify.problems import Quadratics

COIN = AllOrNothing(4, "1/2")
# curvatures that nearly agree: the clients' differences are weak directions
NEARLY = [0.1, 0.10001, 0.10002, 0.10003]
SETTINGS = {
    "paper": (ProxSkip(0.5, probability="1/2"), COIN, NEARLY),
    "two alike": (ProxSkip(0.5, probability="1/2"), COIN, [0.7, 0.7, 0.7, 0.7 + 1e-9]),
    "notebook": (ProxSkip(0.5, 2, variant="notebook"), Full(4), NEARLY),
    # rows in echelon form are nearly parallel here: rounded, they lose the spectrum
    "flat": (ProxSkip(1 / 32, 2, variant="notebook"), Full(3), [0.5, 1.0, 0.0]),
}


def rate(algorithm, law, curvatures, kind):
    hessians = [[[kind(h)]] for h in curvatures]
    problem = Quadratics(hessians, [[kind(0)]] * len(curvatures))
    return float(moments(problem, algorithm, law).mean_square_rate)


def exact(algorithm):
    return algorithm.retuned(Fraction(algorithm.step_size))


@pytest.mark.parametrize("name", SETTINGS)
def test_floats_and_rationals_agree_for_nearly_equal_clients(name):
    algorithm, law, curvatures = SETTINGS[name]
    found = rate(algorithm, law, curvatures, float)
    assert found == pytest.approx(rate(exact(algorithm), law, curvatures, Fraction))


def test_floats_alone_would_be_wrong(monkeypatch):
    algorithm, law, curvatures = SETTINGS["paper"]
    true = rate(algorithm, law, curvatures, float)
    monkeypatch.setattr(_moments, "conserves", lambda _: False)
    monkeypatch.setattr(_moments, "leaves_out", lambda _: False)
    monkeypatch.setattr(_moments, "dimension", lambda *_: None)
    monkeypatch.setattr(SmallMoments, "keeps_one_state", True)
    assert abs(rate(algorithm, law, curvatures, float) - true) > 0.05


def test_what_is_eliminated_before_needs_no_rationals():
    problem = Quadratics([[[0.5]], [[0.7]]], [[0.0], [0.0]])
    found = moments(problem, Focus(0.1, 2), Bernoulli([0.5, 0.5]))
    assert found._engine.twin is None


def test_a_map_that_is_zero_reaches_nothing():
    problem = Quadratics([[[1.0]]], [[2.0]])
    assert moments(problem, GradientDescent(1), Full(1)).mean_square_rate == 0


def test_large_systems_keep_them_out_too():
    draws = np.random.default_rng(0)
    hessians = []
    for _ in range(6):
        basis, _ = np.linalg.qr(draws.standard_normal((20, 20)))
        hessian = (basis * draws.uniform(0.001, 1, 20)) @ basis.T
        hessians.append((hessian + hessian.T) / 2)
    problem = Quadratics(np.array(hessians), draws.standard_normal((6, 20)))
    algorithm = ProxSkip(0.05, 3, variant="notebook")
    found = moments(problem, algorithm, Full(6))
    assert isinstance(found._engine, LargeMoments)
    # nothing is random: one run decays more and more like the slowest mode
    error = simulate(problem, algorithm, Full(6), rounds=400, runs=1, seed=1).mean()
    decay = (error[400] / error[300]) ** (1 / 100)
    assert decay - 1e-6 <= float(found.mean_square_rate) <= decay + 3e-3


def test_a_chain_of_modes_keeps_them_out_too():
    # p and q of one client, computed apart in floats, differ in the last digit
    problem = Quadratics([[[1.75]]], [[-1.125]])
    halves = [Bernoulli([0.5]), Bernoulli([0.5])]
    chain = ModeChain([[0.75, 0.25], [0.125, 0.875]], halves)
    algorithm = ProxSkip(0.0625, 3, variant="notebook")
    once = moments(problem, algorithm, halves[0]).mean_square_rate
    found = moments(problem, algorithm, chain).mean_square_rate
    assert found == pytest.approx(once, rel=1e-12)
    assert once < 0.75
