"""Anything in place of a problem, an algorithm or a law is one sentence."""

import math
import random
from collections import namedtuple
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from flverify import moments, simulate, symbolic
from flverify._core.errors import FlverifyError, InputError, ReadingError
from flverify.algorithms import FedAvg, Focus
from flverify.algorithms._algorithm import Algorithm, Clients, Numbers, Server
from flverify.certify.bias import worst_bias
from flverify.certify.neighbourhood import contraction, distance
from flverify.certify.rates import certify
from flverify.certify.sandwich import worst_quadratic
from flverify.certify.stability import stability_boundary
from flverify.certify.stationary import worst_stationary
from flverify.participation import Bernoulli, Full
from flverify.problems import Quadratics
from flverify.testing import (
    assert_averaging_weights,
    assert_claim,
    assert_error_bound,
    assert_fixed_point_bias,
    assert_linear_rate,
    assert_stable,
)

PROBLEM = Quadratics([[[1]], [[2]]], [[0], [2]])
ALGORITHM, LAW = FedAvg("1/4", 2), Full(2)
OTHERS = {
    "text": "focus",
    "None": None,
    "number": 3,
    "algorithm class": Focus,
    "law class": Bernoulli,
    "problem class": Quadratics,
    "list": [1],
    "array": np.zeros(2),
    "law": LAW,
    "algorithm": ALGORITHM,
    "problem": PROBLEM,
    "object": object(),
}
OF_THREE = {
    "moments": moments,
    "simulate": lambda *parts: simulate(*parts, rounds=1, runs=1, seed=0),
    "symbolic": symbolic,
    "assert_linear_rate": lambda *parts: assert_linear_rate(*parts, rate="9/10"),
    "assert_error_bound": lambda *parts: assert_error_bound(*parts, bound=1, rounds=1),
    "assert_fixed_point_bias": lambda *parts: assert_fixed_point_bias(*parts, bias=0),
    "assert_stable": assert_stable,
}
OF_TWO = {
    one.__name__: one
    for one in (
        certify,
        contraction,
        distance,
        stability_boundary,
        worst_bias,
        worst_quadratic,
        worst_stationary,
    )
}
TRIPLES = [
    pytest.param(ask, place, other, id=f"{name} {place} {what}")
    for name, ask in OF_THREE.items()
    for place, part in enumerate((PROBLEM, ALGORITHM, LAW))
    for what, other in OTHERS.items()
    if other is not part
]
PAIRS = [
    pytest.param(ask, place, other, id=f"{name} {place} {what}")
    for name, ask in OF_TWO.items()
    for place, part in enumerate((ALGORITHM, LAW))
    for what, other in OTHERS.items()
    if other is not part
]


def one_sentence(error):
    text = str(error.value).replace(__file__, "here.py")  # wherever the checkout lies
    assert "\n" not in text
    assert text.endswith(".")
    assert len(text) < 300


@pytest.mark.parametrize(("ask", "place", "other"), TRIPLES)
def test_other_things_in_a_setting(ask, place, other):
    parts = [PROBLEM, ALGORITHM, LAW]
    parts[place] = other
    with pytest.raises(InputError, match=r"must be an? ") as error:
        ask(*parts)
    one_sentence(error)


def test_a_function_in_place_of_an_algorithm_is_told_where_to_go():
    def local_descent(masks, gradient, start):
        """Never called."""

    with pytest.raises(InputError, match="the function local_descent;") as error:
        moments(PROBLEM, local_descent, LAW)
    assert "the assertions of flverify.testing" in str(error.value)
    one_sentence(error)
    with pytest.raises(InputError, match="the function local_descent;") as error:
        moments(PROBLEM, ALGORITHM, local_descent)
    assert "testing" not in str(error.value)


@pytest.mark.parametrize(("ask", "place", "other"), PAIRS)
def test_other_things_in_what_is_certified(ask, place, other):
    parts = [ALGORITHM, LAW]
    parts[place] = other
    with pytest.raises(InputError, match=r"must be an instance of an? ") as error:
        ask(*parts, "1/10", 1)
    one_sentence(error)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_other_things_in_place_of_a_claim(other):
    with pytest.raises(FlverifyError, match="claim") as error:
        assert_claim(other, "PROVED")
    one_sentence(error)


@pytest.mark.parametrize("path", [3, 0.5, [1], LAW, Full])
def test_other_things_in_place_of_a_file(path):
    with pytest.raises(InputError, match="path") as error:
        assert_claim("agnostic.tacit", "PROVED", path=path)
    one_sentence(error)


@pytest.mark.parametrize("verdict", [None, 3, [1], np.zeros(2), "proved"])
def test_other_things_in_place_of_a_verdict(verdict):
    with pytest.raises(InputError, match="verdict must be one of") as error:
        assert_claim("agnostic.tacit", verdict)
    one_sentence(error)


@pytest.mark.parametrize(
    "other", [o for o in OTHERS.values() if o is not LAW], ids=lambda o: repr(o)[:20]
)
def test_other_things_in_place_of_a_law_with_weights(other):
    with pytest.raises(InputError, match="must be") as error:
        assert_averaging_weights(other, [1, 1])
    one_sentence(error)


class Model(NamedTuple):
    model: Server


class Unlisted(Algorithm):
    """One that forgot the dataclass."""

    State = Model

    def init(self, start, cohort, oracle):
        del cohort, oracle
        return Model(start)

    def round(self, state, cohort, oracle):
        del cohort, oracle
        return state


@dataclass(frozen=True)
class Untuned(Unlisted):
    """One whose step size has another name."""

    eta: object = 1


