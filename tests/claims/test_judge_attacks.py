"""Attacks on the judge: each once bought a verdict that nothing had shown."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import sympy

from flverify._core.errors import DomainError, InputError, RefusedError, ShapeError
from flverify.claims import judge, recheck
from flverify.claims.judge import Case
from flverify.claims.verdict import Finding, Verdict
from flverify.reference import fedavg

X, Y = sympy.symbols("x y")
P = sympy.Symbol("p", positive=True)
HALF = Fraction(1, 2)


def identity(left, right):
    return judge.identity([("it", left, right)], "all")


def one(left, right, relation, again=None, **kept):
    case = Case({"n": 1}, left, right, again, **kept)
    return judge.instances([case], relation, "one instance")


def nonnegative(expression):
    return judge.nonnegative([("it", expression)], "all").verdict


# numbers of numpy and sympy


@pytest.mark.parametrize("kind", [int, np.int64, sympy.Integer])
def test_integers_of_every_kind_are_exact(kind):
    violated = one(kind(2), kind(1), "<=", lambda: (Fraction(2), Fraction(1)))
    assert violated.verdict == Verdict.REFUTED
    assert one(kind(1), kind(2), "<=").verdict == Verdict.SUPPORTED
    assert one(kind(2), kind(2), "==").verdict == Verdict.SUPPORTED
    assert one(kind(2), kind(2), "<=").verdict == Verdict.SUPPORTED
    tie = one(kind(2), kind(2), "<", lambda: (kind(2), kind(2)))
    assert tie.verdict == Verdict.REFUTED


def test_a_counterexample_may_have_any_number_of_digits(limited):
    long = 1 + Fraction(1, 7**6000)
    found = one(long, 1, "<=", lambda: (long, Fraction(1)))
    assert found.verdict == Verdict.REFUTED
    sys.set_int_max_str_digits(0)
    assert Fraction(found.evidence["left"]) == long


def test_an_instance_may_have_no_name():
    found = judge.instances([Case({}, 2, 1, lambda: (2, 1))], "<=", "one instance")
    assert found.reason == "2 <= 1 fails at the instance without a name"


@pytest.mark.parametrize("kind", [float, np.float64, np.float32, sympy.Float])
def test_floats_of_every_kind_are_floats(kind):
    assert one(kind(1), kind(1), "==").verdict == Verdict.INCONCLUSIVE
    assert one(kind(1), kind(1), "<=").verdict == Verdict.INCONCLUSIVE
    assert one(kind(1), kind(2), "<=").verdict == Verdict.SUPPORTED
    assert one(kind(2), kind(1), "<=").verdict == Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    "side",
    [
        sympy.sqrt(2),
        sympy.pi,
        X,
        True,
        np.True_,
        sympy.true,
        "1",
        None,
        Decimal(1),
        float("nan"),
        float("inf"),
        1j,
        (HALF, Fraction(0)),
        (0, HALF, 1),
    ],
)
def test_a_side_is_a_rational_or_a_float(side):
    with pytest.raises((InputError, ValueError)):
        one(side, Fraction(4), "<=")
    with pytest.raises((InputError, ValueError)):
        judge.witness(Case({}, Fraction(1), side), "<=", "one")


def test_nearly_equal_floats_are_not_compared():
    assert one(1.0, 1 + 2e-9, "<=").verdict == Verdict.SUPPORTED
    assert one(1.0, 1 + 5e-10, "<=").verdict == Verdict.INCONCLUSIVE
    assert one(1e9, 1e9 + 0.5, "<=").verdict == Verdict.INCONCLUSIVE
    assert one(1e-9, 2e-9, "<=").verdict == Verdict.SUPPORTED


@pytest.mark.parametrize("small", [0.0, -0.0, 5e-324, 1e-310])
def test_floats_that_may_have_been_rounded_to_zero_are_not_compared(small):
    for tiny in (Fraction(1, 10**400), Fraction(-1, 10**330), 1e-309):
        for sides in ((small, tiny), (tiny, small)):
            for relation in ("<", ">="):
                found = one(*sides, relation, lambda: (0, 1))
                assert found.verdict == Verdict.INCONCLUSIVE
    far = (Fraction(-(10**400)), Fraction(-1, 10**400))
    assert one(small, far, ">").verdict == Verdict.INCONCLUSIVE
    assert one(small, 1e-307, "<").verdict == Verdict.SUPPORTED
    exact = one(Fraction(0), Fraction(1, 10**400), "<")
    assert exact.verdict == Verdict.SUPPORTED


def test_a_relation_has_to_be_known():
    with pytest.raises(InputError):
        one(1, 2, "!=")


# what may stand in an identity


@pytest.mark.parametrize(
    "left",
    [
        0.9,
        np.float32(0.9),
        np.float64(0.9),
        np.longdouble(0.9),
        Decimal("0.9"),
        0.9j,
        sympy.Float(1e-20),
        [np.float32(0.9)],
    ],
)
def test_floats_neither_prove_nor_refute_an_identity(left):
    zero = [0] if isinstance(left, list) else 0
    assert identity(left, zero).verdict == Verdict.INCONCLUSIVE
    assert identity(zero, left).verdict == Verdict.INCONCLUSIVE


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
def test_arrays_of_floats_show_nothing(dtype):
    assert identity(np.array([0.9], dtype), [0]).verdict == Verdict.INCONCLUSIVE


def test_floats_inside_expressions_show_nothing():
    nearly = sympy.Float(1) + sympy.Float(1e-20)
    assert identity(nearly * X, X).verdict == Verdict.INCONCLUSIVE
    assert nonnegative(P * nearly) == Verdict.INCONCLUSIVE


@pytest.mark.parametrize("value", ["3", True, np.True_, None, {}, sympy.true])
def test_what_is_no_number_is_refused(value):
    for bad in (value, [value]):
        with pytest.raises(InputError):
            identity(bad, [3] if isinstance(bad, list) else 3)
    with pytest.raises(InputError):
        nonnegative(value)


@pytest.mark.parametrize("empty", [[], (), np.array([]), sympy.Matrix(0, 2, [])])
def test_nothing_compared_is_nothing_proved(empty):
    assert identity(empty, empty).verdict == Verdict.INCONCLUSIVE
    pairs = [("one", 1, 1), ("empty", empty, empty)]
    assert judge.identity(pairs, "all").verdict == Verdict.INCONCLUSIVE


def test_no_statement_is_nothing_proved():
    assert judge.identity([], "all").verdict == Verdict.INCONCLUSIVE
    assert judge.nonnegative([], "all").verdict == Verdict.INCONCLUSIVE


def test_an_entry_is_numbered_where_there_are_several():
    alone = judge.identity([("it", sympy.Matrix([[1]]), sympy.Matrix([[2]]))], "a")
    assert alone.reason == "it: 1 is not 2"
    two = judge.identity([("it", [1, 1], [1, 2])], "a")
    assert two.reason == "it[1]: 1 is not 2"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([], 0),
        ([2, 7], [2]),
        ([1, 2], sympy.Matrix([[1, 2]])),
        ([[1], [2]], [[1, 2]]),
        (1, [1]),
        ([2, 5, 6], [[5, 6]]),
    ],
)
def test_shapes_are_no_entries(left, right):
    with pytest.raises(ShapeError):
        identity(left, right)


def test_infinite_and_undefined_values_agree_with_nothing():
    for value in (sympy.nan, sympy.oo, sympy.zoo):
        assert identity(value, value).verdict == Verdict.INCONCLUSIVE


# enclosures

UNIT = (Fraction(0), Fraction(1))


@pytest.mark.parametrize("relation", ["<=", "<", ">=", ">", "=="])
@pytest.mark.parametrize(
    "sides", [(UNIT, HALF), (HALF, UNIT), (UNIT, UNIT), (UNIT, (HALF, Fraction(2)))]
)
def test_overlapping_enclosures_are_not_compared(sides, relation):
    found = one(*sides, relation, lambda: sides)
    assert found.verdict == Verdict.INCONCLUSIVE
    case = Case({}, *sides, lambda: sides)
    assert judge.witness(case, relation, "one").verdict == Verdict.INCONCLUSIVE


@pytest.mark.parametrize("wide", [UNIT, (Fraction(1), Fraction(2))])
def test_an_end_in_common_is_no_equality(wide):
    point = (Fraction(1), Fraction(1))
    for sides in ((wide, point), (point, wide), (wide, 1), (1, wide)):
        assert one(*sides, "==", lambda s=sides: s).verdict == Verdict.INCONCLUSIVE


def test_an_enclosure_of_one_point_is_that_point():
    point = (HALF, HALF)
    assert one(point, HALF, "==").verdict == Verdict.SUPPORTED
    assert one(point, UNIT[1], "<").verdict == Verdict.SUPPORTED


def test_sides_apart_differ_whichever_is_larger():
    for two in (Fraction(2), Fraction(-2)):
        for sides in ((UNIT, two), (two, UNIT)):
            found = one(*sides, "==", lambda s=sides: s)
            assert found.verdict == Verdict.REFUTED


@pytest.mark.parametrize(
    ("left", "right", "margin"),
    [
        (1, 2, 0.5),
        (-2, -1, 0.5),
        (-4, 1, 1.25),  # 5 apart, and 4 is the larger
        (-1, 4, 1.25),
        (0, 0, 0),
        (UNIT, (Fraction(2), Fraction(4)), 0.25),
        ((Fraction(-4), Fraction(-2)), (Fraction(-1), Fraction(0)), 0.5),
        (Fraction(1, 10**400), 1.0, 1),  # which no float is as small as
        (1e300, Fraction(10**400), 1),
    ],
)
def test_a_margin_is_the_gap_relative_to_the_larger_side(left, right, margin):
    for found in (one(left, right, "<="), one(right, left, ">=")):
        assert float(found.evidence["smallest relative margin"]) == margin


def test_enclosures_far_wider_than_their_upper_ends_are_no_error():
    wide = (-Fraction(10**400), Fraction(1, 10**400))
    assert one(wide, wide, "<=").verdict == Verdict.INCONCLUSIVE
    assert one(wide, (0.0, 1.0), "<").verdict == Verdict.INCONCLUSIVE
    found = one(wide, (Fraction(1), Fraction(2)), "<")
    assert found.verdict == Verdict.SUPPORTED


def test_overlapping_enclosures_are_not_known_to_differ():
    def again():
        return (Fraction(0), Fraction(1)), HALF

    wide = (Fraction(0), Fraction(1))
    assert one(wide, HALF, "==", again).verdict == Verdict.INCONCLUSIVE
    assert one(wide, wide, "==", again).verdict == Verdict.INCONCLUSIVE
    apart = one(wide, Fraction(2), "==", lambda: (HALF, Fraction(2)))
    assert apart.verdict == Verdict.REFUTED


# counterexamples inside the assumptions


@pytest.mark.parametrize(
    ("assumed", "true"),
    [
        ({"integer": True}, lambda n: (sympy.sin(sympy.pi * n), 0)),
        ({"negative": True}, lambda x: (sympy.Abs(x) ** 3, -(x**3))),
        ({"integer": True}, lambda n: (sympy.floor(n / 2) + sympy.ceiling(n / 2), n)),
        ({"positive": True}, lambda x: (sympy.Max(x, 0), x)),
        ({"zero": True}, lambda x: (x**2, x)),
        ({"irrational": True}, lambda x: (sympy.floor(x) + 1, sympy.ceiling(x))),
        ({"odd": True}, lambda n: ((-1) ** n, -1)),
    ],
)
def test_true_within_the_assumptions_is_never_refuted(assumed, true):
    found = identity(*true(sympy.Symbol("s", **assumed)))
    assert found.verdict in {Verdict.PROVED, Verdict.INCONCLUSIVE}


@pytest.mark.parametrize(
    "assumed",
    [
        {"integer": True},
        {"integer": True, "negative": True},
        {"negative": True},
        {"even": True, "positive": True},
        {"nonpositive": True},
        {"prime": True},
        {"integer": False, "positive": True},
        {"integer": False, "negative": True},
        {"zero": True},
        {},
    ],
)
def test_counterexamples_satisfy_the_assumptions(assumed):
    symbol = sympy.Symbol("s", **assumed)
    found = identity(symbol**2, symbol + 100)
    assert found.verdict == Verdict.REFUTED
    point = sympy.Rational(found.evidence["point"]["s"])
    assert all(getattr(point, f"is_{key}") is kept for key, kept in assumed.items())


def test_without_a_point_to_draw_a_false_identity_stays_open():
    symbol = sympy.Symbol("s", irrational=True)
    assert identity(symbol, symbol + 1).verdict == Verdict.INCONCLUSIVE


def test_equal_numbers_of_two_forms_are_never_refuted():
    root = sympy.sqrt(5)
    one = sympy.cbrt(root + 2) - sympy.cbrt(root - 2)  # Cardano's way to write 1
    for left, right in ((one, 1), (one * sympy.pi, sympy.pi), (one * X, X)):
        assert identity(left, right).verdict != Verdict.REFUTED
        assert identity(right, left).verdict != Verdict.REFUTED


def test_the_point_of_difference_and_both_values_are_told():
    found = identity(2 * X, X + 1)
    point = sympy.Rational(found.evidence["point"]["x"])
    assert sympy.Rational(found.evidence["left"]) == 2 * point
    assert sympy.Rational(found.evidence["right"]) == point + 1
    assert found.reason.endswith(f"at x = {point}")
    assert identity(1, 2).reason.endswith("1 is not 2")


# signs


def test_floats_show_no_sign():
    found = judge.nonnegative([("it", 0.5)], "all")
    assert found.verdict == Verdict.INCONCLUSIVE
    assert "floats" in found.reason


def test_an_indefinite_denominator_proves_no_sign():
    q = sympy.Symbol("q", positive=True)
    assert nonnegative(1 / (P - q)) == Verdict.REFUTED
    assert nonnegative(1 / (P**2 - 3 * P + 1)) == Verdict.REFUTED
    assert nonnegative(P / (P**2 - P + 1)) == Verdict.INCONCLUSIVE


def test_a_pole_is_no_negative_value():
    assert nonnegative((P - 2) ** 2 / (P - 1) ** 2) == Verdict.INCONCLUSIVE


def test_signs_need_symbols_of_known_sign():
    for assumed in ({}, {"real": True}, {"negative": True}):
        symbol = sympy.Symbol("s", **assumed)
        assert nonnegative(symbol) == Verdict.INCONCLUSIVE
        assert nonnegative((symbol + 1) ** 2 - 1) == Verdict.INCONCLUSIVE
    assert nonnegative(sympy.Symbol("s", nonnegative=True)) == Verdict.PROVED


def test_negative_values_are_of_the_declared_kind():
    n = sympy.Symbol("n", integer=True, positive=True)
    assert nonnegative(n * (n - 1)) == Verdict.INCONCLUSIVE  # true for integers
    found = judge.nonnegative([("it", n - 2)], "all")
    assert found.verdict == Verdict.REFUTED
    assert found.evidence["point"] == {"n": "1"}


# rechecks


def test_a_recheck_has_to_arrive_at_the_same_sides():
    wrong = one(Fraction(3), Fraction(2), "<=", lambda: (Fraction(100), Fraction(99)))
    assert wrong.verdict == Verdict.INCONCLUSIVE
    assert "disagrees" in wrong.reason
    near = one(3.0, 2.0, "<=", lambda: (Fraction(30000001, 10**7), Fraction(2)))
    assert near.verdict == Verdict.REFUTED
    far = one(3.0, 2.0, "<=", lambda: (Fraction(31, 10), Fraction(2)))
    assert far.verdict == Verdict.INCONCLUSIVE


def test_a_recheck_agrees_with_floats_to_six_digits():
    for left, right in ((300.0, 2.0), (-2.0, -300.0)):

        def again(slack, left=left, right=right):
            return one(
                left,
                right,
                "<=",
                lambda: (Fraction(left) * (1 + slack), Fraction(right) * (1 + slack)),
            ).verdict

        for sign in (1, -1):
            assert again(sign * Fraction(1, 2 * 10**6)) == Verdict.REFUTED
            assert again(sign * Fraction(2, 10**6)) == Verdict.INCONCLUSIVE


def test_a_recheck_agrees_with_rationals_in_every_digit():
    near = Fraction(3) + Fraction(1, 10**9)
    for sides in ((near, Fraction(2)), (Fraction(3), Fraction(1))):
        found = one(Fraction(3), Fraction(2), "<=", lambda s=sides: s)
        assert found.verdict == Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    "wide", [(-300.0, -2.0), (Fraction(-300), -2.0), (-300.0, Fraction(-2))]
)
def test_an_enclosure_with_a_float_end_is_met_to_six_digits(wide):
    for low, verdict in (
        (-300 - Fraction(1, 10**4), Verdict.REFUTED),
        (-300 - Fraction(1, 10**3), Verdict.INCONCLUSIVE),
    ):
        assert one(wide, 5.0, ">=", lambda v=low: (v, 5)).verdict == verdict


def test_a_recheck_may_lie_in_the_enclosure():
    side = (Fraction(2), Fraction(3))
    inside = one(side, Fraction(1), "<=", lambda: (Fraction(5, 2), Fraction(1)))
    assert inside.verdict == Verdict.REFUTED
    outside = one(side, Fraction(1), "<=", lambda: (Fraction(4), Fraction(1)))
    assert outside.verdict == Verdict.INCONCLUSIVE


def test_a_recheck_of_another_quantity_says_so():
    def again():
        return Fraction(100), Fraction(99)

    sides = Fraction(3), Fraction(2)
    found = one(*sides, "<=", again, another_quantity=True)
    assert found.verdict == Verdict.REFUTED
    denied = one(*sides, "<=", lambda: (1, 2), another_quantity=True)
    assert denied.verdict == Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    "again",
    [(1.0, 2.0), (1, sympy.Float(2)), (2, 1), (Fraction(1), Fraction(3)), None],
)
def test_a_witness_needs_an_exact_recheck_that_agrees(again):
    second = None if again is None else lambda: again
    case = Case({}, Fraction(1), Fraction(2), second)
    assert judge.witness(case, "<=", "one").verdict == Verdict.INCONCLUSIVE


@pytest.mark.parametrize("sides", [(2, 1), (1.0, 2.0), ((0, 3), 2)])
def test_a_witness_is_itself_exact_and_true(sides):
    case = Case({}, *sides, lambda: (1, 2), another_quantity=True)
    assert judge.witness(case, "<=", "one").verdict == Verdict.INCONCLUSIVE


def test_a_confirmed_witness_proves():
    case = Case({}, Fraction(1), Fraction(2), lambda: (1, 2))
    assert judge.witness(case, "<=", "one").verdict == Verdict.PROVED
    assert judge.witness(case, ">", "one").verdict == Verdict.INCONCLUSIVE


# unconfirmed violations


def violated():
    listed = [Case({"n": 1}, 2.0, 1.0), Case({"n": 2}, 1.0, 1.0)]
    return judge.instances(listed, "<=", "two")


@pytest.mark.parametrize(
    "search",
    [
        violated,
        lambda: judge.all_of({"open": judge.inconclusive("?"), "two": violated()}),
        lambda: judge.readings({"fine": identity(1, 1), "two": violated()}),
    ],
)
def test_a_proof_beside_an_unconfirmed_violation_shows_nothing(search):
    found = judge.proof_or_search(identity(1, 1), search())
    assert found.verdict == Verdict.INCONCLUSIVE


def test_a_proof_beside_an_undecided_search_stands():
    undecided = judge.instances([Case({}, 1.0, 1.0)], "==", "one")
    found = judge.proof_or_search(identity(1, 1), undecided)
    assert found.verdict == Verdict.PROVED


# what is told of an instance


def test_evidence_is_text_that_json_keeps():
    where = {
        "p": HALF,
        "chances": {1: (HALF, 2)},
        "even": True,
        "other": None,
        "name": "q",
        "shares": np.array([HALF, HALF]),
    }
    kept = judge.instances([Case(where, 1, 2)], "<=", "one").evidence["at"]
    assert kept == {
        "p": "1/2",
        "chances": {"1": ["1/2", 2]},
        "even": True,
        "other": None,
        "name": "q",
        "shares": ["1/2", "1/2"],
    }
    assert json.loads(json.dumps(kept)) == kept


def test_long_rationals_are_shown_as_decimals_and_kept_in_full():
    long = 1 + Fraction(1, 3**60)
    where = {"p": long, "many": tuple(range(20))}
    case = Case(where, long, 1, lambda: (long, 1))
    found = judge.instances([case], "<=", "one")
    assert "1 + 2.35898e-29 <= 1 fails at p = 1, many = [0, 1, 2" in found.reason
    assert Fraction(found.evidence["left"]) == long
    assert Fraction(found.evidence["counterexample"]["p"]) == long


# counting


def test_without_instances_nothing_is_supported():
    found = judge.instances([], "<=", "none")
    assert found.verdict == Verdict.INCONCLUSIVE
    assert "no instance" in found.reason


def test_an_undecided_instance_is_named():
    listed = [Case({"n": 1}, 1, 2), Case({"n": 2}, 1.0, 1.0), Case({"n": 3}, 1, 2)]
    found = judge.instances(listed, "<=", "three")
    assert found.verdict == Verdict.INCONCLUSIVE
    assert "n = 2" in found.reason


def test_the_closest_instance_is_told():
    near, far, tie = Case({"n": 1}, 9, 10), Case({"n": 2}, 1, 2), Case({"n": 3}, 9, 10)
    for listed in ([near, far, tie], [far, near, far]):
        evidence = judge.instances(listed, "<=", "all").evidence
        assert evidence["at"] == {"n": 1}
        assert float(evidence["smallest relative margin"]) == 0.1


def test_an_instance_counts_once():
    case = Case({"p": HALF}, HALF, Fraction(1))
    found = judge.instances([case] * 50, "<=", "one")
    assert found.evidence["instances"] == 1
    assert found.reason.startswith("holds at the one instance; ")
    other = Case({"p": Fraction(1, 3)}, HALF, Fraction(1))
    found = judge.instances([case, other, case], "<=", "two")
    assert "all 2 instances" in found.reason


def test_one_instance_counts_once_however_it_is_written():
    written = (
        {"N": 2, "h": [[HALF]]},
        {"h": [[HALF]], "N": Fraction(2)},
        {"N": np.int64(2), "h": np.array([[0.5]])},
        {"N": "2", "h": (["1/2"],)},
    )
    listed = [Case(where, Fraction(1), Fraction(2)) for where in written]
    assert judge.instances(listed, "<=", "one").evidence["instances"] == 1
    others = ({"N": True}, {"N": 1}, {"N": 2}, {"N": [2]}, {"M": 2}, {"N": {"M": 2}})
    listed = [Case(where, Fraction(1), Fraction(2)) for where in others]
    assert judge.instances(listed, "<=", "six").evidence["instances"] == 6


def test_a_share_needs_trials():
    def verdict(seen, trials):
        return judge.share("trend", seen, trials, "data").verdict

    assert verdict(20, 20) == Verdict.SUPPORTED
    for seen, trials in ((19, 19), (1, 1), (0, 0), (20, 21)):
        assert verdict(seen, trials) == Verdict.INCONCLUSIVE
    for seen, trials in ((-1, -1), (21, 20), (-1, 20)):
        with pytest.raises(InputError):
            verdict(seen, trials)


def test_few_trials_are_told():
    assert "fewer trials" in judge.share("trend", 19, 19, "data").reason
    assert "fewer trials" not in judge.share("trend", 20, 20, "data").reason


# several findings

STRONGEST_FIRST = ["PROVED", "CERTIFIED", "SUPPORTED", "INCONCLUSIVE", "REFUTED"]
PASS = STRONGEST_FIRST[:3]


def given(verdict, scope="all"):
    return Finding(Verdict(verdict), scope, f"it is {verdict}")


@pytest.mark.parametrize("left", STRONGEST_FIRST)
@pytest.mark.parametrize("right", STRONGEST_FIRST)
def test_a_claim_of_several_is_as_weak_as_its_weakest(left, right):
    weakest = max(left, right, key=STRONGEST_FIRST.index)
    found = judge.all_of({"a": given(left, "of a"), "b": given(right, "of b")})
    assert found.verdict == weakest
    assert ("of a" in found.scope) or left != weakest
    assert ("of b" in found.scope) == (
        right == weakest and (left in PASS or left != right)
    )
    assert judge.UNCONFIRMED not in found.evidence


def test_the_scopes_of_steps_are_each_told_once():
    inner = judge.all_of({"a": given("PROVED", "of a"), "b": given("PROVED", "of b")})
    whole = judge.all_of({"both": inner, "again": given("PROVED", "of a")})
    assert whole.scope == "of a; of b"
    # a text with the same sign in it is one scope
    joined = given("PROVED", "of a; of b")
    assert judge.all_of({"joined": joined, "b": given("PROVED", "of b")}).scope == (
        "of a; of b; of b"
    )
    # one that begins another is said there, with the condition that it has more
    shorter = {"b": given("PROVED", "of b"), "joined": joined}
    assert judge.all_of({**shorter, "a": given("PROVED", "of a")}).scope == (
        "of b; of a; of b"
    )
    # readings that are made of the same parts say each part's scope once
    other = judge.all_of({"b": given("PROVED", "of b"), "c": given("PROVED", "of c")})
    assert judge.readings({"(i)": inner, "(ii)": other}).scope == "of a; of b; of c"
    # a list of values is no condition
    lists = {"few": given("PROVED", "N = 2"), "more": given("PROVED", "N = 2, 3")}
    assert judge.all_of(lists).scope == "N = 2; N = 2, 3"
    # a condition on quotients is one
    for words in (", wherever no denominator vanishes", ", wherever every term exists"):
        quotients = {"a": given("PROVED", "of a"), "b": given("PROVED", f"of a{words}")}
        assert judge.all_of(quotients).scope == f"of a{words}"


@pytest.mark.parametrize("weak", STRONGEST_FIRST)
def test_a_scope_is_said_of_proofs_alone(weak):
    parts = {"a": given("PROVED", "N = 1"), "b": given(weak, "listed")}
    found = judge.all_of(parts, scope="every N", argument="by induction")
    assert found.scope == ("every N" if weak == "PROVED" else "listed")
    assert found.verdict == weak
    assert found.parts == parts
    assert found.argument == ("by induction" if weak in PASS else "")


def test_a_scope_keeps_the_conditions_of_its_steps():
    x = sympy.Symbol("x", real=True)
    quotient = judge.identity([("one", (x**2 - 1) / (x - 1), x + 1)], "N = 1")
    inner = judge.all_of({"first": quotient, "more": given("PROVED", "a step")})
    for step in (quotient, inner, judge.readings({"one": inner})):
        whole = judge.all_of({"step": step}, scope="every N", argument="so")
        assert whole.scope == "every N, wherever no denominator vanishes"
    log = sympy.log(x)
    partial = judge.identity([("one", (log**2 - 1) / (log - 1), log + 1)], "N = 1")
    both = ", wherever no denominator vanishes, wherever every term exists"
    assert partial.scope == f"N = 1{both}"
    for found in (
        judge.all_of({"step": partial}, scope="every N", argument="so"),
        judge.induction(quotient, partial, "every N", "so"),
    ):
        assert found.scope == f"every N{both}"
    exact = judge.identity([("log", log + log, 2 * log)], "N = 1")
    whole = judge.all_of({"step": exact}, scope="every N", argument="so")
    assert whole.scope == "every N, wherever every term exists"
    L = sympy.Symbol("L", positive=True)
    y = sympy.Symbol("y", positive=True)
    asked = judge.implied([y <= 1 / (L - 1)], y <= 1 / (L - 1) + 1, "N = 1")
    assert asked.evidence["side conditions"] == ["L - 1 != 0"]
    parts = {"a": asked, "b": quotient, "c": asked}
    whole = judge.all_of(parts, scope="every N", argument="so")
    assert whole.scope == (
        "every N, wherever no denominator vanishes; where L - 1 != 0"
    )


@pytest.mark.parametrize("weak", ["CERTIFIED", "SUPPORTED"])
@pytest.mark.parametrize("more", [{}, {"scope": "every N", "argument": "so"}])
def test_a_weaker_part_hides_no_condition_of_a_stronger_one(weak, more):
    L, y = sympy.symbols("L y", positive=True)
    asked = judge.implied([y <= 1 / (L - 1)], y <= 1 / (L - 1) + 1, "every y")
    quotient = judge.identity([("one", (L**2 - 1) / (L - 1), L + 1)], "every L")
    plain = given("PROVED", "N = 1").granted(["(1)"])
    other = given(weak, "listed")
    for part, scope in (
        (asked, "listed; where L - 1 != 0"),
        (quotient, "listed, wherever no denominator vanishes"),
        (plain, "given (1); listed"),
        (judge.all_of({"in": asked}), "listed; where L - 1 != 0"),
    ):
        found = judge.all_of({"a": part, "b": other}, **more)
        assert (found.verdict, found.scope) == (weak, scope)
        again = judge.all_of({"whole": found, "a": part})
        assert again.scope == scope  # and says nothing twice
        # a scope that another one begins with is told in that one
        told = scope.startswith(("listed; ", "listed, "))
        longer = scope if told else f"{scope}; listed"
        assert judge.all_of({"whole": found, "more": other}).scope == longer


def test_a_scope_keeps_what_was_taken_as_given():
    step = given("PROVED", "N = 1").granted(["(1)", "(2)"])
    parts = {"a": judge.readings({"one": step}), "b": step.granted(["(3)"])}
    whole = judge.all_of(parts, scope="every N", argument="by induction")
    assert whole.scope == "given (1), (2), (3); every N"


@pytest.mark.parametrize("first", STRONGEST_FIRST)
@pytest.mark.parametrize("step", STRONGEST_FIRST)
def test_a_step_that_fails_refutes_an_induction_alone(first, step):
    parts = given(first, "r = 0"), given(step, "a step")
    found = judge.induction(*parts, "every r", "so")
    whole = judge.all_of(dict(zip(("first", "step"), parts, strict=True)))
    expected = whole.verdict
    if step == "REFUTED" and first != "REFUTED":
        expected = "INCONCLUSIVE"
        assert "refutes the induction, and not what was to be shown" in found.reason
    assert found.verdict == expected
    assert found.parts == dict(zip(("first", "step"), parts, strict=True))
    assert (found.scope == "every r") == (found.verdict == "PROVED")
    assert judge.UNCONFIRMED not in found.evidence


def test_a_search_beside_an_induction_decides_where_it_fails():
    weak = judge.induction(given("PROVED"), given("REFUTED"), "every r", "so")
    assert judge.proof_or_search(weak, given("SUPPORTED")).verdict == "INCONCLUSIVE"
    assert judge.proof_or_search(weak, given("REFUTED")).verdict == "REFUTED"


@pytest.mark.parametrize(
    ("scope", "argument"), [("", "so"), ("every r", ""), (1, "so")]
)
def test_an_induction_says_what_it_adds_up_to(scope, argument):
    with pytest.raises(InputError, match="must"):
        judge.induction(given("PROVED"), given("PROVED"), scope, argument)


def test_no_scope_beyond_the_parts_without_an_argument():
    with pytest.raises(InputError, match="must have an argument"):
        judge.all_of({"a": given("PROVED", "N = 1")}, scope="every N")


def test_no_part_is_lost_to_another_of_its_name():
    with pytest.raises(InputError, match="names of their own"):
        judge.all_of({1: given("REFUTED"), "1": given("PROVED")})


def test_a_proof_that_fails_is_no_violation_of_the_claim():
    found = judge.proof_or_search(given("REFUTED"), given("SUPPORTED"))
    assert found.verdict == "INCONCLUSIVE"
    assert judge.UNCONFIRMED not in found.evidence
    assert "shows no violation" in found.reason
    assert found.parts.keys() == {"the proof", "the search"}


def test_many_levels_are_no_harder_than_few():
    found = given("PROVED", "every N")
    for _ in range(60):
        found = judge.all_of({"one": found, "two": given("PROVED", "p < 1")})
    assert found.scope == "every N; p < 1"


def unconfirmed():
    return judge.instances([judge.Case({"n": 1}, 2.0, 1.0)], "<=", "one")


def refuted():
    return judge.instances([Case({"n": 1}, 2, 1, lambda: (2, 1))], "<=", "one")


@pytest.mark.parametrize("search", [unconfirmed, refuted])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda found: found,
        lambda found: judge.readings({"a": found, "b": given("SUPPORTED")}),
        lambda found: judge.all_of({"a": found, "b": given("SUPPORTED")}),
        lambda found: judge.proof_or_search(given("PROVED"), found),
        lambda found: judge.proof_or_search(judge.inconclusive("no"), found),
    ],
    ids=["itself", "reading", "part", "beside a proof", "beside an open proof"],
)
def test_no_proof_stands_on_a_search_that_found_something(search, wrap):
    assert search().verdict in ("INCONCLUSIVE", "REFUTED")
    found = wrap(search())
    for outer in (
        found,
        judge.readings({"x": found}),
        judge.all_of({"x": found, "y": given("PROVED")}),
        judge.proof_or_search(judge.inconclusive("open"), found),
    ):
        assert not judge.proof_or_search(given("PROVED"), outer).passes()


@pytest.mark.parametrize("left", STRONGEST_FIRST)
@pytest.mark.parametrize("right", STRONGEST_FIRST)
def test_readings_pass_together_or_fail_together(left, right):
    found = judge.readings({"a": given(left, "of a"), "b": given(right, "of b")})
    if left in PASS and right in PASS:
        assert found.verdict == max(left, right, key=STRONGEST_FIRST.index)
        assert found.scope == "of a; of b"
    elif left == right == "REFUTED":
        assert found.verdict == "REFUTED"
        assert found.scope == "of a"
    else:
        assert found.verdict == "INCONCLUSIVE"
        why = "a: it is INCONCLUSIVE; b: it is INCONCLUSIVE"
        alike = left == right == "INCONCLUSIVE"
        assert (why if alike else f"a: {left}, b: {right}") in found.reason
    assert [one.verdict for one in found.readings.values()] == [left, right]


@pytest.mark.parametrize("combine", [judge.all_of, judge.readings])
def test_nothing_cannot_be_combined(combine):
    with pytest.raises(InputError):
        combine({})


# denominators


def test_quotients_are_meant_where_they_exist():
    spared = "wherever no denominator vanishes"
    quotient = identity((X**2 - Y) / (X - Y), (Y - X**2) / (Y - X))
    assert quotient.verdict == Verdict.PROVED
    assert spared in quotient.scope
    never_zero = identity(1 / (1 + P) + P / (1 + P), 1)
    assert never_zero.verdict == Verdict.PROVED
    assert spared not in never_zero.scope
    assert identity(X + X, 2 * X).scope == identity(X * X, X**2).scope == "all"
    for pair in (((X**2 - X) / X, X - 1), (X - 1, (X**2 - X) / X)):
        assert spared in identity(*pair).scope
        pairs = [("divided", *pair), ("not", X, X)]
        assert spared in judge.identity(pairs, "all").scope
    q = sympy.Symbol("q", positive=True)
    divided, plain = ("it", (P**2 - q**2) / (P - q)), ("plain", P**2)
    for parts in ([divided], [divided, plain], [plain, divided]):
        sign = judge.nonnegative(parts, "all")
        assert sign.verdict == Verdict.PROVED
        assert spared in sign.scope
    assert judge.nonnegative([plain], "all").scope == "all"


# laws of rechecks


@pytest.mark.parametrize(
    "chances",
    [
        [HALF],
        [HALF, Fraction(1, 3)],
        [Fraction(3, 2), Fraction(-1, 2)],
        [0.5, 0.5],
        [],
    ],
)
def test_probabilities_of_a_recheck_sum_to_one(chances):
    cohorts = (frozenset({0}), frozenset())
    law = dict(zip(cohorts, chances, strict=False))
    gradient = recheck.quadratic_gradient([[[1]]], [[0]])
    with pytest.raises(DomainError):
        recheck.expected_square_errors(
            fedavg.run, gradient, 1, law, 1, [HALF], [HALF], step_size=HALF
        )


def distances(law, rounds):
    """Of one client with gradient x - 2 from 1: a round it joins halves the rest."""
    gradient = recheck.quadratic_gradient([[[1]]], [[2]])
    start, optimum = [Fraction(1)], [Fraction(2)]
    return recheck.expected_square_errors(
        fedavg.run, gradient, 1, law, rounds, start, optimum, step_size=HALF
    )


def test_square_errors_of_a_recheck_by_hand():
    half = {frozenset({0}): HALF, frozenset(): HALF}
    assert distances(half, 2) == [1, Fraction(5, 8), Fraction(25, 64)]
    mostly = {frozenset({0}): Fraction(2, 3), frozenset(): Fraction(1, 3)}
    assert distances(mostly, 2) == [1, HALF, Fraction(1, 4)]


def test_impossible_cohorts_are_not_listed():
    sure = {frozenset({0}): Fraction(1), frozenset(): Fraction(0)}
    assert distances(sure, 20)[-1] == Fraction(1, 4**20)
    with pytest.raises(RefusedError):
        distances({frozenset({0}): HALF, frozenset(): HALF}, 20)
