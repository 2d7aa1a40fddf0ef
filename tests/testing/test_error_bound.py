"""Bounds on the mean squared error, round by round."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy

from flverify._core.errors import DomainError, InputError
from flverify.algorithms import AgnosticFedAvg, Ball, FedAvg, Focus, GradientDescent
from flverify.participation import Bernoulli, Full, ModeChain
from flverify.problems import Quadratics
from flverify.testing import (
    Broken,
    Inconclusive,
    Status,
    assert_error_bound,
    assert_fixed_point_bias,
)
from flverify.testing.comparison import keeps
from tests.testing.own import (
    BeginsElsewhere,
    across,
    fedavg_function,
    in_rationals,
)

F = Fraction


def test_the_exact_curve_is_its_own_bound(problem, law, enumerated):
    settings = {"step_size": F(1, 4), "local_steps": 2}
    curve = enumerated("fedavg", problem, law, 4, [0], **settings)
    parts = problem, FedAvg("1/4", 2), law
    assert assert_error_bound(*parts, bound=lambda r: curve[r], rounds=4)
    tiny = F(1, 10**30)
    with pytest.raises(Broken) as caught:
        assert_error_bound(*parts, bound=lambda r: curve[r] - (r == 3) * tiny, rounds=4)
    assert caught.value.outcome.first_break.startswith("3: ")


def test_no_bound_is_kept_or_broken_by_less_than_a_minimiser_is_off():
    slope = across(1e-10, [0.0, 0.0]).hessians[0]
    problem = across(1e-10, slope @ [1.0, 2.0])  # x* is about (1, 2)
    begin = [1 + 3e-6, 2 + 4e-6]
    gap = np.array([F(v) for v in begin]) - in_rationals(problem).minimiser()
    told = problem, GradientDescent(1.0), Full(1)
    for share in (F(93, 100), F(107, 100)):  # of what is true; floats say .91
        with pytest.raises(Inconclusive, match="below the rounding of floats"):
            assert_error_bound(*told, bound=share * (gap @ gap), rounds=2, start=begin)


def test_rounding_that_a_growing_method_magnifies_breaks_no_bound():
    # both clients keep their common minimiser; others grow by up to 16 a round
    problem = Quadratics([[[0.5]], [[1.5]]], [[1.5], [4.5]])
    modes = Bernoulli(["1/2", "1/3"]), Bernoulli(["1/2", "1/2"])
    law = ModeChain((("1/2", "1/2"), (1, 0)), modes, 1)
    told = problem, FedAvg(2, 2), law
    with pytest.raises(Inconclusive, match="below the rounding of floats"):
        assert_error_bound(*told, bound=0, rounds=20, start=[3])
    assert assert_error_bound(*told, bound=1, rounds=8, start=[3])
    assert caught_by(*told, bound=1, rounds=20, start=[4]).first_break[:2] == "1:"


def test_sampling_does_not_break_a_bound_by_the_rounding_of_a_minimiser():
    # the distance to (1/3, 5/7) never grows; in floats it was 4.4e-22, not 4e-24
    mu, off = F(1, 10**6), F(2, 10**12)
    hessian = [[9 + 16 * mu, 12 * (1 - mu)], [12 * (1 - mu), 16 + 9 * mu]]
    slope = np.array(hessian) / 25
    optimum = np.array([F(1, 3), F(5, 7)])
    problem = Quadratics([slope], [slope @ optimum])
    begin = optimum + off * np.array([F(-4, 5), F(3, 5)])
    told = problem, GradientDescent("1/2"), Full(1)
    options = {"rounds": 20, "start": begin, "method": "sampled", "budget": 2000}
    with pytest.raises(Inconclusive, match="below the rounding"):
        assert_error_bound(*told, bound=F(11, 10) * off**2, **options)
    # of x* in floats not even the first error is known
    plain = across(1e-10, across(1e-10, [0.0, 0.0]).hessians[0] @ [1.0, 2.0])
    near = [1 + 3e-6, 2 + 4e-6]
    told, options["start"] = (plain, *told[1:]), near
    gap = np.array([F(v) for v in near]) - in_rationals(plain).minimiser()
    for share in (F(90, 100), F(107, 100)):
        with pytest.raises(Inconclusive, match=r"too far off|below the rounding"):
            assert_error_bound(*told, bound=share * (gap @ gap), **options)


def test_where_the_error_comes_closest_is_told():
    # the error is 4/4^r
    parts = Quadratics([[[1]]], [[2]]), GradientDescent("1/2"), Full(1)
    found = assert_error_bound(*parts, bound=lambda r: F(4 + (r != 3), 4**r), rounds=5)
    assert found.found.startswith("largest error over bound: 1 at round 3, ")
    assert found.found.endswith(" = 1/16")
    plain = parts[0].as_float(), *parts[1:]
    found = assert_error_bound(*plain, bound=lambda r: 4.0 + (r != 3), rounds=5)
    assert found.found.startswith("largest error over bound: 0.8 at round 0, ")
    assert caught_by(*parts, bound=0).found == "E|x_r - x*|^2 = 4 at round 0"
    # no ratio tells of a round whose bound is 0
    later = caught_by(*parts, bound=lambda r: 5 * (r < 2), rounds=3)
    assert (later.found, later.first_break[:2]) == (
        "E|x_r - x*|^2 = 1/4 at round 2",
        "2:",
    )


def test_what_was_claimed_is_written_as_it_was_given():
    parts = Quadratics([[[1]]], [[2]]), GradientDescent("1/2"), Full(1)
    symbol = sympy.Symbol("r")
    said = {
        "4": 4,
        "bound(r)": lambda r: F(4 + r),
        "2*r + 4": 2 * symbol + 4,
    }
    for words, bound in said.items():
        found = assert_error_bound(*parts, bound=bound, rounds=5)
        assert found.claimed.startswith(f"E|x_r - x*|^2 <= {words} for r = 0, ..., 5,")


def test_an_error_of_exactly_its_bound_keeps_it():
    assert keeps(0.0, 0.0) is keeps(0.0, 0) is keeps(2.0, 2.0) is True


def test_a_biased_method_breaks_a_decaying_bound(problem, law):
    parts = problem, FedAvg("1/4", 2), law
    r = sympy.Symbol("r")
    bound = 4 * sympy.Rational(9, 10) ** r
    assert assert_error_bound(problem, Focus("1/8"), law, bound=bound)
    with pytest.raises(Broken) as caught:
        assert_error_bound(*parts, bound=bound)
    assert caught.value.outcome.first_break.startswith("35: ")
    with pytest.raises(Broken) as sampled:
        assert_error_bound(*parts, bound=bound, method="sampled")
    place = int(sampled.value.outcome.first_break.partition(" ")[0])
    assert 35 <= place <= 100


def test_a_number_and_an_irrational_bound(problem, law):
    parts = problem, FedAvg("1/4", 2), law
    assert assert_error_bound(*parts, bound="4/9")
    assert assert_error_bound(*parts, bound=1 / sympy.sqrt(5))  # 0.447 > 4/9
    with pytest.raises(Broken):
        assert_error_bound(*parts, bound=1 / sympy.sqrt(6))


@pytest.mark.parametrize("step", ["1/10", "3/10", "1/3", "2/5", "3/7"])
def test_a_bound_in_floats_may_be_rounded(step):
    parts = Quadratics([[[1]]], [[2]]), GradientDescent(step), Full(1)
    rate = float((1 - Fraction(step)) ** 2)
    assert assert_error_bound(*parts, bound=lambda r: 4 * rate**r, rounds=60)
    with pytest.raises(Broken):
        assert_error_bound(*parts, bound=lambda r: 4 * (rate - 1e-8) ** r, rounds=60)


def test_floats_keep_a_bound_up_to_rounding(problem, law):
    found = assert_error_bound(
        problem.as_float(), Focus("1/8"), law, bound=lambda r: 0.9**r, rounds=50
    )
    assert found.answered_by == "moments in floats, to 1e-09"


def test_below_the_rounding_of_floats_there_is_no_answer(problem, law):
    parts = problem.as_float(), Focus("1/8"), law
    with pytest.raises(Inconclusive, match="below the rounding of floats"):
        assert_error_bound(*parts, bound=lambda r: 0.9**r, rounds=400)
    exact = problem, Focus("1/8"), law
    assert assert_error_bound(*exact, bound=lambda r: 0.9**r, rounds=400)


@pytest.mark.parametrize("step", [1e155, 1e160])
def test_overflow_keeps_no_bound(problem, step):
    parts = problem.as_float(), GradientDescent(step), Full(2)
    for bound in (1, 1e308):
        with pytest.raises(AssertionError):
            assert_error_bound(*parts, bound=bound, rounds=5)
    found = caught_by(*parts, bound=lambda r: 10.0**-r, rounds=5)
    assert found.status != Status.HOLDS


def caught_by(*parts, **options):
    with pytest.raises((Broken, Inconclusive)) as caught:
        assert_error_bound(*parts, **options)
    return caught.value.outcome


def test_a_float_error_just_above_a_small_bound_is_no_answer(problem):
    # the error is 4/9 (1/16)^r, 1.65e-12 at round 9.5: above its bound, by less than
    # what floats resolve
    parts = problem.as_float(), GradientDescent("1/4"), Full(2)
    options = {"bound": lambda r: 0.4 * 16.0**-r if r > 8 else 1, "rounds": 9}
    assert caught_by(*parts, **options).status == Status.INCONCLUSIVE
    exact = problem, GradientDescent("1/4"), Full(2)
    assert caught_by(*exact, **options).status == Status.BROKEN


def test_an_irrational_bound_is_compared_beyond_floats(problem):
    parts = problem, GradientDescent("1/4"), Full(2)
    root = sympy.sqrt(sympy.Rational(16, 81))  # sympy makes that 4/9
    near = root - sympy.sqrt(2) / 10**15
    assert assert_error_bound(*parts, bound=root + sympy.sqrt(2) / 10**15)
    assert caught_by(*parts, bound=near).status == Status.BROKEN


def test_an_irrational_way_to_write_the_error_keeps_it(problem):
    # each is 4/9, which sympy does not see by itself: its digits cancel, one by one
    parts = problem, GradientDescent("1/4"), Full(2)
    two, three, six = map(sympy.sqrt, (2, 3, 6))
    for zero in (
        (two + three) ** 2 - 2 * six - 5,
        (1 + two) * (two - 1) - 1,
        sympy.sqrt(3 + 2 * two) - 1 - two,
    ):
        for sign in (1, -1):
            bound = sympy.Rational(4, 9) + sign * zero
            assert assert_error_bound(*parts, bound=bound, rounds=2)
            low = bound - sympy.Rational(1, 10**30)
            assert caught_by(*parts, bound=low, rounds=2).status == Status.BROKEN


def test_sampling_answers_what_is_not_linear(problem, agreeing, law):
    inside = AgnosticFedAvg("1/4", 3, projection=Ball(2))
    options = {"rounds": 10, "bound": lambda r: 2.0 * 0.5**r}
    assert assert_error_bound(agreeing, inside, Full(2), **options)
    with pytest.raises(Broken):
        assert_error_bound(problem, inside, law, **options)


def test_the_first_error_is_compared_without_sampling(problem, law):
    with pytest.raises(Broken) as caught:
        assert_error_bound(problem, fedavg_function, law, bound="1/9")
    assert caught.value.outcome.first_break.startswith("0 (seen first)")


def test_bounds_below_what_floats_resolve_are_no_answer(agreeing):
    inside = AgnosticFedAvg("1/4", 3, projection=Ball(2))
    with pytest.raises(Inconclusive, match="below the rounding of floats"):
        assert_error_bound(
            agreeing, inside, Full(2), bound=lambda r: 1e-9**r, rounds=4, start=[1]
        )


def test_a_start_of_ones_own(problem, law):
    parts = problem, Focus("1/8"), law
    assert assert_error_bound(*parts, bound=10, start=["8/3"])
    with pytest.raises(Broken) as caught:
        assert_error_bound(*parts, bound=1, start=["8/3"])
    assert caught.value.outcome.first_break == "0: E|x_r - x*|^2 = 4, allowed 1"


def test_a_bound_must_be_a_number_of_the_round(problem, law):
    a, b = sympy.symbols("a b")
    with pytest.raises(DomainError):
        assert_error_bound(problem, Focus("1/8"), law, bound=a + b)
    with pytest.raises(DomainError):
        assert_error_bound(problem, Focus("1/8"), law, bound=lambda r: math.nan * r)
    with pytest.raises(DomainError):
        assert_error_bound(problem, Focus("1/8"), law, bound=1, rounds=0)


@pytest.mark.parametrize("listed", [[9, 8], (9, 8), np.array([9, 8])])
def test_a_list_of_bounds_is_told_how_to_be_passed(problem, law, listed):
    with pytest.raises(InputError, match=r"pass lambda r: bounds\[r\]"):
        assert_error_bound(problem, Focus("1/8"), law, bound=listed, rounds=1)
    kept = {"bound": lambda r: [9, 8][r], "rounds": 1}
    assert assert_error_bound(problem, Focus("1/8"), law, **kept)


def test_the_default_start_is_not_the_minimiser():
    centred = Quadratics([[[1]], [[2]]], [[0], [0]])
    with pytest.raises(Broken) as caught:
        assert_error_bound(centred, FedAvg("1/4"), Bernoulli(["1/2"] * 2), bound="1/2")
    assert "x_0 = (1)" in caught.value.outcome.setting


@pytest.mark.parametrize(
    ("bound", "words"),
    [(lambda r: 1 / r, "ZeroDivisionError"), (lambda: 1, "TypeError")],
)
def test_a_bound_that_raises_is_one_sentence(problem, law, bound, words):
    with pytest.raises(InputError, match=f"bound must run without an error; .*{words}"):
        assert_error_bound(problem, FedAvg("1/4"), law, bound=bound)


@pytest.mark.parametrize("factor", [F(1, 2), 2])
def test_a_sample_of_runs_that_begin_elsewhere_is_no_answer(problem, law, factor):
    """From 3 the start is (3 - 2/3)^2 off; moments know where init begins."""
    parts = problem, BeginsElsewhere(factor), law
    first = (3 * factor - F(2, 3)) ** 2
    exact = {"start": [3], "rounds": 5}
    sampled = {**exact, "method": "sampled"}
    assert assert_error_bound(*parts, bound=first, **exact)
    for bound in (first, (first + F(49, 9)) / 2):
        with pytest.raises(Inconclusive, match="init of BeginsElsewhere moves the mod"):
            assert_error_bound(*parts, bound=bound, **sampled)
    with pytest.raises(Inconclusive, match="init of BeginsElsewhere moves the model"):
        assert_fixed_point_bias(
            *parts, bias=0, tolerance=1, start=[3], method="sampled"
        )
