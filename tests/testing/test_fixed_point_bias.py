"""The bias of the fixed point of the mean dynamics."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy

from flverify._core.errors import DomainError, InputError, ShapeError
from flverify.algorithms import FedAvg, Focus, GradientDescent
from flverify.participation import Bernoulli, ExplicitLaw, Full, ModeChain
from flverify.problems import Quadratics
from flverify.testing import (
    Broken,
    Inconclusive,
    Status,
    assert_error_bound,
    assert_fixed_point_bias,
    assert_linear_rate,
    fixed_point_bias,
)
from flverify.testing.vector_mean import mean_ball
from tests.testing.own import (
    Drifting,
    ForgetsFlag,
    HeavyBall,
    across,
    fedavg_function,
    in_rationals,
)

F = Fraction


def broken(*parts, **options):
    with pytest.raises(Broken) as caught:
        assert_fixed_point_bias(*parts, **options)
    return caught.value.outcome


def test_the_bias_of_two_local_steps_by_hand(problem):
    # the mean of x -> 9/16 x and x -> x/4 + 3/4 has the fixed point 12/19
    parts = problem, FedAvg("1/4", 2), Full(2)
    bias = F(12, 19) - F(2, 3)
    assert assert_fixed_point_bias(*parts, bias=[bias])
    assert assert_fixed_point_bias(*parts, bound=-bias)
    assert broken(*parts, bias=0).found.startswith("bias (-2/57)")
    assert broken(*parts, bound=-bias - F(1, 10**20))
    assert assert_fixed_point_bias(*parts, bias=0, tolerance="1/28")
    assert broken(*parts, bias=0, tolerance="1/29")


@pytest.mark.parametrize("mu", [1e-9, 1e-10, 1e-11])
def test_an_unbiased_method_is_not_biased_by_a_minimiser_in_floats(mu):
    root = math.sqrt(mu)
    fast = HeavyBall(3.9 / (1 + root) ** 2, ((1 - root) / (1 + root)) ** 2)
    with pytest.raises(Inconclusive, match="the bias in floats is known to"):
        assert_fixed_point_bias(across(mu, [0.3, -0.7]), fast, Full(1), bias=0)
    along = Quadratics([[[1.0, 0.0], [0.0, mu]]], [[0.3, -0.7]])
    assert assert_fixed_point_bias(along, fast, Full(1), bias=0)


def test_a_far_fixed_point_in_floats_is_not_judged_closer_than_it_is_known():
    # client 0 alone takes part, and its minimiser is 1e9 times as far as x*
    slopes = [across(1e-9, [0.0, 0.0]).hessians[0], np.eye(2)]
    problem = Quadratics(slopes, [[0.3, -0.7], [0.0, 0.0]])
    exact = in_rationals(problem)
    bias = exact.minimiser([1, 0]) - exact.minimiser()
    with pytest.raises(Inconclusive, match="the bias in floats is known to"):
        assert_fixed_point_bias(problem, FedAvg(0.5), Bernoulli([1, 0]), bias=bias)


def test_a_bias_claimed_in_floats_may_be_off_by_their_rounding(problem, law):
    parts = problem, FedAvg("1/4", 2), law
    for claimed in (-34 / 213, np.nextafter(-34 / 213, 0)):
        found = assert_fixed_point_bias(*parts, bias=[claimed])
        assert found.answered_by.endswith(", to 1e-09 of the claimed bias")
    rational = assert_fixed_point_bias(*parts, bias=[F(-34, 213)])
    assert "1e-09" not in rational.answered_by
    assert broken(*parts, bias=[-34 / 213 * (1 + 1e-7)])
    # a rational bias far below 1e-9 of the problem's size is not 0 in floats either
    small = problem, FedAvg(F(1, 10**11), 2), Full(2)
    assert broken(*small, bias=[0.0])


def test_a_corrected_method_is_unbiased(problem, law):
    assert assert_fixed_point_bias(problem, Focus("1/8"), law, bias=0)
    plain = problem.as_float()
    assert assert_fixed_point_bias(plain, Focus("1/8"), law, bias=[0])
    assert broken(plain, FedAvg("1/4", 2), law, bias=0)


def test_a_wrong_algorithm_of_ones_own_is_caught(problem, law):
    # dividing by N in place of |S| pulls the model towards 0
    assert broken(problem, ForgetsFlag(F(1, 4)), law, bias=0)


def test_without_a_fixed_point_there_is_no_answer():
    flat = Quadratics([[[2]], [[0]]], [[0], [1]])
    always = Full(2)
    assert assert_fixed_point_bias(flat, FedAvg("1/4"), always, bias=0)
    alone = ExplicitLaw({(1,): 1}, n_clients=2)
    with pytest.raises(Inconclusive, match="fixed point"):
        assert_fixed_point_bias(flat, FedAvg("1/4"), alone, bias=0)


@pytest.mark.slow
def test_sampling_needs_a_tolerance(problem, law):
    parts = problem, fedavg_function, law
    options = {"rounds": 12}
    found = assert_fixed_point_bias(*parts, bias=0, tolerance="1/2", **options)
    assert "in place of the fixed point" in found.answered_by
    with pytest.raises(Inconclusive, match="sampling cannot show equality"):
        assert_fixed_point_bias(*parts, bias=["-34/213"], **options)
    assert broken(*parts, bias=[2], tolerance="1/2", **options)


def test_sampling_and_moments_agree(problem, law):
    parts = problem, FedAvg("1/4", 2), law
    options = {"rounds": 30, "method": "sampled"}
    assert broken(*parts, bound="1/50", **options)
    assert broken(*parts, bound="1/50")
    assert assert_fixed_point_bias(*parts, bound="1/3", **options)
    assert assert_fixed_point_bias(*parts, bound="1/3")


def test_a_diverging_mean_is_said(problem):
    with pytest.raises(Inconclusive, match="there is no x_inf"):
        assert_fixed_point_bias(problem, FedAvg(2), Full(2), bias=0)
    swings = Quadratics([[[1]]], [[2]]), GradientDescent(2), Full(1)
    assert "there is no x_inf" in unanswered(*swings, bias=0).reason


def test_a_slow_mean_in_floats_is_not_said_to_diverge(problem):
    parts = FedAvg("1/4"), Bernoulli(["1e-14"] * 2)
    assert assert_fixed_point_bias(problem, *parts, bound=1)
    found = unanswered(problem.as_float(), *parts, bound=1)
    assert found.reason.startswith("floats do not tell whether the mean converges")
    assert "does not converge" not in found.found


@pytest.mark.parametrize("factor", ["99/100", "101/100"])
@pytest.mark.parametrize("floats", [False, True])
def test_a_mean_that_a_constant_drives_away_is_said(problem, factor, floats):
    # the difference of two runs does not see it
    asked = problem.as_float() if floats else problem
    parts = asked, Drifting(Fraction(factor)), Full(2)
    if factor == "99/100":
        assert assert_fixed_point_bias(*parts, bias=0)
    else:
        assert "there is no x_inf" in unanswered(*parts, bias=0).reason


def descent(step, clients=(0, 1), noise=0.0):
    """Gradient descent on some clients, pushed to and fro by client 0's coin."""

    def run(masks, gradient, start):
        models = [start]
        for mask in masks:
            total = sum(gradient(i, models[-1]) for i in clients)
            pushed = noise if mask[0] else -noise
            models.append(models[-1] - step * total + pushed)
        return np.array(models)

    return run


