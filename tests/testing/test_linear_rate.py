"""Linear rates: what passes, what is caught, and what gets no answer."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
import sympy

from flverify._core.errors import DomainError, InputError, RefusedError, ShapeError
from flverify.algorithms import (
    AgnosticFedAvg,
    Ball,
    FedAvg,
    Focus,
    GradientDescent,
    Scaffold,
)
from flverify.engines.moments._large import LargeMoments
from flverify.engines.moments._perron import MessageMap, perron
from flverify.engines.moments._spectrum import Spectrum
from flverify.participation import (
    Bernoulli,
    ExplicitLaw,
    Full,
    ModeChain,
    UniformCohort,
)
from flverify.problems import Quadratics, synthetic_ridge
from flverify.testing import Broken, Inconclusive, Status, assert_linear_rate
from flverify.testing.dynamics import dynamics
from flverify.testing.large import LargeDynamics, _verify
from flverify.testing.moments import answers
from flverify.testing.setting import setting
from tests.testing.own import (
    FiveFold,
    HeavyBall,
    MifaLike,
    PilesUp,
    across,
    fivefold,
    in_rationals,
)

F = Fraction


def broken(*parts, **options):
    with pytest.raises(Broken) as caught:
        assert_linear_rate(*parts, **options)
    return caught.value.outcome


def unanswered(*parts, **options):
    with pytest.raises(Inconclusive) as caught:
        assert_linear_rate(*parts, **options)
    return caught.value.outcome


def test_gradient_descent_has_the_rate_of_its_slowest_direction():
    plane = Quadratics([[[1, 0], [0, 3]]], [[1, 1]])
    parts = plane, GradientDescent("1/2"), Full(1)
    # (1 - 1/2)^2 = (1 - 3/2)^2 = 1/4, twice: a plain multiple eigenvalue
    assert assert_linear_rate(*parts, rate="1/4").found == "1/4 per round"
    found = broken(*parts, rate="249/1000")
    assert found.found == "1/4 per round"


@pytest.mark.parametrize("method", ["auto", "sampled"])
def test_a_biased_method_breaks_every_rate(problem, law, method):
    found = broken(problem, FedAvg("1/4", 2), law, rate="99/100", method=method)
    assert found.status == Status.BROKEN


def test_fedavg_may_pass_where_the_clients_agree(agreeing):
    # T(x) - 1 is 9/16 and 1/4 of x - 1; the mean of both is 13/32
    parts = agreeing, FedAvg("1/4", 2), Full(2)
    assert assert_linear_rate(*parts, rate=F(13, 32) ** 2).status == Status.HOLDS


def test_full_participation_alone_does_not_save_fedavg(problem):
    found = broken(problem, FedAvg("1/4", 2), Full(2), rate="9/10")
    assert "not to 0" in found.found


def test_one_local_step_at_full_participation_is_unbiased(problem):
    # x+ - x* = (1 - 3/8)(x - x*)
    parts = problem, FedAvg("1/4", 1), Full(2)
    assert assert_linear_rate(*parts, rate=F(25, 64)).found == "25/64 per round"


@pytest.mark.parametrize("algorithm", [Focus("1/8"), Scaffold("1/8", 2)])
def test_corrected_methods_reach_the_minimiser(problem, law, algorithm):
    assert assert_linear_rate(problem, algorithm, law, rate="9/10")


def test_the_curve_behind_the_answer_is_that_of_every_sequence(
    problem, law, enumerated
):
    for start in (None, ["1/2"]):
        asked = setting(problem, Focus("1/8", 2), law, start)
        first = answers(asked)[0]
        found = list(islice(dynamics(asked, first).curve(asked.begin), 4))
        settings = {"step_size": F(1, 8), "local_steps": 2}
        expected = enumerated("focus", problem, law, 3, asked.begin, **settings)
        assert found == expected


def test_floats_agree_with_rationals(problem, law):
    exact, plain = setting(problem, Focus("1/8", 2), law), problem.as_float()
    floats = setting(plain, Focus("1/8", 2), law)
    one = dynamics(exact, answers(exact)[0]).rate_interval[1]
    other = dynamics(floats, answers(floats)[0]).rate_interval[1]
    assert other == pytest.approx(float(one), rel=1e-10)


@pytest.mark.parametrize("step", ["1/10", "3/10", "1/3", "2/5", "3/7"])
def test_a_rate_in_floats_may_be_rounded(step):
    parts = Quadratics([[[1]]], [[2]]), GradientDescent(step), Full(1)
    exact = (1 - F(step)) ** 2
    assert assert_linear_rate(*parts, rate=float(exact), constant=4.0)
    assert assert_linear_rate(*parts, rate=exact, constant=math.nextafter(4.0, 0))
    assert broken(*parts, rate=float(exact) - 1e-11)
    assert broken(*parts, rate=exact - F(1, 10**30))
    assert broken(*parts, rate=float(exact), constant=4 - 1e-8)


def test_a_rate_in_floats_just_below_1_is_no_rate_of_what_stays():
    still = Quadratics([[[1]], [[2]]], [[0], [2]]), FedAvg("1/4", 2), Full(2)
    assert broken(*still, rate=math.nextafter(1, 0))


@pytest.mark.parametrize("size", [F(1), F(1, 10**9), F(10**9)])
def test_no_bias_looks_small_because_the_problem_is(size, law):
    tiny = Quadratics([[[1]], [[2]]], [[0], [2 * size]]).as_float()
    assert broken(tiny, FedAvg("1/4", 2), law, rate="9/10")
    assert assert_linear_rate(tiny, Focus("1/8"), law, rate="9/10")


def test_a_minimiser_that_cancels_to_zero_gives_no_false_bias(law):
    # 0.3 - 0.1 * 3 is not 0 in floats, nor is x* then
    opposed = Quadratics([[[1.0]], [[3.0]]], [[0.3], [-0.1 * 3]])
    assert 0 < abs(opposed.minimiser()[0]) < 1e-16
    assert assert_linear_rate(opposed, Focus("1/8"), law, rate="95/100")
    found = broken(opposed, FedAvg("1/4", 2), law, rate="95/100")
    assert "x_0 = (1)" not in found.setting


@pytest.mark.slow
def test_a_constant_in_floats_is_checked_down_to_rounding():
    one = Quadratics([[[1]]], [[2.0]])
    found = assert_linear_rate(
        one, GradientDescent("1/2"), Full(1), rate=0.3, constant=5
    )
    assert found.found == "0.25 per round; C was checked in rounds 0 to 23"
    ridge = synthetic_ridge(8, 12, 20)
    parts = ridge, Focus(1e-3, 2), UniformCohort(8, 2)
    asked = setting(*parts)
    constant = 1000 * float(asked.first_error)
    many = {"constant": constant, "rounds": 2000}
    assert "was checked" in assert_linear_rate(*parts, rate=0.9, **many).found


@pytest.mark.parametrize("constant", [1e-14, 1e-9, 0.1])
def test_a_constant_below_the_first_error_is_broken(problem, law, constant):
    parts = problem.as_float(), Focus("1/8"), law
    start = [{1e-14: 0, 1e-9: 100, 0.1: 10**6}[constant]]
    found = broken(*parts, rate=0.9, constant=constant, start=start)
    assert found.first_break.startswith("0: ")


def test_a_constant_is_never_held_unchecked():
    one = Quadratics([[[1.0]]], [[2.0]])
    parts = one, GradientDescent(0.5), Full(1)
    # |x_0 - x*|^2 = 4e-16 is rounding of a problem of size 2
    found = unanswered(*parts, rate=0.3, constant=1e-15, start=[2 + 2e-8])
    assert "rounding" in found.reason
    short = assert_linear_rate(*parts, rate=0.3, constant=5)
    assert "C is checked in rounds 0 to 23 of 100" in short.claimed


def test_a_tight_constant_in_rationals_is_compared_exactly(problem):
    parts = problem, GradientDescent("1/4"), Full(2)  # 4/9 (1/16)^r
    assert assert_linear_rate(*parts, rate=0.0625, constant="4/9")
    tiny = F(1, 10**30)
    assert broken(*parts, rate="1/16", constant=F(4, 9) - tiny).first_break


@pytest.mark.one_in(2)
@pytest.mark.parametrize("root", [F(1, 2), F(4, 5)])
def test_a_long_jordan_chain_in_floats_is_never_contradicted(root):
    one = Quadratics([[[1]]], [[2]])
    exact, told = fivefold(root), 0
    plain = FiveFold(float(exact.step_size), tuple(map(float, exact.pulls)))
    for off in (F(-1, 2), F(-1, 10), F(-1, 50), 0, F(1, 1000), F(1, 50), F(1, 10), 1):
        rate = root**2 * (1 + off)
        if rate >= 1:
            continue
        parts = one, exact, Full(1)
        truth = status(*parts, rate=rate)
        assert truth == (Status.HOLDS if off > 0 else Status.BROKEN)
        seen = status(one.as_float(), plain, Full(1), rate=float(rate))
        assert seen in (Status.INCONCLUSIVE, truth), off
        told += seen == truth
    assert told >= 1


def test_a_slow_direction_that_a_start_hardly_has_is_not_left_out():
    # 3e-8 of the start shrinks by (1 - 2^-12/1000)^2, about 1 - 4.9e-7, per round
    plane = Quadratics([[[1e-3, 0.0], [0.0, 1.0]]], [[0.0, 0.0]])
    parts = plane, GradientDescent(2.0**-12), Full(1)
    unanswered(*parts, rate=0.9999985, start=[0.03, 1e6])


def test_a_slow_direction_that_a_start_of_a_large_system_hardly_has_is_not_left_out():
    plane = Quadratics([[[1e-3, 0.0], [0.0, 1.0]]] * 40, [[0.0, 0.0]] * 40)
    parts = plane, MifaLike(2.0**-6), Bernoulli([0.5] * 40)
    # 3e-8 of the start shrinks by (1 - 2^-6/1000)^2, about 1 - 3e-5, per round
    found = unanswered(*parts, rate=0.9999, start=[0.03, 1e6])
    assert "a large system" in found.answered_by
    assert "too weak to be followed" in found.reason


def test_no_constant_is_kept_by_less_than_a_minimiser_is_off():
    problem = across(2e-8, [0.3, -0.7])
    optimum = in_rationals(problem).minimiser()
    begin = [float(v) * (1 + 2e-6) for v in optimum]
    gap = np.array([F(v) for v in begin]) - optimum
    first = float(gap @ gap) * (1 - 3e-4)
    told = problem, GradientDescent(1.0), Full(1)
    options = {"rate": 1 - 2e-8, "constant": first, "start": begin, "rounds": 2}
    assert "rounding" in unanswered(*told, **options).reason


@pytest.mark.parametrize("root", [0.9, 0.95, 0.98])
def test_a_weak_link_that_floats_leave_out_is_no_answer(root):
    # step sizes of 1e-5 to 3e-9: what the gradient does falls below 1e-8
    one, plain = Quadratics([[[1]]], [[2]]), fivefold(root)
    exact = FiveFold(F(plain.step_size), tuple(map(F, plain.pulls)))
    for rate in (1.005 * root**2, (1 + root**2) / 2):
        assert status(one, exact, Full(1), rate=rate) == Status.HOLDS
        seen = status(one.as_float(), plain, Full(1), rate=rate)
        assert seen != Status.BROKEN


def status(*parts, **options):
    try:
        return assert_linear_rate(*parts, **options).status
    except (Broken, Inconclusive) as error:
        return error.outcome.status


@pytest.mark.slow
def test_a_long_jordan_chain_of_a_large_system():
    many = Quadratics([np.eye(90)], [[2.0] + [0.0] * 89])
    exact = fivefold(F(1, 2))
    plain = FiveFold(float(exact.step_size), tuple(map(float, exact.pulls)))
    options = {"method": "exact"}
    assert "known to" in unanswered(many, plain, Full(1), rate=0.2505, **options).reason
    assert assert_linear_rate(many, plain, Full(1), rate=0.35, **options)
    assert broken(many, plain, Full(1), rate=0.15, **options)


def test_a_start_that_misses_the_unstable_directions():
    plane = Quadratics([[[1, 0], [0, 10]]], [[1, 0]])
    parts = GradientDescent("1/4"), Full(1)
    options = {"rate": "3/5", "start": [3, 0]}
    assert assert_linear_rate(plane, *parts, **options)
    assert unanswered(plane.as_float(), *parts, **options).reason
    assert broken(plane.as_float(), *parts, rate="3/5")


def test_one_step_to_the_end_and_rates_next_to_one():
    one = Quadratics([[[1]]], [[2]])
    at_once = GradientDescent(1), Full(1)
    for problem in (one, one.as_float()):
        assert assert_linear_rate(problem, *at_once, rate=F(1, 10**30), constant=4)
    slow = GradientDescent(F(1, 10**12))
    found = assert_linear_rate(one, slow, Full(1), rate=1 - F(1, 10**13))
    assert found.found == "~0.999999999998 per round"


def test_steps_that_overflow_are_sampled_or_refused(problem):
    parts = problem.as_float(), GradientDescent(1e160), Full(2)
    assert broken(*parts, rate="9/10", constant=1e308)
    assert unanswered(*parts, rate="9/10", method="exact")


def test_a_double_root_needs_more_than_its_own_rate():
    # y^2 - y + 1/4 = 0 has the double root 1/2: |x_r - x*|^2 ~ r^2 / 4^r
    one = Quadratics([[[1]]], [[2]])
    critical = HeavyBall(F(1, 4), F(1, 4))
    found = broken(one, critical, Full(1), rate="1/4")
    assert found.found == "1/4 per round, times a power of r"
    slow = broken(one, critical, Full(1), rate="1/5")
    assert slow.found == "1/4 per round"
    assert assert_linear_rate(one, critical, Full(1), rate="251/1000")
    # in floats the two cannot be told apart, and that is said
    plain = one.as_float()
    assert unanswered(plain, critical, Full(1), rate="1/4", method="exact").reason
    assert assert_linear_rate(plain, critical, Full(1), rate="251/1000")


def test_what_no_difference_excites_counts():
    # client 1 is linear: its gradient 1 enters when it first takes part, and until
    # then the method aims elsewhere; nothing of that shows in differences
    flat = Quadratics([[[2]], [[0]]], [[0], [-1]])
    rare = Bernoulli([1, "1/10"])
    asked = setting(flat, MifaLike(F(1, 2)), rare)
    first = answers(asked)[0]
    assert first.found.mean_square_rate < F(1, 2)
    assert dynamics(asked, first).rate_interval == (F(9, 10), F(9, 10))
    assert broken(flat, MifaLike(F(1, 2)), rare, rate="89/100")
    assert assert_linear_rate(flat, MifaLike(F(1, 2)), rare, rate="9/10")


def test_a_start_of_ones_own_may_converge_faster():
    plane = Quadratics([[[1, 0], [0, 3]]], [[0, 0]])
    parts = plane, GradientDescent("1/4"), Full(1)
    assert broken(*parts, rate="1/10")  # (3/4)^2 from elsewhere
    assert assert_linear_rate(*parts, rate="1/10", start=[0, 1]).found == (
        "1/16 per round"
    )


def test_a_constant_is_checked_in_the_first_rounds():
    # x_r - x* = -2, -3/2, -1, -5/8, ... by y+ = y - y-/4
    parts = Quadratics([[[1]]], [[2]]), HeavyBall(F(1, 4), F(1, 4)), Full(1)
    assert assert_linear_rate(*parts, rate="1/2", constant=5)
    found = broken(*parts, rate="1/2", constant=4)
    assert found.first_break == "1: E|x_r - x*|^2 = 9/4, allowed 2"


def test_an_unstable_method_says_so(problem, law):
    found = broken(problem, FedAvg("5/4", 2), law, rate="9/10")
    assert found.found == "no convergence: 8609/6144 per round"
    assert broken(problem, PilesUp(F(1, 2)), law, rate="9/10")


def test_a_law_with_memory_is_answered(agreeing):
    chain = ModeChain(
        [["1/2", "1/2"], ["1/4", "3/4"]], [Full(2), Bernoulli(["1/2", "1/2"])]
    )
    assert assert_linear_rate(agreeing, FedAvg("1/4"), chain, rate="9/10")
    found = broken(agreeing, FedAvg("1/4"), chain, rate="1/10")
    assert "Python" not in found.reproduce
    assert "ModeChain(" in found.reproduce


def test_an_error_that_goes_to_and_fro_tends_to_nothing(problem):
    # modes in turns end in 3/5 and 4/5, 1/15 and 2/15 away from the minimiser
    one_by_one = [ExplicitLaw({(i,): 1}, 2) for i in (0, 1)]
    turns = ModeChain([[0, 1], [1, 0]], one_by_one, initial=0)
    found = broken(problem, FedAvg("1/4"), turns, rate="99/100").found
    assert "on average tends to 1/90, not to 0" in found


@pytest.mark.slow
def test_a_rational_rate_is_decided_where_no_spectrum_is_taken():
    many = Quadratics([[[1 + i]] for i in range(16)], [[i] for i in range(16)])
    parts = many, Focus("1/200"), UniformCohort(16, 4)
    asked = setting(*parts)
    first = answers(asked)[0]
    exact = dynamics(asked, first)
    high = Fraction(exact.rate_interval[1])
    assert exact.order > 66
    assert exact.is_below(high * F(1001, 1000)) is True
    assert exact.is_below(high * F(999, 1000)) is False
    assert assert_linear_rate(*parts, rate="999/1000").answered_by.startswith("exact")


def test_large_systems_are_answered_by_their_messages():
    ridge = synthetic_ridge(8, 12, 20)
    law = UniformCohort(8, 2)
    parts = ridge, Focus(1e-3, 2), law
    asked = setting(*parts)
    small = LargeDynamics(asked, answers(asked)[0])
    rate = answers(asked)[0].found.mean_square_rate
    assert small.contraction == pytest.approx(rate, rel=1e-7)
    found = assert_linear_rate(*parts, rate=rate * 1.001)
    assert found.found == f"{rate:.12g} per round"
    assert broken(*parts, rate=rate * 0.999)
    assert unanswered(*parts, rate=rate, method="exact")


def test_a_rate_of_messages_that_are_none_of_the_system_is_refused():
    asked = setting(synthetic_ridge(8, 12, 20), Focus(1e-3, 2), UniformCohort(8, 2))
    system = LargeDynamics(asked, answers(asked)[0])._system
    rate, message = perron(MessageMap(Spectrum.of(system), system))
    _verify(system, rate, message)
    with pytest.raises(RefusedError, match="must satisfy"):
        _verify(system, 1.01 * rate, message)


@pytest.mark.parametrize("exact", [True, False])
def test_the_order_of_a_chain_counts_every_mode(problem, exact):
    chain = ModeChain([["1/2", "1/2"], ["1/4", "3/4"]], [Full(2), Full(2)])
    asked = setting(problem if exact else problem.as_float(), FedAvg("1/4", 2), chain)
    found = dynamics(asked, answers(asked)[0])
    assert found.exact is exact
    assert found.order == len(found.operator.matrix())
    assert found.order == 2 * dynamics_of_one_mode(asked).order


def dynamics_of_one_mode(asked):
    alone = setting(asked.problem, asked.algorithm, Full(2))
    return dynamics(alone, answers(alone)[0])


@pytest.mark.slow
def test_a_large_biased_method_is_caught():
    ridge = synthetic_ridge(4, 90, 20)
    found = broken(ridge, FedAvg(1e-3, 3), UniformCohort(4, 2), rate=0.999_9)
    assert "not to 0" in found.found
    assert "a large system" in found.answered_by


def test_a_constant_is_checked_in_as_many_rounds_as_were_asked_for(problem, law):
    parts = problem, Focus("1/8"), law
    options = {"rate": "9/10", "constant": 1000}
    for rounds in (5, 150):
        found = assert_linear_rate(*parts, rounds=rounds, **options)
        assert found.found.endswith(f"C was checked in rounds 0 to {rounds}")
        assert found.claimed.endswith(f"this C is checked in rounds 0 to {rounds}")
    assert "0 to 100" in assert_linear_rate(*parts, **options).found


def test_an_irrational_constant_is_compared_exactly():
    one = Quadratics([[[1]]], [[2]])
    parts = one, GradientDescent("1/2"), Full(1)
    # |x_0 - x*|^2 = 4, and every round has the factor 1/4
    root = sympy.sqrt(16 + sympy.Rational(1, 10**30))
    assert assert_linear_rate(*parts, rate="1/4", constant=root)
    low = sympy.sqrt(16 - sympy.Rational(1, 10**30))
    assert broken(*parts, rate="1/4", constant=low).first_break.startswith("0: ")


@pytest.mark.slow
def test_a_large_method_biased_in_one_coordinate_is_caught():
    # the clients agree on all coordinates but the last
    clients = [np.eye(90), np.diag([1.0] * 89 + [2.0])]
    linear = np.array([[1.0] * 90, [1.0] * 89 + [4.0]])
    sizes = []
    for unit in (1.0, 1000.0):
        parts = Quadratics(clients, unit * linear), FedAvg(0.25, 2), Full(2)
        found = broken(*parts, rate=0.9)
        assert "a large system" in found.answered_by
        assert "not to 0" in found.found
        asked = setting(*parts)
        large = LargeDynamics(asked, answers(asked)[0])
        sizes.append((large.residue, large.floor / unit**2, large.fine / unit**2))
    assert sizes[0] == pytest.approx(sizes[1])


def test_a_large_system_from_a_start_has_the_rate_of_that_start():
    # the directions have the factors 9/16 and 1/16, squared
    wide = Quadratics([np.diag([1.0] + [3.0] * 89)], [[1.0] + [0.0] * 89])
    parts = wide, GradientDescent(0.25), Full(1)
    quick = [1.0] + [5.0] * 89  # the slow direction is at its end
    found = assert_linear_rate(*parts, rate=0.07, start=quick, method="exact")
    assert "a large system" in found.answered_by
    assert broken(*parts, rate=0.07, start=[5.0] * 90, method="exact")
    there = unanswered(*parts, rate=0.9, start=[1.0] + [0.0] * 89, method="exact")
    assert "must differ from the fixed point" in there.reason
    still = Quadratics(wide.hessians, 0 * wide.linear)  # x* = 0 is no start
    assert assert_linear_rate(still, *parts[1:], rate=0.6, method="exact")


def test_what_is_not_linear_is_sampled(agreeing, problem, law):
    inside = AgnosticFedAvg("1/4", 3, projection=Ball(2))
    found = assert_linear_rate(agreeing, inside, Full(2), rate="1/2")
    assert found.answered_by.startswith("sampling: 1024 of at most 10000 runs")
    assert broken(problem, inside, law, rate="9/10").first_break


def test_sampling_and_moments_agree(agreeing, law):
    parts = agreeing, FedAvg("1/4", 2), law
    assert assert_linear_rate(*parts, rate="6/10", method="sampled")
    assert broken(*parts, rate="1/5", method="sampled")
    assert broken(*parts, rate="1/5")


def test_a_small_budget_is_no_answer(agreeing, law):
    parts = agreeing, FedAvg("1/4", 2), law
    found = unanswered(*parts, rate="6/10", method="sampled", budget=100)
    assert "after 100 runs neither answer is clear" in found.reason
    # at the very rate no margin is left, whatever the budget
    exact = {"rate": "2929/6144", "constant": 1}
    assert unanswered(*parts, **exact, method="sampled", budget=500)
    assert assert_linear_rate(*parts, **exact)


@pytest.mark.parametrize(
    "options",
    [
        {"rate": "9/10", "rounds": 3},
        {"rate": 0.9999, "rounds": 4},
        {"rate": "1/2", "rounds": 2, "constant": 1000},
        {"rate": "1/2", "rounds": 2, "constant": 1e300},
    ],
)
def test_no_rate_is_seen_where_a_method_that_stands_still_would_pass(
    agreeing, law, options
):
    def still(masks, gradient, start):
        return [start.copy() for _ in range(len(masks) + 1)]

    found = unanswered(agreeing, still, law, **options)
    assert "a method that stands still would pass" in found.reason


def test_bounds_above_the_start_can_still_be_broken(agreeing, law):
    def away(masks, gradient, start):
        return [start + 1000 * r for r in range(len(masks) + 1)]

    assert broken(agreeing, away, law, rate="9/10", rounds=5)


def test_a_sample_that_contradicts_its_assumption_accepts_nothing(agreeing, law):
    options = {"rate": "1/2", "method": "sampled", "rounds": 6}
    parts = agreeing, FedAvg("1/4", 2), law
    found = unanswered(*parts, **options, constant="5/4", tail=1, budget=2000)
    assert found.reason


def test_a_function_can_not_be_answered_exactly(agreeing, law):
    def still(masks, gradient, start):
        return [start] * (len(masks) + 1)

    found = unanswered(agreeing, still, law, rate="1/2", method="exact")
    assert "not traced" in found.reason
    assert broken(agreeing, still, law, rate="1/2")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"rate": 1}, DomainError),
        ({"rate": 0}, DomainError),
        ({"rate": True}, DomainError),
        ({"rate": "1/2", "constant": 0}, DomainError),
        ({"rate": "1/2", "rounds": 0}, DomainError),
        ({"rate": "1/2", "method": "guess"}, DomainError),
        ({"rate": "1/2", "false_alarm": 1}, DomainError),
        ({"rate": "1/2", "tail": "1/2"}, DomainError),
        ({"rate": "1/2", "budget": 1}, DomainError),
        ({"rate": "1/2", "start": [1, 2]}, ShapeError),
    ],
)
def test_parameters_outside_their_domain_are_refused(problem, law, options, error):
    with pytest.raises(error):
        assert_linear_rate(problem, Focus("1/8"), law, **options)


def test_parts_of_another_kind_are_refused(problem, law):
    with pytest.raises(InputError, match="problem must be"):
        assert_linear_rate(None, Focus("1/8"), law, rate="1/2")
    with pytest.raises(InputError, match="instance"):
        assert_linear_rate(problem, Focus, law, rate="1/2")
    with pytest.raises(InputError, match="law"):
        assert_linear_rate(problem, Focus("1/8"), [1, 2], rate="1/2")
    with pytest.raises(ShapeError):
        assert_linear_rate(problem, Focus("1/8"), Full(3), rate="1/2")


@pytest.mark.parametrize("unit", [2.0**50, 2.0**-70])
def test_noise_is_no_rounding_in_any_unit_of_points(unit):
    # beside constants so large, or so small, an unbiased method seemed to settle
    pair = Quadratics([[[1.0]], [[1.0]]], [[unit], [2 * unit]])
    for algorithm, settles in ((FedAvg(0.25, 2), False), (Focus(0.25, 2), True)):
        parts = pair, algorithm, UniformCohort(2, 1)
        asked = setting(*parts)
        small = answers(asked)[0]
        found = replace(small.found, _engine=LargeMoments(*parts))
        large = LargeDynamics(asked, replace(small, found=found))
        assert np.abs(found.bias / unit) == pytest.approx(0, abs=1e-9)
        assert large.settles is settles
        assert large.is_bounded_by(F(9, 10)) is settles
