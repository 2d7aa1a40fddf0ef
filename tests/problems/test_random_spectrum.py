from __future__ import annotations

import numpy as np
import pytest

from flverify._core.errors import DomainError
from flverify.problems import random_quadratics


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dim", [2, 3, 7])
def test_spectra_reach_both_ends(dim: int, seed: int) -> None:
    problem = random_quadratics(5, dim, "1/2", 8, 3, seed)
    for hessian in problem.hessians:
        spectrum = np.linalg.eigvalsh(hessian)
        assert spectrum[0] == pytest.approx(0.5, rel=1e-12)
        assert spectrum[-1] == pytest.approx(8, rel=1e-12)
    assert problem.client_strong_convexity() == pytest.approx(0.5)
    assert problem.client_smoothness() == pytest.approx(8)


@pytest.mark.parametrize("heterogeneity", [0, 1e-6, 0.5, 40])
def test_heterogeneity_is_that_at_the_optimum(heterogeneity: float) -> None:
    problem = random_quadratics(6, 4, 1, 10, heterogeneity, seed=2)
    total = problem.hessians.sum(axis=0)
    optimum = np.linalg.solve(total, problem.linear.sum(axis=0))
    squares = [
        np.sum((h @ optimum - b) ** 2)
        for h, b in zip(problem.hessians, problem.linear, strict=True)
    ]
    assert np.sqrt(np.mean(squares)) == pytest.approx(heterogeneity, abs=1e-13)


def test_one_dimension_and_one_client() -> None:
    line = random_quadratics(50, 1, 2, 3, 1, seed=0)
    curvatures = line.hessians[:, 0, 0]
    assert ((curvatures >= 2) & (curvatures <= 3)).all()
    assert np.ptp(curvatures) > 0.5
    alone = random_quadratics(1, 3, 2, 3, 0, seed=0)
    assert alone.gradient_dissimilarity() == pytest.approx(0, abs=1e-20)
    round_bowl = random_quadratics(3, 2, 4, 4, 1, seed=0)
    assert round_bowl.hessians == pytest.approx(np.array([4 * np.eye(2)] * 3))


def test_rotations_favour_no_direction() -> None:
    # Under Haar rotations the mean Hessian tends to a multiple of the identity.
    mean = random_quadratics(4000, 2, 1, 3, 0, seed=7).mean_hessian
    assert mean == pytest.approx(2 * np.eye(2), abs=0.06)


def test_seeds() -> None:
    first, again = (random_quadratics(3, 3, 1, 2, 1, seed=4) for _ in range(2))
    assert (first.hessians == again.hessians).all()
    assert (first.linear == again.linear).all()
    other = random_quadratics(3, 3, 1, 2, 1, seed=5)
    assert not np.isclose(first.linear, other.linear).any()


@pytest.mark.parametrize(
    "settings",
    [
        (0, 2, 1, 2, 1, 0),
        (2, 0, 1, 2, 1, 0),
        (2, 2, 0, 2, 1, 0),
        (2, 2, -1, 2, 1, 0),
        (2, 2, 3, 2, 1, 0),
        (2, 2, 1, float("inf"), 1, 0),
        (2, 2, 1, 2, -1, 0),
        (2, 2, 1, 2, float("nan"), 0),
        (1, 2, 1, 2, 1, 0),
        (2, 2, 1, 2, 1, -1),
        (2, 2, 1, 2, 1, 0.5),
        (True, 2, 1, 2, 1, 0),
    ],
)
def test_bad_settings(settings: tuple[object, ...]) -> None:
    with pytest.raises(DomainError):
        random_quadratics(*settings)


@pytest.mark.parametrize("size", [(1, 10**8), (10**7, 10**3)])
def test_sizes_beyond_the_memory_are_refused(size: tuple[int, int]) -> None:
    with pytest.raises(DomainError, match="entries of the Hessians must fit"):
        random_quadratics(*size, 1, 2, 0, seed=0)
