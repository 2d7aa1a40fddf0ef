from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy

from flverify._core.errors import DomainError, ShapeError
from flverify.problems import Quadratics


def two_clients() -> Quadratics:
    """f_1 = x^2/2 and f_2 = 3 x^2/2 - 2 x: optimum 1/2, gradients there +-1/2."""
    return Quadratics([[[1]], [[3]]], [[0], [2]])


def plane() -> Quadratics:
    """H_1 has eigenvalues 1 and 3, H_2 is diagonal, the mean is [[2, .5], [.5, 3]]."""
    return Quadratics([[[2, 1], [1, 2]], [[2, 0], [0, 4]]], [[1, 0], [3, -2]])


def test_two_clients_by_hand() -> None:
    problem = two_clients()
    assert problem.n_clients == 2
    assert problem.dim == 1
    assert problem.minimiser().tolist() == [Fraction(1, 2)]
    assert problem.gradient(0, [Fraction(1, 2)]).tolist() == [Fraction(1, 2)]
    assert problem.gradient(1, [Fraction(1, 2)]).tolist() == [Fraction(-1, 2)]
    assert problem.gradient_dissimilarity() == Fraction(1, 4)
    assert problem.value(1, [2]) == 2
    assert problem.client_strong_convexity().tolist() == [1, 3]
    assert problem.client_smoothness().tolist() == [1, 3]
    assert problem.strong_convexity() == problem.smoothness() == 2


def test_plane_by_hand() -> None:
    # (H_1 + H_2) x = b_1 + b_2: [[4, 1], [1, 6]] x = [4, -2], so x = [26, -12]/23.
    problem = plane()
    assert problem.minimiser().tolist() == [Fraction(26, 23), Fraction(-12, 23)]
    expected = [[2, Fraction(1, 2)], [Fraction(1, 2), 3]]
    assert problem.mean_hessian.tolist() == expected
    assert problem.client_strong_convexity() == pytest.approx([1, 2])
    assert problem.client_smoothness() == pytest.approx([3, 4])
    # eigenvalues of the mean: (5 -+ sqrt(2))/2
    assert problem.strong_convexity() == pytest.approx((5 - 2**0.5) / 2)
    assert problem.smoothness() == pytest.approx((5 + 2**0.5) / 2)


def test_dissimilarity_by_plain_loops() -> None:
    problem = plane()
    optimum = problem.minimiser().tolist()
    total = Fraction(0)
    for hessian, linear in zip(
        problem.hessians.tolist(), problem.linear.tolist(), strict=True
    ):
        for row, b in zip(hessian, linear, strict=True):
            total += (sum(h * x for h, x in zip(row, optimum, strict=True)) - b) ** 2
    assert problem.gradient_dissimilarity() == total / 2


def test_weighted_minimiser_minimises_the_weighted_sum() -> None:
    problem, weights = plane(), [Fraction(1, 5), Fraction(1, 2)]
    best = problem.minimiser(weights)

    def objective(x: np.ndarray) -> Fraction:
        return sum(w * problem.value(i, x) for i, w in enumerate(weights))

    draw = np.random.default_rng(3)
    for _ in range(20):
        step = np.array([Fraction(int(v), 7) for v in draw.integers(-5, 6, size=2)])
        assert objective(best + step) >= objective(best)
    assert best.tolist() != problem.minimiser().tolist()


def test_weights_need_not_sum_to_one() -> None:
    problem = plane()
    doubled = problem.minimiser([2, 2])
    assert doubled.tolist() == problem.minimiser().tolist()


def test_values_drop_nothing_but_give_the_gradient() -> None:
    # On a quadratic the central difference is the gradient, exactly.
    problem, step = plane(), Fraction(1, 3)
    point = np.array([Fraction(2, 5), Fraction(-1, 2)])
    for client in range(2):
        for axis in range(2):
            shift = np.array([step * (axis == 0), step * (axis == 1)])
            rise = problem.value(client, point + shift) - problem.value(
                client, point - shift
            )
            assert rise / (2 * step) == problem.gradient(client, point)[axis]


