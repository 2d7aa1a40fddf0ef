"""Settings whose answers are known by hand, and an independent error curve."""

from __future__ import annotations

import importlib
from itertools import product

import numpy as np
import pytest

from flverify.participation import Bernoulli
from flverify.problems import Quadratics
from flverify.testing.outcome import RECORDER


@pytest.fixture(autouse=True)
def unlisted(request, monkeypatch):
    """Keep what these tests assert out of the summary of the session that runs them."""
    if request.module.__name__.rpartition(".")[2] != "test_plugin":
        monkeypatch.setattr(RECORDER, "keep", lambda outcome: None)  # noqa: ARG005


@pytest.fixture
def problem():
    """f_1 = x^2/2 and f_2 = x^2 - 2x: x* = 2/3, no common minimiser."""
    return Quadratics([[[1]], [[2]]], [[0], [2]])


@pytest.fixture
def agreeing():
    """Two clients with the common minimiser 1."""
    return Quadratics([[[1]], [[2]]], [[1], [2]])


@pytest.fixture
def law():
    return Bernoulli(["1/2", "1/3"])


@pytest.fixture
def enumerated():
    """E|x_r - x*|^2 of a plain loop, over every sequence of cohorts, in rationals."""

    def curve(name, problem, law, rounds, start, **settings):
        run = importlib.import_module(f"flverify.reference.{name}").run
        optimum = problem.minimiser()
        total = [0] * (rounds + 1)
        for sequence in product(law.support().items(), repeat=rounds):
            weight = 1
            for _, chance in sequence:
                weight *= chance
            cohorts = [members for members, _ in sequence]
            models = run(
                lambda i, x: list(problem.gradient(i, np.array(x, dtype=object))),
                problem.n_clients,
                list(start),
                cohorts,
                **settings,
            )
            for r, model in enumerate(models):
                gap = np.array(model, dtype=object) - optimum
                total[r] += weight * (gap @ gap)
        return total

    return curve
