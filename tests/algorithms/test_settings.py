"""Settings outside their domain are refused in one sentence, in every algorithm."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from flverify import moments
from flverify._core.errors import DomainError, InputError, ShapeError
from flverify.algorithms import (
    AgnosticFedAvg,
    Ball,
    Box,
    FedAU,
    FedAvg,
    Focus,
    GradientDescent,
    ProxSkip,
    Scaffold,
    WeightedFedAvg,
)
from flverify.participation import Full
from tests.zoo import PAIR, algorithms

WRONG = [
    lambda: Focus(0),
    lambda: Focus("1/8", 0),
    lambda: Focus("1/8", 1.5),
    lambda: Focus("1/8", 10**20),
    lambda: Focus("1/8", empty_round="wait"),
    lambda: Focus("1/8", initial_gradients="random"),
    lambda: FedAvg("-1/8"),
    lambda: FedAvg("1/8", aggregation="median"),
    lambda: FedAvg("1/8", server_step_size=0),
    lambda: GradientDescent("1/8", 2),
    lambda: WeightedFedAvg("1/8", [-1, 2]),
    lambda: AgnosticFedAvg("1/8", 0),
    lambda: AgnosticFedAvg("1/8", 2, schedule="never"),
    lambda: AgnosticFedAvg("1/8", 2, projection="ball"),
    lambda: AgnosticFedAvg("1/8", 2, projection=Ball),
    lambda: Ball(0),
    lambda: Ball(10**400),
    lambda: Ball(Fraction(1, 10**400)),
    lambda: Box(1, 1),
    lambda: Box(-(10**400), 1),
    lambda: Scaffold("1/8", option="III"),
    lambda: FedAU("1/8", cutoff=0),
    lambda: ProxSkip("1/8"),
    lambda: ProxSkip("1/8", probability=0),
    lambda: ProxSkip("1/8", 2, "1/2"),
    lambda: ProxSkip("1/8", 2, "1/2", variant="notebook"),
    lambda: FedAvg(float("nan")),
    lambda: FedAvg(True),
]


@pytest.mark.parametrize("build", WRONG)
def test_wrong_settings_are_refused(build):
    with pytest.raises(DomainError) as caught:
        build()
    assert issubclass(caught.type, InputError)
    assert "\n" not in str(caught.value)
    assert ";" in str(caught.value)  # what must hold; what was given; what to do


@pytest.mark.parametrize("radius", [1, "1e-100", "1e120", "1e150"])
@pytest.mark.parametrize("length", [0.0, 0.5, 1.0, 1e100, 1e151, 1e200, 1e308])
def test_the_nearest_point_of_a_ball_is_on_the_same_ray(radius, length):
    ball = Ball(radius)
    points = length * np.array([[0.6, 0.8], [0.0, -1.0]])
    found = ball.project(points)
    ends = min(1.0, float(ball.radius) / length) if length else 1.0
    assert found == pytest.approx(points * ends, rel=1e-12)


def test_a_set_of_ones_own_can_be_projected_on():
    class Half:
        def project(self, points):
            return np.maximum(points, 0)

    assert AgnosticFedAvg("1/8", 2, projection=Half()).local_steps == 1


def test_weights_must_fit_the_clients():
    with pytest.raises(ShapeError, match="one number per client"):
        moments(PAIR, WeightedFedAvg("1/8", [1, 1, 1]), Full(2))


@pytest.mark.parametrize(("member", "algorithm"), list(algorithms(2)))
def test_settings_are_frozen_and_sourced(member, algorithm):
    assert algorithm.source.citation()
    assert "model" in algorithm.slots()
    with pytest.raises(AttributeError):
        algorithm.step_size = 1
