"""Quadratics that stay away from x*: exact by plain loops, below what is certified."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest

from flverify._core.errors import DomainError, RefusedError
from flverify.algorithms import FedAvg, Focus
from flverify.certify.classes import classes
from flverify.certify.neighbourhood import distance
from flverify.certify.stationary import worst_stationary
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort
from flverify.reference import fedavg
from tests.certify import dense

MU, SMOOTH = Fraction(1, 10), Fraction(1)
LAWS = [
    UniformCohort(4, 1),
    UniformCohort(5, 3),
    Bernoulli(["1/2"] * 3),
    Bernoulli(["1/2", "1/3", "1/3"]),
    AllOrNothing(3, "1/2"),
    Full(3),
]


def second_moment(algorithm, law, curvatures, gradients):
    """E x^2 where the laws of x and x+ agree: x+ = a x + b for every cohort.

    Clients stand class after class, as in the instance.
    """

    def gradient(i, x):
        return [curvatures[i] * x[0] + gradients[i]]

    settings = {
        "step_size": algorithm.step_size,
        "local_steps": algorithm.local_steps,
    }
    rows = []
    cohorts, _ = dense.outcomes(classes(law).description)
    for cohort, weight in cohorts.items():
        chance = Fraction(int(weight.p), int(weight.q))
        b, both = (
            fedavg.play(
                {"model": [start]}, gradient, law.n_clients, cohort, **settings
            )["model"][0]
            for start in (Fraction(0), Fraction(1))
        )
        rows.append((chance, both - b, b))
    mean = sum(p * b for p, _, b in rows) / (1 - sum(p * a for p, a, _ in rows))
    pushed = sum(p * (2 * a * b * mean + b * b) for p, a, b in rows)
    return pushed / (1 - sum(p * a * a for p, a, _ in rows))


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize(("step_size", "local_steps"), [("1/10", 2), ("1/2", 4)])
def test_it_is_what_plain_loops_give_and_below_what_is_certified(
    law, step_size, local_steps
):
    algorithm = FedAvg(step_size, local_steps)
    found = worst_stationary(algorithm, law, MU, SMOOTH)
    assert sum(found.gradients) == 0
    assert all(MU <= h <= SMOOTH for h in found.curvatures)
    error = second_moment(algorithm, law, found.curvatures, found.gradients)
    spread = sum(g * g for g in found.gradients) / law.n_clients
    assert found.ratio == error / spread
    assert 0 < found.ratio <= distance(algorithm, law, MU, SMOOTH).constant


def test_it_is_near_what_is_certified_where_the_draw_matters_most():
    setting = FedAvg("1/10", 2), UniformCohort(4, 2), MU, SMOOTH
    low, high = worst_stationary(*setting).ratio, distance(*setting).constant
    assert low <= high <= low * Fraction(103, 100)


@pytest.mark.parametrize(
    ("step_size", "mu"), [("1e-6", "1/2"), ("1e-8", "1/2"), ("1/10", "1e-5")]
)
def test_drawn_clients_with_short_steps_or_flat_functions_are_no_worse(step_size, mu):
    setting = FedAvg(step_size, 2), UniformCohort(4, 2), Fraction(mu), SMOOTH
    low, high = worst_stationary(*setting).ratio, distance(*setting).constant
    assert low <= high <= low * Fraction(104, 100)


@pytest.mark.slow
def test_no_certified_constant_is_below():
    compared = [one for one in map(both_sides, range(20)) if one is not None]
    assert len(compared) >= 12
    assert all(0 < low <= high for low, high in compared)


def both_sides(number):
    """Ratio and certified constant of a random setting; None where there is no c."""
    draw = Random(f"stationary {number}")
    n = draw.randint(2, 8)
    law = draw.choice(
        [
            Bernoulli([Fraction(draw.randint(1, 19), 20)] * n),
            UniformCohort(n, draw.randint(1, n)),
            AllOrNothing(n, Fraction(draw.randint(1, 19), 20)),
        ]
    )
    steps = draw.randint(2, 4)  # one step of everybody stays at x*
    setting = FedAvg(Fraction(draw.randint(1, 90), 100), steps), law
    mu = Fraction(1, draw.randint(2, 50))
    found = distance(*setting, mu, 1)
    if found.status != "certified":
        return None
    return worst_stationary(*setting, mu, 1).ratio, found.constant


@pytest.mark.parametrize("n", [2, 20])
def test_one_client_at_a_time_moves_descent_as_far_as_its_steps_add_up(n):
    # all at h = mu: E x^2 = eta^2 E g_i^2 / (1 - (1 - eta mu)^2), whatever N is
    found = worst_stationary(FedAvg("1/10", 1), UniformCohort(n, 1), MU, SMOOTH)
    assert found.ratio == Fraction(1, 100) / (1 - Fraction(99, 100) ** 2)
    assert set(found.curvatures) == {MU}


def test_numbers_that_are_not_exact_are_refused():
    with pytest.raises(RefusedError, match="must be exact"):
        worst_stationary(FedAvg(0.1, 2), UniformCohort(3, 1), MU, SMOOTH)


def test_two_clients_of_different_probabilities_disagree_at_every_corner():
    algorithm, law = FedAvg("1/10", 2), Bernoulli(["1/2", "1/3"])
    found = worst_stationary(algorithm, law, MU, SMOOTH)
    ratios = [
        second_moment(algorithm, law, curvatures, (Fraction(1), Fraction(-1)))
        for curvatures in product((MU, SMOOTH), repeat=2)
    ]
    assert found.ratio == max(ratios)


def test_it_scales_with_the_square_of_smoothness():
    law = UniformCohort(3, 1)
    one = worst_stationary(FedAvg("1/10", 2), law, MU, SMOOTH)
    ten = worst_stationary(FedAvg("1/100", 2), law, 10 * MU, 10 * SMOOTH)
    assert ten.ratio == one.ratio / 100


@pytest.mark.parametrize("n", [1, 21])
def test_too_few_or_too_many_clients_are_refused(n):
    with pytest.raises(DomainError, match="2 to 20 clients"):
        worst_stationary(FedAvg("1/10", 2), Full(n), MU, SMOOTH)


@pytest.mark.parametrize(
    "algorithm", [FedAvg("1/10", 1), Focus("1/10", 1)], ids=["descent", "focus"]
)
def test_methods_that_stay_are_refused(algorithm):
    with pytest.raises(RefusedError, match="stay away"):
        worst_stationary(algorithm, Full(3), MU, SMOOTH)


def test_quadratics_that_do_not_contract_are_refused():
    with pytest.raises(RefusedError, match="contract"):
        worst_stationary(FedAvg(30, 2), UniformCohort(3, 1), MU, SMOOTH)
