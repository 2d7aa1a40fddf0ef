"""A problem of a user's own that contradicts itself is one sentence, not a number."""

import math

import numpy as np
import pytest

from flverify import simulate
from flverify._core.errors import InputError
from flverify.algorithms import FedAvg
from flverify.engines.own_problems import require_consistent
from flverify.participation import Bernoulli
from flverify.problems import Quadratics
from flverify.problems._problem import Problem
from flverify.testing import assert_error_bound

LAW, ALGORITHM = Bernoulli(["1/2", "1/3"]), FedAvg("1/4")
ASK = {
    "simulate": lambda problem: simulate(
        problem, ALGORITHM, LAW, rounds=3, runs=2, seed=1, start=[2]
    ),
    "bound": lambda problem: assert_error_bound(
        problem, ALGORITHM, LAW, bound=1, rounds=3
    ),
}


class Mine(Problem):
    """f_i(x) = (i + 1) x^2/2."""

    n_clients, dim, exact = 2, 1, False

    def gradient(self, client, point):
        return (client + 1) * point

    def value(self, client, point):
        return (client + 1) * float(point @ point) / 2

    def minimiser(self):
        return np.zeros(1)


WRONG = {
    "gradient of three": (
        {"gradient": lambda *_: np.zeros(3)},
        r"the shape \(1,\) of its point; got \(3,\) from gradient\(0, ...\) of Wrong",
    ),
    "gradient a number": ({"gradient": lambda *_: 0.0}, r"got \(\) from gradient"),
    "gradient None": ({"gradient": lambda *_: None}, r"got \(\) from gradient"),
    "gradient raises": (
        {"gradient": lambda *given: given[2].nope},
        "gradient of Wrong must run without an error; line .*test_own_problems.py",
    ),
    "minimiser of two": (
        {"minimiser": lambda _: np.zeros(2)},
        r"must have the shape \(1,\); got \(2,\)",
    ),
    "minimiser a number": (
        {"minimiser": lambda _: 0.0},
        r"must have the shape \(1,\); got \(\)",
    ),
    "another minimiser": (
        {"minimiser": lambda _: np.ones(1)},
        r"mean 0 at its minimiser\(\); got one of size 1.5 at \[1.0\]",
    ),
    "minimiser no number": (
        {"minimiser": lambda _: np.array([np.nan])},
        r"minimiser\(\) of Wrong must be finite numbers; got \[nan\]",
    ),
    "gradient no number": (
        {"gradient": lambda *given: given[2] * np.nan},
        r"must be finite numbers at its minimiser\(\); got \[\[nan\], \[nan\]\] at",
    ),
    "value of the wrong sign": (
        {"value": lambda _, i, x: -(i + 1) * float(x @ x) / 2},
        r"must be the gradient of value\(0, x\); at x = \[0.8112\] the slope of the "
        "value is -0.8112, that of the gradient 0.8112;",
    ),
    "value of another client": (
        {"value": lambda *given: float(given[2] @ given[2]) / 2},
        r"gradient\(1, x\) of Wrong must be the gradient of value\(1, x\)",
    ),
    "value of two numbers": (
        {"value": lambda *_: np.zeros(2)},
        "value of Wrong must run without an error",
    ),
    "dim": ({"dim": None}, "dim of Wrong must be an integer"),
    "hessians of another": (
        {"hessians": np.ones((2, 1, 1)), "linear": np.zeros((2, 1))},
        "hessians and linear of Wrong must be those of its gradients, H x - b",
    ),
    "hessians of no quadratic": (  # they are those at the minimiser
        {
            "hessians": np.array([[[1.0]], [[2.0]]]),
            "linear": np.zeros((2, 1)),
            "gradient": lambda _, i, x: (i + 1) * np.sinh(x),
            "value": lambda _, i, x: (i + 1) * np.cosh(x).sum(),
        },
        "a problem with hessians is taken for a quadratic one",
    ),
    "hessians alone": ({"hessians": np.ones((2, 1, 1))}, "hessians and linear of Wr"),
    "hessians a method": ({"hessians": lambda *_: 1}, "hessians and linear of Wrong"),
}