def unanswered(*parts, **options):
    with pytest.raises(Inconclusive) as caught:
        assert_fixed_point_bias(*parts, **options)
    return caught.value.outcome


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.07, 0.25])
def test_rounding_of_a_sample_breaks_no_equality(problem, step):
    odd = Quadratics([[[3]], [[7]]], [[1], [2]])
    short = {"bias": 0, "rounds": 80, "budget": 1200}
    for one in (problem, odd):
        asked = one, descent(step if one is problem else 0.07), Full(2)
        try:
            found = assert_fixed_point_bias(*asked, **short)
        except Inconclusive as error:
            found = error.outcome
        assert found.status != Status.BROKEN
    options = {"bias": 0, "method": "sampled", "rounds": 600, "budget": 1200}
    sampled = unanswered(odd, Focus("1/40"), Full(2), **options)
    assert sampled.reason.startswith("sampling cannot show equality")


@pytest.mark.slow
def test_a_mean_on_its_way_is_no_fixed_point(problem):
    short = {"bias": 0, "rounds": 40, "budget": 1200}
    parts = problem, descent(1e-4), Full(2)  # unbiased, and far from done
    found = unanswered(*parts, tolerance="1/100", **short)
    assert "moved" in found.reason
    assert found.found.endswith("in the sample, which bounds nothing")
    parts = problem, GradientDescent("1/10000"), Full(2)
    options = {"tolerance": "1/100", "method": "sampled"}
    assert "moved" in unanswered(*parts, **options, **short).reason
    parts = problem, descent(1e-4, clients=[0]), Full(2)  # leaves x* slowly for 0
    options = {"tolerance": "1/20", "start": ["2/3"]}
    assert "moved" in unanswered(*parts, **options, **short).reason
    hidden = problem, descent(1e-4, clients=[0], noise=0.01), Bernoulli(["1/2", 1])
    noisy = short | {"budget": 2048, "tolerance": "3/10", "start": ["2/3"]}
    assert "moved as little" in unanswered(*hidden, **noisy).reason


