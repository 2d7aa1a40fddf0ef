"""Numbers written into a user's own round: floats, step sizes, weights per client."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
import sympy

from flverify import moments, simulate
from flverify._core.errors import DomainError, InputError, ShapeError
from flverify.certify import quadratic_form as q
from flverify.claims import judge
from flverify.engines.own_factors import computes_in_floats
from flverify.participation import Bernoulli, Full, UniformCohort
from flverify.problems import Quadratics
from flverify.testing import (
    Algorithm,
    Clients,
    Server,
    assert_fixed_point_bias,
    assert_linear_rate,
    per_client,
)

PROBLEM = Quadratics([[[1]], [[2]], [[4]]], [[0], [2], [1]])
ONE = UniformCohort(3, 1)
SIZES = {"rounds": 5, "runs": 3, "seed": 1}
THIRD = Fraction(1, 3)


class Table(NamedTuple):
    model: Server
    stored: Clients


class Model(NamedTuple):
    model: Server


@dataclass(frozen=True)
class Saga(Algorithm):
    step_size: Any
    local_steps: int = 1

    share = THIRD
    State = Table

    def init(self, start, cohort, oracle):
        return Table(start, oracle.gradient(cohort.broadcast(start)))

    def round(self, state, cohort, oracle):
        fresh = oracle.gradient(cohort.pull(state.model))
        change = cohort.mean(fresh - state.stored, otherwise=0 * state.model)
        mean = self.share * cohort.everyone(state.stored)
        model = state.model - self.step_size * (change + mean)
        return Table(model, cohort.select(fresh, state.stored))


class SagaInFloats(Saga):
    share = 1 / 3  # no field of the dataclass, and no rational


@dataclass(frozen=True)
class Weighted(Algorithm):
    weights: Any
    step_size: Any = Fraction(1, 10)
    local_steps: int = 1

    State = Model

    def init(self, start, cohort, oracle):
        del cohort, oracle
        return Model(start)

    def round(self, state, cohort, oracle):
        slope = self.step_size * oracle.gradient(cohort.pull(state.model))
        return Model(state.model - cohort.sum(per_client(self.weights) * slope))


@dataclass(frozen=True)
class Descent(Algorithm):
    """x - h(step) grad F(x), for h of a subclass."""

    step_size: Any = Fraction(1, 16)
    local_steps: int = 1

    State = Model

    def init(self, start, cohort, oracle):
        del cohort, oracle
        return Model(start)

    def round(self, state, cohort, oracle):
        slope = oracle.gradient(cohort.pull(state.model))
        mean = cohort.mean(slope, otherwise=0 * state.model)
        return Model(state.model - self.length() * mean)


class Halved(Descent):
    def length(self):
        return 0.5 * self.step_size


class Rooted(Descent):
    def length(self):
        return math.sqrt(self.step_size) / 8


class Exact(Descent):
    def length(self):
        return self.step_size / 2


def test_a_float_in_the_round_makes_moments_floats():
    assert moments(PROBLEM, Saga(Fraction(1, 12)), ONE).exact
    assert not moments(PROBLEM, SagaInFloats(Fraction(1, 12)), ONE).exact
    assert computes_in_floats(SagaInFloats(Fraction(1, 12)), 3)
    assert not computes_in_floats(Saga(Fraction(1, 12)), 3)


LAW = Bernoulli(["3/10", "7/10", "1/10"])
UNBIASED = {
    "rationals": [Fraction(10, 9), Fraction(10, 21), Fraction(10, 3)],
    "floats": [1 / (3 * 0.3), 1 / (3 * 0.7), 1 / (3 * 0.1)],
}


@dataclass(frozen=True)
class Scaled(Descent):
    """Its length is a setting, as a user's class keeps it."""

    scale: Any = Fraction(1, 10)

    def length(self):
        return self.scale


class Irrational(Descent):
    def length(self):
        return sympy.sqrt(2) / 16


class Symbolic(Descent):
    def length(self):
        return sympy.Symbol("a")


