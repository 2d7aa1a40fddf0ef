from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import sympy

from flverify._core.errors import DomainError, ShapeError
from flverify.problems import Quadratics, ridge_regression, synthetic_ridge

FEATURES = [
    [["1/2", 2], [0, -1], [3, 1]],
    [[1, 1], ["0.1", 4], [-2, 0]],
]
TARGETS = [[1, "0.5", -2], [0, 3, "7/3"]]
RIDGE = Fraction(1, 100)


def printed_loss(client: int, x: list[Fraction]) -> Fraction:
    """sum_k |a'x - b|^2 + lambda |x|^2, in plain loops on the raw data."""
    total = RIDGE * sum(v * v for v in x)
    for row, target in zip(FEATURES[client], TARGETS[client], strict=True):
        dot = sum(Fraction(a) * v for a, v in zip(row, x, strict=True))
        total += (dot - Fraction(target)) ** 2
    return total


def same_up_to_constants(
    problem: Quadratics, loss: Callable[[int, list[Fraction]], Fraction]
) -> bool:
    draw = np.random.default_rng(0)
    origin = [Fraction(0)] * 2
    for client in range(2):
        for _ in range(6):
            x = [Fraction(int(v), 3) for v in draw.integers(-9, 10, size=2)]
            rise = problem.value(client, x) - problem.value(client, origin)
            if rise != loss(client, x) - loss(client, origin):
                return False
    return True


def test_the_loss_is_the_printed_one() -> None:
    problem = ridge_regression(FEATURES, TARGETS, "0.01")
    assert problem.exact
    assert same_up_to_constants(problem, printed_loss)


def test_the_usual_variants_are_told_apart() -> None:
    problem = ridge_regression(FEATURES, TARGETS, "0.01")
    variants = (
        lambda i, x: printed_loss(i, x) / 2,
        lambda i, x: printed_loss(i, x) / 3,
        lambda i, x: printed_loss(i, x) - RIDGE * sum(v * v for v in x),
        lambda i, x: printed_loss(i, x) - RIDGE * sum(v * v for v in x) / 2,
    )
    assert not any(same_up_to_constants(problem, loss) for loss in variants)


def test_gradient_by_exact_differences_of_the_raw_loss() -> None:
    problem = ridge_regression(FEATURES, TARGETS, "0.01")
    point, step = [Fraction(1, 2), Fraction(-2)], Fraction(1, 5)
    for client in range(2):
        for axis in range(2):
            up, down = list(point), list(point)
            up[axis] += step
            down[axis] -= step
            slope = (printed_loss(client, up) - printed_loss(client, down)) / (2 * step)
            assert problem.gradient(client, point)[axis] == slope


def test_the_regulariser_is_in_every_client() -> None:
    bare = ridge_regression(FEATURES, TARGETS, 0)
    ridge = ridge_regression(FEATURES, TARGETS, "0.01")
    change = ridge.hessians - bare.hessians
    assert (change == Fraction(1, 50) * np.eye(2, dtype=int)).all()
    mean = ridge.mean_hessian - bare.mean_hessian
    assert mean.tolist() == [[Fraction(1, 50), 0], [0, Fraction(1, 50)]]


def test_a_symbol_regularises() -> None:
    weight = sympy.Symbol("weight")
    symbolic = ridge_regression(FEATURES, TARGETS, weight)
    plain = ridge_regression(FEATURES, TARGETS, "0.01")
    put_in = [h.subs(weight, RIDGE) for h in map(sympy.sympify, symbolic.hessians.flat)]
    assert put_in == plain.hessians.ravel().tolist()
    assert (symbolic.linear == plain.linear).all()


def test_float_data_agree_with_exact_data() -> None:
    exact = ridge_regression(FEATURES, TARGETS, "0.01")
    rows = np.array([[[Fraction(a) for a in r] for r in c] for c in FEATURES])
    right = np.array([[Fraction(b) for b in c] for c in TARGETS])
    floats = ridge_regression(rows.astype(float), right.astype(float), 0.01)
    assert not floats.exact
    assert floats.hessians == pytest.approx(exact.hessians.astype(float))
    assert floats.minimiser() == pytest.approx(exact.minimiser().astype(float))