@pytest.mark.parametrize(
    ("hessians", "linear"),
    [
        ([[[1]], [[3]]], [[0], [2]]),
        ([[["1"]], [["3"]]], [["0"], ["2.0"]]),
        ([[[Fraction(1)]], [["3e0"]]], [[Fraction(0)], ["4/2"]]),
        (np.array([[[1]], [[3]]]), np.array([[0], [2]])),
        (np.array([[["1"]], [["3"]]]), [[0], ["2"]]),
    ],
)
def test_rational_input_is_exact(hessians: object, linear: object) -> None:
    problem = Quadratics(hessians, linear)
    assert problem.exact
    assert problem.hessians.tolist() == two_clients().hessians.tolist()
    assert all(isinstance(v, Fraction) for v in problem.linear.ravel())


@pytest.mark.parametrize(
    ("hessians", "linear"),
    [
        ([[[1.0]], [[3]]], [[0], [2]]),
        ([[[1]], [[3]]], [[0], [2.0]]),
        ([[["0.5"]], [[3.0]]], [["0"], ["2"]]),
        (np.ones((2, 1, 1), dtype=np.float32), [[0], [2]]),
    ],
)
def test_a_float_makes_everything_float(hessians: object, linear: object) -> None:
    problem = Quadratics(hessians, linear)
    assert not problem.exact
    assert problem.hessians.dtype == problem.linear.dtype == np.float64
    assert problem.minimiser().dtype == np.float64
    assert isinstance(problem.gradient_dissimilarity(), float)


def test_float_agrees_with_exact() -> None:
    exact, floats = plane(), plane().as_float()
    assert not floats.exact
    assert floats.minimiser() == pytest.approx(exact.minimiser().astype(float))
    found = floats.gradient_dissimilarity()
    assert found == pytest.approx(float(exact.gradient_dissimilarity()), rel=1e-12)
    assert floats.gradient(0, [1, 2]) == pytest.approx([3, 5])


def test_float_point_or_weights_on_an_exact_problem() -> None:
    problem = plane()
    assert problem.gradient(0, [1.0, 2.0]).dtype == np.float64
    assert problem.gradient(0, [1.0, 2.0]).tolist() == [3.0, 5.0]
    assert problem.minimiser([0.5, 0.5]) == pytest.approx([26 / 23, -12 / 23])


def test_symbols() -> None:
    h, k, b = sympy.symbols("h k b", positive=True)
    problem = Quadratics([[[h]], [[k]]], [[b], [0]])
    assert problem.exact
    assert sympy.simplify(problem.minimiser()[0] - b / (h + k)) == 0
    assert problem.gradient(0, [2]).tolist() == [2 * h - b]
    found = problem.gradient_dissimilarity()
    assert sympy.simplify(found - (b * k / (h + k)) ** 2) == 0
    assert problem.client_strong_convexity().tolist() == [h, k]
    assert problem.client_smoothness().tolist() == [h, k]


def test_symbols_on_a_diagonal() -> None:
    h, k = sympy.symbols("h k", positive=True)
    problem = Quadratics([[[h, 0], [0, k]]], [[1, 1]])
    assert problem.strong_convexity() == sympy.Min(h, k)
    assert problem.smoothness() == sympy.Max(h, k)
    assert [sympy.simplify(v) for v in problem.minimiser()] == [1 / h, 1 / k]


def test_symbols_symmetric_in_another_form() -> None:
    h, k = sympy.symbols("h k")
    problem = Quadratics([[[5, h * (k + 1)], [h * k + h, 7]]], [[0, 0]])
    assert problem.exact
    one = (h + 1) ** 2 - h**2 - 2 * h  # a number once it is expanded
    assert Quadratics([[[5, one], [1, 7]]], [[0, 0]]).exact
    with pytest.raises(DomainError, match="symmetric"):
        Quadratics([[[5, h], [k, 7]]], [[0, 0]])