@dataclass(frozen=True)
class Unslotted(Unlisted):
    """One whose slots are nowhere."""

    State = None
    step_size: object = 1


@pytest.mark.parametrize(
    ("ask", "algorithm", "words"),
    [
        (OF_THREE["moments"], Unlisted(), "must be a dataclass"),
        (OF_THREE["simulate"], Untuned(), "must have the setting step_size"),
        *((one, Unslotted(), "the slot model") for one in OF_THREE.values()),
    ],
)
def test_algorithms_that_cannot_be_read(ask, algorithm, words):
    with pytest.raises(InputError, match=words) as error:
        ask(PROBLEM, algorithm, LAW)
    one_sentence(error)


MISSPELT = "Sever"


def slotted(made):
    """Return an algorithm whose State is the one given."""
    return type("Slotted", (Unslotted,), {"State": made, "__module__": __name__})()


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (NamedTuple("S", [("model", Clients)]), "Slotted has model: Clients; mend it"),
        (NamedTuple("S", [("model", Server), ("k", int)]), "model: Server, k: int"),
        (namedtuple("S", "model"), "Slotted has model: object; mend it"),
        (NamedTuple("S", [("model", MISSPELT)]), "NameError: name 'Sever' is not def"),
    ],
)
@pytest.mark.parametrize("ask", OF_THREE.values(), ids=OF_THREE)
def test_slots_of_no_kind(ask, state, words):
    with pytest.raises(InputError, match=words) as error:
        ask(PROBLEM, slotted(state), LAW)
    one_sentence(error)


def test_moments_need_no_step_size():
    class Halving(Untuned):
        def round(self, state, *_):
            return Model(0.5 * state.model)

    assert moments(PROBLEM.as_float(), Halving(), LAW).mean_square_rate == 0.25


@dataclass(frozen=True)
class Ruled(Untuned):
    """One whose rounds do what a rule says."""

    rule: object = None
    step_size: object = Fraction(1, 4)

    def round(self, state, cohort, oracle):
        return self.rule(state.model, cohort, oracle)


def toss(model, cohort, oracle):
    del cohort, oracle
    share = Fraction(random.randint(1, 100), 100)
    return Model(share * model)


WRONG = {
    "draws": (toss, "pure functions"),
    "no State": (lambda x, *_: x, "must return its State with model; got"),
    "None": (lambda *_: None, "must return its State with model; got None"),
    "a verb that is none": (
        lambda x, c, _: Model(c.average(c.pull(x), otherwise=x)),
        r"test_kinds.py raised AttributeError: a cohort has no average, but .*mean",
    ),
    "no otherwise": (lambda x, c, _: Model(c.mean(c.pull(x))), "'otherwise'; mend it"),
    "branch": (lambda x, *_: Model(x if x > 0 else 2 * x), "'>' not supported"),
    "raises": (lambda *_: 1 / 0, "raised ZeroDivisionError: division by zero"),
}


@pytest.mark.parametrize(("rule", "words"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("ask", OF_THREE.values(), ids=OF_THREE)
def test_own_rounds_that_are_wrong(ask, rule, words):
    with pytest.raises(InputError, match=words) as error:
        ask(PROBLEM, Ruled(rule=rule), LAW)
    one_sentence(error)


@pytest.mark.parametrize("ask", [moments, OF_THREE["simulate"]])
def test_kinds_are_told_in_words(ask):
    def mixes(model, cohort, oracle):
        del oracle
        return Model(cohort.mean(model, otherwise=model))

    try:
        told = str(ask(PROBLEM, Ruled(rule=mixes), LAW))
    except ReadingError as error:
        told = str(error)
    assert "what is summed must be a clients stack; got a server vector;" in told


@pytest.mark.parametrize("step_size", ["1/4", True, math.nan, math.inf, np.ones(1)])
@pytest.mark.parametrize("ask", OF_THREE.values(), ids=OF_THREE)
def test_a_step_size_that_is_no_number(ask, step_size):
    scales = Ruled(rule=lambda x, *_: Model(x), step_size=step_size)
    with pytest.raises(InputError, match="step_size must be ") as error:
        ask(PROBLEM, scales, LAW)
    one_sentence(error)


class CountedModel(NamedTuple):
    model: Server
    rounds: Numbers


@dataclass(frozen=True)
class Counted(Ruled):
    """One that is only simulated."""

    State = CountedModel

    def init(self, start, cohort, oracle):
        del oracle
        return CountedModel(start, cohort.numbers(1))


def test_a_step_size_that_is_computed_cannot_be_set():
    class Halved(Untuned):
        @property
        def step_size(self):
            return Fraction(self.eta) / 2

    assert moments(PROBLEM, Halved(), LAW)  # which sets none
    with pytest.raises(
        InputError, match="must be one that can be set; Halved"
    ) as error:
        OF_THREE["simulate"](PROBLEM, Halved(), LAW)
    one_sentence(error)


def test_own_rounds_that_are_only_simulated():
    counted = Counted(rule=lambda x, *_: Model(x))
    with pytest.raises(InputError, match="must return its State with model, rounds"):
        OF_THREE["simulate"](PROBLEM, counted, LAW)
    with pytest.raises(InputError, match="raised ZeroDivisionError"):
        OF_THREE["simulate"](PROBLEM, Counted(rule=WRONG["raises"][0]), LAW)


@pytest.mark.parametrize("ask", OF_TWO.values(), ids=OF_TWO)
def test_certified_algorithms_have_a_step_size(ask):
    with pytest.raises(InputError) as error:
        ask(Untuned(), LAW, "1/10", 1)
    one_sentence(error)