@pytest.mark.parametrize(
    ("features", "targets", "regularisation", "error"),
    [
        ([[1, 2]], [[1]], 0, ShapeError),
        ([[[1, 2]]], [1], 0, ShapeError),
        ([[[1, 2]]], [[1, 2]], 0, ShapeError),
        ([[[1, 2]]], [[1], [2]], 0, ShapeError),
        ([[[1, 2], [1]]], [[1, 1]], 0, ShapeError),
        ([], [], 0, ShapeError),
        ([[[1, 2]]], [[1]], -1, DomainError),
        ([[[1, 2]]], [[1]], "-1/8", DomainError),
        ([[[1, 2]]], [[1]], True, DomainError),
        ([[[1, 2]]], [[1]], None, DomainError),
        ([[[1, 2]]], [[1]], float("nan"), DomainError),
        ([[[1, float("nan")]]], [[1]], 0, DomainError),
        ([[[1, True]]], [[1]], 0, DomainError),
    ],
)
def test_bad_input(
    features: object, targets: object, regularisation: object, error: type[Exception]
) -> None:
    with pytest.raises(error):
        ridge_regression(features, targets, regularisation)


@pytest.mark.filterwarnings("error")
def test_data_whose_squares_are_no_floats_are_named_in_one_sentence() -> None:
    for features, targets in ((1e200, 1.0), (1e200, 1e200), (1e10, 1e300)):
        with pytest.raises(DomainError, match="features and targets must be floats"):
            ridge_regression([[[features]]], [[targets]], 1)
    exact = ridge_regression([[[10**200]]], [[1]], 1)
    assert exact.hessians[0, 0, 0] == 2 * 10**400 + 2


def test_synthetic_sizes_and_seeds() -> None:
    problem = synthetic_ridge()
    assert (problem.n_clients, problem.dim, problem.exact) == (16, 100, False)
    again = synthetic_ridge(seed=0)
    assert (problem.hessians == again.hessians).all()
    assert (problem.linear == again.linear).all()
    other = synthetic_ridge(seed=1)
    assert not np.isclose(problem.linear, other.linear).any()
    small = synthetic_ridge(n_clients=3, dim=2, samples=4, regularisation=1, seed=5)
    assert small.hessians.shape == (3, 2, 2)
    assert (small.client_strong_convexity() > 2).all()


def test_synthetic_bits_are_pinned() -> None:
    # Published figures depend on these numbers.
    problem = synthetic_ridge(n_clients=2, dim=1, samples=2)
    expected = np.array([[-0.282136103677814], [-0.5146205118293726]])
    assert problem.linear == pytest.approx(expected, rel=1e-12)


def test_synthetic_clients_differ_in_curvature_and_optimum() -> None:
    problem = synthetic_ridge(n_clients=4, dim=2, samples=4000, regularisation=0)
    levels = problem.hessians[:, 0, 0] / (2 * 4000)  # about c_i^2 in [1/4, 1]
    assert (levels > 0.2).all()
    assert (levels < 1.1).all()
    assert np.ptp(levels) > 0.05
    optima = [problem.minimiser(np.eye(4)[i]) for i in range(4)]
    assert np.ptp(optima, axis=0).min() > 0.1


@pytest.mark.parametrize("seed", range(4))
def test_focus_is_stable_and_visibly_fast_at_the_printed_step(seed: int) -> None:
    problem = synthetic_ridge(seed=seed)
    step, steps = 2e-4, 5
    pace = step * 16 * np.linalg.eigvalsh(problem.hessians.sum(axis=0) / 16)
    assert pace[-1] < 1
    assert pace[0] > 0.1
    x, y = np.zeros(100), np.zeros(100)
    stored = np.zeros((16, 100))
    optimum = np.linalg.solve(problem.hessians.sum(axis=0), problem.linear.sum(axis=0))
    for _ in range(100):  # Algorithm 1 of the paper, everybody taking part
        pushed = np.zeros(100)
        for i in range(16):
            local, tracker, old = x, np.zeros(100), stored[i]
            for _ in range(steps):
                new = problem.hessians[i] @ local - problem.linear[i]
                tracker = tracker + new - old
                local, old = local - step * tracker, new
            stored[i] = old
            pushed = pushed + tracker
        y = y + pushed
        x = x - step * y
    gap = np.linalg.norm(x - optimum) / np.linalg.norm(optimum)
    assert gap < 1e-7


@pytest.mark.parametrize(
    "settings",
    [
        {"n_clients": 0},
        {"dim": 0},
        {"samples": 0},
        {"samples": 2.0},
        {"seed": -1},
        {"seed": 1 << 63},
        {"seed": None},
        {"seed": True},
        {"regularisation": -1},
        {"samples": 10**20},
        {"dim": 10**20},
        {"dim": 10**8, "samples": 1, "n_clients": 1},
    ],
)
def test_bad_synthetic_settings(settings: dict[str, object]) -> None:
    with pytest.raises(DomainError):
        synthetic_ridge(**settings)