def test_symbolic_singular_and_eigenvalues_refused() -> None:
    h = sympy.Symbol("h", positive=True)
    singular = Quadratics([[[h, h], [h, h]]], [[0, 0]])
    with pytest.raises(DomainError, match="singular"):
        singular.minimiser()
    with pytest.raises(DomainError, match="diagonal"):
        Quadratics([[[h, 1], [1, h]]], [[0, 0]]).smoothness()
    with pytest.raises(DomainError, match="floats"):
        singular.as_float()
    with pytest.raises(DomainError, match="floats"):
        singular.gradient(0, [1.0, 2.0])


def test_eigenvalues_are_exact_on_diagonals_only() -> None:
    diagonal = Quadratics([[[2, 0], [0, 5]]], [[0, 0]])
    assert diagonal.strong_convexity() == 2
    assert isinstance(diagonal.smoothness(), Fraction)
    assert isinstance(plane().smoothness(), float)
    assert plane().client_smoothness().dtype == np.float64


def test_indefinite_clients_are_legal_until_convexity_is_needed() -> None:
    # F is convex: the mean Hessian is diag(1/2, 1).
    mixed = Quadratics([[[-1, 0], [0, 1]], [[2, 0], [0, 1]]], [[1, 0], [0, 1]])
    assert mixed.minimiser().tolist() == [1, Fraction(1, 2)]
    assert mixed.client_smoothness().tolist() == [1, 2]
    assert mixed.strong_convexity() == Fraction(1, 2)
    with pytest.raises(DomainError, match="convex"):
        mixed.client_strong_convexity()
    with pytest.raises(DomainError, match="indefinite"):
        mixed.minimiser([1, 0])


@pytest.mark.parametrize("convert", [lambda p: p, Quadratics.as_float])
def test_singular_and_indefinite_means(convert: object) -> None:
    flat = convert(Quadratics([[[1, 1], [1, 1]]], [[0, 0]]))
    assert flat.strong_convexity() == 0
    with pytest.raises(DomainError, match="singular"):
        flat.minimiser()
    saddle = convert(Quadratics([[[1, 2], [2, 1]]], [[0, 0]]))
    assert saddle.smoothness() == pytest.approx(3)
    for quantity in (
        saddle.minimiser,
        saddle.gradient_dissimilarity,
        saddle.strong_convexity,
    ):
        with pytest.raises(DomainError, match=r"indefinite|negative eigenvalue"):
            quantity()


def test_indefinite_smoothness_is_the_largest_modulus() -> None:
    assert Quadratics([[[-7, 0], [0, 2]]], [[0, 0]]).smoothness() == 7


def test_repr_is_short() -> None:
    assert repr(plane()) == "<Quadratics: 2 clients, dimension 2, exact>"
    assert "float" in repr(plane().as_float())
    assert (
        repr(Quadratics([[[1]]], [[0]])) == "<Quadratics: 1 client, dimension 1, exact>"
    )


def test_scaled() -> None:
    problem, scaled = plane(), plane().scaled("5/2")
    assert scaled.exact
    assert scaled.minimiser().tolist() == problem.minimiser().tolist()
    ratio = scaled.gradient_dissimilarity() / problem.gradient_dissimilarity()
    assert ratio == Fraction(25, 4)
    assert not problem.scaled(2.5).exact
    for wrong in (0, -1, True, "x", float("nan")):
        with pytest.raises(DomainError):
            problem.scaled(wrong)


def test_rounding_asymmetry_is_mended_and_no_more() -> None:
    nearly = np.array([[[2.0, 1.0 + 1e-13], [1.0, 2.0]]])
    problem = Quadratics(nearly, [[0.0, 0.0]])
    assert (problem.hessians == problem.hessians.transpose(0, 2, 1)).all()
    for gap in (1e-9, 1.0, -3.0):
        with pytest.raises(DomainError, match="symmetric"):
            Quadratics([[[2.0, 1.0 + gap], [1.0, 2.0]]], [[0.0, 0.0]])
    with pytest.raises(DomainError, match="symmetric"):
        Quadratics([[[2, "1.0000000000001"], [1, 2]]], [[0, 0]])


