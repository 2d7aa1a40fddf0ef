"""FedProx is FedAvg with a pull back, FedDyn rests at the minimiser all the same."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify import moments
from flverify._core.errors import DomainError
from flverify.algorithms import FedAvg, FedDyn, FedProx, GradientDescent
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort
from flverify.problems import Quadratics

STEP = Fraction(1, 10)
PROBLEM = Quadratics([[[1]], [[3]], [[2]]], [[1], [-2], [5]])
LAWS = [
    Full(3),
    Bernoulli(["1/2", "1/3", "1/5"]),
    UniformCohort(3, 1),
    AllOrNothing(3, "1/3"),
]


def read(algorithm, law):
    return moments(PROBLEM, algorithm, law)


def errors(algorithm, law, problem=PROBLEM):
    return moments(problem, algorithm, law).mean_square_error([4], rounds=5).tolist()


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_one_local_step_of_fedprox_is_fedavg_and_two_are_not(law):
    server = Fraction(3, 2)
    one = errors(FedProx(STEP, "7/3", 1, server), law)
    assert one == errors(FedAvg(STEP, 1, server), law)
    two = errors(FedProx(STEP, "7/3", 2, server), law)
    assert two != errors(FedAvg(STEP, 2, server), law)


def test_exact_local_problems_of_fedprox_end_at_the_averaged_envelopes():
    # one client's curvature h: a step of 1/(h + a) solves its local problem, and z_i
    # = (a x + h x_i*)/(a + h); with everybody, sum of h a/(a + h) (x - x_i*) = 0
    h, b, a = Fraction(2), [1, -2, 5], Fraction(1, 3)
    problem = Quadratics([[[h]]] * 3, [[v] for v in b])
    found = moments(problem, FedProx(1 / (h + a), a, 1, 1), Full(3))
    assert found.mean_fixed_point.tolist() == [Fraction(sum(b), 3) / h]
    curvatures = [Fraction(1), Fraction(3), Fraction(2)]
    weights = [c * a / (a + c) for c in curvatures]
    envelope = sum(w * v / c for w, v, c in zip(weights, b, curvatures, strict=True))
    limit = envelope / sum(weights)
    gaps = [
        abs(read(FedProx(STEP, a, steps), Full(3)).mean_fixed_point[0] - limit)
        for steps in (1, 10, 100)
    ]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-5


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("steps", [1, 4])
def test_feddyn_tends_to_the_minimiser_whoever_takes_part(law, steps):
    found = read(FedDyn(STEP, 4, steps), law)
    assert found.mean_square_rate < 1
    assert found.bias.tolist() == [0]
    assert found.stationary_mean_square_error == 0
    assert read(FedProx(STEP, 4, 4), law).bias.tolist() != [0]


def test_a_client_that_never_comes_is_missed():
    found = read(FedDyn(STEP, 4, 2), Bernoulli(["1/2", "1/3", 0]))
    assert found.mean_fixed_point.tolist() == [Fraction(1 - 2, 1 + 3)]


def test_alike_clients_that_solve_their_problems_step_from_the_minimiser_away():
    # h x = b for all, and z = (a x + u + b)/(a + h) is exact: then u+ = h z - b, so
    # that x+ = z - u+/a moves as if h/a were the step size of gradient descent at z
    h, a, b = Fraction(1), Fraction(4), Fraction(3)
    problem = Quadratics([[[h]]] * 2, [[b]] * 2)
    found = moments(problem, FedDyn(1 / (a + h), a), Full(2))
    x, u = Fraction(4), Fraction(0)
    for error in found.mean_square_error([4], rounds=3).tolist():
        assert error == (x - b / h) ** 2
        z = (a * x + u + b) / (a + h)
        u = h * z - b
        x = z - u / a


@pytest.mark.parametrize("algorithm", [FedDyn(STEP, 2, 3), FedProx(STEP, 2, 3)])
def test_both_settings_of_weight_carry_the_unit_of_the_objectives(algorithm):
    law = LAWS[1]
    tripled = Quadratics(3 * PROBLEM.hessians, 3 * PROBLEM.linear)
    assert errors(algorithm.rescaled(3), law, tripled) == errors(algorithm, law)
    step_alone = algorithm.retuned(algorithm.step_size / 3)
    assert errors(step_alone, law, tripled) != errors(algorithm, law)
    plain = GradientDescent("1/8")
    assert plain.rescaled(2) == GradientDescent("1/16")


@pytest.mark.parametrize("kind", [FedDyn, FedProx])
@pytest.mark.parametrize("weight", [0, -1, "-1/3"])
def test_a_weight_must_be_positive(kind, weight):
    with pytest.raises(DomainError, match="proximal_weight must be positive; got"):
        kind(STEP, weight)