@pytest.mark.parametrize(
    ("scale", "exact"),
    [
        (sympy.Rational(1, 10), True),
        (np.int64(1), True),
        (np.float64(0.1), False),
        (np.float32(0.1), False),
        (Decimal("0.1"), False),
    ],
)
def test_numbers_of_other_kinds_are_what_they_are(scale, exact):
    found = moments(PROBLEM, Scaled(scale=scale), ONE)
    plain = moments(PROBLEM, Scaled(scale=Fraction(float(scale))), ONE)
    assert found.exact == exact
    assert float(found.mean_square_rate) == pytest.approx(float(plain.mean_square_rate))


def test_roots_in_a_round_are_floats():
    found = moments(PROBLEM, Irrational(), ONE)
    rates = [(1 - math.sqrt(2) / 16 * h) ** 2 for h in (1, 2, 4)]
    assert not found.exact
    assert found.mean_square_rate == pytest.approx(sum(rates) / 3)


def test_symbols_in_a_round_are_refused():
    assert "symbols belong to" in moments(PROBLEM, Symbolic(), ONE).reason
    with pytest.raises(InputError, match="got symbols in Symbolic; substitute numbers"):
        simulate(PROBLEM, Symbolic(), ONE, **SIZES)


@pytest.mark.parametrize("scale", ["1/2", [0.5], np.ones(1), (1, 2)])
@pytest.mark.parametrize("ask", [moments, lambda *s: simulate(*s, **SIZES)])
def test_a_round_multiplies_by_no_lists_and_no_text(ask, scale):
    with pytest.raises(DomainError, match="must be multiplied by numbers; got "):
        ask(PROBLEM, Scaled(scale=scale), ONE)


@pytest.mark.parametrize("scale", [1j, math.nan, math.inf, np.float32("nan")])
@pytest.mark.parametrize("ask", [moments, lambda *s: simulate(*s, **SIZES)])
def test_a_round_multiplies_by_real_numbers(ask, scale):
    with pytest.raises(DomainError, match=f"must be multiplied by real.* got {scale}"):
        ask(PROBLEM, Scaled(scale=scale), ONE)


@pytest.mark.parametrize("weights", UNBIASED.values(), ids=UNBIASED)
def test_rounding_in_the_round_breaks_nothing_that_is_true(weights):
    setting = PROBLEM, Weighted(weights, Fraction(1, 50)), LAW
    assert_fixed_point_bias(*setting, bias=[0])
    with pytest.raises(AssertionError, match="BROKEN"):
        assert_fixed_point_bias(*setting, bias=["1/100"])


@pytest.mark.parametrize("algorithm", [Saga, SagaInFloats])
def test_rates_are_judged_as_well_in_floats(algorithm):
    setting = PROBLEM, algorithm(Fraction(1, 12)), ONE
    assert_linear_rate(*setting, rate=Fraction(9, 10))
    with pytest.raises(AssertionError, match="BROKEN"):
        assert_linear_rate(*setting, rate=Fraction(3, 4))


def lemma(algorithm):
    """Every quadratic is contracted exactly as told: the step is 1/32."""
    problem = Quadratics([[[3]]], [[1]])
    error = q.server("model") - q.minimiser()
    told = Fraction(29, 32) ** 2 * q.square(error)
    contracted = q.expect(q.square(q.after(error))) <= told
    return judge.Step({"h": 3}, problem, algorithm, Full(1), contracted)


class Tenth(Descent):
    def length(self):
        return self.step_size * 0.1


def test_a_one_step_lemma_is_neither_shown_nor_refuted_in_floats():
    assert judge.one_step([lemma(Exact())], "one").verdict == "SUPPORTED"
    found = judge.one_step([lemma(Tenth(Fraction(10, 32)))], "one")
    assert found.verdict == "INCONCLUSIVE"
    assert "numbers in the round must be rational" in found.reason
    refuted = judge.one_step([lemma(Exact(Fraction(1, 17)))], "one")
    assert refuted.verdict == "REFUTED"


