"""What a round keeps: memories of gradients, eliminated slots, and where it rests."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.algorithms import FedAvg, Focus, GradientDescent, Scaffold
from flverify.certify.classes import classes
from flverify.certify.coordinates import Memory
from flverify.certify.discover import discover, previous_point
from flverify.certify.forms import read
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort

LAWS = {
    "full": Full(3),
    "uniform": UniformCohort(3, 1),
    "independent": Bernoulli(["1/2"] * 3),
    "classes": Bernoulli(["1/2", "1/3", "1/3"]),
    "all or nothing": AllOrNothing(3, "1/2"),
}
HALF = Fraction(1, 2)


def found(algorithm, law):
    reading = read(algorithm, classes(law))
    return reading, discover(reading)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_memories_are_what_participation_overwrites(law):
    # by their definitions: FOCUS stores its last gradient, SCAFFOLD the mean of all
    last, mean = ((1,), (Fraction(1),)), ((0, 1), (HALF, HALF))
    for algorithm, slot, told in (
        (Focus("1/8", 2), "stored", last),
        (Scaffold("1/8", 2), "controls", mean),
    ):
        _, structure = found(algorithm, law)
        assert structure.memories == (Memory(slot, *told),)
        assert structure.equilibrium[slot] == (0, 1)  # g*_i
        assert structure.equilibrium["model"] == (1, 0)
        assert not structure.neighbourhood


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_the_tracker_is_the_sum_of_what_is_stored(law):
    _, structure = found(Focus("1/8", 2), law)
    assert structure.eliminated == {"tracker": {"stored": Fraction(3)}}


def test_nothing_is_remembered_where_nothing_is_stored():
    _, descent = found(GradientDescent("1/4"), Full(2))
    assert (descent.memories, descent.neighbourhood) == ((), False)
    _, biased = found(FedAvg("1/4", 2), UniformCohort(3, 1))
    assert (biased.memories, biased.neighbourhood) == ((), True)


@pytest.mark.parametrize("step", [Fraction(1, 7), Fraction(2, 9)])
@pytest.mark.parametrize("kind", ["uniform", "classes", "all or nothing"])
def test_the_previous_model_is_where_the_step_came_from(kind, step):
    # FOCUS with one step: x+ = x - eta y+, with y+ the sum of the gradients remembered
    point = previous_point(*found(Focus(step), LAWS[kind]))
    assert point == {"model": 1, "ghost:0.gradient": 3 * step}


def test_no_state_of_scaffold_gives_the_previous_model_away():
    assert previous_point(*found(Scaffold("1/8", 2), UniformCohort(3, 1))) is None
