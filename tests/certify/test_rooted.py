"""Roots put for symbols: the last resort of the implication prover, and its limits."""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath
import pytest
from sympy import Eq, Ge, Le, Rational, Symbol, cbrt, expand, root, sqrt, symbols

from flverify.certify import coefficients, implication
from flverify.certify._scalar.evaluation import holds
from flverify.certify._scalar.relations import read, roots_of
from flverify.certify._scalar.rooted import Root
from flverify.certify.implication import Answer, Implication, implies

A, B, C = symbols("A B C", positive=True)
M = Symbol("M", nonnegative=True)
N = Symbol("N", integer=True, positive=True)
x, y = symbols("x y", real=True)
PUT = implication.ROOTED
MANY = [  # with one auxiliary for each root these are refused
    (
        [cbrt(A) / 3 <= cbrt(M)],
        sqrt(A * M ** Rational(3, 2) + cbrt(M))
        <= sqrt(A) * M ** Rational(3, 4) + M ** Rational(1, 6),
    ),
    (
        [],
        Le(
            expand(2 * (sqrt(A) + cbrt(A)) * (root(A, 4) + root(A, 8))),
            expand((sqrt(A) + cbrt(A)) ** 2 + (root(A, 4) + root(A, 8)) ** 2),
        ),
    ),
]
FALSE_MANY = [
    (hypotheses, Le(claim.gts, claim.lts, evaluate=False)) for hypotheses, claim in MANY
]


def without(hypotheses, conclusion):
    return implication._answered(hypotheses, conclusion, implication.LIMIT, False)[0]


def put(hypotheses, conclusion):
    """Answer with roots put for symbols at once."""
    found = roots_of(hypotheses, conclusion)
    asked = hypotheses, conclusion, implication.LIMIT, False, found
    return implication._answered(*asked)[0]


@pytest.mark.parametrize(("hypotheses", "conclusion"), MANY)
def test_what_no_other_way_decides_is_proved(hypotheses, conclusion):
    assert without(hypotheses, conclusion).answer is Answer.INCONCLUSIVE
    found = implies(hypotheses, conclusion, cross_check=False)
    assert found.answer is Answer.PROVED
    assert PUT in found.methods


@pytest.mark.parametrize(("hypotheses", "conclusion"), FALSE_MANY)
def test_what_no_other_way_decides_is_refuted_at_a_rational_point(
    hypotheses, conclusion
):
    assert without(hypotheses, conclusion).answer is Answer.INCONCLUSIVE
    found = implies(hypotheses, conclusion, cross_check=False)
    assert found.answer is Answer.REFUTED
    assert set(found.counterexample) <= {"A", "M"}
    assert all(holds(h, found.counterexample) for h in hypotheses)
    assert holds(conclusion, found.counterexample) is False


def test_it_is_the_last_resort(monkeypatch):
    asked = []
    monkeypatch.setattr(implication, "roots_of", lambda *_: asked.append(1) or {})
    assert implies([A >= 1], sqrt(A) >= 1).answer is Answer.PROVED
    assert implies([], sqrt(A) >= 1).answer is Answer.REFUTED
    assert implies([A > 1, A < 1], sqrt(A) >= 1).answer is Answer.INCONCLUSIVE
    assert not asked
    implies(*MANY[0])
    assert asked


def test_degrees_are_least_common_multiples_and_signs_come_from_the_facts():
    conclusion = sqrt(x) + cbrt(x) + sqrt(y) + A ** Rational(3, 4) + sqrt(M) >= 0
    assert roots_of([x >= 1], conclusion) == {
        x: Root(6, ">"),
        A: Root(4, ">"),
        M: Root(2, ">="),
    }
    # y is not negative only where its root is defined: that stays a side condition
    assert y not in roots_of([x >= 1], conclusion)
    assert roots_of([A <= 1], A**2 <= 1) == {}
    assert roots_of([Ge(1 / x, 0)], sqrt(x) >= 0) == {}
    weak = roots_of([A >= 2], Ge(sqrt(M) + sqrt(A), 0, evaluate=False))
    assert weak == {A: Root(2, ">"), M: Root(2, ">=")}


def test_a_stated_sign_is_as_strict_as_the_strictest():
    assert roots_of([M >= 1], Le(1, sqrt(M), evaluate=False)) == {M: Root(2, ">")}
    assert roots_of([x >= 0, x <= 4], sqrt(x) <= 2) == {x: Root(2, ">=")}


