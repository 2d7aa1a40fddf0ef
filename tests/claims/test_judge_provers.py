"""Answers of the provers as findings: what holds, what fails, and what stays open."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import sympy

from flverify.algorithms import FedAvg
from flverify.certify import gram
from flverify.certify import quadratic_form as q
from flverify.certify.implication import Answer, Implication
from flverify.claims import _provers, judge
from flverify.claims.verdict import Verdict
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


def test_a_point_that_refutes_nothing_is_noticed(monkeypatch) -> None:
    lie = Implication(Answer.REFUTED, "", {"L": Fraction(1), "eta": Fraction(1, 2)})
    monkeypatch.setattr(_provers, "implies", lambda *_, **__: lie)
    found = judge.implied([eta * L <= 1], eta * L <= 1, "all")
    assert found.verdict == Verdict.INCONCLUSIVE


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


def test_a_certificate_that_the_checker_rejects(monkeypatch) -> None:
    monkeypatch.setattr(gram, "verify", lambda _: False)
    a = gram.vector("a")
    found = judge.vectors([({}, gram.square(a) <= 2 * gram.square(a))], "all")
    assert found.verdict == Verdict.INCONCLUSIVE


def test_vector_inequalities() -> None:
    a, b = gram.vector("a"), gram.vector("b")

    def lemma(c):
        return gram.square(a + b) <= c * (gram.square(a) + gram.square(b))

    held = judge.vectors([({"c": 2}, lemma(2))], "c = 2")
    assert held.verdict == Verdict.CERTIFIED
    failed = judge.vectors([({"c": 2}, lemma(2)), ({"c": 1}, lemma(1))], "c")
    assert failed.verdict == Verdict.REFUTED
    assert judge.vectors([], "none").verdict == Verdict.INCONCLUSIVE