@pytest.mark.parametrize(("changed", "words"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_own_problems_that_contradict_themselves(ask, changed, words):
    with pytest.raises(InputError, match=words) as error:
        ask(type("Wrong", (Mine,), changed)())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_own_problems_that_agree_with_themselves(ask):
    assert ask(Mine())


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_own_quadratics_that_agree_with_themselves(ask):
    class Known(Mine):
        """The same, with its Hessians."""

        hessians = np.array([[[1.0]], [[2.0]]])
        linear = np.zeros((2, 1))

        def as_float(self):
            return self

    class Shifted(Quadratics):
        """Quadratics of another name."""

    for problem in (Known(), Shifted([[[1]], [[2]]], [["1/3"], [2]])):
        assert ask(problem)


def test_a_gradient_that_writes_to_its_point_moves_nothing():
    def doubles(self, client, point):
        point *= client + 1
        return point

    in_place = type("InPlace", (Mine,), {"gradient": doubles})()
    errors = ASK["simulate"](in_place).errors
    assert np.array_equal(errors, ASK["simulate"](Mine()).errors)


def none_yet(*_):
    raise NotImplementedError


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_values_that_are_not_written_yet_are_not_missed(ask):
    assert ask(type("Half", (Mine,), {"value": none_yet})())


class Barrier(Mine):
    """f_i(x) = -(i + 1) log x - 2 log(1 - x), from 0 to 1."""

    def gradient(self, client, point):
        return np.array([2 / (1 - point[0]) - (client + 1) / point[0]])

    def value(self, client, point):
        x = float(point[0])
        return -(client + 1) * math.log(x) - 2 * math.log(1 - x)

    def minimiser(self):
        return np.array([3 / 7])


class Kinks(Mine):
    """f_i(x) = |x - i|, with a gradient between those of both sides."""

    n_clients = 3

    def gradient(self, client, point):
        return np.sign(point - client)

    def value(self, client, point):
        return float(abs(point[0] - client))

    def minimiser(self):
        return np.ones(1)


def test_problems_with_an_end_or_kinks_agree_with_themselves():
    require_consistent(Barrier())
    require_consistent(Kinks())


def test_what_an_end_hides_is_still_compared():
    turned = {"value": lambda *given: -Barrier.value(*given)}
    with pytest.raises(InputError, match=r"must be the gradient of value\(0, x\)"):
        require_consistent(type("Wrong", (Barrier,), turned)())
    other = {"minimiser": lambda _: np.array([0.5])}
    with pytest.raises(InputError, match="must have the mean 0 at its minimiser"):
        require_consistent(type("Wrong", (Barrier,), other)())


class InUnits(Mine):
    """f_i(x) = |x - b_i|^2/2, b_i in some units, at whose mean or beside it."""

    dim, unit, points, told = 2, 1.0, ((1, 0), (5, 0)), (3, 0)

    def gradient(self, client, point):
        return point - self.unit * np.array(self.points[client])

    def value(self, client, point):
        return float(self.gradient(client, point) @ self.gradient(client, point)) / 2

    def minimiser(self):
        return self.unit * np.array(self.told, float)


SAME = ((3, 0), (3, 0))


@pytest.mark.parametrize("points", [InUnits.points, SAME], ids=["apart", "alike"])
@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1.0, 1e6])
def test_the_minimiser_is_compared_in_any_units(unit, points):
    rounded = {"unit": unit, "points": points, "told": (3 + 1e-8, -1e-9)}
    require_consistent(type("Right", (InUnits,), rounded)())
    for told in ((5, 0), (3, 0.1), (0, 0)):
        wrong = {"unit": unit, "points": points, "told": told}
        with pytest.raises(InputError, match="must have the mean 0 at its minimiser"):
            require_consistent(type("Wrong", (InUnits,), wrong)())


def test_a_minimiser_computed_to_be_nearly_0_is_not_taken_for_other_units():
    near = {"points": ((0, 0), (0, 0)), "told": (3e-11, -1e-9)}
    require_consistent(type("Computed", (InUnits,), near)())


@pytest.mark.parametrize("best", [0.0, 1e-3, 5.0])
def test_flat_functions_are_solved_less_closely(best):
    flat = {
        "gradient": lambda *given: 4 * (given[2] - best) ** 3,
        "value": lambda *given: float((given[2][0] - best) ** 4),
        "minimiser": lambda _: np.array([best + 5e-4]),
    }
    require_consistent(type("Flat", (Mine,), flat)())
    off = {"minimiser": lambda _: np.array([best + 0.1])}
    with pytest.raises(InputError, match="must have the mean 0 at its minimiser"):
        require_consistent(type("Wrong", (Mine,), flat | off)())


def test_what_bends_in_small_units_only_agrees_with_itself():
    steep = {
        "gradient": lambda *given: np.tanh((given[2] - 3e-6) * 1e6),
        "value": none_yet,
        "minimiser": lambda _: np.array([3e-6 + 1e-14]),
    }
    require_consistent(type("Steep", (Mine,), steep)())
    short = {
        "gradient": lambda _, i, x: 1e6 * Barrier.gradient(_, i, x * 1e6),
        "value": lambda _, i, x: Barrier.value(_, i, x * 1e6),
        "minimiser": lambda _: np.array([3e-6 / 7]),
    }
    require_consistent(type("Short", (Mine,), short)())
    other = {"minimiser": lambda _: np.array([0.5e-6])}
    for changed in (steep | other, short | other):
        with pytest.raises(InputError, match="must have the mean 0 at its minimiser"):
            require_consistent(type("Wrong", (Mine,), changed)())


