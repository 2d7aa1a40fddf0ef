from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
import sympy

from flverify._core.errors import DomainError
from flverify.problems import Quadratics, _symmetric


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
    p, q = sympy.symbols("p q", positive=True)
    z = sympy.Symbol("z", nonnegative=True)
    for rows, expected in (
        ([[p]], 1),
        ([[-p]], -1),
        ([[z]], 0),
        ([[p, p], [p, p]], 0),
        ([[p, 0], [0, z]], 0),
        ([[p + q, q], [q, p + q]], 1),
        ([[p, p + q], [p + q, p]], -1),
        ([[1, 2 * p, 0], [2 * p, 4 * p**2 + q, 0], [0, 0, 1]], 1),
    ):
        matrix = np.array(rows, dtype=object)
        assert _symmetric.definiteness(matrix) == expected
        for at in product((0, 1, Fraction(7, 3)), (1, 5)):
            values = {z: at[0], p: at[1], q: Fraction(1, 9)}
            put = [[sympy.sympify(e).subs(values) for e in row] for row in rows]
            found = sylvester(exact([[str(e) for e in row] for row in put]))
            assert found == expected or (expected, found) == (0, 1)


@pytest.mark.parametrize("entry", ["h", "h**2", "1 - p", "p - 1/p", "p + h"])
def test_signs_that_symbols_leave_open_are_refused(entry) -> None:
    h, p = sympy.Symbol("h"), sympy.Symbol("p", positive=True)
    one = {"h": h, "h**2": h**2, "1 - p": 1 - p, "p - 1/p": p - 1 / p, "p + h": p + h}
    e = one[entry]
    for rows in ([[e]], [[e, 0], [0, 1]], [[2, e], [e, 2]]):
        with pytest.raises(DomainError, match="signs of symbols must show"):
            _symmetric.definiteness(np.array(rows, dtype=object))
    for of in ("minimiser", "strong_convexity", "client_strong_convexity"):
        with pytest.raises(DomainError, match="declare symbols positive"):
            getattr(Quadratics([[[e]]], [[1]]), of)()


def test_a_symbol_that_may_be_zero_is_no_unique_minimiser() -> None:
    z = sympy.Symbol("z", nonnegative=True)
    flat = Quadratics([[[z]]], [[1]])
    assert flat.strong_convexity() == z
    with pytest.raises(DomainError, match="singular for some values"):
        flat.minimiser()


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
