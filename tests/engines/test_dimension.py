"""Directions that rounding makes look reachable, where clients are alike."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from flverify import moments
from flverify._core.errors import RefusedError
from flverify.algorithms import FedAvg, Focus, Scaffold
from flverify.engines.moments._dimension import dimension
from flverify.engines.moments._large import LargeMoments
from flverify.participation import (
    AllOrNothing,
    Bernoulli,
    ExplicitLaw,
    Full,
    UniformCohort,
)
from flverify.problems import Quadratics
from flverify.testing import Algorithm, Clients, Inconclusive, Server, assert_stable


def halves(kinds, copies):
    """Return copies of clients of some kinds, under two outcomes."""
    clients = range(kinds * copies)
    some = frozenset(i for i in clients if i % kinds % 2)
    outcomes = {frozenset(clients): Fraction(1, 3), some: Fraction(2, 3)}
    hessians = [[[1 + (i % kinds) / kinds]] for i in clients]
    problem = Quadratics(hessians, [[float(i % 7)] for i in clients])
    return problem, ExplicitLaw(outcomes, len(clients))


@pytest.mark.parametrize("algorithm", [Scaffold(0.05, 2), Focus(0.01, 3)])
def test_clients_that_are_alike_move_alike(algorithm):
    for copies in (1, 2):
        problem, law = halves(15, copies)
        assert dimension(problem, algorithm, law) == 16


def test_what_many_outcomes_or_numbers_reach_is_not_counted():
    problem, law = halves(15, 1)
    assert dimension(problem, FedAvg(0.1), law) == 1
    assert dimension(problem, Scaffold(0.1), UniformCohort(15, 2)) is None
    assert dimension(problem, Scaffold(0.1), Bernoulli([0.5] * 15)) is None
    assert dimension(halves(90, 2)[0], Scaffold(0.1), Full(180)) is None


def test_large_floats_that_invent_directions_are_refused():
    problem, law = halves(20, 2)
    large = LargeMoments(problem, Scaffold(0.05, 2), law)
    with pytest.raises(RefusedError, match="directions that starts move, 21; rounding"):
        _ = large.mean_square_rate
    apart, law = halves(20, 1)
    assert LargeMoments(apart, Scaffold(0.05, 2), law).mean_square_rate < 0.8


def test_assertions_do_not_answer_by_invented_directions():
    asked = {"method": "exact"}
    problem, law = halves(40, 2)
    with pytest.raises(Inconclusive, match="starts move, 41; rounding makes them"):
        assert_stable(problem, Scaffold(0.05, 2), law, **asked)
    assert assert_stable(problem, FedAvg(0.05, 2), law, **asked)


class EchoState(NamedTuple):
    model: Server
    pull: Server
    echoes: Clients


@dataclass(frozen=True)
class Echo(Algorithm):
    """FedAvg drawn to what clients and the server said the round before."""

    step_size: Any

    State = EchoState

    def init(self, start, cohort, oracle):
        everywhere = cohort.broadcast(start)
        pull = Fraction(1, 3) * start - cohort.everyone(oracle.gradient(everywhere))
        return EchoState(start, pull, everywhere)

    def round(self, state, cohort, oracle):
        share = Fraction(1, cohort.n_clients)
        drawn = Fraction(1, 4) * (cohort.pull(state.pull) + state.echoes)
        here = cohort.pull(state.model) + drawn
        slopes = oracle.gradient(here)
        local = here - self.step_size * slopes
        mean = cohort.mean(local, otherwise=state.model)
        model = mean - self.step_size * share * cohort.sum(slopes)
        heard = share * cohort.everyone(state.echoes)
        echoes = cohort.select(Fraction(1, 2) * slopes - local, 0 * state.echoes)
        pull = state.model - heard + Fraction(1, 2) * mean
        return EchoState(model, pull, echoes)


def test_small_floats_that_invent_directions_are_reduced_in_rationals():
    # copies of a client move as it does, so that the rate is the same
    found = []
    for copies in (1, 2):
        clients = [i % 14 for i in range(14 * copies)]
        hessians = [[[1 + i, i % 3 - 1], [i % 3 - 1, 2 + i % 4]] for i in clients]
        problem = Quadratics(hessians, [[i % 5, -(i % 3)] for i in clients]).as_float()
        law = AllOrNothing(len(clients), Fraction(2, 5))
        found.append(moments(problem, Echo(Fraction(1, 20)), law).mean_square_rate)
    assert found[1] == pytest.approx(found[0], rel=1e-9)
