"""Answers of the provers as findings: what holds, what fails, and what stays open."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from flverify._core.errors import Refusal
from flverify.algorithms import FedAvg
from flverify.certify import gram
from flverify.certify import quadratic_form as q
from flverify.certify.implication import Answer, Implication
from flverify.claims import _provers, judge
from flverify.claims.verdict import Verdict
from flverify.claims.written import at_least, at_most, equal
from flverify.participation import Full
from flverify.problems import Quadratics

L, eta = sympy.symbols("L eta", positive=True)


def test_an_implication() -> None:
    cap = eta * L <= 1
    assert judge.implied([cap], 1 - eta * L / 2 >= sympy.Rational(1, 2), "all").passes()
    fails = judge.implied([cap], 1 - eta * L / 2 >= sympy.Rational(3, 5), "all")
    assert fails.verdict == Verdict.REFUTED
    point = {k: Fraction(v) for k, v in fails.evidence["counterexample"].items()}
    assert point["eta"] * point["L"] <= 1
    assert 1 - point["eta"] * point["L"] / 2 < Fraction(3, 5)


def test_what_has_no_symbols_is_judged_as_well() -> None:
    x = sympy.Symbol("x", real=True)
    false = judge.implied([], at_most(2, 1), "two numbers")
    assert (false.verdict, false.reason) == (
        Verdict.REFUTED,
        "2 <= 1 fails at every point",
    )
    beside = judge.implied([at_most(1, sympy.sqrt(2))], x <= 1, "every x")
    assert beside.evidence["counterexample"] == {"x": "2"}
    assert judge.implied([], at_most(1, 2), "two numbers").passes()


def test_an_implication_says_where_it_is_meant() -> None:
    spared = L - 1
    cap = eta <= 1 / spared
    found = judge.implied([cap], eta <= 1 / spared + 1, "all L")
    assert found.verdict == Verdict.PROVED
    assert found.scope == "all L; where L - 1 != 0"
    assert found.evidence["side conditions"] == ["L - 1 != 0"]
    plain = judge.implied([eta * L <= 1], eta * L <= 2, "all L")
    assert plain.scope == "all L"
    assert "side conditions" not in plain.evidence


def test_an_implication_says_what_it_assumes_and_how_it_is_proved() -> None:
    x = sympy.Symbol("x", real=True)
    positive = judge.implied([eta <= 1], eta**2 <= eta, "all").evidence
    assert positive["assumed of the symbols"] == ["eta > 0"]
    assert "eta = 1/(u1 + 1)" in positive["certificate"]
    real = judge.implied([x**2 <= 1], x <= 1, "all").evidence
    assert real.keys() == {"given", "shown", "methods"}
    assert (real["given"], real["shown"]) == (["x**2 <= 1"], "x <= 1")
    # of what sympy settled nothing is left to be told
    settled = judge.implied([x**2 <= 1, sympy.Integer(1) <= 2], x <= 1, "all x")
    assert settled.evidence == real


def test_hypotheses_that_exclude_one_another_prove_nothing() -> None:
    found = judge.implied([eta > 1, eta < 1], eta > 2, "all")
    assert found.verdict == Verdict.INCONCLUSIVE
    assert "cannot hold together" in found.reason


def test_both_sides_are_told_at_the_point() -> None:
    found = judge.implied([L >= 2], eta * L <= eta + 1, "all")
    point = {k: Fraction(v) for k, v in found.evidence["counterexample"].items()}
    left, right = map(Fraction, found.evidence["values"])
    assert left == point["eta"] * point["L"] > right == point["eta"] + 1


@pytest.mark.parametrize("settled", [sympy.true, sympy.false])
def test_what_sympy_settled_is_not_judged(settled) -> None:
    found = judge.implied([eta <= 1], settled, "all")
    assert found.verdict == Verdict.INCONCLUSIVE
    assert "sympy settled the conclusion" in found.reason
    assert "at_most(a, b) of flverify.claims.written" in found.reason


def test_an_equation_of_python_is_told_from_one() -> None:
    found = judge.implied([eta == 1 / L], eta * L <= 1, "all")  # which is False
    assert found.verdict == Verdict.INCONCLUSIVE
    assert "write equal(a, b) of flverify.claims.written" in found.reason
    assert judge.implied([equal(eta, 1 / L)], eta * L <= 1, "all").passes()
    found = judge.implied([], eta == 1 / L, "all")
    assert "write equal(a, b)" in found.reason


def test_an_inequality_that_sympy_denies_is_not_told_of_as_an_equation():
    for hypotheses, conclusion in (([], 2 * eta <= eta), ([2 * eta <= eta], eta <= 1)):
        found = judge.implied(hypotheses, conclusion, "every eta")
        assert found.verdict == Verdict.INCONCLUSIVE
        assert "==" not in found.reason
    impossible = judge.implied([eta <= L, eta > L], eta * L <= 1, "all")
    assert impossible.verdict == Verdict.INCONCLUSIVE
    assert "equal" not in impossible.reason


def test_a_float_is_to_be_a_fraction_and_not_bounded() -> None:
    found = judge.implied([eta <= 0.25 / L], 4 * eta * L <= 1, "all")
    assert "is not exact; write a fraction" in found.reason
    quarter = sympy.Rational(1, 4)
    assert judge.implied([eta <= quarter / L], 4 * eta * L <= 1, "all").passes()
    found = judge.implied([eta <= sympy.log(L)], eta <= L, "all")
    assert "bound it by one of these first" in found.reason


def test_what_is_told_of_a_settled_hypothesis_helps() -> None:
    m = sympy.Symbol("m", integer=True, positive=True)
    found = judge.implied([m >= 1], 1 / m <= 1 / (m + 1), "all")  # m >= 1 is True
    assert found.verdict == Verdict.INCONCLUSIVE
    assert "at_most(a, b) of flverify.claims.written" in found.reason
    for held in ([], [at_least(m, 1)]):
        found = judge.implied(held, 1 / m <= 1 / (m + 1), "all")
        assert found.verdict == Verdict.REFUTED


@pytest.mark.parametrize(
    ("hypotheses", "conclusion", "verdict"),
    [
        ([eta * L <= 2], eta * L <= 1, Verdict.REFUTED),
        ([eta * L <= 2], eta * L <= 2, Verdict.INCONCLUSIVE),
        ([eta * L <= 1], eta * L <= 1, Verdict.INCONCLUSIVE),
        ([eta * L <= 1, eta * L <= 2], eta * L <= 1, Verdict.INCONCLUSIVE),
        ([eta * L <= 2, L <= 2], eta * L <= 1, Verdict.INCONCLUSIVE),
        ([], L <= 2, Verdict.REFUTED),
    ],
)
def test_a_point_is_put_in_a_second_time(
    monkeypatch, hypotheses, conclusion, verdict
) -> None:
    point = {"L": Fraction(3), "eta": Fraction(1, 2)}
    said = Implication(Answer.REFUTED, "", point)
    monkeypatch.setattr(_provers, "implies", lambda *_, **__: said)
    assert judge.implied(hypotheses, conclusion, "all").verdict == verdict


def test_equal_questions_are_asked_once_and_others_again(monkeypatch) -> None:
    asked = []

    def counting(*question):
        asked.append(question)
        return Implication(Answer.INCONCLUSIVE, "")

    monkeypatch.setattr(_provers, "implies", counting)
    some, positive = sympy.Symbol("z", real=True), sympy.Symbol("z", positive=True)
    doubled = sympy.Add(some, some, evaluate=False)
    for sides in (
        [some, 1],
        [positive, 1],
        [some, sympy.Float(1)],
        [doubled, 1],
        [2 * some, 1],
    ):
        for _ in range(2):
            judge.implied([], sympy.Ge(*sides, evaluate=False), "all")
    judge.implied([some >= 2], sympy.Ge(some, 1), "all")
    assert len(asked) == 6


PROBLEM = Quadratics([[[1]], [[3]]], [[1], [-2]])


def _contraction(rate: Fraction) -> judge.Step:
    x = q.server("model") - q.minimiser()
    after = q.after(q.server("model")) - q.minimiser()
    step = FedAvg("1/10")  # one step at full participation: gradient descent on F
    lemma = q.expect(q.square(after)) <= rate * q.square(x)
    return judge.Step({"rate": rate}, PROBLEM, step, Full(2), lemma)


def test_a_one_step_lemma() -> None:
    exact = Fraction(4, 5) ** 2  # 1 - (1/10) * mean curvature 2
    assert judge.one_step([_contraction(exact)], "one").verdict == Verdict.SUPPORTED
    found = judge.one_step([_contraction(exact - Fraction(1, 1000))], "one")
    assert found.verdict == Verdict.REFUTED
    assert "model" in found.evidence["state"]


def test_an_unconfirmed_state_refutes_nothing(monkeypatch) -> None:
    real = q.one_step

    def unsure(*args, **kwargs):
        return replace(real(*args, **kwargs), confirmed=False)

    monkeypatch.setattr(q, "one_step", unsure)
    found = judge.one_step([_contraction(Fraction(1, 2))], "one")
    assert found.verdict == Verdict.INCONCLUSIVE


def test_one_open_step_leaves_a_lemma_open(monkeypatch) -> None:
    real = q.one_step
    shown, open_, false = map(
        _contraction, (Fraction(2, 3), Fraction(3, 4), Fraction(1, 2))
    )

    def refusing(problem, algorithm, law, lemma, zero):
        if lemma is open_.lemma:
            return Refusal("steps", "too many numbers")
        return real(problem, algorithm, law, lemma, zero)

    monkeypatch.setattr(q, "one_step", refusing)
    for steps in ([open_], [shown, open_], [open_, shown]):
        found = judge.one_step(steps, "some")
        assert found.verdict == Verdict.INCONCLUSIVE
        assert "rate = 3/4: too many numbers" in found.reason
    assert judge.one_step([open_, false], "two").verdict == Verdict.REFUTED
    assert judge.one_step([shown, shown], "one").evidence["instances"] == 1
    none = judge.one_step([], "none")
    assert none.verdict == Verdict.INCONCLUSIVE
    assert "no instance" in none.reason


def test_a_certificate_that_the_checker_rejects(monkeypatch) -> None:
    a = gram.vector("a")
    lemmas = [({"c": c}, gram.square(a) <= c * gram.square(a)) for c in (2, 3)]
    assert judge.vectors(lemmas, "two").evidence["certificates"] == 2
    for answers in ([False, False], [True, False], [False, True]):
        given = iter(answers)
        monkeypatch.setattr(gram, "verify", lambda _, given=given: next(given))
        found = judge.vectors(lemmas, "two")
        assert found.verdict == Verdict.INCONCLUSIVE
        assert "rejects the certificate" in found.reason


def test_one_open_vector_inequality_leaves_them_open(monkeypatch) -> None:
    a, real = gram.vector("a"), gram.prove
    lemmas = {c: ({"c": c}, gram.square(a) <= c * gram.square(a)) for c in (0, 2, 3)}

    def unsure(lemma):
        return gram.Undecided("", "?") if lemma is lemmas[3][1] else real(lemma)

    monkeypatch.setattr(gram, "prove", unsure)
    for order in ([3], [2, 3], [3, 2]):
        found = judge.vectors([lemmas[c] for c in order], "some")
        assert found.verdict == Verdict.INCONCLUSIVE
        assert "c = 3" in found.reason
    false = judge.vectors([lemmas[3], lemmas[0]], "two")
    assert false.verdict == Verdict.REFUTED


def test_a_counterexample_lists_whatever_has_one_name():
    lemma = gram.number("x") <= gram.square(gram.vector("x"))
    found = judge.vectors([({"x": "a word"}, lemma)], "one")
    listed = {"x": "a word", "vector x": ["0"], "number x": "1"}
    assert found.evidence["counterexample"] == listed


def test_vector_inequalities() -> None:
    a, b = gram.vector("a"), gram.vector("b")

    def lemma(c):
        return gram.square(a + b) <= c * (gram.square(a) + gram.square(b))

    held = judge.vectors([({"c": 2}, lemma(2))], "c = 2")
    assert held.verdict == Verdict.CERTIFIED
    failed = judge.vectors([({"c": 2}, lemma(2)), ({"c": 1}, lemma(1))], "c")
    assert failed.verdict == Verdict.REFUTED
    none = judge.vectors([], "none")
    assert none.verdict == Verdict.INCONCLUSIVE
    assert "no instance" in none.reason
