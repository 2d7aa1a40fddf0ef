"""Large float moments of rounds that a user might write, beside rationals.

The large engine takes over beyond some hundred state numbers; here it is asked itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from flverify import moments
from flverify._core.errors import RefusedError
from flverify.algorithms import Scaffold
from flverify.engines.moments._large import LargeMoments
from flverify.participation import Bernoulli, ExplicitLaw, Full, UniformCohort
from flverify.problems import Quadratics
from flverify.testing import Algorithm, Clients, Server
from tests.testing.own import Turning

THREE = Quadratics([[[1]], [[2]], [["1/2"]]], [[1], [-1], ["1/3"]])
HALF = Bernoulli(["1/2", "1/3", "3/4"])


class Slots(NamedTuple):
    model: Server
    extra: Server
    tags: Clients


@dataclass(frozen=True)
class Extra(Algorithm):
    """FedAvg beside a server slot and a stack that a rule renews."""

    rule: Any
    start: Fraction = Fraction(0)
    step_size: Any = Fraction(1, 5)

    State = Slots

    def init(self, start, cohort, oracle):  # noqa: ARG002
        return Slots(start, self.start * start, 0 * cohort.broadcast(start))

    def round(self, state, cohort, oracle):
        here = cohort.pull(state.model)
        local = here - self.step_size * oracle.gradient(here)
        model = cohort.mean(local, otherwise=state.model)
        return self.rule(state, cohort, local, model)


def never_read(state, cohort, local, model):
    # under a law without empty rounds 1 - sum_i E a_i is rounding
    tags = cohort.select(cohort.pull(state.model) - local, state.tags)
    moved = model - Fraction(1, 10) * cohort.everyone(state.tags)
    return Slots(moved, cohort.mean(local, otherwise=state.extra), tags)


def kept_alone(state, cohort, local, model):
    return Slots(model, state.extra, state.tags)


def last_gradients(state, cohort, local, model):
    tags = cohort.select(cohort.pull(state.model) - local, state.tags)
    return Slots(model, cohort.everyone(tags), tags)


def from_nothing(state, cohort, local, model):
    # the model is the sum of stacks that stay 0, and forgets its start
    tags = cohort.select(Fraction(3, 2) * state.tags, state.tags)
    return Slots(2 * cohort.everyone(state.tags), state.extra, tags)


def handed_on(state, cohort, local, model):
    return Slots(state.extra, Fraction(0) * model, cohort.select(local, state.tags))


RULES = [never_read, kept_alone, last_gradients, from_nothing]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("start", [0, Fraction(1, 2)])
@pytest.mark.parametrize("law", [HALF, Full(3), UniformCohort(3, 2)])
@pytest.mark.parametrize("rule", RULES)
def test_large_floats_agree_with_rationals(rule, law, start):
    algorithm = Extra(rule, Fraction(start))
    exact = moments(THREE, algorithm, law)
    large = LargeMoments(THREE.as_float(), replace(algorithm, step_size=0.2), law)
    optimum = THREE.minimiser().astype(float)
    curve = exact.mean_square_error([2], 4).astype(float)
    assert np.allclose(large.error_curve(np.array([2.0]), optimum, 4), curve)
    low, high = exact.mean_square_rate_interval
    assert large.mean_square_rate == pytest.approx(float(high), rel=1e-8, abs=1e-12)
    below, above = large.mean_square_rate_interval
    assert below <= float(high) * (1 + 1e-9)
    assert above >= float(low) * (1 - 1e-9)
    fixed = exact.mean_fixed_point.astype(float)
    assert np.allclose(large.mean_fixed_point(), fixed)
    error = float(exact.stationary_mean_square_error)
    assert large.stationary_error(optimum) == pytest.approx(error)


def grows(state, cohort, local, model):  # the extra slot, from a constant
    moved = model + Fraction(1, 10) * state.extra
    tags = cohort.select(cohort.pull(state.model) - local, state.tags)
    return Slots(moved, Fraction(11, 10) * state.extra, tags)


class FromAConstant(Extra):
    def init(self, start, cohort, oracle):
        origin = 0 * cohort.broadcast(start)
        return Slots(start, cohort.everyone(oracle.gradient(origin)), origin)


def test_what_grows_from_a_constant_has_no_stationary_error():
    algorithm = FromAConstant(grows)
    exact = moments(THREE, algorithm, HALF)
    assert exact.mean_square_rate < 1
    assert exact.stationary_mean_square_error == math.inf
    assert not exact.mean_settles
    large = LargeMoments(THREE.as_float(), replace(algorithm, step_size=0.2), HALF)
    assert large.stationary_error(THREE.minimiser().astype(float)) == math.inf
    assert not large.mean_settles
    settled = Extra(last_gradients)
    assert moments(THREE, settled, HALF).mean_settles
    assert LargeMoments(THREE.as_float(), settled, HALF).mean_settles


def answer(ask):
    """Return a number, or the sentence of a refusal."""
    try:
        return ask()
    except RefusedError as refused:
        return str(refused)


class TwoStacks(NamedTuple):
    model: Server
    tags: Clients
    more: Clients


class FromTheStart(Extra):
    """Everything is drawn from the start alone: a mean map of rates 1 and 0."""

    State = TwoStacks

    def init(self, start, cohort, oracle):  # noqa: ARG002
        here = cohort.broadcast(start)
        return TwoStacks(start, here, 0 * here)

    def round(self, state, cohort, oracle):
        more = cohort.select(oracle.gradient(state.tags), state.tags)
        model = Fraction(3, 2) * cohort.everyone(state.more)
        return TwoStacks(model, state.tags, more)


@pytest.mark.parametrize("law", [HALF, UniformCohort(3, 1)])
def test_rates_beyond_floats_are_found_or_refused(law):
    algorithm = FromTheStart(None)
    exact = float(moments(THREE, algorithm, law).mean_square_rate)
    large = LargeMoments(THREE.as_float(), algorithm, law)
    found = answer(lambda: large.mean_square_rate)
    assert "the float rate must" in str(found) or found == pytest.approx(exact)


def test_what_is_handed_from_slot_to_slot_is_right_or_refused():
    algorithm = Extra(handed_on, Fraction(1, 2))
    exact = moments(THREE, algorithm, HALF)
    assert exact.mean_square_rate == 0
    floats = replace(algorithm, step_size=0.2)
    small = moments(THREE.as_float(), floats, HALF)
    low, high = small.mean_square_rate_interval
    assert low <= 1e-12 <= high or high <= 1e-12
    large = LargeMoments(THREE.as_float(), floats, HALF)
    assert large.mean_square_rate < 1e-6
    assert large.mean_square_rate_interval[0] < 1e-6
    error = float(exact.stationary_mean_square_error)
    found = answer(lambda: large.stationary_error(THREE.minimiser().astype(float)))
    assert "independent eigenvectors" in str(found) or found == pytest.approx(error)


@pytest.mark.parametrize("turn", [(3, 4, 5), (5, 12, 13), (8, 15, 17), (33, 56, 65)])
def test_what_a_constant_pushes_around_never_settles(turn):
    # the size of the eigenvalue is 1, or in floats a rounding below
    a, b, c = turn
    algorithm = Turning(Fraction(a, c), Fraction(b, c))
    asked = THREE, algorithm, Full(3)
    assert not moments(*asked).mean_settles
    assert not moments(THREE.as_float(), algorithm, Full(3)).mean_settles
    assert not LargeMoments(THREE.as_float(), algorithm, Full(3)).mean_settles


@pytest.mark.parametrize(("step_size", "rate"), [(0.05, 0.7684992), (0.02, 0.8956775)])
def test_clients_that_never_take_part_leave_no_rate_behind(step_size, rate):
    # two outcomes make long chains of weak directions, which amplify rounding; the
    # rates are those of the system reduced in rationals
    clients = range(50)
    often, rarely = frozenset(clients[8:]), frozenset(clients[8::2])
    law = ExplicitLaw({often: Fraction(1, 3), rarely: Fraction(2, 3)}, 50)
    hessians = [[[1 + i / 50]] for i in clients]
    problem = Quadratics(hessians, [[float(i % 7)] for i in clients])
    large = LargeMoments(problem, Scaffold(step_size, 2), law)
    assert large.mean_square_rate == pytest.approx(rate, abs=1e-7)