def test_a_step_that_overflows_is_no_fixed_point(problem):
    parts = problem.as_float(), GradientDescent(1e160), Full(2)
    assert unanswered(*parts, bias=0, budget=300).reason
    parts = problem, descent(1e160), Full(2)
    found = unanswered(*parts, bias=0, tolerance=1, rounds=4, budget=300).found
    assert found == "the mean model, from 4 rounds, leaves the range of floats"


def test_a_far_start_excuses_no_bias(problem, law):
    parts = problem.as_float(), FedAvg("1/4", 2), law
    assert broken(*parts, bias=0, start=[1e9])


def test_a_slow_mean_in_floats_is_no_bias():
    turn = np.array([[3, -1, 2], [1, 2, -1], [-1, 1, 3]]) / 4
    hessian = turn.T @ np.diag([1, 0.5, 1e-8]) @ turn
    slow = Quadratics([hessian, hessian], [[1.0, -0.3, 0.2], [0.4, 0.7, -0.9]])
    law = Bernoulli([0.5, 0.25])
    for algorithm in (GradientDescent(0.125), Focus(0.0625)):
        found = unanswered(slow, algorithm, law, bias=0)
        assert "known to" in found.reason


def test_a_bias_claimed_in_floats_is_compared_with_its_sign(problem, law):
    parts = problem.as_float(), FedAvg("1/4", 2), law
    assert assert_fixed_point_bias(*parts, bias=[-34 / 213])
    assert broken(*parts, bias=[34 / 213])


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_a_bias_in_floats_is_compared_in_the_unit_of_the_problem(law, unit):
    plain = Quadratics([[[1.0]], [[2.0]]], [[0.0], [2 * unit]])
    parts = plain, FedAvg("1/4", 2), law
    assert assert_fixed_point_bias(*parts, bias=[-34 / 213 * unit * (1 + 1e-10)])
    assert broken(*parts, bias=[-34 / 213 * unit * (1 + 1e-6)])


