"""Rows and rates that are something else are one sentence each."""

from __future__ import annotations

from copy import copy
from fractions import Fraction

import pytest
import sympy

from flverify._core.errors import DomainError, InputError, RefusedError
from flverify.algorithms import FedAvg, Focus, ProxSkip, WeightedFedAvg
from flverify.certify.neighbourhood import contraction
from flverify.certify.rates import certify
from flverify.certify.region import Row, region
from flverify.participation import AllOrNothing, Bernoulli, Full, UniformCohort

STEP, LAW = Focus("1/5"), Full(2)
P = sympy.Symbol("p", positive=True)


def row(value=1, algorithm=STEP, law=LAW, mu="1/10", smooth=1):
    return Row(value, algorithm, law, mu, smooth)


def test_a_row_may_be_written_like_any_setting():
    written, exact = row(), row(Fraction(1), mu=Fraction(1, 10), smooth=Fraction(1))
    assert written == exact
    found = region("p", ["1/10"], [written]).found
    assert found == region("p", [Fraction(1, 10)], [exact]).found


@pytest.mark.parametrize(
    ("rows", "kind", "says"),
    [
        (lambda: 5, InputError, "rows must be a list of instances of Row; got 5"),
        (lambda: ["a"], InputError, "rows must be a list of instances of Row; got"),
        (lambda: [row("x")], DomainError, "got 'x'"),
        (lambda: [row(0.5)], DomainError, "values must be positive rationals"),
        (lambda: [row(algorithm="focus")], InputError, "instance of an algorithm; got"),
        (lambda: [row(algorithm=Focus)], InputError, "got the class Focus"),
        (lambda: [row(law="full")], InputError, "instance of a participation law; got"),
        (lambda: [row(law=None)], InputError, "instance of a participation law; got"),
        (lambda: [row(mu="x")], DomainError, "got 'x'"),
        (lambda: [row(mu=0.1)], DomainError, "must be given rational numbers"),
        (lambda: [row(mu=2)], DomainError, "strong_convexity must be below smoothness"),
    ],
)
def test_rows_of_another_kind(rows, kind, says, tmp_path):
    with pytest.raises(kind, match=says):
        region("p", ["1/10"], rows(), store=tmp_path / "rows")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rate", ["x", 2, 1, 0, -1, 0.5, None])
def test_rates_of_contractions(rate):
    setting = FedAvg("1/5"), LAW, "1/10", 1
    if rate is None:
        assert contraction(*setting, rate="97/100").status == "certified"
        return
    with pytest.raises(DomainError, match="rate must be"):
        contraction(*setting, rate=rate)


def test_what_else_there_is_where_no_certificate_is_made():
    other = WeightedFedAvg("1/5", ["1/2"] * 2)
    with pytest.raises(RefusedError, match=r"got WeightedFedAvg; .*certify\.gram"):
        certify(other, LAW, strong_convexity="1/10", smoothness=1)
    assert certify(STEP, LAW, strong_convexity="1/10", smoothness=1)


@pytest.mark.parametrize(
    ("algorithm", "law", "says"),
    [
        (Focus(P), LAW, "rational numbers; got p;"),
        (Focus(0.2), LAW, r"rational numbers; got 0\.2;"),
        (FedAvg("1/20", server_step_size=0.3), LAW, r"numbers; got 0\.3;"),
        (ProxSkip("1/20", probability=0.3), LAW, r"numbers; got 0\.3;"),
        (STEP, AllOrNothing(2, P), "rational probabilities; got p;"),
        (STEP, Bernoulli([0.5, 0.5]), r"rational probabilities; got 0\.5;"),
    ],
)
def test_a_number_that_is_not_rational_is_shown(algorithm, law, says):
    with pytest.raises((DomainError, RefusedError), match=says):
        certify(algorithm, law, strong_convexity="1/10", smoothness=1)


def own(kind, **methods):
    """Derive a class of the same name, in a file of the user's own."""
    return type(kind.__name__, (kind,), {"__module__": "mine", **methods})


def shortened(self, state, cohort, oracle):
    moved = FedAvg.round(self, state, cohort, oracle)
    return type(state)(state.model + Fraction(9, 10) * (moved.model - state.model))


def test_an_own_algorithm_of_a_shipped_name_is_another_one():
    rounds = own(FedAvg, round=shortened)
    asked = {"strong_convexity": "1/10", "smoothness": 1, "rate": "99/100"}
    # both would be true, but the certificate would be about the algorithm shipped
    assert certify(FedAvg("1/5"), LAW, **asked).status == "certified"
    for algorithm in (rounds("1/5"), own(Focus)("1/5")):
        with pytest.raises(RefusedError, match=r"got (FedAvg|Focus) of mine; .*gram"):
            certify(algorithm, LAW, **asked)


@pytest.mark.parametrize(
    "law",
    [Full(2), UniformCohort(2, 1), AllOrNothing(2, "1/2"), Bernoulli(["1/2"] * 2)],
    ids=lambda law: law.spec,
)
def test_a_law_derived_from_a_shipped_one_is_another_one(law):
    mine = copy(law)
    object.__setattr__(mine, "__class__", own(type(law)))  # what it draws may differ
    asked = {"strong_convexity": "1/10", "smoothness": 1}
    assert certify(STEP, law, **asked).status == "certified"
    with pytest.raises(RefusedError, match=r"must be for full, bernoulli, uniform"):
        certify(STEP, mine, **asked)
