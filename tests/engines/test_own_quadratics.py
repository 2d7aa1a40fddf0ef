"""Quadratics of a user's own: engines read their data, which must be those they say."""

from fractions import Fraction

import numpy as np
import pytest

from flverify import moments, simulate
from flverify._core.errors import InputError
from flverify.algorithms import FedAvg
from flverify.participation import Bernoulli
from flverify.problems import Quadratics
from flverify.problems._problem import Problem
from flverify.testing import assert_fixed_point_bias, assert_linear_rate

LAW, ALGORITHM = Bernoulli(["1/2", "1/3"]), FedAvg("1/4", 2)
HESSIANS = [[[Fraction(1)]], [[Fraction(2)]]]
LINEAR = [[Fraction(0)], [Fraction(2)]]


class Mine(Problem):
    """f_i(x) = (1 + i) x^2/2 - 2 i x."""

    n_clients, dim, exact = 2, 1, False

    def __init__(self, hessians=HESSIANS, linear=LINEAR, exact=True):
        self.hessians, self.linear, self.exact = hessians, linear, exact

    def gradient(self, client, point):
        return (1 + client) * point - 2 * client

    def value(self, client, point):
        return ((1 + client) * point[0] / 2 - 2 * client) * point[0]

    def minimiser(self):
        return np.array([Fraction(2, 3)] if self.exact else [2 / 3])


def rationals(values):
    return np.array(values, dtype=object)


def floats(values):
    return np.array(values, dtype=float)


WAYS = {
    "moments": lambda problem: moments(problem, ALGORITHM, LAW).bias,
    "bias": lambda problem: assert_fixed_point_bias(problem, ALGORITHM, LAW, bias=1),
    "rate": lambda problem: assert_linear_rate(problem, ALGORITHM, LAW, rate="9/10"),
    "simulate": lambda problem: simulate(
        problem, ALGORITHM, LAW, rounds=2, runs=2, seed=1
    ),
}
KINDS = {
    "lists": (HESSIANS, LINEAR, "got list"),
    "tuples": (tuple(HESSIANS), tuple(LINEAR), "got tuple"),
    "integers": (np.array([[[1]], [[2]]]), np.array([[0], [2]]), "got int64"),
    "short": (floats(HESSIANS).astype("f4"), floats(LINEAR), "got float32"),
}


@pytest.mark.parametrize(("hessians", "linear", "got"), KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS)
def test_data_of_another_kind_are_one_sentence(ask, exact, hessians, linear, got):
    with pytest.raises(InputError, match=f"hessians of Mine must be .*{got}; write"):
        ask(Mine(hessians, linear, exact))


@pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS)
def test_floats_are_not_exact(ask):
    with pytest.raises(InputError, match="must be rationals, since its exact is True"):
        ask(Mine(floats(HESSIANS), floats(LINEAR)))


@pytest.mark.parametrize("off", [Fraction(1, 10**5), Fraction(1, 10**15)])
def test_an_exact_problem_is_compared_exactly(off):
    wrong = [[Fraction(0)], [2 + off]]
    with pytest.raises(InputError, match="must be those of its gradients"):
        moments(Mine(rationals(HESSIANS), rationals(wrong)), ALGORITHM, LAW)


@pytest.mark.parametrize("off", [1e-5, 1e-8])
def test_floats_are_compared_to_nine_digits(off):
    wrong = Mine(floats(HESSIANS), floats([[0], [2 + off]]), exact=False)
    with pytest.raises(InputError, match="must be those of its gradients"):
        moments(wrong, ALGORITHM, LAW)


@pytest.mark.parametrize("kind", [rationals, floats])
def test_right_data_are_answered_as_the_package_s(kind):
    mine = Mine(kind(HESSIANS), kind(LINEAR), exact=kind is rationals)
    ours = Quadratics(kind(HESSIANS), kind(LINEAR))
    found, due = moments(mine, ALGORITHM, LAW), moments(ours, ALGORITHM, LAW)
    assert found.bias.tolist() == due.bias.tolist()
    assert found.mean_square_rate == due.mean_square_rate
