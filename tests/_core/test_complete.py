"""A user's class that lacks a method is told with its name, its place and the rest."""

import inspect

import pytest

from flverify import FlverifyError
from flverify._core.errors import IncompleteClassError
from flverify.algorithms import FedAvg
from flverify.algorithms._algorithm import Algorithm
from flverify.participation._law import Participation
from flverify.problems._problem import Problem

PROBLEM = {"n_clients": 1, "dim": 1, "exact": True, "gradient": 1, "value": 1}
LAW = {"exact": True, "spec": "x", "support": 1, "_moment": 1, "_draw": 1}
ALGORITHM = {"init": 1, "round": 1}


@pytest.mark.parametrize(
    ("base", "needed"),
    [(Problem, PROBLEM), (Participation, LAW), (Algorithm, ALGORITHM)],
)
def test_every_missing_method_is_named(base, needed):
    assert type("Whole", (base,), needed)()
    for left in needed:
        rest = {name: value for name, value in needed.items() if name != left}
        with pytest.raises(IncompleteClassError, match=f"lacks {left}; add it"):
            type("Lacking", (base,), rest)()
    with pytest.raises(FlverifyError, match=f"derived from {base.__name__} .* Bare.*;"):
        type("Bare", (base,), {})()


class Mine(Problem):
    n_clients = dim = 1


def test_the_place_of_the_class_is_told():
    with pytest.raises(
        TypeError, match=r"Mine \(line \d+ of .*test_complete.py\) lacks"
    ):
        Mine()


def test_arguments_are_still_counted():
    class Whole(Problem):
        n_clients = dim = gradient = value = 1
        exact = True

    assert Whole().dim == 1
    with pytest.raises(TypeError, match="takes no arguments"):
        Whole(3)


def test_a_signature_names_what_an_instance_takes():
    assert list(inspect.signature(FedAvg).parameters)[:2] == [
        "step_size",
        "local_steps",
    ]
