"""Limits are shown by bounds that are proved: no rule of sympy's is taken for one."""

from __future__ import annotations

import inspect
import re
from fractions import Fraction
from pathlib import Path
from types import FunctionType, SimpleNamespace

import pytest
import sympy

from flverify.claims import agnostic_horizon, client_drift, fedavg_stationary
from flverify.claims.agnostic_rounds import ETA
from flverify.claims.focus_theorem1_counts import log_below
from flverify.claims.registry import proofs_folder, shipped_claims
from flverify.claims.verdict import Verdict

alpha, other = fedavg_stationary.alpha, sympy.Symbol("other", positive=True)


def small_steps():
    return agnostic_horizon.small_steps.__wrapped__(1)


def at_the_horizon():
    return agnostic_horizon.at_the_horizon.__wrapped__(1)


def products(rate=alpha):
    return fedavg_stationary.vanishes.__wrapped__(rate)


def best_period():
    return shipped_claims()["agnostic.thm4.H"].check()


def terms_of_theorem_2(**printed):
    remark = shipped_claims()["focus.thm2.remark"]
    own = remark.judged_by.__globals__
    if "terms" in printed:
        own = {**own, "terms": printed["terms"](own["terms"])}
    judged = FunctionType(own["_remark_terms"].__code__, own)
    return judged(SimpleNamespace(**remark.constants))


def pairs():
    return client_drift.pair_drifts(1)


def logarithms():
    return log_below(Fraction(3, 2))


JUDGED = [
    small_steps,
    at_the_horizon,
    products,
    best_period,
    terms_of_theorem_2,
    pairs,
    logarithms,
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("judged", JUDGED)
def test_a_limit_is_proved_whatever_sympy_takes_for_one(judged, monkeypatch):
    monkeypatch.setattr(sympy, "limit", lambda *_: sympy.Integer(7))
    assert judged().verdict == Verdict.PROVED


@pytest.mark.parametrize("more", [1, other, other / ETA])
def test_a_right_side_that_does_not_vanish_is_noticed(more, monkeypatch):
    side = agnostic_horizon.rounds.rate_side
    monkeypatch.setattr(
        agnostic_horizon.rounds, "rate_side", lambda *given: side(*given) + more
    )
    assert at_the_horizon().parts["right side of (9)"].verdict == Verdict.REFUTED


@pytest.mark.parametrize("more", [ETA, other * ETA])
def test_an_end_away_from_delta_is_noticed(more, monkeypatch):
    room = agnostic_horizon.rounds.round_room
    monkeypatch.setattr(
        agnostic_horizon.rounds, "round_room", lambda *given: room(*given) + more
    )
    assert agnostic_horizon.closer_rounds.__wrapped__()["eta to 0"].verdict == (
        Verdict.REFUTED
    )


def test_products_of_factors_that_need_not_shrink_are_not_called_small():
    assert not products(sympy.Integer(0)).passes()
    assert not products(-alpha).passes()


@pytest.mark.parametrize("degree", ["-1", "-1/2"])
def test_a_power_that_grows_is_not_above_the_logarithm(degree):
    assert log_below(Fraction(degree)).verdict == Verdict.REFUTED


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 2])
def test_a_term_that_does_not_vanish_is_noticed(place):
    def wrong(terms):
        def longer(*given):
            found = terms(*given)
            found[place] += given[-1]
            return found

        return longer

    assert terms_of_theorem_2(terms=wrong).verdict == Verdict.REFUTED


def test_no_proof_asks_sympy_for_a_limit():
    """One second computation does, and has to agree with a first one."""
    folders = Path(client_drift.__file__).parent, proofs_folder()
    asking = [
        path.name
        for folder in folders
        for path in sorted(folder.glob("*.py"))
        if re.search(r"sympy\.limit|\.limit\(.*oo|Limit\(", path.read_text("utf-8"))
    ]
    assert asking == ["client_drift.py"]
    source = inspect.getsource(client_drift)
    again = inspect.getsource(client_drift.drift_ratio_again)
    assert source.count("sympy.limit") == again.count("sympy.limit") == 1
