"""Eigenvectors of repeated eigenvalues, and the rates that hang on them."""

from __future__ import annotations

import numpy as np
import pytest

from flverify import moments
from flverify.algorithms import Focus
from flverify.engines.moments._eigen import eigenpairs
from flverify.participation import Bernoulli
from flverify.problems import Quadratics, synthetic_ridge

MANY = 40


def similar(matrix, seed=0):
    """The same map in other coordinates, which are no longer orthogonal."""
    change = np.random.default_rng(seed).standard_normal(matrix.shape)
    return change @ matrix @ np.linalg.inv(change)


def blocks(*parts):
    size = sum(len(part) for part in parts)
    out, place = np.zeros((size, size)), 0
    for part in parts:
        end = place + len(part)
        out[place:end, place:end] = part
        place = end
    return out


def checked(matrix):
    values, vectors = eigenpairs(matrix)
    assert np.allclose(matrix @ vectors, vectors * values, atol=1e-10)
    upper, lower = values.imag > 0, values.imag < 0
    pairs = np.sort_complex(values[upper].conj()), np.sort_complex(values[lower])
    assert (pairs[0] == pairs[1]).all()
    assert (vectors[:, values.imag == 0].imag == 0).all()
    return values, vectors


@pytest.mark.parametrize(
    ("part", "value"),
    [(np.array([[0.5]]), 0.5), (np.array([[0.3, -0.4], [0.4, 0.3]]), 0.3 + 0.4j)],
)
def test_a_repeated_eigenvalue_has_orthonormal_vectors(part, value):
    others = np.diag(np.linspace(0.6, 0.9, 7))
    values, vectors = checked(similar(blocks(*[part] * MANY, others)))
    here = vectors[:, values == values[np.argmin(np.abs(values - value))]]
    assert here.shape[1] == MANY
    np.testing.assert_allclose(here.conj().T @ here, np.eye(MANY), atol=1e-6)


def test_simple_eigenvalues_are_left_to_lapack():
    matrix = np.random.default_rng(1).standard_normal((9, 9))
    values, vectors = checked(matrix)
    expected = np.linalg.eig(matrix)
    assert (values == expected[0]).all()
    assert (vectors == expected[1]).all()


def test_an_eigenvalue_with_too_few_vectors_is_left_to_lapack():
    matrix = np.array([[0.5, 1.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.25]])
    values, vectors = eigenpairs(matrix)
    expected = np.linalg.eig(matrix)
    assert (values == expected[0]).all()
    assert (vectors == expected[1]).all()


@pytest.mark.slow
def test_the_rate_of_many_clients_that_are_alike_in_the_law():
    # (N - 1) d eigenvalues of the mean map are 1 - p: their vectors were nearly
    # parallel, and the rate missed its own equation by 3e-6
    problem = synthetic_ridge(
        n_clients=16, dim=35, samples=100, seed=0, regularisation=0.01
    ).as_float()
    step = 1.5 / (16 * float(max(problem.client_smoothness())))
    found = moments(problem, Focus(step), Bernoulli([0.5] * 16))
    assert found.mean_square_rate == pytest.approx(0.58966256, rel=1e-7)


def test_many_alike_clients_have_the_rate_of_their_coordinates():
    # clients whose Hessians are diagonal: no coordinate feels another, so that the
    # rate is the largest of 12 small dense ones
    curvatures = np.random.default_rng(2).uniform(0.1, 2, (8, 12))
    law, step = Bernoulli([0.5] * 8), 0.1
    together = Quadratics([np.diag(h) for h in curvatures], np.zeros((8, 12)))
    rates = [
        moments(Quadratics([[[v]] for v in h], np.zeros((8, 1))), Focus(step), law)
        for h in curvatures.T
    ]
    largest = max(one.mean_square_rate for one in rates)
    found = moments(together, Focus(step), law)
    assert found.mean_square_rate == pytest.approx(largest, rel=1e-8)
