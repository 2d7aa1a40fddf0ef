from __future__ import annotations

import math

import numpy as np
import pytest

from flverify._core.errors import DomainError, ShapeError
from flverify.algorithms import FedAvg
from flverify.engines.simulate import simulate
from flverify.participation import UniformCohort
from flverify.problems import Softmax
from flverify.problems._newton import descend
from flverify.reference import fedavg


def plain_value(rows, labels, classes, ridge, x):
    """Cross-entropy by loops over rows, classes and features."""
    total = 0.0
    for row, label in zip(rows, labels, strict=True):
        scores = [
            sum(row[p] * x[p * classes + c] for p in range(len(row)))
            for c in range(classes)
        ]
        total += math.log(math.fsum(math.exp(s) for s in scores)) - scores[label]
    return total / len(rows) + ridge * sum(v * v for v in x) / 2


def plain_gradient(rows, labels, classes, ridge, x):
    out = [ridge * v for v in x]
    for row, label in zip(rows, labels, strict=True):
        powers = [
            math.exp(sum(row[p] * x[p * classes + c] for p in range(len(row))))
            for c in range(classes)
        ]
        for c in range(classes):
            slope = powers[c] / math.fsum(powers) - (c == label)
            for p in range(len(row)):
                out[p * classes + c] += slope * row[p] / len(rows)
    return out


def some(ridge: float = 0.3, seed: int = 5) -> Softmax:
    draw = np.random.default_rng(seed)
    rows, labels = draw.normal(size=(4, 6, 2)), draw.integers(3, size=(4, 6))
    return Softmax(rows, labels, 3, ridge)


def parts(problem: Softmax, client: int):
    data = (problem.features[client].tolist(), problem.labels[client].tolist())
    return (*data, problem.classes, problem.regularisation)


def test_by_hand() -> None:
    # one row a = 1 of class 0 out of two: f = log(1 + exp(x_1 - x_0))
    one = Softmax([[[1.0]]], [[0]], 2)
    assert one.dim == 2
    point = np.array([math.log(3.0), 0.0])
    assert one.value(0, point) == pytest.approx(math.log(4 / 3))
    assert one.gradient(0, point) == pytest.approx([-1 / 4, 1 / 4])


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_value_and_gradient_are_those_of_plain_loops(ridge: float) -> None:
    problem, draw = some(ridge), np.random.default_rng(1)
    for client in range(problem.n_clients):
        x = draw.normal(size=problem.dim)
        expected = plain_value(*parts(problem, client), x.tolist())
        assert problem.value(client, x) == pytest.approx(expected, rel=1e-13)
        slopes = plain_gradient(*parts(problem, client), x.tolist())
        np.testing.assert_allclose(problem.gradient(client, x), slopes, rtol=1e-12)


def test_many_clients_at_once_are_each_alone() -> None:
    problem, draw = some(), np.random.default_rng(2)
    points = draw.normal(size=(3, problem.dim))
    together = problem.gradients([2, 0, 2], points)
    for client, point, found in zip([2, 0, 2], points, together, strict=True):
        np.testing.assert_allclose(found, problem.gradient(client, point), rtol=1e-13)
    values = [problem.value(i, points[0]) for i in range(problem.n_clients)]
    np.testing.assert_allclose(problem.values(points[0]), values, rtol=1e-13)


def test_large_scores_do_not_overflow() -> None:
    one = Softmax([[[1.0]]], [[0]], 2)
    assert one.value(0, np.array([0.0, 1e4])) == pytest.approx(1e4)
    assert one.gradient(0, np.array([0.0, 1e4])).tolist() == [-1.0, 1.0]


def test_the_minimiser_has_no_smaller_neighbour() -> None:
    problem = some(0.05)
    weights = np.array([0.5, 0.0, 2.0, 1.0])
    best = problem.minimiser(weights)
    slope = sum(
        w * np.array(plain_gradient(*parts(problem, i), best.tolist()))
        for i, w in enumerate(weights)
    )
    assert np.abs(slope).max() < 1e-12
    least = weights @ problem.values(best)
    for shift in np.random.default_rng(3).normal(size=(20, problem.dim)):
        assert weights @ problem.values(best + 1e-2 * shift) > least