def test_a_bias_that_cannot_be_told_from_the_claimed_one_is_no_answer(problem):
    nothing = sympy.sin(1) ** 2 + sympy.cos(1) ** 2 - 1
    parts = problem, FedAvg("1/4", 2), Full(2)
    found = unanswered(*parts, bias=[nothing - sympy.Rational(2, 57)])
    assert found.reason.startswith("an irrational bias cannot be told")
    assert broken(*parts, bias=[nothing - sympy.Rational(2, 59)])


def test_roots_that_cancel_are_seen_in_the_field_they_make(problem):
    angles = [sympy.cos(k * sympy.pi / 7) for k in (1, 2, 3)]
    nothing = angles[0] - angles[1] + angles[2] - sympy.Rational(1, 2)
    parts = problem, FedAvg("1/4", 2), Full(2)
    assert assert_fixed_point_bias(*parts, bias=[nothing - sympy.Rational(2, 57)])
    assert broken(*parts, bias=[nothing - sympy.Rational(2, 59)])


@pytest.mark.slow
def test_a_run_that_never_moves_shows_no_fixed_point():
    one = Quadratics([[[1]]], [[2]])
    options = {"bias": 0, "tolerance": 1, "start": [2], "method": "sampled"}
    found = unanswered(one, GradientDescent("1/2"), Full(1), **options)
    assert "moved as little" in found.reason


def test_the_chances_to_be_wrong_of_all_looks_stay_below_the_one_given(
    problem, law, monkeypatch
):
    misses = []

    def noted(copies, miss, tail):
        misses.append(miss)
        return mean_ball(copies, miss, tail)

    monkeypatch.setattr(fixed_point_bias, "mean_ball", noted)
    options = {"bias": 0, "method": "sampled", "rounds": 4, "budget": 3000}
    assert unanswered(problem, FedAvg("1/4", 2), law, false_alarm=1e-3, **options)
    assert len(misses) == 15  # five balls after 256, 1024 and 3000 runs
    assert 5e-4 < sum(misses) * 3 / 5 <= 1e-3  # two of them only take answers away


def test_parameters_outside_their_domain_are_refused(problem, law):
    parts = problem, Focus("1/8"), law
    with pytest.raises(InputError, match="exactly one"):
        assert_fixed_point_bias(*parts)
    with pytest.raises(InputError, match="exactly one"):
        assert_fixed_point_bias(*parts, bias=0, bound=1)
    with pytest.raises(ShapeError):
        assert_fixed_point_bias(*parts, bias=np.zeros(2))
    with pytest.raises(DomainError):
        assert_fixed_point_bias(*parts, bound=-1)


def test_a_bound_in_floats_may_be_rounded(problem, law):
    parts = problem, FedAvg("1/4", 2), law  # the bias is -34/213
    for bound in (34 / 213, math.nextafter(34 / 213, 0)):
        assert assert_fixed_point_bias(*parts, bound=bound)
    with pytest.raises(Broken):
        assert_fixed_point_bias(*parts, bound=34 / 213 - 1e-9)


def test_a_mean_that_alternates_has_no_bias(problem):
    # at client 0 x shrinks to 3x/4, at client 1 it goes to x/2 + 1/2: in the long run
    # 4/5 and 3/5 in turn, and 7/10 on average; x* = 2/3
    laws = [ExplicitLaw({(i,): 1}, 2) for i in (0, 1)]
    method, turns = FedAvg("1/4"), ((0, 1), (1, 0))
    either = ModeChain(turns, laws)  # who begins is tossed
    for known in (problem, problem.as_float()):
        setting = known, method, either
        assert assert_fixed_point_bias(*setting, bias=["1/30"], tolerance="1e-9")
        for begin in (0, 1, ("1/3", "2/3")):
            setting = known, method, ModeChain(turns, laws, initial=begin)
            with pytest.raises(Inconclusive, match="the mean does not converge"):
                assert_fixed_point_bias(*setting, bias=["1/30"], tolerance="1e-9")
            with pytest.raises(Broken, match="on average tends to"):
                assert_linear_rate(*setting, rate="9/10")
            with pytest.raises(Broken):  # it does alternate, between 1/225 and 4/225
                assert_error_bound(*setting, bound=lambda r: 1 if r < 90 else "1/89")


