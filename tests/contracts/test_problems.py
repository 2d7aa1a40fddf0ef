"""What holds for every problem: run on the examples of every member."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from flverify._core import catalogue
from flverify._core.exact import Array, Scalar
from flverify.problems import Quadratics
from flverify.problems._problem import Problem

PACKAGE = "flverify.problems"
MEMBERS = catalogue.member_names(PACKAGE)


def sources_of_examples(member: str) -> list[object]:
    """Return whatever has an `examples` in a member: its problem classes, or itself."""
    module = catalogue.load(PACKAGE, member)
    public = [getattr(module, name) for name in module.__all__]
    classes = [c for c in public if inspect.isclass(c) and issubclass(c, Problem)]
    return classes or [module]


def instances() -> Iterator[object]:
    for member in MEMBERS:
        for owner in sources_of_examples(member):
            for number, problem in enumerate(owner.examples()):
                yield pytest.param(problem, id=f"{member}-{number}")


def quadratics() -> list[object]:
    return [one for one in instances() if isinstance(one.values[0], Quadratics)]


every_problem = pytest.mark.parametrize("problem", list(instances()))
every_quadratic = pytest.mark.parametrize("problem", quadratics())


def some_points(problem: Problem) -> list[Array]:
    draw = np.random.default_rng(problem.dim)
    grid = draw.integers(-6, 7, size=(4, problem.dim))
    if problem.exact:
        return [np.array([Fraction(int(v), 4) for v in row]) for row in grid]
    return list(grid / 4 + 1 / 61)  # off round numbers, where slopes may have kinks


def close(left: object, right: object, exact: bool) -> bool:
    if exact:
        return bool(np.all(np.asarray(left) == np.asarray(right)))
    scale = 1 + np.abs(np.asarray(right, dtype=float)).max()
    gap = np.abs(np.asarray(left, dtype=float) - np.asarray(right, dtype=float))
    return bool(gap.max() < 1e-9 * scale)


def slope(problem: Problem, client: int, point: Array, axis: int) -> Scalar:
    """Central differences at h and 2h, without error up to the fourth degree."""
    h = Fraction(1, 2) if problem.exact else 1e-3
    at = []
    for count in (1, -1, 2, -2):
        shift = [count * h * (k == axis) for k in range(problem.dim)]
        at.append(problem.value(client, point + np.array(shift)))
    return (8 * (at[0] - at[1]) - (at[2] - at[3])) / (12 * h)


def gradient_is_the_slope(problem: Problem) -> bool:
    for client in range(problem.n_clients):
        for point in some_points(problem):
            axes = range(problem.dim)
            slopes = [slope(problem, client, point, axis) for axis in axes]
            if not close(problem.gradient(client, point), slopes, problem.exact):
                return False
    return True


def values_rise_by_the_slopes_between(problem: Problem) -> bool:
    """f(y) - f(x) is the mean of <g, y - x> on the way: f does not jump there."""
    parts = (np.arange(500)[:, None] + 0.5) / 500
    for client in range(problem.n_clients):
        for x, y in combinations(some_points(problem), 2):
            slopes = problem.client_gradients(client, x + parts * (y - x)) @ (y - x)
            rise = problem.value(client, y) - problem.value(client, x)
            if abs(slopes.mean() - rise) > 1e-3 * (1 + abs(slopes).max()):
                return False
    return True


def stacks_of_gradients_agree(problem: Problem) -> bool:
    points = some_points(problem)
    for client in range(problem.n_clients):
        stack = problem.client_gradients(client, np.stack(points))
        alone = [problem.gradient(client, point) for point in points]
        if not close(stack, alone, problem.exact):
            return False
    return True


def constants_hold_between_points(problem: Any) -> bool:
    """mu |x-y|^2 <= <g(x) - g(y), x - y> and |g(x) - g(y)| <= L |x-y| of the mean."""
    points = [np.asarray(point, dtype=float) for point in some_points(problem)]
    gradients = [mean_gradient(problem, point) for point in some_points(problem)]
    rounding = 1e-9
    for one, two in combinations(range(len(points)), 2):
        apart, bent = points[one] - points[two], gradients[one] - gradients[two]
        length = np.linalg.norm(apart)
        if bent @ apart < (float(problem.strong_convexity()) - rounding) * length**2:
            return False
        if np.linalg.norm(bent) > (float(problem.smoothness()) + rounding) * length:
            return False
    return True


def mean_gradient(problem: Problem, point: Array) -> Array:
    clients = range(problem.n_clients)
    return np.mean([problem.gradient(i, point) for i in clients], axis=0).astype(float)


@pytest.mark.parametrize("member", MEMBERS)
def test_members_offer_examples_and_say_what_is_public(member: str) -> None:
    module = catalogue.load(PACKAGE, member)
    assert module.__all__
    # A name equal to its module would be hidden by it in `from ... import name`.
    assert member not in module.__all__
    assert all(getattr(module, name).__doc__ for name in module.__all__)
    assert all(hasattr(owner, "examples") for owner in sources_of_examples(member))


def test_there_are_instances() -> None:
    assert len(list(instances())) >= 5


@every_problem
def test_kinds_and_shapes(problem: Problem) -> None:
    assert isinstance(problem, Problem)
    assert problem.n_clients >= 1
    kind = object if problem.exact else np.float64
    for client in range(problem.n_clients):
        for point in some_points(problem):
            gradient = problem.gradient(client, point)
            assert gradient.shape == (problem.dim,)
            assert gradient.dtype == kind
            value = problem.value(client, point)
            assert isinstance(value, Fraction if problem.exact else float)


@every_problem
def test_gradient_is_the_slope_of_the_value(problem: Problem) -> None:
    assert gradient_is_the_slope(problem)


@every_problem
def test_values_rise_by_the_slopes_between_points(problem: Problem) -> None:
    if problem.exact:
        pytest.skip("polynomials, which do not jump")
    assert values_rise_by_the_slopes_between(problem)


@every_problem
def test_many_gradients_at_once_are_those_of_the_points(problem: Problem) -> None:
    assert stacks_of_gradients_agree(problem)


@every_problem
def test_no_two_points_contradict_the_constants(problem: Any) -> None:
    if not (hasattr(problem, "strong_convexity") and hasattr(problem, "smoothness")):
        pytest.skip("it names no constants")
    assert constants_hold_between_points(problem)


@every_problem
def test_the_mean_gradient_vanishes_at_the_minimiser(problem: Any) -> None:
    optimum = problem.minimiser()
    total = sum(problem.gradient(i, optimum) for i in range(problem.n_clients))
    assert close(total, np.zeros(problem.dim, dtype=int), problem.exact)


@every_problem
def test_weighted_minimiser(problem: Any) -> None:
    weights = [Fraction(1, 2 + i) for i in range(problem.n_clients)]
    try:
        optimum = problem.minimiser(weights)
    except ValueError:
        pytest.skip("this weighted sum is not convex")
    parts = [w * problem.gradient(i, optimum) for i, w in enumerate(weights)]
    assert close(sum(parts), np.zeros(problem.dim, dtype=int), problem.exact)


@every_quadratic
def test_permuting_clients_permutes_the_results(problem: Quadratics) -> None:
    order = list(range(problem.n_clients))[::-1]
    turned = Quadratics(problem.hessians[order], problem.linear[order])
    assert close(turned.minimiser(), problem.minimiser(), problem.exact)
    assert close(
        turned.gradient_dissimilarity(),
        problem.gradient_dissimilarity(),
        problem.exact,
    )
    before, after = problem.client_smoothness(), turned.client_smoothness()
    assert close(after, before[order], exact=False)


@every_quadratic
def test_rescaling_objective_and_space(problem: Quadratics) -> None:
    # f -> c f(x/s): Hessians c/s^2, linear terms c/s; weights as documented.
    c, s = Fraction(3, 2), Fraction(1, 4)
    if not problem.exact:
        c, s = 1.5, 0.25
    stretched = Quadratics(problem.hessians / s**2, problem.linear / s)
    moved = stretched.scaled(c)
    assert close(moved.minimiser(), s * problem.minimiser(), problem.exact)
    dissimilarity: Scalar = problem.gradient_dissimilarity()
    assert close(
        moved.gradient_dissimilarity(), (c / s) ** 2 * dissimilarity, problem.exact
    )
    for quantity in ("strong_convexity", "smoothness"):
        old, new = getattr(problem, quantity)(), getattr(moved, quantity)()
        assert close(float(new), float(c / s**2) * float(old), exact=False)


@every_quadratic
def test_curvature_lies_between_its_constants(problem: Quadratics) -> None:
    smooth, mean = problem.client_smoothness(), problem.mean_hessian.astype(float)
    for direction in np.random.default_rng(1).standard_normal((20, problem.dim)):
        unit = direction / np.linalg.norm(direction)
        for hessian, bound in zip(problem.hessians, smooth, strict=True):
            assert np.abs(hessian.astype(float) @ unit).max() <= float(bound) + 1e-9
        bend = unit @ mean @ unit
        assert float(problem.strong_convexity()) - 1e-9 <= bend
        assert bend <= float(problem.smoothness()) + 1e-9


@dataclass(frozen=True)
class WrongSlope(Problem):
    """A planted bug: the gradient forgets the linear term."""

    inner: Quadratics

    @property
    def n_clients(self) -> int:
        return self.inner.n_clients

    @property
    def dim(self) -> int:
        return self.inner.dim

    @property
    def exact(self) -> bool:
        return self.inner.exact

    def gradient(self, client: int, point: Array) -> Array:
        return self.inner.gradient(client, point) + self.inner.linear[client]

    def value(self, client: int, point: Array) -> Scalar:
        return self.inner.value(client, point)


def test_the_contract_catches_a_wrong_gradient() -> None:
    assert not gradient_is_the_slope(WrongSlope(Quadratics.examples()[1]))
    assert not gradient_is_the_slope(WrongSlope(Quadratics.examples()[2].as_float()))


@dataclass(frozen=True)
class WrongStack(WrongSlope):
    """A planted bug: many gradients at once are twice as long."""

    def client_gradients(self, client: int, points: Array) -> Array:
        return 2 * super().client_gradients(client, points)


@dataclass(frozen=True)
class WrongConstants(WrongSlope):
    """Planted bugs: a constant is a tenth off."""

    convex: Fraction = Fraction(1)
    smooth: Fraction = Fraction(1)

    def strong_convexity(self) -> Scalar:
        return self.convex * self.inner.strong_convexity()

    def smoothness(self) -> Scalar:
        return self.smooth * self.inner.smoothness()


def test_the_contract_catches_other_gradients_in_stacks() -> None:
    inner = Quadratics.examples()[1]
    assert stacks_of_gradients_agree(WrongSlope(inner))
    assert not stacks_of_gradients_agree(WrongStack(inner))


def test_the_contract_catches_wrong_constants() -> None:
    inner = Quadratics([[[1]], [[3]]], [[0], [1]])
    off = Fraction(11, 10)
    assert constants_hold_between_points(WrongConstants(inner))
    assert not constants_hold_between_points(WrongConstants(inner, convex=off))
    assert not constants_hold_between_points(WrongConstants(inner, smooth=1 / off))


@dataclass(frozen=True)
class Huber(Problem):
    """t^2/2 up to |t| = 1, |t| - 1/2 beyond, t = x - i; where lifted, with a jump."""

    lifted: float = 0.0
    n_clients, dim, exact = 3, 1, False

    def gradient(self, client: int, point: Array) -> Array:
        return np.clip(point - client, -1.0, 1.0)

    def value(self, client: int, point: Array) -> Scalar:
        t = float(abs(point[0] - client))
        return t**2 / 2 if t <= 1 else t - 0.5 + self.lifted


def test_the_contract_catches_a_jump_and_allows_a_kink_of_slopes() -> None:
    assert gradient_is_the_slope(Huber())
    assert values_rise_by_the_slopes_between(Huber())
    assert gradient_is_the_slope(Huber(lifted=0.5))  # which both pieces are right for
    assert not values_rise_by_the_slopes_between(Huber(lifted=0.5))


def test_the_contract_covers_more_than_quadratics() -> None:
    assert 0 < len(quadratics()) < len(list(instances()))
