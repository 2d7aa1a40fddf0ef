"""MIFA and FedVARP are SAG and SAGA, FedAvg and SCAFFOLD where the papers say so."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify import moments
from flverify.algorithms import FedAvg, FedVarp, Focus, Mifa, Scaffold
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort
from flverify.problems import Quadratics

STEP = Fraction(1, 10)
PROBLEM = Quadratics([[[1]], [[3]], [[2]]], [[1], [-2], [5]])
PARTIAL = [
    Bernoulli(["1/2", "1/3", "1/5"]),
    UniformCohort(3, 1),
    UniformCohort(3, 2),
    AllOrNothing(3, "1/3"),
]


def read(algorithm, law):
    return moments(PROBLEM, algorithm, law)


def errors(algorithm, law):
    return read(algorithm, law).mean_square_error([4], rounds=5).tolist()


@pytest.mark.parametrize("law", [Full(3), *PARTIAL], ids=str)
def test_one_local_step_of_mifa_is_focus_with_the_mean_of_gradients(law):
    start = {"initial_gradients": "start", "initial_tracker": "sum"}
    focus = Focus(STEP / 3, **start)
    assert errors(Mifa(STEP), law) == errors(focus, law)
    skipping = Focus(STEP / 3, empty_round="skip", **start)
    assert errors(Mifa(STEP, empty_round="skip"), law) == errors(skipping, law)
    zeros = Focus(STEP / 3)
    assert errors(Mifa(STEP, initial_table="zero"), law) == errors(zeros, law)


@pytest.mark.parametrize("law", [Full(3), *PARTIAL], ids=str)
@pytest.mark.parametrize("server", [Fraction(1), Fraction(3, 5)])
def test_one_local_step_of_fedvarp_is_scaffold(law, server):
    here = errors(FedVarp(STEP, server_step_size=server), law)
    assert here == errors(Scaffold(STEP, server_step_size=server), law)


@pytest.mark.parametrize("kind", [Mifa, FedVarp])
@pytest.mark.parametrize("server", [Fraction(1), Fraction(3, 5)])
def test_everybody_present_it_is_fedavg(kind, server):
    one, other = kind(STEP, 3, server), FedAvg(STEP, 3, server)
    assert errors(one, Full(3)) == errors(other, Full(3))
    absent = PARTIAL[0]
    assert errors(one, absent) != errors(other, absent)


@pytest.mark.parametrize("law", PARTIAL, ids=str)
@pytest.mark.parametrize(
    "algorithm",
    [Mifa(STEP, 3), Mifa(STEP, 3, empty_round="skip"), FedVarp(STEP, 3)],
    ids=["mifa", "mifa that skips", "fedvarp"],
)
def test_who_takes_part_does_not_move_the_limit(algorithm, law):
    everybody = read(FedAvg(STEP, 3), Full(3)).mean_fixed_point.tolist()
    assert read(algorithm, law).mean_fixed_point.tolist() == everybody
    assert read(algorithm, law).bias.tolist() != [0]  # drift is not corrected


def test_fedavg_itself_is_moved():
    everybody = read(FedAvg(STEP, 3), Full(3)).mean_fixed_point.tolist()
    assert read(FedAvg(STEP, 3), PARTIAL[0]).mean_fixed_point.tolist() != everybody


def test_stale_steps_of_mifa_in_empty_rounds_can_blow_up():
    law = AllOrNothing(3, "1/3")
    assert read(Mifa(STEP, 3), law).mean_square_rate > 1
    skipping = read(Mifa(STEP, 3, empty_round="skip"), law).mean_square_rate_interval
    assert skipping == read(FedAvg(STEP, 3), law).mean_square_rate_interval


@pytest.mark.parametrize("law", PARTIAL, ids=str)
@pytest.mark.parametrize("stepping", ["skip", "step"])
def test_fedvarp_says_what_it_does_when_nobody_comes(law, stepping):
    """Only laws with empty rounds tell the two apart."""
    same = errors(FedVarp(STEP, 2), law) == errors(FedVarp(STEP, 2, 1, stepping), law)
    never_empty = isinstance(law, UniformCohort)
    assert same == (stepping == "skip" or never_empty)
