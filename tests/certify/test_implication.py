"""The implication prover: a campaign, edges, planted faults, independent evidence."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from fractions import Fraction
from functools import cache
from itertools import product
from math import isqrt
from pathlib import Path

import pytest
from sympy import (
    Abs,
    Add,
    And,
    Eq,
    Ge,
    Gt,
    Le,
    Lt,
    Max,
    Min,
    Mul,
    Ne,
    Not,
    Or,
    Pow,
    Rational,
    Symbol,
    cbrt,
    exp,
    false,
    log,
    pi,
    sqrt,
    symbols,
    true,
)

from flverify._core.errors import InputError
from flverify.certify import _second_opinion, coefficients
from flverify.certify._scalar.counterexamples import Model
from flverify.certify._scalar.evaluation import (
    UndefinedError,
    floor_root,
    holds,
    value,
)
from flverify.certify._scalar.relations import read
from flverify.certify.implication import Answer, Solver, implies
from tests.certify.implications import FALSE, TRUE

F = Fraction
x, y = symbols("x y", real=True)
eta, L, p = symbols("eta L p", positive=True)
wide = Symbol("wide", extended_real=True)
weak = Symbol("w", nonnegative=True)
n = Symbol("n", integer=True)
tau = Symbol("tau", integer=True, positive=True)
MOTZKIN = x**4 * y**2 + x**2 * y**4 + 1 >= 3 * x**2 * y**2


@cache
def judged(name):
    item = next(item for item in (*TRUE, *FALSE) if item.name == name)
    return implies(item.hypotheses, item.conclusion)


def names(items):
    return pytest.mark.parametrize("item", items, ids=lambda item: item.name)


# the campaign


def test_the_campaign_is_large_enough():
    assert len(TRUE) >= 40
    assert len(FALSE) >= 40
    assert len({item.name for item in (*TRUE, *FALSE)}) == len(TRUE) + len(FALSE)


@pytest.mark.one_in(4)
@names(TRUE)
def test_true_implications_are_proved(item):
    assert judged(item.name).answer is Answer.PROVED
    assert judged(item.name).counterexample is None


@names(FALSE)
def test_false_implications_are_refuted(item):
    # the point in the data shows that it is false, whatever a solver says
    assert all(holds(h, item.point) for h in item.hypotheses)
    assert holds(item.conclusion, item.point) is False
    found = judged(item.name)
    assert found.answer is Answer.REFUTED
    assert plainly(found.counterexample, item.hypotheses)
    assert not plainly(found.counterexample, [item.conclusion])


def plainly(point, relations):
    """Second evaluation: sympy puts the numbers in, nothing of ours."""
    found = set().union(*(relation.free_symbols for relation in relations))
    put = {s: Rational(*point[s.name].as_integer_ratio()) for s in found}
    return all(bool(relation.subs(put)) for relation in relations)


@names(TRUE)
def test_true_implications_withstand_a_search(item):
    draws, inside = random.Random(item.name), 0
    found = set().union(*(r.free_symbols for r in (*item.hypotheses, item.conclusion)))
    for _ in range(50):
        point = {s.name: drawn(s, draws) for s in sorted(found, key=str)}
        for relation in item.hypotheses:
            obey(point, relation)
        if all(holds(relation, point) for relation in item.hypotheses):
            assert holds(item.conclusion, point) is not False
            inside += 1
    assert inside >= 4


def drawn(symbol, draws):
    if symbol.is_integer:
        return F(draws.choice([1, 2, 2, 3, 3, 5, 8, 50]))
    size = F(draws.randint(1, 12), draws.choice([1, 2, 3, 8, 12, 12]))
    return size if symbol.is_nonnegative else draws.choice([size, -size, F(0)])


def obey(point, relation):
    """Move a symbol to its cap, where an implication is tight, or to its value."""
    left, right = relation.args
    if left.is_Symbol and isinstance(relation, Le | Lt | Eq) and not right.is_Symbol:
        try:
            cap = value(right, point).low
        except UndefinedError:
            return
        if isinstance(relation, Eq) or not holds(relation, point):
            point[left.name] = cap * (F(9, 10) if isinstance(relation, Lt) else 1)


# strict and weak edges, empty hypotheses


def answer(hypotheses, conclusion, **options):
    return implies(hypotheses, conclusion, **options).answer


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("hypotheses", "conclusion", "expected"),
    [
        ([x >= 1, x <= 1], x >= 1, Answer.PROVED),
        ([x >= 1, x <= 1], x > 1, Answer.REFUTED),
        ([], x**2 > 0, Answer.REFUTED),
        ([Ne(x, 0)], x**2 > 0, Answer.PROVED),
        ([], sqrt(p + 1) < sqrt(p) + 1, Answer.PROVED),
        ([], sqrt(weak + 1) < sqrt(weak) + 1, Answer.REFUTED),
        ([eta < 1 / L], eta * L <= 1, Answer.PROVED),
        ([eta <= 1 / L], eta * L < 1, Answer.REFUTED),
        ([Or(x >= 1, x <= -1)], x**2 >= 1, Answer.PROVED),
        ([x**2 >= 1], Or(x >= 1, x <= -1), Answer.PROVED),
        ([x**2 >= 1], x >= 1, Answer.REFUTED),
        ([Not(And(x < 1, x > -1))], x**2 >= 1, Answer.PROVED),
        ([Max(x, y) <= 1], x + y <= 2, Answer.PROVED),
        ([Max(x, y) >= 1], And(x >= 1, y >= 1), Answer.REFUTED),
        ([Min(x, y) >= 1], x * y >= 1, Answer.PROVED),
        ([x + Max(x, y) <= 1], x <= Rational(1, 2), Answer.PROVED),
        ([x <= 1, y <= 1], x + Max(x, y) <= 2, Answer.PROVED),
        ([x <= 1], x + Max(x, y) <= 2, Answer.REFUTED),
        ([], x + Min(x, y) <= 2 * x, Answer.PROVED),
        ([x >= 1, y >= 1], x + Min(x, y) >= 2, Answer.PROVED),
        ([x >= 1], x + Min(x, y) >= 2, Answer.REFUTED),
        ([x >= 1], cbrt(x) <= sqrt(x), Answer.PROVED),
        ([x >= 1], cbrt(x) >= sqrt(x), Answer.REFUTED),
        ([Abs(x) <= 1], x**2 <= 1, Answer.PROVED),
        ([], cbrt(p + 1) <= cbrt(p) + 1, Answer.PROVED),
        ([], MOTZKIN, Answer.PROVED),
    ],
)
def test_edges(hypotheses, conclusion, expected):
    assert answer(hypotheses, conclusion) is expected


@pytest.mark.parametrize(
    "hypothesis",
    [
        Ne(x, 0),
        Eq(x, -1),
        x >= -1,
        -x >= 0,
        2 - x >= 0,
        x + y >= 0,
        x - y >= 1,
        x * y >= 0,
        x * y > 0,
        x**2 >= 1,
        1 / x >= -1,
        Or(x >= 0, y >= 0),
        Not(And(x < 0, y < 0)),
    ],
    ids=str,
)
def test_what_states_no_sign_is_not_read_as_one(hypothesis):
    assert answer([hypothesis], x >= 0) is Answer.REFUTED
    assert coefficients.certify([hypothesis], x >= 0) is None


def test_a_sign_is_as_strict_as_it_is_stated():
    assert answer([2 * x >= 0], x > 0) is Answer.REFUTED
    assert coefficients.certify([2 * x >= 0], x > 0) is None
    for strict in (3 * x > 0, x >= Rational(1, 9), 2 * x - 3 >= 0):
        assert answer([strict], x > 0) is Answer.PROVED
        assert coefficients.certify([strict], x > 0) is not None


def test_hypotheses_that_cannot_hold_together_prove_nothing():
    for hypotheses in ([x > 1, x < 1], [x > 0, -(x**2) > 0], [x <= -1, sqrt(x) >= 0]):
        found = implies(hypotheses, x > 5)
        assert found.answer is Answer.INCONCLUSIVE
        assert found.reason.startswith("the hypotheses cannot hold together")


def test_hypotheses_that_hold_at_no_integer_prove_nothing():
    between = [n > 1, n < 2]
    assert answer(between, n > 1) is Answer.INCONCLUSIVE
    assert "not shown that the hypotheses" in implies(between, n > 1).reason
    real = Symbol("n", real=True)
    assert answer([real > 1, real < 2], real > 1) is Answer.PROVED


@pytest.mark.parametrize(
    ("assumed", "hypotheses", "conclusion"),
    [
        ({"odd": True}, lambda k: [k >= 2, k <= 2], lambda k: k**2 <= 4),
        ({"even": True}, lambda k: [k >= 1, k <= 1], lambda k: k**2 <= 4),
        ({"noninteger": True}, lambda k: [k >= 1, k <= 1], lambda k: k**2 <= 4),
        ({"integer": False}, lambda k: [k >= 1, k <= 1], lambda k: k**2 <= 4),
        ({"prime": False}, lambda k: [k >= 2, k <= 2], lambda k: k**2 <= 4),
        ({"rational": True}, lambda k: [Eq(k**2, 2)], lambda k: k**2 >= 1),
        ({"odd": True}, lambda k: [k >= 1, k <= 2], lambda k: 1 / (k - 1) >= 0),
    ],
)
def test_hypotheses_at_no_admissible_point_prove_nothing(
    assumed, hypotheses, conclusion
):
    symbol = Symbol("k", **assumed)
    found = implies(hypotheses(symbol), conclusion(symbol))
    assert found.answer is Answer.INCONCLUSIVE


def test_a_plain_symbol_beside_an_odd_one_makes_no_proof():
    odd = Symbol("k", odd=True)
    between = [odd >= 2, odd <= 2, x >= odd]
    assert answer(between, x >= 2) is Answer.INCONCLUSIVE
    assert answer([odd >= 3, odd <= 4, x >= odd], x >= 3) is Answer.PROVED


@pytest.mark.parametrize("word", ["odd", "even", "noninteger", "rational", "algebraic"])
def test_with_an_admissible_point_there_is_a_proof(word):
    symbol = Symbol("k", **{word: True})
    assert answer([symbol >= 2, symbol <= 3], symbol**2 >= 4) is Answer.PROVED


# what sympy settles as it is written


def test_what_sympy_settled_is_not_proved():
    assert Ne(p, 0) == true
    found = implies([], Ne(p, 0))
    assert found.answer is Answer.INCONCLUSIVE
    assert "sympy settled the conclusion" in found.reason
    assert answer([], Ne(p, 0, evaluate=False)) is Answer.PROVED
    assert answer([x >= 1], true) is Answer.INCONCLUSIVE


def test_what_sympy_settled_is_not_refuted():
    assert Eq(p, 0) == false
    assert answer([x >= 1], Eq(p, 0)) is Answer.INCONCLUSIVE
    assert answer([x >= 1], Eq(p, 0, evaluate=False)) is Answer.REFUTED


def test_nothing_is_refuted_beside_a_hypothesis_that_sympy_settled():
    found = implies([Ne(p, 0)], x**2 >= 1)  # who knows what was meant
    assert found.answer is Answer.INCONCLUSIVE
    assert "a hypothesis" in found.reason
    assert answer([true, x >= 1], x >= 0) is Answer.PROVED


def test_no_part_that_sympy_settled_shows_a_conclusion():
    whole = Not(Eq(p, 0), evaluate=False)  # Not(False)
    for conclusion in (whole, And(whole, x > 5), Or(whole, x < 5)):
        found = implies([x > 6], conclusion)
        assert found.answer is Answer.INCONCLUSIVE
        assert "sympy settled a part of the conclusion" in found.reason


@pytest.mark.parametrize("settled", [Eq(p, 0), Ne(p, 0)])
def test_no_part_that_sympy_settled_helps_a_hypothesis(settled):
    found = implies([Or(Not(settled, evaluate=False), x > 1)], x > 1)
    assert found.answer is Answer.INCONCLUSIVE
    assert "sympy settled a part of a hypothesis" in found.reason


even = Symbol("e", even=True)


def test_a_third_of_what_is_even_may_be_zero():
    assert answer([], Ne(even / 3, 0)) is not Answer.PROVED
    assert answer([Eq(even, 0)], Eq(even / 3, 0)) is Answer.PROVED


def test_a_comparison_that_is_written_out_is_judged():
    assert answer([], Le(x, x, evaluate=False)) is Answer.PROVED
    assert answer([], Lt(x, x, evaluate=False)) is Answer.REFUTED
    assert answer([], Le(2, 1, evaluate=False)) is Answer.REFUTED
    assert answer([Ge(p, 0, evaluate=False)], x >= p) is Answer.REFUTED


# denominators and roots


def test_a_vanishing_denominator_is_a_side_condition():
    found = implies([eta <= 1 / (L * (tau - 1))], eta * L * (tau - 1) <= 1)
    assert found.answer is Answer.PROVED
    assert found.side_conditions == ("tau - 1 != 0",)
    assert "tau - 1 != 0" in found.reason
    settled = implies([tau >= 2, eta <= 1 / (L * (tau - 1))], eta * L * (tau - 1) <= 1)
    assert settled.answer is Answer.PROVED
    assert settled.side_conditions == ()


def test_no_hypothesis_shows_that_it_is_itself_defined():
    # 1/x >= 1 keeps x from 0 only where it means something
    assert implies([1 / x >= 1], x <= 1).side_conditions == ("x != 0",)
    assert implies([1 / x >= 1, x >= F(1, 9)], x <= 1).side_conditions == ()
    assert implies([1 / x <= -1], x <= 0).side_conditions == ("x != 0",)
    assert implies([Max(1 / x, y) <= -1], x <= 0).side_conditions == ("x != 0",)


def test_what_is_not_negative_may_be_zero_below_a_fraction():
    found = implies([], 1 / weak >= 0)
    assert found.answer is Answer.PROVED
    assert found.side_conditions == ("w != 0",)
    assert implies([], 1 / (weak + eta) >= 0).side_conditions == ()


def test_a_root_of_a_fraction_needs_the_sign_of_both_of_its_ends():
    assert implies([], sqrt(1 / x) >= 0).side_conditions == ("x != 0", "1/x >= 0")
    assert implies([], sqrt(1 / eta) >= 0).side_conditions == ()


def test_a_denominator_of_unknown_sign_is_not_multiplied_away():
    assert answer([x >= 1 / y], x * y >= 1) is Answer.REFUTED
    assert answer([x >= 1 / y, y > 0], x * y >= 1) is Answer.PROVED
    assert answer([x >= 1 / y, y < 0], x * y <= 1) is Answer.PROVED


def test_denominators_that_cancel_are_still_conditions():
    assert implies([], (x**2 - 1) / (x - 1) >= x + 1).side_conditions == ("x - 1 != 0",)
    assert implies([Eq(y, 0), x >= 1 / y], x > 5).answer is Answer.INCONCLUSIVE


def test_a_root_needs_an_argument_that_is_not_negative():
    found = implies([], sqrt(x**2 - 1) <= Abs(x))
    assert found.answer is Answer.PROVED
    assert found.side_conditions == ("x**2 - 1 >= 0",)
    assert implies([x >= 1], sqrt(x**2 - 1) <= x).side_conditions == ()


def test_a_root_of_zero_is_zero():
    nothing = Pow(0, Rational(1, 2), evaluate=False)
    assert answer([], Le(nothing, x**2, evaluate=False)) is Answer.PROVED
    assert answer([], Lt(nothing, x**2)) is Answer.REFUTED


def test_a_conclusion_that_is_defined_nowhere_is_called_that():
    found = implies([], Ge(sqrt(-1 - x**2), 0, evaluate=False))
    assert found.answer is Answer.INCONCLUSIVE
    assert found.reason == "the conclusion is defined nowhere"
    zero = Pow(Add(x, -x, evaluate=False), -1, evaluate=False)
    found = implies([], Le(zero, 0, evaluate=False))
    assert found.answer is Answer.INCONCLUSIVE
    assert "a denominator must not be zero throughout" in found.reason


def test_assumptions_of_symbols_are_said():
    found = implies([], Gt(eta * tau, 0, evaluate=False))
    assert found.answer is Answer.PROVED
    found = implies([eta <= 1], eta / tau <= 1)
    assert found.assumed == ("eta > 0", "tau >= 1")


@pytest.mark.parametrize(
    ("assumed", "compare", "right", "wrong"),
    [
        ({"negative": True}, Le, x < 0, x <= -1),
        ({"negative": True, "integer": True}, Le, x <= -1, x <= -2),
        ({"nonpositive": True}, Le, x <= 0, x < 0),
        ({"nonpositive": True, "integer": True}, Le, x <= 0, x < 0),
        ({"nonzero": True}, Eq, Ne(x, 0), x > 0),
        ({"nonzero": True, "integer": True}, Eq, Ne(x, 0), x < 0),
        ({"zero": True}, Eq, Eq(x, 0), x > 0),
        ({"nonnegative": True}, Ge, x >= 0, x > 0),
        ({"nonnegative": True, "integer": True}, Ge, x >= 0, x > 0),
        ({"positive": True}, Ge, x > 0, x >= 1),
        ({"positive": True, "integer": True}, Ge, x >= 1, x > 1),
    ],
    ids=str,
)
def test_a_symbol_brings_in_its_sign_and_no_more(assumed, compare, right, wrong):
    bound = compare(x, Symbol("k", **assumed))
    assert answer([bound], right) is Answer.PROVED
    assert answer([bound], wrong) is Answer.REFUTED


# integers


@pytest.mark.parametrize(
    ("hypotheses", "conclusion"),
    [
        ([n >= 0], n * (n - 1) * (n - 2) >= 0),
        ([], n * (n - 1) >= 0),
        ([], 1 / (tau - 1) <= 1),
        ([], (3 * tau - 4) * (3 * tau - 5) > 0),
    ],
)
def test_what_only_integers_obey_is_not_refuted(hypotheses, conclusion):
    found = implies(hypotheses, conclusion)
    assert found.answer is Answer.INCONCLUSIVE
    assert "does not hold over the reals" in found.reason


def test_integer_counterexamples_are_integers():
    found = implies([], (2 * tau - 5) * (2 * tau - 7) >= 0)  # fails at 3 alone
    assert found.counterexample == {"tau": 3}
    found = implies([], Ne(n**2, 12345**2))
    assert abs(found.counterexample["n"]) == 12345
    even = Symbol("m", integer=True, even=True)
    assert implies([even >= 1], even >= 3).counterexample == {"m": 2}
    assert answer([even >= 1], even >= 2) is not Answer.REFUTED


def test_true_over_the_reals_is_true_over_the_integers():
    assert answer([], n**2 >= 2 * n - 1) is Answer.PROVED
    assert answer([n >= 3], n**5 >= 3 * n**4) is Answer.PROVED


# irrational points


@pytest.mark.parametrize(
    ("hypotheses", "conclusion"),
    [
        ([Eq(x**2, 2)], x <= 1),
        ([x**2 <= 2], x**2 < 2),
        ([Eq(x**3, 2), x > 0], x < 1),
    ],
)
def test_an_irrational_counterexample_is_not_claimed(hypotheses, conclusion):
    found = implies(hypotheses, conclusion)
    assert found.answer is Answer.INCONCLUSIVE
    assert found.counterexample is None
    assert "no rational counterexample" in found.reason


def test_a_rational_point_close_by_is_found():
    found = implies([x**2 < 2], x <= Rational(1414, 1000))
    assert found.answer is Answer.REFUTED
    assert F(1414, 1000) < found.counterexample["x"] < F(14143, 10000)
    assert answer([Eq(x**2, 2)], x < 2) is Answer.PROVED


def test_a_counterexample_lies_where_the_hypotheses_have_a_value():
    # simpler points are near: 0, where the roots are of negative numbers
    for low in (F(1, 3), F(1, 100)):
        found = implies([sqrt(x - low) <= F(1, 2)], x >= 1)
        assert found.answer is Answer.REFUTED
        assert low <= found.counterexample["x"] <= low + F(1, 4)


# limits, refusals, misuse


def test_a_tiny_limit_is_inconclusive_the_same_each_time():
    found = [implies([], MOTZKIN, limit=3) for _ in range(3)]
    assert {f.answer for f in found} == {Answer.INCONCLUSIVE}
    assert len({f.reason for f in found}) == 1
    assert "z3 gave up" in found[0].reason


@pytest.mark.parametrize(
    "conclusion",
    [
        exp(x) >= 1 + x,
        log(p) <= p - 1,
        pi > x,
        x + 0.5 > y,
        Le((1 - eta) ** tau, 1 - eta, evaluate=False),
        (1 + x) ** 40 >= y,
        Symbol("i", imaginary=True) ** 2 * x < 0,
        Symbol("k", prime=True) > x,
        Ne(Symbol("c", complex=True) ** 2, -1),
        Lt(wide, wide + 1, evaluate=False),
    ],
)
def test_what_is_not_algebra_is_refused_with_a_reason(conclusion):
    found = implies([], conclusion)
    assert found.answer is Answer.INCONCLUSIVE
    assert ";" in found.reason


@pytest.mark.parametrize(
    ("hypotheses", "conclusion"),
    [
        ([], True),
        ([], "x > 0"),
        ([], x),
        ([x + 1], x > 0),
        (x > 0, x > 0),
        (None, x > 0),
        (3, x > 0),
        ([None], x > 0),
        ([10**5000], x > 0),
        ([], None),
        ([Symbol("eta") > 0], eta > 0.5),
        ([Symbol("eta") > 2], 1 / eta < 1),
    ],
)
def test_misuse_is_an_error(hypotheses, conclusion):
    with pytest.raises(InputError):
        implies(hypotheses, conclusion)


def test_hypotheses_may_come_from_an_iterator():
    assert answer((h for h in [x > 1]), x > 0) is Answer.PROVED
    assert answer(iter([x > -1]), x > 0) is Answer.REFUTED


# sizes: what is too large is told at once, before anything is expanded


def nested(levels, step):
    e = x
    for _ in range(levels):
        e = step(e)
    return e


def product_of_itself(e):
    return Mul(Add(e, x, evaluate=False), Add(e, y, evaluate=False), evaluate=False)


def inverse(e):
    return Pow(Add(1, e, evaluate=False), -1, evaluate=False)


z = Symbol("z", real=True)
TOO_LARGE = {
    "degree": (((x + y) ** 32 + z) ** 4, "total degree"),
    "roots within roots": (nested(25, lambda e: sqrt(1 + e)), "total degree"),
    "roots": (sum(sqrt(x + k) for k in range(7)), "roots, minima and maxima"),
    "denominators": (sum(1 / (x + k) for k in range(13)), "denominators"),
    "terms": ((x + y + z + eta + L) ** 30, "terms"),
    "repeated parts": (nested(40, product_of_itself), "symbols and operations"),
    "brackets": (nested(400, inverse), "levels of brackets"),
    "number": (x + 10**5000, "digits"),
    "power": (Pow(x, 10**5000, evaluate=False), "digits"),
    "power of a number": (
        Add(x, Pow(10, 5000, evaluate=False), evaluate=False),
        "total degree",
    ),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_is_too_large_is_inconclusive(name):
    expression, reason = TOO_LARGE[name]
    found = implies([x >= 1], Ge(expression, 1, evaluate=False), limit=1000)
    assert found.answer is Answer.INCONCLUSIVE
    assert reason in found.reason
    assert found.reason.count(";") == 2


@pytest.mark.slow
def test_what_is_just_small_enough_is_judged():
    assert answer([x >= 10**900], x >= 0) is Answer.PROVED
    assert answer([x >= 1], nested(3, lambda e: sqrt(1 + e)) >= 1) is Answer.PROVED
    assert answer([x >= 1, y >= 0], (x + y) ** 32 >= 1) is Answer.PROVED


def test_a_model_of_very_long_numbers_is_no_error():
    assert answer([x >= 10**900, y >= x**10], y <= 3) is Answer.INCONCLUSIVE


def test_a_limit_must_be_a_count():
    with pytest.raises(InputError):
        implies([], x > 0, limit=0)
    with pytest.raises(InputError):
        implies([], x > 0, limit=True)


# opinions


def test_a_disagreement_is_named(monkeypatch):
    monkeypatch.setattr(_second_opinion, "ask", lambda _: "sat")
    found = implies([], MOTZKIN)
    assert found.answer is Answer.INCONCLUSIVE
    assert "z3 and cvc5 disagree" in found.reason
    assert implies([], MOTZKIN, cross_check=False).methods == ("z3",)


def test_without_a_second_opinion_z3_stands_alone(monkeypatch):
    monkeypatch.setattr(_second_opinion, "ask", lambda _: None)
    assert implies([], MOTZKIN).methods == ("z3",)


def test_cvc5_agrees():
    pytest.importorskip("cvc5")
    assert implies([], MOTZKIN).methods == ("z3", "cvc5")
    some = "(set-logic QF_NRA) (declare-const x Real) (assert (> (* x x) 2.0))"
    assert _second_opinion.ask(f"{some} (check-sat)") == "sat"


def test_a_child_that_is_late_has_no_opinion(monkeypatch):
    monkeypatch.setattr(_second_opinion, "installed", lambda: True)
    assert _second_opinion.ask("(check-sat)", patience=1e-6) is None
    assert _second_opinion.ask("this is no script") is None


def test_a_certificate_proves_where_z3_gives_up(monkeypatch):
    honest = Solver.check

    def tired(self, formulas, *rest, **options):
        # knows that the hypotheses can hold, not what follows from them
        if len(formulas) > 1:
            return Model("unknown", reason="tired")
        return honest(self, formulas, *rest, **options)

    monkeypatch.setattr(Solver, "check", tired)
    found = implies([x >= 3], x**3 >= 27)
    assert found.answer is Answer.PROVED
    assert found.methods == ("coefficients",)
    assert implies([x >= 3], x**3 >= 28).reason == "z3 gave up: tired"


# planted faults


def test_a_lying_solver_refutes_nothing(monkeypatch):
    lie = Model("sat", {"x": F(1, 3), "y": F(2)}, frozenset({"x", "y"}))
    monkeypatch.setattr(Solver, "check", lambda *_, **__: lie)
    found = implies([], x**2 + y**2 >= 2 * x * y)
    assert found.answer is Answer.INCONCLUSIVE


def test_a_certificate_does_not_overrule_a_counterexample(monkeypatch):
    item = next(i for i in FALSE if i.name == "descent, cap 2")
    good = next(i for i in TRUE if i.name == "descent")
    stolen = coefficients.certify(good.hypotheses, good.conclusion)
    monkeypatch.setattr(coefficients, "from_reading", lambda _: stolen)
    assert answer(item.hypotheses, item.conclusion) is Answer.REFUTED


# independent evidence for the reading and its SMT text


def test_what_the_solver_reads_agrees_with_plain_evaluation():
    draws, compared = random.Random(5), 0
    for item in draws.sample([*TRUE, *FALSE], 45):
        reading = read([], item.conclusion)
        facts = [f.formula for f in (*reading.assumed, *reading.definitions)]
        solver = Solver(reading, 10**5)
        for _ in range(3):
            point = {s.name: drawn(s, draws) for s in reading.symbols}
            expected = holds(item.conclusion, point)
            if expected is not None:
                asked = solver.check([*facts, reading.conclusion.formula], point)
                assert (asked.status == "sat") is expected
                compared += 1
    assert compared >= 60


@pytest.mark.slow
def test_roots_of_any_degree_are_rounded_down():
    draws = random.Random(7)
    for degree in (1, 2, 3, 7, 100, 4000):
        for bits in (1, 60, 65, 130, 300):
            root = draws.getrandbits(bits)
            power = root**degree
            assert floor_root(power, degree) == root
            next_one = (root + 1) ** degree
            assert floor_root(next_one - 1, degree) == root
            assert floor_root(draws.randrange(power, next_one), degree) == root


@pytest.mark.parametrize(
    "expression",
    [
        cbrt(x),
        x ** Rational(-2, 3),
        sqrt(x) * sqrt(y),
        x * sqrt(x) * cbrt(y) / (1 + y),
        (sqrt(x) - 2) ** 2,
        (sqrt(x) - 2) ** 3,
        (sqrt(x) - sqrt(y)) ** -3,
        1 / (sqrt(y) - 2),
        sqrt(1 + sqrt(x)) - y,
        sqrt(sqrt(x) - Rational(isqrt(2 * 10**40), 10**20)),  # of what is almost 0
        -sqrt(x) * (sqrt(y) - 1),
        Abs(sqrt(x) - 2),
        Max(1 - sqrt(x), -sqrt(y)),
        Min(sqrt(x), cbrt(y + 3)),
    ],
    ids=str,
)
def test_an_enclosure_is_narrow_and_contains_the_value(expression):
    found = value(expression, {"x": F(2), "y": F(3, 7)})
    number = expression.subs({x: 2, y: Rational(3, 7)}).evalf(120)
    exact, small = F(str(Rational(number))), F(1, 10**110)
    assert found.low - small <= exact <= found.high + small
    assert found.high - found.low < F(1, 10**60)


def test_comparisons_with_a_root_are_decided_to_many_digits():
    digits = isqrt(2 * 10**120)  # of sqrt(2)
    for k, below in ((digits, True), (digits + 1, False)):
        c = Rational(k, 10**60)
        judged_ = [holds(r, {"x": F(2)}) for r in (c < sqrt(x), c <= sqrt(x))]
        denied = [holds(r, {"x": F(2)}) for r in (c > sqrt(x), c >= sqrt(x))]
        assert judged_ == [below, below]
        assert denied == [not below, not below]
        assert holds(Eq(sqrt(x), c), {"x": F(2)}) is False
        assert holds(Ne(sqrt(x), c), {"x": F(2)}) is True
    assert [holds(r, {"x": F(4)}) for r in (sqrt(x) < 2, sqrt(x) <= 2)] == [False, True]
    assert [holds(r, {"x": F(4)}) for r in (sqrt(x) > 2, sqrt(x) >= 2)] == [False, True]


def test_small_questions_agree_with_a_grid():
    draws = random.Random(11)
    grid = [
        {"x": a, "y": b} for a, b in product([F(k, 2) for k in range(-4, 5)], repeat=2)
    ]
    seen = set()
    for _ in range(40):
        hypotheses, conclusion = [comparison(draws)], comparison(draws)
        found = implies(hypotheses, conclusion, cross_check=False)
        seen.add(found.answer)
        if found.answer is Answer.PROVED:
            bad = [p for p in grid if breaks(p, hypotheses, conclusion)]
            assert not bad
        if found.answer is Answer.REFUTED:
            assert breaks(
                {"x": F(0), "y": F(0), **found.counterexample}, hypotheses, conclusion
            )
    assert {Answer.PROVED, Answer.REFUTED} <= seen


def comparison(draws):
    terms = [x, y, x * y, x**2, y**2, 1 / (1 + x**2)]
    left = sum(draws.randint(-2, 2) * term for term in draws.sample(terms, 3))
    compare = draws.choice([Le, Lt])
    return compare(left + draws.randint(-1, 1), draws.choice([x, y, 2]), evaluate=False)


def breaks(point, hypotheses, conclusion):
    put = {x: Rational(str(point["x"])), y: Rational(str(point["y"]))}
    held = [h.subs(put).doit() == true for h in (*hypotheses, conclusion)]
    return all(held[:-1]) and not held[-1]


# the same answer everywhere

SCRIPT = """
from tests.certify.implications import FALSE, TRUE
from flverify.certify.implication import implies
for item in (*TRUE[4:18:3], *FALSE[::5]):
    found = implies(item.hypotheses, item.conclusion, cross_check=False)
    proof = found.certificate and [p.steps for p in found.certificate.parts]
    print(item.name, found.answer, found.counterexample, proof)
"""


@pytest.mark.slow
def test_answers_do_not_depend_on_the_process():
    root = Path(__file__).resolve().parents[2]
    said = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)}
        command = [sys.executable, "-c", SCRIPT]
        run = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            cwd=root,
        )
        said.append(run.stdout)
    assert said[0] == said[1]
    assert said[0].count("\n") >= 12