@pytest.mark.parametrize("algorithm", [Halved, Rooted])
def test_rounds_are_simulated_whatever_they_do_with_their_step_size(algorithm):
    asked = {"rounds": 5, "runs": 3, "seed": 1}
    found = simulate(PROBLEM, algorithm(), ONE, **asked).errors
    step = 2 * float(algorithm().length())
    assert found == pytest.approx(simulate(PROBLEM, Exact(step), ONE, **asked).errors)


def test_only_the_literal_reading_takes_roots_of_the_step_size():
    asked = {"rounds": 5, "runs": 3, "seed": 1}
    assert simulate(PROBLEM, Halved(), ONE, **asked).method != "literal"
    assert simulate(PROBLEM, Rooted(), ONE, **asked).method == "literal"
    refused = simulate(PROBLEM, Rooted(), ONE, method="compiled", **asked)
    assert not refused
    assert "must add, multiply and divide its step size" in refused.reason


@pytest.mark.parametrize(
    "weights", [["1/3"] * 3, [THIRD] * 3, [sympy.Rational(1, 3)] * 3]
)
def test_weights_are_read_as_numbers(weights):
    expected = moments(PROBLEM, Weighted([THIRD] * 3), ONE).mean_square_rate
    assert moments(PROBLEM, Weighted(weights), ONE).mean_square_rate == expected
    asked = {"rounds": 5, "runs": 3, "seed": 1}
    found = simulate(PROBLEM, Weighted(weights), ONE, **asked)
    floats = simulate(PROBLEM, Weighted([1 / 3] * 3), ONE, **asked)
    assert found.errors == pytest.approx(floats.errors)


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize(
    "ask",
    [
        moments,
        lambda *setting: simulate(*setting, rounds=2, runs=2, seed=1),
        lambda *setting: simulate(*setting, rounds=2, runs=2, seed=1, method="literal"),
        lambda *setting: assert_linear_rate(*setting, rate="9/10"),
    ],
)
def test_there_is_one_weight_per_client(size, ask):
    with pytest.raises(ShapeError, match=f"got {size} for 3 clients"):
        ask(PROBLEM, Weighted([THIRD] * size), ONE)


@pytest.mark.parametrize("wrong", ["1/3", 5, None])
def test_weights_are_a_list(wrong):
    with pytest.raises(InputError, match="must be given a list of numbers"):
        per_client(wrong)


@pytest.mark.parametrize("wrong", [None, True, "x", [1]])
def test_a_weight_is_a_number(wrong):
    with pytest.raises(DomainError, match=r"a weight of per_client must be a"):
        per_client([1, wrong])


@dataclass(frozen=True)
class Uneven(Algorithm):
    """Local steps of other numbers at other clients, as the guide writes them."""

    taus: tuple[int, ...]
    step_size: Any = Fraction(1, 10)
    local_steps: int = 1

    State = Model

    def init(self, start, cohort, oracle):
        del cohort, oracle
        return Model(start)

    def round(self, state, cohort, oracle):
        local = cohort.pull(state.model)
        for k in range(max(self.taus)):
            steps = per_client([self.step_size if k < t else 0 for t in self.taus])
            local = local - steps * oracle.gradient(local)
        return Model(cohort.mean(local, otherwise=state.model))


@pytest.mark.parametrize("taus", [(1, 2, 3), (2, 2, 2), (3, 1, 1)])
def test_clients_take_local_steps_of_their_own_number(taus):
    # client i moves by (1 - (1 - eta h_i)^tau_i)(x - x_i), with x_i its minimiser
    aims = (0, 1, Fraction(1, 4))
    pulls = [
        1 - (1 - Fraction(h, 10)) ** t for h, t in zip((1, 2, 4), taus, strict=True)
    ]
    rest = sum(w * a for w, a in zip(pulls, aims, strict=True)) / sum(pulls)
    setting = PROBLEM, Uneven(taus), Full(3)
    minimiser = PROBLEM.minimiser()[0]
    assert moments(*setting).bias[0] == rest - minimiser
    ends = simulate(*setting, rounds=200, runs=1, seed=1).final_models
    assert ends.ravel() == pytest.approx([float(rest)])
