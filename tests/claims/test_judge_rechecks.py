"""What holds at the listed instances counts only as far as its recheck agrees."""

from __future__ import annotations

from fractions import Fraction

import pytest

from flverify.claims import judge
from flverify.claims.judge import Case
from flverify.claims.registry import load_file, proofs_folder
from flverify.claims.verdict import Verdict

SUPPORTED, OPEN = Verdict.SUPPORTED, Verdict.INCONCLUSIVE
F = Fraction


def squares(again, *, relation="<=", **kept):
    cases = [Case({"n": n}, n, n * n, again(n), **kept) for n in (3, 2)]
    return judge.instances(cases, relation, "n = 2, 3")


@pytest.mark.parametrize(
    ("again", "verdict"),
    [
        (lambda n: lambda: (F(n), F(n * n)), SUPPORTED),
        (lambda _: None, SUPPORTED),  # nothing to compare with
        (lambda n: lambda: (F(n + 1), F(n * n)), OPEN),  # a left side that is too small
        (
            lambda n: lambda: (F(n), F(n * n - 1)),
            OPEN,
        ),  # a right side that is too large
        (lambda n: lambda: (F(n), F(n - 1)), OPEN),  # the relation itself fails there
        (lambda n: lambda: (float(n), float(n * n)), OPEN),
    ],
)
def test_a_search_is_supported_if_the_recheck_finds_the_same_sides(again, verdict):
    assert squares(again).verdict == verdict


def test_the_instance_that_comes_closest_is_computed_again():
    ran = []

    def again(n):
        return lambda: ran.append(n) or (F(n), F(n * n))

    assert squares(again).verdict == SUPPORTED
    assert ran == [2]


def test_two_sides_that_are_0_tell_less_than_others_farther_apart():
    cases = [
        Case({"n": n}, n, 2 * n, lambda n=n: (F(n), F(n * n + n))) for n in (0, 1, 2)
    ]
    assert judge.instances(cases[:2], "<=", "n = 0, 1").verdict == SUPPORTED
    assert judge.instances(cases[::2], "<=", "n = 0, 2").verdict == OPEN
    assert judge.instances(cases[:1], "<=", "n = 0").verdict == SUPPORTED


def test_a_recheck_may_be_of_another_quantity_or_beside_floats():
    other = squares(lambda n: lambda: (F(1), F(n)), another_quantity=True)
    assert other.verdict == SUPPORTED
    opposed = squares(lambda n: lambda: (F(n), F(1)), another_quantity=True)
    assert opposed.verdict == OPEN
    near = [Case({"n": 2}, 0.5, 1.0, lambda: (F(1, 2), F(1)))]
    assert judge.instances(near, "<=", "n = 2").verdict == SUPPORTED
    far = [Case({"n": 2}, 0.5, 1.0, lambda: (F(2, 3), F(1)))]
    assert judge.instances(far, "<=", "n = 2").verdict == OPEN


def test_no_proof_stands_beside_two_computations_that_disagree():
    proof = judge.identity([("it", 1 + 1, 2)], "the two numbers")
    wrong = squares(lambda n: lambda: (F(n + 1), F(n * n)))
    found = judge.proof_or_search(proof, wrong)
    assert found.verdict == OPEN
    assert found.reason.startswith("a proof and its search disagree: what holds at n =")
    right = squares(lambda n: lambda: (F(n), F(n * n)))
    assert judge.proof_or_search(proof, right).verdict == Verdict.PROVED


def test_a_bound_that_is_loosened_on_one_side_is_noticed(monkeypatch):
    """The chords of Assumption 1, with three times the mean of the ends."""
    file = load_file(proofs_folder() / "agnostic_assumptions.py")
    listed = [*file.chords(1)]
    assert judge.instances(listed, "<=", file.CHORDS).verdict == SUPPORTED
    monkeypatch.setattr(file, "Case", lambda at, a, b, again: Case(at, a, 3 * b, again))
    assert judge.instances(file.chords(1), "<=", file.CHORDS).verdict == OPEN
    assert file.convexity.check().verdict == OPEN


@pytest.mark.parametrize(
    ("left", "right", "told"),
    [
        (F(1, 3) + F(1, 10**30), F(1, 3), "1/3 + 1e-30 <= 1/3"),
        (1 + F(1, 10**40), F(1), "1 + 1e-40 <= 1"),
        (F(10**400 + 1, 3), F(10**400, 3), "3.33333e+399 + 1/3 <= 3.33333e+399"),
        (F(1, 3) + F(1, 10**3), F(1, 3), "1003/3000 <= 1/3"),  # six digits tell these
        (F(10**30, 3), F(10**30, 7), "3.33333e+29 <= 1.42857e+29"),
    ],
)
def test_a_reason_shows_which_of_two_near_sides_is_larger(left, right, told):
    case = Case({"r": 1}, left, right, lambda: (left, right))
    assert judge.instances([case], "<=", "r = 1").reason == f"{told} fails at r = 1"