@pytest.mark.parametrize(
    ("hypotheses", "conclusion", "expected"),
    [
        ([x >= 0], sqrt(x) <= x + 1, Answer.PROVED),
        ([x >= 0], sqrt(x) < x + Rational(1, 4), Answer.REFUTED),  # equal at 1/4
        ([x >= 0], sqrt(x) <= x + Rational(1, 4), Answer.PROVED),
        ([x >= 0], cbrt(x) > 0, Answer.REFUTED),  # at 0
        ([x > 0], cbrt(x) > 0, Answer.PROVED),
        ([], cbrt(A) * sqrt(A) <= A, Answer.REFUTED),
        ([A >= 1], cbrt(A) * sqrt(A) <= A, Answer.PROVED),
        ([], sqrt(N) >= 1, Answer.PROVED),
        ([], sqrt(N) * cbrt(N) >= N, Answer.REFUTED),
        ([sqrt(A) <= 2, Ge(A, 4)], cbrt(A) ** 3 <= 4, Answer.PROVED),
        ([sqrt(A) < 2, A >= 4], cbrt(A) <= 1, Answer.INCONCLUSIVE),
        ([], 1 / sqrt(M) >= 0, Answer.PROVED),  # with the side condition M != 0
        ([Eq(A, 2)], sqrt(A) <= Rational(141, 100), Answer.REFUTED),
        ([Eq(sqrt(A), 2)], A**2 >= 16, Answer.PROVED),
        ([Eq(sqrt(A), 2)], A**2 > 16, Answer.REFUTED),
        ([Eq(A**3, 2)], sqrt(A) <= 1, Answer.INCONCLUSIVE),  # no rational point
    ],
)
def test_edges(hypotheses, conclusion, expected):
    found = put(hypotheses, conclusion)
    assert found.answer is expected
    if found.answer is Answer.REFUTED:
        assert holds(conclusion, found.counterexample) is False


def test_side_conditions_stay():
    assert put([], 1 / sqrt(M) >= 0).side_conditions == ("M != 0",)


def test_a_point_has_whole_values_for_integers():
    found = put([N >= 2], N * sqrt(N) <= 2 * N)
    assert found.answer is Answer.REFUTED
    assert found.counterexample["N"].denominator == 1
    assert found.counterexample["N"] > 4


def test_a_certificate_says_what_the_root_stands_for():
    reading = read([B <= A], sqrt(A) * B <= A ** Rational(3, 2), {A: Root(2, ">")})
    certificate = coefficients.from_reading(reading)
    assert certificate.named == ("s1 = (A)**(1/2)",)


def test_a_model_found_before_is_never_overruled(monkeypatch):
    """z3 has a point that is not confirmed: roots may then refute, but not prove."""
    proved = Implication(Answer.PROVED, "a planted answer")
    real = implication._answered

    def planted(*asked):
        return (proved, ()) if len(asked) > 4 else real(*asked)

    monkeypatch.setattr(implication, "_answered", planted)
    # false at the cube root of 2 alone
    question = [Eq(A**3, 2)], sqrt(A) <= 1
    assert implies(*question).answer is Answer.INCONCLUSIVE
    assert implies(*MANY[0]) is proved


def test_two_solvers_that_disagree_are_not_overruled(monkeypatch):
    monkeypatch.setattr(implication._second_opinion, "ask", lambda _: "sat")
    monkeypatch.setattr(coefficients, "from_reading", lambda _: None)
    monkeypatch.setattr(implication, "roots_of", lambda *_: pytest.fail("asked again"))
    assert "disagree" in implies([], sqrt(A) + 1 >= A ** Rational(1, 4)).reason


def _term(draw):
    out = Rational(draw.choice((1, 1, 2, 3)), draw.choice((1, 2, 3)))
    for symbol in draw.sample((A, B, M), draw.choice((1, 1, 2))):
        powers = ((1, 1), (1, 2), (2, 1), (3, 2), (1, 3), (2, 3), (1, 4))
        out *= symbol ** Rational(*draw.choice(powers))
    return out


def _violated(hypotheses, conclusion, draw):
    """Look for a violation beyond all doubt in 30 digits; own words, no interval."""
    at = {s: draw.choice((Rational(1, 100), 1, 2, 10)) for s in (A, B, M)}
    at = {s: v * Rational(draw.randint(1, 40), 16) for s, v in at.items()}
    sides = [
        [mpmath.mpf(side.subs(at).evalf(40)) for side in (r.lts, r.gts)]
        for r in (*hypotheses, conclusion)
    ]
    margins = [small - large for small, large in sides]
    return all(m <= 0 for m in margins[:-1]) and margins[-1] > mpmath.mpf(10) ** -25


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(12))
def test_no_sample_contradicts_a_proof(seed):
    draw = random.Random(seed)
    with mpmath.workdps(40):
        for _ in range(3):
            hypotheses = [Le(_term(draw), _term(draw), evaluate=False)]
            small, large = _term(draw), _term(draw) + _term(draw)
            conclusion = Le(small, large, evaluate=False)
            found = put(hypotheses, conclusion)
            tries = (_violated(hypotheses, conclusion, draw) for _ in range(60))
            if found.answer is Answer.PROVED:
                assert not any(tries)
            if found.answer is Answer.REFUTED:
                point = {k: Fraction(v) for k, v in found.counterexample.items()}
                assert holds(conclusion, point) is False
