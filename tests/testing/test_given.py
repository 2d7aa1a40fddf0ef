"""Numbers that assertions are given: huge, tiny, irrational, or none at all."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import sympy

from flverify._core.errors import DomainError, InputError
from flverify.algorithms import AgnosticFedAvg, Ball, FedAvg, GradientDescent
from flverify.participation import Bernoulli, Full, UniformCohort
from flverify.problems import Quadratics
from flverify.testing import (
    Broken,
    Inconclusive,
    Status,
    assert_averaging_weights,
    assert_error_bound,
    assert_fixed_point_bias,
    assert_linear_rate,
    assert_stable,
)
from flverify.testing.comparison import keeps
from flverify.testing.given import as_float, logarithm, real
from flverify.testing.setting import setting
from flverify.testing.written import number

F = Fraction
ONE = Quadratics([[[1]], [[2]]], [[0], [2]]), FedAvg("1/4", 2), Bernoulli(["1/2"] * 2)
PARTS = Quadratics([[[1]]], [[2]]), GradientDescent("1/2"), Full(1)
Q = sympy.Symbol("q")
ROOT = sympy.sqrt(2)
HUGE = (10**400, 10**5000)  # beyond floats, and beyond what Python writes out
TINY = tuple(F(1, v) for v in HUGE)


def outcome(assertion, *parts, **options):
    try:
        return assertion(*parts, **options)
    except (Broken, Inconclusive) as error:
        return error.outcome


def status(assertion, *parts, **options):
    return outcome(assertion, *parts, **options).status


@pytest.mark.parametrize(
    ("assertion", "options"),
    [
        (assert_linear_rate, {"rate": Q}),
        (assert_linear_rate, {"rate": ROOT / 2}),
        (assert_linear_rate, {"rate": "1/4", "constant": Q}),
        (assert_linear_rate, {"rate": "1/4", "constant": Q, "method": "sampled"}),
        (assert_linear_rate, {"rate": "1/4", "start": [Q]}),
        (assert_linear_rate, {"rate": "1/4", "start": [ROOT]}),
        (assert_linear_rate, {"rate": "1/4", "false_alarm": Q}),
        (assert_linear_rate, {"rate": "1/4", "tail": Q}),
        (assert_error_bound, {"bound": lambda r: Q}),  # noqa: ARG005
        (assert_error_bound, {"bound": None}),
        (assert_fixed_point_bias, {"bound": Q}),
        (assert_fixed_point_bias, {"bias": [Q]}),
        (assert_fixed_point_bias, {"bias": Q}),
        (assert_fixed_point_bias, {"bias": 0, "tolerance": Q}),
        (assert_fixed_point_bias, {"bound": 1, "tolerance": Q}),
        (assert_fixed_point_bias, {"bound": 1, "tolerance": "x"}),
        (assert_fixed_point_bias, {"bound": 1, "tolerance": 1}),
        (assert_stable, {"bound": Q}),
        (assert_stable, {"bound": Q, "method": "sampled"}),
        (assert_stable, {"false_alarm": TINY[0]}),
        (assert_stable, {"tail": HUGE[0]}),
    ],
)
def test_what_is_no_number_is_refused_in_a_sentence(assertion, options):
    with pytest.raises(InputError, match=r"must .*; got .*; .*\."):
        assertion(*PARTS, **options)


@pytest.mark.usefixtures("limited")
def test_text_that_python_does_not_read_is_refused():
    with pytest.raises(DomainError, match="rate must be text of at most"):
        assert_linear_rate(*PARTS, rate="0." + "1" * 5000)


@pytest.mark.parametrize("expected", [[Q, "1/2"], [Q, Q]])
def test_weights_and_their_tolerance_are_numbers(expected):
    law = UniformCohort(2, 1)
    with pytest.raises(DomainError, match="expected must be a number"):
        assert_averaging_weights(law, expected)
    with pytest.raises(DomainError, match="tolerance must be a number"):
        assert_averaging_weights(law, ["1/2", "1/2"], tolerance=Q)
    with pytest.raises(InputError, match="participation must hold"):
        assert_averaging_weights(Bernoulli([Q, Q]), ["1/2", "1/2"])


def test_a_setting_with_symbols_or_beyond_floats_is_refused():
    one, step, law = PARTS
    with pytest.raises(InputError, match="algorithm must hold"):
        assert_stable(one, GradientDescent(Q), law)
    with pytest.raises(InputError, match="algorithm must hold"):
        assert_stable(one, GradientDescent(HUGE[1]), law)
    for linear in (Q, ROOT, HUGE[0]):
        with pytest.raises(InputError):
            assert_stable(Quadratics([[[1]]], [[linear]]), step, law)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("rate", [*TINY, *(1 - v for v in TINY), 1 - F(1, 10**30)])
@pytest.mark.parametrize("exact", [True, False])
def test_rates_next_to_zero_and_one(rate, exact):
    problem = PARTS[0] if exact else PARTS[0].as_float()
    expected = Status.HOLDS if rate > F(1, 4) else Status.BROKEN
    assert status(assert_linear_rate, problem, *PARTS[1:], rate=rate) == expected
    biased = ONE[0] if exact else ONE[0].as_float()
    seen = status(assert_linear_rate, biased, *ONE[1:], rate=rate)
    assert seen in ({Status.BROKEN} if exact else {Status.BROKEN, Status.INCONCLUSIVE})


@pytest.mark.parametrize("algorithm", [FedAvg(0.25, 2), GradientDescent(0.8)])
def test_floats_next_to_one_hold_no_rate_of_what_does_not_converge(algorithm):
    # a bias remains, or |x_r - x*| stays what it was: (1 - 4/5 5/2)^2 = 1
    problem = Quadratics([[[2.0]], [[3.0]]], [[0.0], [2.0]])
    law = Bernoulli([0.5, 0.5]) if isinstance(algorithm, FedAvg) else Full(2)
    for rate in (1 - 1e-12, 1 - 1e-15):
        seen = status(assert_linear_rate, problem, algorithm, law, rate=rate)
        assert seen != Status.HOLDS


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("large", HUGE, ids=["huge", "huger"])
def test_huge_and_tiny_bounds(exact, large):
    problem = PARTS[0] if exact else PARTS[0].as_float()
    parts = problem, *PARTS[1:]
    for bound, expected in ((large, Status.HOLDS), (F(1, large), Status.BROKEN)):
        rate = {"rate": "1/4", "constant": bound}
        assert status(assert_linear_rate, *parts, **rate) == expected
        assert status(assert_error_bound, *parts, bound=bound) == expected
        assert status(assert_fixed_point_bias, *parts, bound=bound) == Status.HOLDS
    biased = outcome(assert_fixed_point_bias, *parts, bias=[large])
    assert biased.status == Status.BROKEN


@pytest.mark.parametrize("method", ["auto", "sampled"])
def test_sampling_accepts_nothing_beyond_floats(method):
    parts = ONE[0], AgnosticFedAvg("1/4", 3, projection=Ball(2)), ONE[2]
    few = {"method": method, "budget": 100}
    for large in HUGE:
        for assertion, options in (
            (assert_linear_rate, {"rate": "1/2", "constant": large}),
            (assert_error_bound, {"bound": large}),
            (assert_fixed_point_bias, {"bound": large}),
            (assert_fixed_point_bias, {"bias": [large]}),
        ):
            seen = status(assertion, *parts, **options, **few)
            assert seen == Status.INCONCLUSIVE
        law = UniformCohort(2, 1)
        assert status(assert_averaging_weights, law, [large, "1/2"]) == Status.BROKEN


def test_errors_beyond_floats_are_compared_exactly():
    parts = PARTS[0], GradientDescent(10), PARTS[2]  # 4 81^r
    assert assert_error_bound(*parts, bound=lambda r: 4 * 81**r, rounds=400)
    seen = outcome(assert_error_bound, *parts, bound=lambda r: 5.0, rounds=400)  # noqa: ARG005
    assert seen.first_break.startswith("1: ")
    wild = PARTS[0], GradientDescent(HUGE[0]), PARTS[2]
    assert status(assert_linear_rate, *wild, rate="1/2") != Status.HOLDS
    assert status(assert_stable, *wild) != Status.HOLDS


def test_irrational_numbers_are_compared_beyond_floats():
    nothing = (ROOT + sympy.sqrt(3)) ** 2 - 5 - 2 * sympy.sqrt(6)  # is 0
    assert assert_fixed_point_bias(*PARTS, bias=0, tolerance=nothing)
    chance = ROOT / 2
    law = Bernoulli([chance, "1/2"])
    weights = [chance * F(3, 4), (1 - chance) / 2 + chance / 4]
    assert assert_averaging_weights(law, weights)
    weights[1] += F(1, 10**30)
    assert status(assert_averaging_weights, law, weights) == Status.BROKEN


def test_what_is_simplified_counts_only_where_algebra_confirms_it(monkeypatch):
    value = (ROOT - 1) * (ROOT + 1) + ROOT
    assert real((ROOT - 1) * (ROOT + 1), "bound") == 1
    monkeypatch.setattr(sympy.Expr, "simplify", lambda *_: sympy.Integer(7))
    assert real(value, "bound") == value != 7


def test_a_zero_that_algebra_does_not_see_is_no_answer(monkeypatch):
    nothing = sympy.sin(1) ** 2 + sympy.cos(1) ** 2 - 1  # is 0
    assert keeps(F(1), 1 + nothing) is None
    assert keeps(F(1), (ROOT - 1) * (ROOT + 1)) is True
    monkeypatch.setattr(sympy, "simplify", lambda *_: sympy.Integer(0))
    assert keeps(F(1), 1 + nothing) is None


def test_the_size_of_a_setting_counts_parts_that_cancel():
    halves = [[["1/2"]], [["1/2"]]]
    apart = Quadratics(halves, [[1000], [-1000]])  # around x* = 0
    parts = GradientDescent("1/2"), Full(2)
    assert setting(apart, *parts).size == 2000
    assert setting(apart, *parts, start=[3000]).size == 3000
    assert setting(apart, *parts, start=[3000]).problem_size == 2000


def test_numbers_of_any_size_are_written_and_read():
    assert [number(v) for v in (*HUGE, -TINY[1])] == ["~1e400", "~1e5000", "~-1e-5000"]
    assert [as_float(v) for v in (10**400, -(10**400), F(1, 3))] == [
        math.inf,
        -math.inf,
        1 / 3,
    ]
    assert logarithm(F(1, 10**400)) == pytest.approx(-400 * math.log(10))
