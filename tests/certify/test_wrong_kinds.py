"""Rows and rates that are something else are one sentence each."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify._core.errors import DomainError, InputError, RefusedError
from flverify.algorithms import FedAvg, Focus, WeightedFedAvg
from flverify.certify.neighbourhood import contraction
from flverify.certify.rates import certify
from flverify.certify.region import Row, region
from flverify.participation import Full

STEP, LAW = Focus("1/5"), Full(2)


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
    with pytest.raises(DomainError, match=r"rate must be|a number must be"):
        contraction(*setting, rate=rate)


def test_what_else_there_is_where_no_certificate_is_made():
    other = WeightedFedAvg("1/5", ["1/2"] * 2)
    with pytest.raises(RefusedError, match=r"got WeightedFedAvg; .*certify\.gram"):
        certify(other, LAW, strong_convexity="1/10", smoothness=1)
    assert certify(STEP, LAW, strong_convexity="1/10", smoothness=1)
