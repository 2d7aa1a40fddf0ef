"""What a solver says is told in plain words, its own in brackets."""

import re

import clarabel
import numpy as np
import pytest

from flverify.algorithms import FedAvg, Focus
from flverify.certify import neighbourhood
from flverify.certify.rates import certify
from flverify.certify.solve import direct
from flverify.certify.solve.words import plain
from flverify.participation import Full

STATUSES = [n for n in dir(clarabel.SolverStatus) if n[0].isupper()]


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_of_the_solver_has_plain_words(status):
    assert re.fullmatch(
        rf"an? [a-z ,-]+ \({status}\)|[a-z ,]+ \({status}\)", plain(status)
    )
    assert "unknown" not in plain(status)


@pytest.fixture
def hasty(monkeypatch):
    """A solver that stops after one iteration."""
    monkeypatch.setattr(direct, "MOST_ITERATIONS", 1)


def tiny():
    one = direct.Block(np.zeros((1, 1)), np.ones((1, 1, 1)))
    none = np.zeros((0, 1))
    free = np.array([False])
    return direct.Programme((one,), free, none, np.zeros(0), np.ones(1))


@pytest.mark.usefixtures("hasty")
def test_a_programme_that_is_not_solved():
    found = direct.widest_margin(tiny())
    assert (found.status, found.detail) == ("failed", plain("MaxIterations"))


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    "ask",
    [
        lambda: certify(Focus("1/5"), Full(2), "1/10", 1),
        lambda: certify(Focus("1/5"), Full(2), "1/10", 1, rate="95/100"),
        lambda: neighbourhood.distance(FedAvg("1/10", 2), Full(2), "1/10", 1),
        lambda: neighbourhood.contraction(FedAvg("1/10", 2), Full(2), "1/10", 1),
    ],
)
def test_reasons_say_what_happened(ask):
    found = ask()
    assert found.status == "inconclusive"
    assert f"the solver stopped with {plain('MaxIterations')}" in found.reason
