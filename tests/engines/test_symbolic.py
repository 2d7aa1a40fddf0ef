"""Symbolic readings against hand computation and against exact moments."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

from flverify import Refusal, moments, symbolic
from flverify._core.errors import RefusedError
from flverify.algorithms import FedAU, FedAvg, Focus, Scaffold
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort
from flverify.problems import Quadratics
from tests.zoo import PAIR

H, G, B, ETA, P, Q = sympy.symbols("h g b eta p q", positive=True)
TWO = Quadratics([[[H]], [[G]]], [[B], [0]])


def test_fedavg_fixed_point_by_hand():
    # one of two clients, tau local steps: a_i = (1 - eta h_i)^tau; fixed point
    # sum (1 - a_i) c_i / sum (1 - a_i) with minimisers c = (b/h, 0)
    found = symbolic(TWO, FedAvg(ETA, 2), UniformCohort(2, 1)).mean_fixed_point()[0]
    far, near = 1 - (1 - ETA * H) ** 2, 1 - (1 - ETA * G) ** 2
    assert sympy.simplify(found - far * (B / H) / (far + near)) == 0


def test_bernoulli_probabilities_stay_symbols():
    one = symbolic(TWO, FedAvg(ETA), Bernoulli([P, Q]))
    # client 0 alone: p(1-q); both: pq, each with share 1/2
    weights = (P * (1 - Q) + P * Q / 2, Q * (1 - P) + P * Q / 2)
    slope = 1 - ETA * (weights[0] * H + weights[1] * G)
    assert sympy.expand(one.mean_matrix[0, 0] - slope) == 0


def test_focus_fixed_point_is_the_minimiser():
    one = symbolic(TWO, Focus(ETA), Bernoulli([P, Q]))
    assert isinstance(one.mean_polynomial(sympy.Symbol("z")), sympy.Expr)
    with pytest.raises(Exception, match="exactly one fixed point"):
        one.mean_fixed_point()  # the tracker's conserved sum leaves a line of them


X = sympy.Symbol("x", positive=True)
NOUGHT = sympy.sqrt(X + 1 + 2 * sympy.sqrt(X)) - 1 - sympy.sqrt(X)  # is 0


@pytest.mark.parametrize("curvature", [NOUGHT, sympy.exp(X) - 2, X**P])
def test_a_fixed_point_is_of_quotients_where_a_zero_is_seen(curvature):
    # sympy takes the determinant for another number than 0, and divides by it
    assert sympy.simplify(NOUGHT) != 0
    assert sympy.Abs(NOUGHT.subs(X, 3)) < 1e-30
    one = symbolic(Quadratics([[[curvature]]], [[B]]), FedAvg(ETA), Full(1))
    with pytest.raises(RefusedError, match="must be one of quotients of polynomials"):
        one.mean_fixed_point()


@pytest.mark.parametrize("zero", [0, (H + G) ** 2 - H**2 - 2 * H * G - G**2])
def test_a_singular_mean_has_no_fixed_point(zero):
    one = symbolic(Quadratics([[[zero]]], [[B]]), FedAvg(ETA), Full(1))
    with pytest.raises(RefusedError, match="exactly one fixed point"):
        one.mean_fixed_point()


def test_a_fixed_point_with_algebraic_numbers():
    root = sympy.sqrt(2)
    two = Quadratics([[[root]], [[1 + root]]], [[1], [0]])
    found = symbolic(two, FedAvg("1/8"), Full(2)).mean_fixed_point()[0]
    assert sympy.nsimplify(found * (1 + 2 * root)) == 1


@pytest.mark.parametrize("members", [frozenset(), frozenset({0}), frozenset({0, 1})])
def test_round_matrix_equals_a_round_by_hand(members):
    # FOCUS, tau = 1: state (x, y, g_0, g_1)
    one = symbolic(TWO, Focus(ETA), Full(2))
    x, y, g = sympy.Symbol("x"), sympy.Symbol("y"), sympy.symbols("g0 g1")
    slopes = (H * x - B, G * x)
    tracker = y + sum(slopes[i] - g[i] for i in members)
    stored = [slopes[i] if i in members else g[i] for i in range(2)]
    wanted = [x - ETA * tracker, tracker, *stored, 1]
    found = one.round_matrix(members) * sympy.Matrix([x, y, *g, 1])
    assert [sympy.expand(a - b) for a, b in zip(found, wanted, strict=True)] == [0] * 5


def test_numbers_put_into_symbols_give_the_exact_moments():
    one = symbolic(TWO, FedAvg(ETA, 3), Bernoulli([P, Q]))
    values = {H: 1, G: 2, B: 2, ETA: sympy.Rational(1, 8), P: sympy.Rational(1, 2)}
    values[Q] = sympy.Rational(1, 3)
    found = one.mean_fixed_point()[0].subs(values)
    problem = Quadratics([[[1]], [[2]]], [[2], [0]])
    law = Bernoulli(["1/2", "1/3"])
    exact = moments(problem, FedAvg("1/8", 3), law).mean_fixed_point[0]
    assert Fraction(int(found.p), int(found.q)) == exact


@pytest.mark.parametrize(
    ("problem", "algorithm", "law", "words"),
    [
        (PAIR, FedAvg("1/4"), Full(3), "same clients"),
        (PAIR, FedAvg("1/4"), Bernoulli([0.5, 0.5]), "floats"),
        (PAIR, FedAU("1/4"), Full(2), "numbers per client"),
        (Quadratics([[[1]]] * 45, [[0]] * 45), Scaffold("1/4"), Full(45), "too large"),
    ],
)
def test_refusals_say_why(problem, algorithm, law, words):
    refusal = symbolic(problem, algorithm, law)
    assert isinstance(refusal, Refusal)
    assert words in refusal.reason


@pytest.mark.parametrize(
    ("curved", "law"),
    [
        (1, Bernoulli([sympy.Symbol("p", positive=True)] * 2)),
        (1, AllOrNothing(2, sympy.sqrt(2) / 2)),
        (sympy.Symbol("h", positive=True), Full(2)),
    ],
)
@pytest.mark.parametrize("algorithm", [FedAvg("1/8", 2), Focus("1/8")])
def test_moments_of_symbols_are_refused(curved, law, algorithm):
    problem = Quadratics([[[curved]], [[2]]], [[0], [2]])
    found = moments(problem, algorithm, law)
    assert isinstance(found, Refusal)
    assert "moments must be of numbers; got" in found.reason