def test_the_tolerance_is_per_client() -> None:
    small = [[1e-6, 1e-9], [0.0, 1e-6]]
    with pytest.raises(DomainError, match="symmetric"):
        Quadratics([[[1e6, 0.0], [0.0, 1e6]], small], [[0.0, 0.0]] * 2)


def test_data_are_frozen_copies() -> None:
    given = np.array([[[1.0]], [[3.0]]])
    problem = Quadratics(given, [[0.0], [2.0]])
    given[0, 0, 0] = 100.0
    assert problem.hessians[0, 0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        problem.hessians[0, 0, 0] = 2.0
    with pytest.raises(AttributeError):
        problem.linear = given


@pytest.mark.parametrize(
    ("hessians", "linear", "error"),
    [
        ([[1, 0], [0, 1]], [[0, 0]], ShapeError),
        ([[[1, 0], [0, 1]]], [0, 0], ShapeError),
        ([[[1, 0], [0, 1]]], [[0]], ShapeError),
        ([[[1, 0]]], [[0]], ShapeError),
        ([[[1]]], [[0], [1]], ShapeError),
        ([[[1, 0], [0]]], [[0, 0]], ShapeError),
        ([[[1]], [[1, 2], [2, 1]]], [[0], [0]], ShapeError),
        ([np.eye(2), np.eye(3)], [[0, 0], [0, 0]], ShapeError),
        ([], [], ShapeError),
        (np.zeros((0, 2, 2)), np.zeros((0, 2)), ShapeError),
        ("1", "2", ShapeError),
        (None, [[1]], ShapeError),
        ([[[True]]], [[0]], DomainError),
        ([[[True, 0], [0, 1]]], [[0, 0]], DomainError),
        (np.array([[[True]]]), [[0]], DomainError),
        ([[[float("nan")]]], [[0]], DomainError),
        (np.array([[[np.inf]]]), [[0]], DomainError),
        ([[[1]]], [[float("inf")]], DomainError),
        ([[["one"]]], [[0]], DomainError),
        ([[[1j]]], [[0]], DomainError),
        ([[[None]]], [[0]], DomainError),
        ([[[1]]], [[{}]], DomainError),
        ([[[sympy.Symbol("h")]]], [[0.5]], DomainError),
        ([[[sympy.Symbol("h"), 0.5], [0.5, 1]]], [[0, 0]], DomainError),
        ([[["1e999"]]], [[0.5]], DomainError),
    ],
)
def test_bad_input(hessians: object, linear: object, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        Quadratics(hessians, linear)
    assert str(caught.value).count(";") == 2
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("client", [-1, 2, True, 0.0, "0"])
def test_bad_clients(client: object) -> None:
    with pytest.raises(DomainError, match="client"):
        two_clients().gradient(client, [0])
    with pytest.raises(DomainError, match="client"):
        two_clients().value(client, [0])


@pytest.mark.parametrize("point", [[0, 0], [], 0, [[0]], "0"])
def test_bad_points(point: object) -> None:
    with pytest.raises(ShapeError, match="point"):
        two_clients().gradient(0, point)
    with pytest.raises(ShapeError, match="point"):
        two_clients().value(0, point)


def test_bad_weights() -> None:
    for wrong in ([1], [1, 1, 1], 1, []):
        with pytest.raises(ShapeError, match="weights"):
            two_clients().minimiser(wrong)
    for wrong in ([True, 1], [float("nan"), 1], ["x", 1]):
        with pytest.raises(DomainError):
            two_clients().minimiser(wrong)
    with pytest.raises(DomainError, match="singular"):
        two_clients().minimiser([0, 0])
