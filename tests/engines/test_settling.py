"""Large float rates near the square of the mean rate, where a secant bends."""

import pytest

from flverify import moments
from flverify.algorithms import Scaffold
from flverify.engines.moments import _perron
from flverify.participation import Bernoulli
from flverify.problems import Quadratics


def rate(n):
    problem = Quadratics(
        [[[1 + i / n]] for i in range(n)], [[float(i % 7)] for i in range(n)]
    )
    law = Bernoulli([0.3 + 0.4 * i / n for i in range(n)])
    return moments(problem, Scaffold(0.05, 2), law).mean_square_rate


def test_a_secant_is_followed_until_it_settles(monkeypatch):
    found = {n: rate(n) for n in (96, 144)}
    monkeypatch.setattr(_perron, "SECANT", 1e-12)
    monkeypatch.setattr(_perron, "RESIDUAL", 1e-11)
    for n, one in found.items():
        assert one == pytest.approx(rate(n), rel=1e-10)


def test_a_step_past_the_floor_goes_nearer_to_it_than_the_middle():
    floor, high = 0.5, 0.9
    assert _perron._inside(0.4, floor, high, floor) == pytest.approx(0.55)
    assert _perron._inside(0.4, 0.6, high, floor) == pytest.approx(0.75)
    assert _perron._inside(0.7, floor, high, floor) == 0.7
