"""What a user's own class keeps or counts outside of its State."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from flverify import moments, simulate
from flverify._core.errors import InputError
from flverify.algorithms import AgnosticFedAvg, Ball, FedAvg
from flverify.engines import own_calls
from flverify.participation import Bernoulli
from flverify.problems import Quadratics
from flverify.testing import (
    Algorithm,
    Numbers,
    Server,
    assert_stable,
    gradient_steps,
)
from tests.engines.own_readings import readings

LAW = Bernoulli(["1/2", "1/3"])
PROBLEM = Quadratics([[[1]], [[2]]], [[0], [2]])
SIZES = {"rounds": 5, "runs": 3, "seed": 1}
READINGS = readings(**SIZES)


class Model(NamedTuple):
    model: Server


class Counted(NamedTuple):
    model: Server
    rounds: Numbers


@dataclass(frozen=True)
class Keeping(Algorithm):
    """FedAvg and what a rule does with it, given something to keep things in."""

    rule: Any
    kept: Any
    step_size: Any = Fraction(1, 4)

    State = Model

    def init(self, start, cohort, oracle):
        del cohort, oracle
        self.kept["count"], self.kept["start"] = 0, start
        return Model(start)

    def round(self, state, cohort, oracle):
        self.kept["count"] += 1
        here = self.placed(cohort.pull(state.model), cohort)
        local = gradient_steps(here, self.step_size, 1, oracle)
        after = cohort.mean(local, otherwise=state.model)
        return Model(self.rule(self.kept, state.model, after, cohort))

    def placed(self, here, cohort):
        del cohort
        return here


class Projecting(Keeping):
    """The same, which cannot be traced."""

    def placed(self, here, cohort):
        return cohort.project(here, Ball(9))


def momentum(kept, before, after, cohort):
    old = kept.setdefault("old", before)
    kept["old"] = before
    return after + Fraction(9, 10) * (before - old)


def last_but_four(kept, before, after, cohort):
    past = kept.setdefault("past", [])
    past.append(before)
    return after + Fraction(1, 2) * (before - past[max(len(past) - 5, 0)])


def anchored(kept, before, after, cohort):
    return Fraction(1, 2) * after + Fraction(1, 2) * kept["start"]


def at_clients(kept, before, after, cohort):
    old = kept.setdefault("stack", cohort.pull(before))
    kept["stack"] = cohort.pull(before)
    return after + cohort.mean(old, otherwise=before)


def returned(kept, before, after, cohort):
    return kept.setdefault("always", after)


def first_alone(kept, before, after, cohort):
    return after if kept["count"] == 1 else 3 * before


def from_thirty(kept, before, after, cohort):
    return after if kept["count"] < 30 else 3 * before


def slower(kept, before, after, cohort):
    return before + Fraction(1, kept["count"]) * (after - before)


def tosses(kept, before, after, cohort):
    return random.choice([after, before])


KEEPS = [momentum, last_but_four, anchored, at_clients, returned]
COUNTS = [first_alone, from_thirty, slower, tosses]


@pytest.mark.parametrize("ask", READINGS.values(), ids=READINGS)
@pytest.mark.parametrize("rule", KEEPS)
def test_vectors_kept_outside_of_the_state_are_refused(ask, rule):
    with pytest.raises(InputError, match="Keeping must use vectors that they are give"):
        ask(PROBLEM, Keeping(rule, {}), LAW)


@pytest.mark.parametrize("ask", READINGS.values(), ids=READINGS)
@pytest.mark.parametrize("rule", COUNTS)
def test_counters_outside_of_the_state_are_refused(ask, rule):
    with pytest.raises(InputError, match="Keeping must be pure functions"):
        ask(PROBLEM, Keeping(rule, {}), LAW)


@pytest.mark.parametrize("ask", ["simulate", "literal", "assert_stable"])
@pytest.mark.parametrize("rule", KEEPS + COUNTS)
def test_rounds_that_are_only_simulated_are_held_to_it_too(ask, rule):
    with pytest.raises(InputError, match="Projecting must "):
        READINGS[ask](PROBLEM, Projecting(rule, {}), LAW)


def restarts(kept, before, after, cohort):
    return after if before == after else Fraction(1, 2) * after


def where_it_is_large(kept, before, after, cohort):
    return after if before else Fraction(1, 2) * after


def where_it_is_listed(kept, before, after, cohort):
    return after if before in [after] else Fraction(1, 2) * after


@pytest.mark.parametrize("ask", READINGS.values(), ids=READINGS)
@pytest.mark.parametrize("rule", [restarts, where_it_is_large, where_it_is_listed])
@pytest.mark.parametrize("kind", [Keeping, Projecting])
def test_branches_on_what_vectors_hold_are_refused(ask, rule, kind):
    # whatever the reading, a vector would be true, and equal to no other
    with pytest.raises(InputError, match="must not branch on what their vectors hold"):
        ask(PROBLEM, kind(rule, {}), LAW)


@pytest.mark.parametrize("ask", READINGS.values(), ids=READINGS)
def test_what_is_only_kept_changes_nothing(ask):
    def logs(kept, before, after, cohort):
        kept.setdefault("log", []).append((before, after))
        return after

    assert ask(PROBLEM, Keeping(logs, {}), LAW)
    plain = moments(PROBLEM, FedAvg("1/4"), LAW)
    assert moments(PROBLEM, Keeping(logs, {}), LAW).bias == plain.bias


class Pair(NamedTuple):
    model: Server
    before: Server


@pytest.mark.parametrize("ask", READINGS.values(), ids=READINGS)
def test_slots_that_are_one_object_are_slots_all_the_same(ask):
    class First(Keeping):
        State = Pair

        def init(self, start, cohort, oracle):
            del cohort, oracle
            return Pair(start, start)

        def round(self, state, cohort, oracle):
            del oracle
            return Pair(self.rule(state, cohort), state.model)

    def by_object(state, cohort):
        return state.model / (2 if state.before is state.model else 3)

    def by_key(state, cohort):
        paces = {state.model: 1, state.before: 2}
        return state.model / (3 * paces[state.model])

    def plainly(state, cohort):
        return state.model / 3

    for rule in (by_object, by_key):
        with pytest.raises(InputError, match="whether two slots are the same object"):
            ask(PROBLEM, First(rule, {}), LAW)
    assert ask(PROBLEM, First(plainly, {}), LAW)


def test_numbers_per_client_count_rounds_as_they_should():
    @dataclass(frozen=True)
    class Slower(Algorithm):
        step_size: Any = Fraction(1, 4)
        State = Counted

        def init(self, start, cohort, oracle):
            del oracle
            return Counted(start, cohort.numbers(1))

        def round(self, state, cohort, oracle):
            slope = oracle.gradient(cohort.broadcast(state.model))
            paces = cohort.numbers(self.step_size) / state.rounds
            moved = state.model - cohort.everyone(paces * slope)
            return Counted(moved, 1 + state.rounds)

    found = simulate(PROBLEM, Slower(), LAW, rounds=4, runs=1, seed=0)
    error = Fraction(-2, 3)  # x - x*, on 3 x^2/2 - 2 x
    for r in range(1, 5):
        error *= 1 - Fraction(3, 4 * r)
        assert math.isclose(found.errors[0, r], error**2)


def test_weights_that_are_all_one_are_those_of_a_mean():
    class Weighing(Keeping):
        def round(self, state, cohort, oracle):
            here = cohort.pull(state.model)
            local = gradient_steps(here, self.step_size, 1, oracle)
            ones = cohort.numbers(1)
            ones = cohort.equal(ones, 1)
            return Model(cohort.weighted_mean(local, ones, otherwise=state.model))

    weighing = Weighing(None, {})
    assert "keep no numbers per client" in moments(PROBLEM, weighing, LAW).reason
    found = simulate(PROBLEM, weighing, LAW, **SIZES)
    plain = simulate(PROBLEM, FedAvg("1/4"), LAW, **SIZES)
    assert found.errors == pytest.approx(plain.errors)
    assert "sampling" in assert_stable(PROBLEM, weighing, LAW).answered_by


def test_an_own_region_is_written_without_its_address():
    class Whole:
        def project(self, points):
            return points

    class Fresh(Keeping):
        def placed(self, here, cohort):
            return cohort.project(here, Whole())

    def plainly(kept, before, after, cohort):
        return after

    found = simulate(PROBLEM, Fresh(plainly, {}), LAW, **SIZES)
    assert found.errors == pytest.approx(
        simulate(PROBLEM, FedAvg("1/4"), LAW, **SIZES).errors
    )


def test_classes_of_the_package_are_not_called(monkeypatch):
    monkeypatch.setattr(own_calls, "called", None)
    assert moments(PROBLEM, FedAvg("1/4"), LAW)
    simulate(PROBLEM, AgnosticFedAvg("1/4", 2, projection=Ball(2)), LAW, **SIZES)
