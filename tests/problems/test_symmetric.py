from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
import sympy

from flverify._core.errors import DomainError
from flverify.problems import _symmetric


def exact(rows: object) -> np.ndarray:
    out = np.array(rows, dtype=object)
    return np.vectorize(Fraction, otypes=[object])(out)


def determinant(matrix: np.ndarray) -> Fraction:
    """Sum over permutations, with the sign from counted inversions."""
    size, total = len(matrix), Fraction(0)
    for order in permutations(range(size)):
        pairs = [(a, b) for a in range(size) for b in range(a) if order[b] > order[a]]
        term = Fraction((-1) ** len(pairs))
        for row, column in enumerate(order):
            term *= matrix[row, column]
        total += term
    return total


def sylvester(matrix: np.ndarray) -> int:
    """Definiteness from principal minors: leading ones, then all of them."""
    size = len(matrix)
    if all(determinant(matrix[:k, :k]) > 0 for k in range(1, size + 1)):
        return 1
    chosen = [[i for i in range(size) if code >> i & 1] for code in range(1, 1 << size)]
    minors = [determinant(matrix[np.ix_(rows, rows)]) for rows in chosen]
    return 0 if all(minor >= 0 for minor in minors) else -1


def random_symmetric(seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    half = draw.integers(-2, 3, size=(3, 3))
    if seed % 2:  # semidefinite, and singular for a zero or repeated column
        return exact(half @ half.T)
    return exact(half + half.T + 3 * np.eye(3, dtype=int))


def test_definiteness_is_sylvesters() -> None:
    seen = set()
    for seed in range(120):
        matrix = random_symmetric(seed)
        found = _symmetric.definiteness(matrix)
        assert found == sylvester(matrix)
        assert _symmetric.definiteness(matrix.astype(float)) == found
        seen.add(found)
    assert seen == {-1, 0, 1}


def test_solution_satisfies_the_equation() -> None:
    solved = 0
    for seed in range(40):
        matrix = random_symmetric(seed)
        right = exact([1, -2, seed])
        if sylvester(matrix) < 1:
            with pytest.raises(DomainError, match="positive definite"):
                _symmetric.solve(matrix, right, "the matrix")
            continue
        found = _symmetric.solve(matrix, right, "the matrix")
        assert (matrix @ found).tolist() == right.tolist()
        again = _symmetric.solve(matrix.astype(float), right.astype(float), "it")
        assert again == pytest.approx(found.astype(float), rel=1e-9, abs=1e-12)
        solved += 1
    assert solved > 5


def test_symbolic_definiteness() -> None:
    h = sympy.Symbol("h")
    positive = sympy.Symbol("p", positive=True)
    for entry, expected in ((h, 1), (positive, 1), (-positive, -1)):
        matrix = np.array([[entry]], dtype=object)
        assert _symmetric.definiteness(matrix) == expected
    assert _symmetric.definiteness(np.array([[h, h], [h, h]], dtype=object)) == 0


def test_extreme_eigenvalues() -> None:
    assert _symmetric.extreme_eigenvalues(exact([[3, 0], [0, -1]])) == (-1, 3)
    found = _symmetric.extreme_eigenvalues(exact([[2, 1], [1, 2]]))
    assert found == pytest.approx((1, 3))
    assert isinstance(found[0], float)


def test_gram_by_loops() -> None:
    rows = exact([[1, "1/2", -3], [0, 2, "2/3"]])
    expected = [
        [sum(rows[k, i] * rows[k, j] for k in range(2)) for j in range(3)]
        for i in range(3)
    ]
    assert _symmetric.gram(rows).tolist() == expected
    floats = _symmetric.gram(rows.astype(float))
    assert floats == pytest.approx(np.array(expected, dtype=float))
    h = sympy.Symbol("h")
    assert _symmetric.gram(np.array([[h], [2]], dtype=object)).tolist() == [[h**2 + 4]]
