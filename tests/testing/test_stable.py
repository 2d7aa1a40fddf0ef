"""Mean-square stability."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from flverify.algorithms import AgnosticFedAvg, Ball, FedAvg, Focus, GradientDescent
from flverify.participation import (
    Bernoulli,
    ExplicitLaw,
    Full,
    ModeChain,
    UniformCohort,
)
from flverify.problems import Quadratics, synthetic_ridge
from flverify.testing import Broken, Inconclusive, Status, assert_stable
from tests.testing.own import FiveFold, MifaLike, PilesUp, fedavg_function, fivefold

F = Fraction


def broken(*parts, **options):
    with pytest.raises(Broken) as caught:
        assert_stable(*parts, **options)
    return caught.value.outcome


def test_the_boundary_of_gradient_descent_is_exact():
    one = Quadratics([[[1]]], [[2]])
    below, at = GradientDescent(F(1999, 1000)), GradientDescent(2)
    assert assert_stable(one, below, Full(1))
    assert broken(one, at, Full(1)).found == "mean-square rate 1"
    with pytest.raises(Inconclusive):
        assert_stable(one.as_float(), at, Full(1))


def test_stable_in_the_mean_alone_is_not_enough(law):
    # (1 - 3)^2 has the mean 4 under p = 1/4, and 4/4 + 3/4 > 1, while the mean map
    # is 1 - 3/4
    one = Quadratics([[[1]]], [[0]])
    found = broken(one, FedAvg(3), Bernoulli(["1/4"]))
    assert found.found == "mean-square rate 7/4"
    assert found.first_break


def test_a_biased_method_may_be_stable(problem, law):
    assert assert_stable(problem, FedAvg("1/4", 2), law)


def test_what_piles_up_unseen_by_differences_is_caught(problem, law):
    found = broken(problem, PilesUp(F(1, 2)), law)
    assert "grows without bound" in found.found
    assert "moments(" in found.reproduce


@pytest.mark.parametrize("root", [0.8, 0.9, 0.95, 0.98, 0.99])
def test_a_long_jordan_chain_close_to_one_is_not_called_unstable(root):
    # its eigenvalues in floats lie beyond 1 when those of the same numbers do not
    one, plain = Quadratics([[[1]]], [[2]]), fivefold(root)
    exact = FiveFold(F(plain.step_size), tuple(map(F, plain.pulls)))
    told = [status(one, exact), status(one.as_float(), plain)]
    assert told[1] in (Status.INCONCLUSIVE, told[0])


def status(problem, algorithm):
    try:
        return assert_stable(problem, algorithm, Full(1), method="exact").status
    except (Broken, Inconclusive) as error:
        return error.outcome.status


def test_an_unstable_biased_method_in_floats_is_caught(problem, law):
    assert broken(problem.as_float(), FedAvg("5/4", 2), law)
    assert assert_stable(problem.as_float(), FedAvg("1/4", 2), law)


def test_stored_gradients_do_not_hide_stability():
    flat = Quadratics([[[2]], [[0]]], [[0], [-1]])
    assert assert_stable(flat, MifaLike(F(1, 2)), Bernoulli([1, "1/10"]))


@pytest.mark.slow
def test_systems_of_every_size_are_answered():
    many = Quadratics([[[1 + i]] for i in range(16)], [[i] for i in range(16)])
    law = UniformCohort(16, 4)
    found = assert_stable(many, Focus("1/200"), law)
    assert found.answered_by.startswith("exact")
    assert broken(many, Focus(1), law)
    ridge = synthetic_ridge(8, 12, 20)
    assert assert_stable(ridge, Focus(1e-3, 2), UniformCohort(8, 2))


def test_the_first_round_that_is_far_away_is_named():
    one = Quadratics([[[1]]], [[2]])
    found = broken(one, GradientDescent("5/2"), Full(1))
    # 4 (9/4)^r exceeds 400 from round 6 on
    assert found.first_break.startswith("6: E|x_r - x*|^2 = 518.98")
    slow = broken(one, GradientDescent(2), Full(1))
    assert slow.first_break == "none up to 500 is 100 times as far away as x_0"


def test_a_large_rate_that_floats_do_not_tell_from_one_is_no_answer():
    many = Quadratics([np.eye(90)], [[2.0] + [0.0] * 89])
    for step in (2e-6, 2 + 2e-6):  # rates 1 - 4e-6 and 1 + 4e-6
        with pytest.raises(Inconclusive, match="cannot be told from 1"):
            assert_stable(many, GradientDescent(step), Full(1), method="exact")
    assert assert_stable(many, GradientDescent(1e-3), Full(1), method="exact")
    assert broken(many, GradientDescent(2.001), Full(1), method="exact")


def test_sampling_tests_a_bound_in_finitely_many_rounds(problem, law):
    inside = AgnosticFedAvg("1/4", 3, projection=Ball(2))
    found = assert_stable(problem, inside, law)
    assert found.first_break == ""
    assert found.claimed == "E|x_r - x*|^2 <= 400/9, sampled in rounds 0 to 100"
    assert broken(problem, FedAvg("5/4", 2), law, method="sampled")
    assert assert_stable(problem, fedavg_function, law, bound=20, rounds=10)
    # |x_0 - x*|^2 is 4/9
    low = broken(problem, fedavg_function, law, bound="1/3", rounds=10)
    assert low.claimed == "E|x_r - x*|^2 <= 1/3, sampled in rounds 0 to 10"


def rarely(chance):
    """Return a chain that is always in its first mode but for a chance to leave it."""
    laws = [ExplicitLaw({(i,): 1}, 2) for i in (0, 1)]
    return ModeChain([[1 - chance, chance], [0, 1]], laws, initial=0)


@pytest.mark.parametrize("law", [Bernoulli(["1/2", "1/1000000"]), rarely(F(1, 10**9))])
def test_a_sample_without_a_client_says_nothing_of_what_it_does(law):
    # where client 1 comes the squared error grows by 1e12: a mean-square rate of 6e5
    hidden = Quadratics([[[1]], [[4 * 10**6]]], [[1], [4 * 10**6]])
    parts = hidden, FedAvg("1/4"), law
    assert broken(*parts)
    with pytest.raises(Inconclusive, match=r"client 1 is expected .* may not be seen"):
        assert_stable(*parts, method="sampled", tail=3, budget=300)


def test_clients_that_never_come_are_not_waited_for():
    problem = Quadratics([[[1]], [[2]]], [[1], [2]])
    options = {"method": "sampled", "tail": 3, "budget": 300}
    never = Bernoulli(["1/2", 0])
    assert assert_stable(problem, FedAvg("1/4"), never, **options)


def test_a_diverging_function_is_caught(problem, law):
    def explode(masks, gradient, start):
        models = [start]
        for _ in masks:
            models.append(models[-1] - 1e30 * gradient(0, models[-1]) + 1)
        return models

    assert broken(problem, explode, law).first_break