class Matrix(Mine):
    """f_i(x) = (i + 1) x'Hx/2 with the gradient (i + 1) H x."""

    dim, matrix = 3, ((2, 1, 0), (1, 3, 0), (0, 0, 1))

    def gradient(self, client, point):
        return (client + 1) * np.array(self.matrix, float) @ point

    def value(self, client, point):
        return float(self.gradient(client, point) @ point) / 2

    def minimiser(self):
        return np.zeros(3)


def test_a_matrix_that_is_not_symmetric_makes_no_gradient():
    require_consistent(Matrix())
    for matrix in (
        ((2, 1, 0), (0, 3, 0), (0, 0, 1)),
        ((2, 0.1, 0), (-0.1, 3, 0), (0, 0, 1)),
        ((2, 0, 0), (0, 3, 0.1), (0, 0, 1)),
        ((2, 0, 0.1), (0, 3, 0), (0, 0, 1)),
    ):
        with pytest.raises(InputError, match="must be the gradient of value"):
            require_consistent(type("Wrong", (Matrix,), {"matrix": matrix})())


@pytest.mark.parametrize(
    "matrix",
    [-np.eye(3), np.diag([-2, 3, 3]), np.diag([3, -2, 3]), np.diag([1, 1, -9])],
)
def test_a_maximum_or_a_saddle_is_no_minimiser(matrix):
    with pytest.raises(InputError, match="where the mean of the values is least; it i"):
        require_consistent(type("Wrong", (Matrix,), {"matrix": matrix})())


def test_a_minimiser_among_others_or_of_values_that_cancel_is_one():
    require_consistent(type("Level", (Matrix,), {"matrix": np.diag([1, 0, 0])})())

    class Large(Mine):
        def gradient(self, client, point):
            return point - 1 + (1e9 if client else -1e9)

        def value(self, client, point):
            return float((point[0] - 1) ** 2 / 2 + (1e9 if client else -1e9) * point[0])

        def minimiser(self):
            return np.ones(1)

    require_consistent(Large())


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
@pytest.mark.parametrize("size", [1.0, 1e-5])
def test_gradients_at_random_are_refused(ask, size):
    draws = np.random.default_rng(0)
    noisy = {"gradient": lambda _, i, x: (i + 1) * x + size * draws.normal(size=1)}
    with pytest.raises(InputError, match="must be a pure function of the client and"):
        ask(type("Noisy", (Mine,), noisy)())


def test_gradients_that_sum_in_any_order_are_not_random():
    count = iter(range(10**6))

    def gradient(_, client, point):
        return (client + 1) * point * (1 + (next(count) % 2) * 1e-15)

    require_consistent(type("Summed", (Mine,), {"gradient": gradient})())


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_complex_gradients_are_refused(ask):
    turned = {"gradient": lambda _, i, x: (i + 1) * x + 0j}
    with pytest.raises(InputError, match="must be real; got complex numbers from grad"):
        ask(type("Turned", (Mine,), turned)())


def test_a_gradient_in_one_buffer_is_read_at_once():
    buffer = np.zeros(1)

    def gradient(_, client, point):
        np.multiply(point, client + 1, out=buffer)
        return buffer

    kept = type("Kept", (Mine,), {"gradient": gradient})()
    errors = ASK["simulate"](kept).errors
    assert np.array_equal(errors, ASK["simulate"](Mine()).errors)


def test_a_start_beyond_the_domain_is_no_divergence():
    class Positive(Mine):
        """f_i(x) = (i + 1) x - log x, from 0 on."""

        def gradient(self, client, point):
            return client + 1 - 1 / point

        def value(self, client, point):
            return float((client + 1) * point[0] - np.log(point[0]))

        def minimiser(self):
            return np.array([2 / 3])

    sizes = {"rounds": 3, "runs": 2, "seed": 1}
    with pytest.raises(InputError, match=r"-inf\]\] at \[0.0\]; start elsewhere"):
        simulate(Positive(), ALGORITHM, LAW, **sizes)
    with pytest.raises(InputError, match="must be finite numbers where runs start"):
        assert_error_bound(Positive(), ALGORITHM, LAW, bound=1, rounds=3)
    inside = simulate(Positive(), FedAvg("1/9"), LAW, start=[1], **sizes)
    assert np.isfinite(inside.errors).all()
    assert assert_error_bound(
        Positive(), FedAvg("1/9"), LAW, bound=1, rounds=3, start=[1]
    )


def test_a_gradient_that_writes_to_the_point_of_a_loop_moves_nothing():
    def doubles(self, client, point):
        point *= client + 1
        return point

    def loop(masks, gradient, start):
        models = [start]
        for mask in masks:
            x = models[-1]
            slopes = [gradient(i, x) for i in mask.nonzero()[0]]
            models.append(x - sum(slopes) / 4 if slopes else x)
        return models

    in_place = type("InPlace", (Mine,), {"gradient": doubles})()
    found = [
        assert_error_bound(one, loop, LAW, bound=100, rounds=3, start=[2]).found
        for one in (in_place, Mine())
    ]
    assert found[0] == found[1]