def test_modes_that_alternate_do_not_matter_where_the_model_settles(agreeing):
    laws = [ExplicitLaw({(i,): 1}, 2) for i in (0, 1)]
    alternating = ModeChain(((0, 1), (1, 0)), laws, initial=0)
    assert assert_fixed_point_bias(agreeing, FedAvg("1/4"), alternating, bias=0)


def to_and_fro(masks, gradient, start):
    """In the long run 1/6 and 7/6 in turn, on either side of x* = 2/3."""
    ends = [2 / 3 - 1 / 2, 2 / 3 + 1 / 2]
    models = [start]
    for r in range(len(masks)):
        models.append(ends[r % 2] + (start - 2 / 3) / 8 ** (r + 1))
    return np.array(models)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("rounds", [40, 41])
def test_a_sampled_mean_that_alternates_has_no_bias(problem, rounds):
    parts = problem, to_and_fro, Full(2)
    options = {"bias": ["1/2"], "tolerance": "1/10", "rounds": rounds, "start": [3]}
    assert "moved" in unanswered(*parts, budget=1200, **options).reason


def test_a_client_too_rare_to_be_seen_leaves_a_sampled_bias_open(problem):
    # Focus is unbiased; without client 1 it ends at 0, which a sample took for the end
    law = Bernoulli(["1/2", "1/1000000"])
    asked = {"start": [3], "method": "sampled", "budget": 1200}
    for bias in (0, ["-2/3"]):
        parts = problem, Focus("1/8"), law
        found = unanswered(*parts, bias=bias, tolerance="1/10", **asked)
        assert found.reason.startswith("client 1 comes in fewer than one of 200 rounds")


def test_modes_that_rest_in_turn_have_no_sampled_bias(problem):
    # nobody comes in the last of four rounds, so that x is the same before and after
    laws = [ExplicitLaw({who: 1}, 2) for who in ((0,), (1,), (1,), ())]
    turns = [[int(to == (k + 1) % 4) for to in range(4)] for k in range(4)]
    parts = problem, FedAvg("1/2"), ModeChain(turns, laws, initial=0)
    options = {"bias": ["1/3"], "tolerance": "1/50"}
    asked = {"method": "sampled", "budget": 1200}
    assert "there is no x_inf" in unanswered(*parts, **options).reason
    found = unanswered(*parts, **options, **asked)
    assert found.reason.startswith("after 200 rounds the modes of the law are 0.75")
    stays = ModeChain([["999999/1000000", "1/1000000"], [0, 1]], laws[:2], initial=0)
    found = unanswered(problem, FedAvg("1/2"), stays, bias=0, tolerance=1, **asked)
    assert "from their long run" in found.reason


def rests_in_turn(masks, gradient, start):
    """In the long run 1/6, 5/3, 1/6 and 1/6 in turn."""
    ends = np.array([1, 10, 1, 1]) / 6
    models = [start]
    for r in range(len(masks)):
        models.append(ends[r % 4] + (start - 2 / 3) / 8 ** (r + 1))
    return np.array(models)


@pytest.mark.parametrize("rounds", [40, 80])
def test_a_sampled_mean_that_rests_in_turn_has_no_bias(problem, rounds):
    # x is that of half the rounds ago, and that of the round before
    parts = problem, rests_in_turn, Full(2)
    options = {"bias": ["-1/2"], "tolerance": "1/10", "rounds": rounds, "start": [3]}
    assert "moved" in unanswered(*parts, budget=1200, **options).reason


def test_sampling_holds_no_equality_even_where_floats_agree():
    one = Quadratics([[[1]]], [[2]])
    parts = one, GradientDescent(1), Full(1)
    found = unanswered(*parts, bias=0, method="sampled", budget=1200)
    assert found.reason.startswith("sampling cannot show equality")
