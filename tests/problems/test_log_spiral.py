"""Spiral clients: curvatures, invariance, and a method they slow down."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

from flverify._core.errors import DomainError, ShapeError
from flverify.algorithms import Focus
from flverify.engines.simulate import simulate
from flverify.participation import Full
from flverify.problems import LogSpiral
from flverify.reference import focus

CASES = [("1/3", 1, 1), ("1/10", 2, "-5/2"), (1, 4, 0), (1, 1, 7)]


def curvatures(problem, point):
    """Eigenvalues of the matrix of central differences of the gradient."""
    h = 1e-5 * np.linalg.norm(point)
    rows = [
        (problem.gradient(0, point + h * e) - problem.gradient(0, point - h * e)) / h
        for e in np.eye(2)
    ]
    hessian = np.array(rows) / 2
    assert np.abs(hessian - hessian.T).max() < 1e-6
    return np.linalg.eigvalsh(hessian)


@pytest.mark.parametrize("case", CASES)
def test_curvatures_fill_the_range(case):
    problem = LogSpiral(1, *case)
    draw = np.random.default_rng(0)
    low, high = problem.strong_convexity(), problem.smoothness()
    found = []
    for distance in np.exp(draw.uniform(-5, 5, size=4)):
        for angle in np.linspace(0, 2 * np.pi, 500):
            point = distance * np.array([np.cos(angle), np.sin(angle)])
            found.append(curvatures(problem, point))
    slack = 2e-3 * (high - low) + 1e-6
    assert low - 1e-6 <= np.min(found) <= low + slack
    assert high - slack <= np.max(found) <= high + 1e-6


@pytest.mark.parametrize("case", CASES)
def test_interpolation_holds_between_points_far_apart(case):
    # not only near by: what smooth strongly convex functions satisfy, also across 0
    problem = LogSpiral(1, *case)
    draw = np.random.default_rng(1)
    mu, L = problem.strong_convexity(), problem.smoothness()
    for _ in range(300):
        x, y = draw.standard_normal((2, 2)) * np.exp(draw.uniform(-2, 2, size=(2, 1)))
        gap = x - y
        g, k = problem.gradient(0, x), problem.gradient(0, y)
        rise = problem.value(0, x) - problem.value(0, y) - k @ gap
        middle = (g - k - mu * gap) @ (g - k - mu * gap)
        needed = mu / 2 * (gap @ gap) + (middle / (2 * (L - mu)) if mu < L else 0)
        assert rise >= needed - 1e-9 * (1 + rise)


def test_a_turn_with_a_stretch_multiplies_the_function():
    problem = LogSpiral(1, "1/5", 3, "1.7")
    for t in (-2.0, 0.3, 5.0):
        factor = cmath.exp(t * (1 + 1.7j))
        for angle in (0.0, 1.0, 4.0):
            z = 0.8 * cmath.exp(1j * angle)
            moved = z * factor
            before = problem.value(0, [z.real, z.imag])
            after = problem.value(0, [moved.real, moved.imag])
            assert after == pytest.approx(before * math.exp(2 * t), rel=1e-12)


def test_a_narrower_range_is_told_from_a_wider_one():
    # the negative: another bound than its own is broken
    problem = LogSpiral(1, "1/3", 1, 1)
    points = np.random.default_rng(2).standard_normal((400, 2))
    tops = [curvatures(problem, point)[1] for point in points]
    assert max(tops) > 0.99


def test_equal_constants_give_a_quadratic():
    problem = LogSpiral(2, 3, 3, 5)
    assert problem.gradient(1, [1, -2]).tolist() == [3.0, -6.0]


def test_the_origin_and_what_overflows():
    problem = LogSpiral(1, "1/3", 1, 1)
    assert problem.gradient(0, [0, 0]).tolist() == [0.0, 0.0]
    assert problem.value(0, [0, 0]) == 0
    points = np.array([[0.0, 0.0], [1.0, 2.0]])
    alone = [problem.gradient(0, point) for point in points]
    assert (problem.client_gradients(0, points) == alone).all()


def test_simulation_is_the_plain_loop():
    problem = LogSpiral(3, "1/3", 1, 1)
    found = simulate(
        problem, Focus("1/5", 2), Full(3), rounds=8, runs=2, seed=0, start=[1, 0]
    )
    models = focus.run(
        lambda i, x: problem.gradient(i, x).tolist(),
        3,
        [1.0, 0.0],
        [range(3)] * 8,
        step_size=0.2,
        local_steps=2,
    )
    expected = [x * x + y * y for x, y in models]
    assert found.errors[1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 1, 2), "n_clients"),
        ((1, 0, 2), "strong_convexity"),
        ((1, 3, 2), "must not exceed"),
        ((1, 1, 2, "1e7"), "pitch"),
    ],
)
def test_bad_settings_are_refused(arguments, words):
    with pytest.raises(DomainError, match=words):
        LogSpiral(*arguments)


def test_bad_points_and_weights_are_refused():
    problem = LogSpiral(2, 1, 2)
    with pytest.raises(ShapeError, match="shape"):
        problem.gradient(0, [1, 2, 3])
    with pytest.raises(DomainError, match="client"):
        problem.gradient(2, [1, 2])
    with pytest.raises(ShapeError, match="one entry per client"):
        problem.minimiser([1])
    with pytest.raises(DomainError, match="positive sum"):
        problem.minimiser([1, -1])


def test_one_client_is_said_to_be_one() -> None:
    assert repr(LogSpiral(2, "1/10", 2, 1)).startswith("<LogSpiral: 2 clients, ")
    assert repr(LogSpiral(1, "1/10", 2, 1)).startswith("<LogSpiral: 1 client, ")
