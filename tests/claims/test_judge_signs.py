"""Signs, proofs beside searches, and the points that refute an identity."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

from flverify.claims import judge
from flverify.claims.judge import Case
from flverify.claims.verdict import Verdict

X, Y = sympy.symbols("x y", positive=True)
EXACT = {"x": Fraction(1, 2)}


def verdict(*expressions):
    return judge.nonnegative([("part", e) for e in expressions], "test").verdict


@pytest.mark.parametrize(
    "expression",
    [
        X**2 + 3 * Y,
        (X**2 - Y**2) / (X - Y),
        (-X - 1) / (-Y - 2),
        1 - 1 / (1 + X),
        Fraction(1, 3),
        0,
        sympy.Integer(0) / (1 + X),
    ],
)
def test_signs_that_show_are_proved(expression):
    assert verdict(expression) == Verdict.PROVED


@pytest.mark.parametrize(
    "expression",
    [
        X - 1,
        1 - X,
        Fraction(-1, 9),
        (X - Y) / (1 + X),
        -1 / (1 + X),
        (X + 1) / (-Y - 2),
        (-X - 1) / (Y + 2),
    ],
)
def test_a_negative_value_refutes(expression):
    assert verdict(expression) == Verdict.REFUTED
    assert verdict(X, expression, Y) == Verdict.REFUTED


def test_a_sign_that_does_not_show_is_left_open():
    assert verdict((X - Y) ** 2) == Verdict.INCONCLUSIVE
    assert verdict(sympy.sqrt(X)) == Verdict.INCONCLUSIVE
    assert verdict(sympy.Float(0.5) * X) == Verdict.INCONCLUSIVE
    assert verdict() == Verdict.INCONCLUSIVE


def test_a_rare_negative_value_is_never_proved():
    narrow = (X - Fraction(3, 2)) ** 2 - Fraction(1, 10**6)
    assert verdict(narrow) != Verdict.PROVED


def test_a_scope_tells_of_denominators_only_where_they_may_vanish():
    found = judge.nonnegative([("sum", X + Y)], "every x and y")
    assert found.scope == "every x and y"
    z = sympy.Symbol("z", nonnegative=True)
    found = judge.nonnegative([("quotient", X / z)], "every x and z")
    assert "denominator" in found.scope


def test_a_negative_value_is_told_with_its_bound():
    found = judge.nonnegative([("less", X - 9)], "every x")
    assert Fraction(found.evidence["left"]) < 0
    assert found.evidence["right"] == "0"


def proof(right):
    return judge.identity([("x", X, right)], "every x")


def search(right):
    case = Case(EXACT, Fraction(1, 2), right, lambda: (Fraction(1, 2), right))
    return judge.instances([case], "==", "one instance")


def test_a_proof_that_no_search_contradicts_stands():
    found = judge.proof_or_search(proof(X), search(Fraction(1, 2)))
    assert found.verdict == Verdict.PROVED


def test_a_counterexample_refutes_where_the_proof_fails():
    found = judge.proof_or_search(proof(2 * X), search(Fraction(1)))
    assert found.verdict == Verdict.REFUTED
    assert "1/2 == 1 fails" in found.reason


def test_a_failed_proof_alone_refutes_nothing():
    failed = proof(2 * X)
    assert failed.verdict == Verdict.REFUTED
    found = judge.proof_or_search(failed, search(Fraction(1, 2)))
    assert found.verdict == Verdict.INCONCLUSIVE


def test_a_proof_against_a_counterexample_shows_nothing():
    found = judge.proof_or_search(proof(X), search(Fraction(1)))
    assert found.verdict == Verdict.INCONCLUSIVE


def test_a_false_identity_is_refuted_though_a_symbol_cancels_in_the_difference():
    found = judge.identity([("sum", X + Y, X + 2 * Y)], "every x and y")
    assert found.verdict == Verdict.REFUTED
    assert set(found.evidence["point"]) == {"x", "y"}


def test_of_several_parts_the_one_that_fails_is_named():
    found = judge.all_of({"first": proof(X), "second": proof(2 * X)})
    assert found.verdict == Verdict.REFUTED
    assert found.evidence["part"] == "second"
    assert found.reason.startswith("second: ")
    assert found.evidence["point"] == proof(2 * X).evidence["point"]


def test_readings_are_open_only_if_each_is():
    open_ = judge.inconclusive("too hard")
    every = judge.readings({"(i)": open_, "(ii)": open_})
    assert every.reason == "open under every reading: (i): too hard; (ii): too hard"
    some = judge.readings({"(i)": open_, "(ii)": proof(X)})
    assert some.reason.startswith("depends on the reading: ")
    assert every.verdict == some.verdict == Verdict.INCONCLUSIVE