def test_the_minimiser_of_badly_scaled_data_is_found() -> None:
    draw = np.random.default_rng(4)
    rows = draw.normal(size=(2, 8, 3)) * [1.0, 30.0, 0.1]
    problem = Softmax(rows, draw.integers(2, size=(2, 8)), 2, 1e-4)
    total = sum(problem.gradient(i, problem.minimiser()) for i in range(2))
    assert np.abs(total).max() < 1e-9


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_a_descent_is_damped_and_knows_its_scale(scale: float) -> None:
    # scale (sqrt(1 + y^2) + y^2/100), y = x - 1: Newton's full step from y = 2 leads
    # away, to about -6, and from there farther
    def value(x):
        y = float(x[0]) - 1
        return scale * (np.sqrt(1 + y * y) + y * y / 100)

    def gradient(x):
        y = x - 1
        return scale * (y / np.sqrt(1 + y * y) + y / 50)

    def turned(x, v):
        y = x - 1
        return scale * ((1 + y * y) ** -1.5 + 1 / 50) * v

    for start in (3.0, 30.0, -50.0):
        found = descend(
            np.array([start]), value=value, gradient=gradient, turned=turned
        )
        assert found == pytest.approx(np.array([1.0]), abs=1e-7)


def test_simulation_follows_the_plain_loop() -> None:
    problem, law = some(), UniformCohort(4, 2)
    ran = simulate(
        problem, FedAvg(0.2, 3), law, rounds=6, runs=1, seed=9, keep_models=True
    )
    masks = law.sample(9, 1, 6)[0]
    cohorts = [set(np.flatnonzero(mask).tolist()) for mask in masks]
    models = fedavg.run(
        lambda i, x: plain_gradient(*parts(problem, i), x),
        4,
        [0.0] * problem.dim,
        cohorts,
        step_size=0.2,
        local_steps=3,
    )
    np.testing.assert_allclose(ran.models[0], models, atol=1e-13)
    distance = np.sum((np.array(models[-1]) - problem.minimiser()) ** 2)
    assert ran.errors[0, -1] == pytest.approx(distance)


def test_a_point_that_overflowed_has_no_gradient_but_does_not_stop_a_run() -> None:
    problem = some()
    with np.errstate(all="ignore"):
        found = problem.gradient(0, np.full(problem.dim, np.inf))
    assert np.isnan(found).any()


def test_its_data_cannot_be_changed() -> None:
    given = np.zeros((1, 2, 1))
    problem = Softmax(given, np.array([[0, 1]]), 2)
    given[0, 0, 0] = 7.0
    assert problem.features.max() == 0.0
    for part in (problem.features, problem.labels):
        with pytest.raises(ValueError, match="read-only"):
            part[:] = 1


@pytest.mark.parametrize(
    ("features", "labels", "classes", "ridge", "error", "said"),
    [
        ([[1.0]], [[0]], 2, 0, ShapeError, "features must have 3 axes"),
        ([[[1.0]]], [0], 2, 0, ShapeError, "labels must have shape"),
        ([[[1.0]]], [[2]], 2, 0, DomainError, "integers from 0 to 1"),
        ([[[1.0]]], [[-1]], 2, 0, DomainError, "integers from 0 to 1"),
        ([[[1.0]]], [[0.0]], 2, 0, DomainError, "integers from 0 to 1"),
        ([[[1.0]]], [[True]], 2, 0, DomainError, "integers from 0 to 1"),
        ([[[1.0]]], [[0]], 1, 0, DomainError, "classes must be an integer"),
        ([[[1.0]]], [[0]], 2, -1, DomainError, "regularisation must be at least 0"),
        ([[[1.0]]], [[0]], 2, True, DomainError, "regularisation must be a number"),
        ([[[math.nan]]], [[0]], 2, 0, DomainError, "finite"),
        ([[[True]]], [[0]], 2, 0, DomainError, "number"),
    ],
)
def test_bad_data_are_refused(features, labels, classes, ridge, error, said) -> None:
    with pytest.raises(error, match=said):
        Softmax(features, np.array(labels), classes, ridge)


def test_bad_questions_are_refused() -> None:
    problem = some()
    with pytest.raises(ShapeError, match=r"point must have shape \(6,\)"):
        problem.gradient(0, np.zeros(5))
    with pytest.raises(DomainError, match="client must be an integer"):
        problem.value(4, np.zeros(6))
    with pytest.raises(ShapeError, match="one entry per client"):
        problem.minimiser([1.0])
    with pytest.raises(DomainError, match="at least 0 and not all 0"):
        problem.minimiser([0.0, 0.0, 0.0, 0.0])
    with pytest.raises(DomainError, match="at least 0 and not all 0"):
        problem.minimiser([1.0, 1.0, 1.0, -1.0])
    with pytest.raises(DomainError, match="regularisation must be positive"):
        some(0.0).minimiser()


def test_its_repr_says_the_sizes() -> None:
    assert repr(some()) == "<Softmax: 4 clients, 6 rows each, dimension 6, 3 classes>"
    alone = Softmax(np.ones((1, 1, 1)), np.array([[0]]), 2, 1)
    assert repr(alone) == "<Softmax: 1 client, 1 row each, dimension 2, 2 classes>"
