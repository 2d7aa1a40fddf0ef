"""Other things in place of a law, a claim, a log or a matrix: one sentence each."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy

from flverify import mixing, moments, simulate, symbolic
from flverify._core.errors import InputError
from flverify._core.sources import Source
from flverify.advise.fit import fit
from flverify.advise.log import AvailabilityLog, read_log
from flverify.advise.rarest import rarest
from flverify.algorithms import Ball, Box, FedAvg, Focus
from flverify.certify.coq import export
from flverify.certify.neighbourhood import distance
from flverify.certify.printed import printed, printed_sag
from flverify.certify.rates import certify
from flverify.claims import judge
from flverify.claims.claim import Free, claim
from flverify.claims.one_percent import moved, undeclared
from flverify.claims.sharpest import sharpest
from flverify.engines.noise import noisy_moments
from flverify.participation import (
    Bernoulli,
    ExplicitLaw,
    Full,
    ModeChain,
    NonEmpty,
)
from flverify.problems import Quadratics

PROBLEM, LAW = Quadratics([[[1]], [[2]]], [[0], [1]]), Bernoulli(["1/2", "1/3"])
LOG = AvailabilityLog(np.eye(2, dtype=bool), 0)
FREE = Free("c", 1, 4, weaker="larger")
OTHERS = [None, "x", float("nan"), [], {}, object(), -3]


@claim("demo.one", source=Source("flverify", "example"), statement="", proposition="2",
       constants={"c": 2}, twin={"c": 3})  # fmt: skip
def one(c):
    return judge.identity([("c", c.c, 2)], "one")


ASKED = {
    "printed": lambda it: printed(Focus("1/8"), it, "1/10", 1),
    "printed FedAvg": lambda it: printed(FedAvg("1/8"), it, "1/10", 1),
    "printed_sag": lambda it: printed_sag(Focus("1/8"), it, "1/10", 1),
    "expected_matrix": lambda it: mixing.expected_matrix("pull", it),
    "symbolic_table": mixing.symbolic_table,
    "is_row_stochastic": mixing.is_row_stochastic,
    "is_column_stochastic": mixing.is_column_stochastic,
    "sharpest": lambda it: sharpest(it, FREE),
    "sharpest free": lambda it: sharpest(one, it),
    "undeclared": lambda it: undeclared({"demo.one": it}),
    "moved": lambda it: next(moved(it, one.check())),
    "moved finding": lambda it: next(moved(one, it)),
    "export": lambda it: export(it, "name"),
    "noisy_moments": lambda it: noisy_moments(PROBLEM, Focus("1/8"), it, 1),
    "noisy algorithm": lambda it: noisy_moments(PROBLEM, it, LAW, 1),
    "read_log": read_log,
    "fit": fit,
    "rarest": lambda it: rarest(PROBLEM, it),
    "rarest problem": lambda it: rarest(it, LAW),
}


@pytest.mark.parametrize("other", OTHERS, ids=lambda it: repr(it)[:7])
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_other_things_are_one_sentence(ask, other):
    with pytest.raises(InputError, match=r"must .*; got .*; .*\.") as error:
        ask(other)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("shuffles", [None, "x", 1.5, -3])
def test_shuffles_are_a_number(shuffles):
    with pytest.raises(InputError, match="shuffles must be an integer at least 1"):
        fit(LOG, shuffles)


@pytest.mark.parametrize("members", [None, 3, {2}, {"x"}, [-1]])
def test_a_round_has_members(members):
    setting = symbolic(PROBLEM, FedAvg("1/4"), LAW)
    with pytest.raises(InputError, match="must be"):
        setting.round_matrix(members)
    assert setting.round_matrix([0, 1]) == setting.round_matrix(frozenset({0, 1}))


def test_what_is_asked_for_is_answered(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("round,client\n1,0\n1,1\n2,0\n")
    assert fit(read_log(Path(log)), 9).inclusion[0] == 1
    assert mixing.is_row_stochastic(mixing.expected_matrix("pull", LAW))
    assert not mixing.is_column_stochastic([[1, 0], [1, 0]])
    assert printed(Focus("1/128"), LAW, "1/10", 1).rate < 1
    assert rarest(PROBLEM, LAW).client == 1
    assert sharpest(one, FREE).bracket.best.value == 2


def test_claims_are_a_mapping():
    assert undeclared({"demo.one": one}) == {"demo.one": ["c"]}
    with pytest.raises(InputError, match=r"the claims must be a mapping; got \["):
        undeclared([one])


@pytest.mark.parametrize("certified", [certify, distance])
def test_steps_above_all_floats_are_one_sentence(certified):
    with pytest.raises(InputError, match="step_size times smoothness must lie within"):
        certified(FedAvg("1/4"), Full(2), 1, 10**400)


FLAT, SYMBOL, LONG = np.array(3), sympy.Symbol("a"), 10**400
SIZES = {"rounds": 1, "runs": 2, "seed": 0}
WRONG = {
    "a switch of text": lambda: simulate(PROBLEM, FedAvg(1), LAW, **SIZES, fast="no"),
    "a switch of numbers": lambda: simulate(
        PROBLEM, FedAvg(1), LAW, **SIZES, keep_models=np.array([1, 2])
    ),
    "probabilities": lambda: Bernoulli(FLAT),
    "a transition": lambda: ModeChain(FLAT, [LAW]),
    "modes": lambda: ModeChain([[1]], FLAT),
    "a first mode": lambda: ModeChain([[1]], [LAW], initial=FLAT),
    "clients": lambda: LAW.moment(FLAT, 1),
    "participants": lambda: symbolic(PROBLEM, FedAvg(1), LAW).round_matrix(FLAT),
    "a radius": lambda: Ball(SYMBOL),
    "an end": lambda: Box(0, SYMBOL),
    "a start": lambda: moments(PROBLEM, FedAvg(1), LAW).mean_square_error([SYMBOL], 1),
    "an irrational start": lambda: moments(PROBLEM, FedAvg(1), LAW).mean_square_error(
        [sympy.pi], 1
    ),
    "a level": lambda: simulate(PROBLEM, FedAvg(1), LAW, **SIZES).band(SYMBOL),
    "a quantile": lambda: simulate(PROBLEM, FedAvg(1), LAW, **SIZES).quantiles(
        [SYMBOL]
    ),
    "too large a quantile": lambda: simulate(
        PROBLEM, FedAvg(1), LAW, **SIZES
    ).quantiles([sympy.pi]),
    "a negative step size": lambda: FedAvg(-sympy.pi),
    "a long table": lambda: ExplicitLaw(LONG, 2),
    "a long sum": lambda: ExplicitLaw({(): Fraction(1, LONG)}, 2),
    "a long mode": lambda: ModeChain([[1]], [LONG]),
    "a long law": lambda: NonEmpty(LONG),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_list_or_number_is_one_short_sentence(name):
    with pytest.raises(InputError, match=r"^[^\n]{20,300}$"):
        WRONG[name]()


def test_what_is_near_those_is_taken():
    flags = {"fast": np.False_, "keep_models": np.True_}
    runs = simulate(PROBLEM, FedAvg("1/4"), LAW, **SIZES, **flags)
    assert runs.models.shape == (2, 2, 1)
    assert runs.quantiles([sympy.pi / 4]).shape == (1, 2)
    powers = [np.int8(1), np.uint64(1)]
    assert {LAW.moment(np.array([0]), k) for k in powers} == {LAW.moment([0], 1)}
    assert FedAvg(sympy.pi).step_size == sympy.pi
