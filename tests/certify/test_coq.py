"""Coq export: the text, and Coq's own verdict where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from sympy import And, Eq, Ge, Mul, Ne, Rational, Symbol, sqrt, symbols

from flverify._core.errors import InputError
from flverify.certify import coq
from flverify.certify._scalar.formulas import Atom
from flverify.certify.coefficients import certify
from tests.certify.implications import TRUE

eta, L, mu = symbols("eta L mu", positive=True)
x, y = symbols("x y", real=True)
up, down = Symbol("y", nonnegative=True), Symbol("x", nonpositive=True)
needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is not here")
AXIOMS_OF_THE_REALS = {  # of its own library, since Coq 8.11
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
}
THIRD = Rational(1, 3)


def lemma_of(hypotheses, conclusion, name="claim"):
    return coq.export(certify(hypotheses, conclusion), name)


def test_the_lemma_states_the_question():
    text = lemma_of([eta <= 1 / (3 * L)], 3 * eta * L <= 1)
    stated = text[text.index("Lemma claim") : text.rindex("Proof.")]
    expected = (
        "Lemma claim : forall L eta : R, 0 < L -> 0 < eta -> "
        "0 <= (((- 1) * eta) + ((1 / 3) * (/ L))) -> L <> 0 -> "
        "0 <= (1 + ((- 3) * L * eta))."
    )
    assert " ".join(stated.split()) == expected


def test_nothing_is_admitted():
    for item in TRUE[:3]:
        text = lemma_of(item.hypotheses, item.conclusion)
        assert not re.search(r"Admitted|admit|Axiom|Parameter|Hypothesis", text)
        assert text.count("Qed.") == 2


@pytest.mark.one_in(9)
@needs_coq
@pytest.mark.parametrize(
    ("hypotheses", "conclusion"),
    [
        ([], Ge(2, 1, evaluate=False)),  # no symbol at all
        ([], Ge(x, x, evaluate=False)),
        ([up <= down, Eq(0, down)], Ge(down, up, evaluate=False)),  # two equations
        ([], Ge(x**4 + x**2 * y**6, 0, evaluate=False)),  # even powers of any sign
        # a denominator that is the square of what is not 0
        ([y >= x, x >= 0], Ge((x**3 + y) ** -2, 0, evaluate=False)),
    ],
)
def test_coq_accepts_what_is_short_or_even(hypotheses, conclusion):
    assert coq.check(lemma_of(hypotheses, conclusion)) is True


def test_parts_and_names():
    text = lemma_of([x >= 2], And(x**2 >= 4, x >= 1))
    assert "Lemma claim_1 :" in text
    assert "Lemma claim_2 :" in text
    odd = [Symbol(name, positive=True) for name in ("R", "H_1", "alpha'", "alpha_")]
    product = Mul(*odd)
    text = lemma_of([odd[0] <= 1], Ge(product, 0, evaluate=False), "odd")
    assert coq.check(text) in (True, None)
    with pytest.raises(InputError):
        lemma_of([x >= 2], x >= 1, "no name")


NAMES = ("e", "r", "Rlt_le", "pow_le", "factor_positive")


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", NAMES)
def test_no_symbol_has_the_name_of_something_in_a_proof(name):
    odd = Symbol(name, positive=True)
    text = lemma_of([eta <= 1 / (3 * odd), mu <= odd], eta * mu <= THIRD)
    lines = text[text.index("Lemma claim") :].splitlines()
    symbols_ = lines[0].partition("forall ")[2].partition(" :")[0].split()
    inside = re.findall(r"\?(\w+)|\b(R\w+|pow\w+|factor_\w+)", "\n".join(lines[1:]))
    assert not set(symbols_) & {name for pair in inside for name in pair}
    assert coq.check(text) in (True, None)


@pytest.mark.parametrize(
    "name", [None, 3, ["a"], "forall", "fun", "Prop", "IF", "_", "1a", "a\n", ""]
)
def test_a_name_is_an_identifier_and_no_word_of_coq(name):
    with pytest.raises(InputError, match="the name of a lemma"):
        lemma_of([x >= 2], x >= 1, name)


QUESTIONS = {
    "two caps": ([eta <= 1 / (3 * L), mu <= L], eta * mu <= THIRD),
    "strict": ([eta < 2 / L], eta - L * eta**2 / 2 > 0),
    "equation": ([Eq(y, x + 1)], Eq(y**2, x**2 + 2 * x + 1)),
    "not zero": ([x >= 2], Ne(x**2, 1)),
    "not zero, below": ([x <= -2], Ne(x, 1)),
    "root": ([y >= 4, eta <= 1 / sqrt(y)], 2 * eta <= 1),
    "root of a number": ([eta <= sqrt(2) / L], eta**2 * L**2 <= 2),
    "vanishing denominator": ([y >= 1, eta <= 1 / (y - 1)], eta * (y - 1) <= 1),
    "shift": ([x <= -2], x <= -1),
    "root, not 0": ([eta <= 1], eta <= eta**THIRD),  # the new symbol is no 0
}


@pytest.mark.one_in(5)
@needs_coq
@pytest.mark.parametrize("name", QUESTIONS)
def test_coq_accepts(name):
    assert coq.check(lemma_of(*QUESTIONS[name])) is True


@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize("name", ["two caps", "root", "not zero"])
def test_a_lemma_rests_on_the_axioms_of_the_reals_alone(name, tmp_path):
    text = lemma_of(*QUESTIONS[name]) + "\nPrint Assumptions claim.\n"
    (tmp_path / "claim.v").write_text(text, encoding="utf-8")
    command = [shutil.which("coqc"), "-q", "claim.v"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    axioms = set(re.findall(r"^([\w.]+)\s*:", done.stdout, re.MULTILINE)) - {"Axioms"}
    assert axioms
    assert axioms <= AXIOMS_OF_THE_REALS


@pytest.mark.one_in(5)
@needs_coq
@pytest.mark.parametrize("name", QUESTIONS)
def test_coq_rejects_a_planted_false_lemma(name):
    """The proof is kept; what it is to show is strengthened beyond what is true."""
    text = lemma_of(*QUESTIONS[name])
    start = text.index("Lemma claim")
    end = text.index(".\nProof.", start)
    goal = text[start:end].rindex("->") + start + 2
    assert coq.check(text[:goal] + " 1 <= 0" + text[end:]) is False


@needs_coq
def test_coq_rejects_what_is_false():
    certificate = certify(*QUESTIONS["two caps"])
    part = certificate.parts[0]
    wrong = replace(part, goal=Atom(Rational(1, 4) - eta * mu, ">="))
    assert coq.check(coq.export(replace(certificate, parts=(wrong,)), "c")) is False
    fewer = replace(part, facts=(*part.facts[:-2], Atom(mu, ">"), part.facts[-1]))
    assert coq.check(coq.export(replace(certificate, parts=(fewer,)), "c")) is False


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("item", TRUE, ids=lambda item: item.name)
def test_coq_accepts_every_certificate_of_the_field(item):
    certificate = certify(item.hypotheses, item.conclusion)
    if certificate is None:
        pytest.skip("no certificate")
    assert coq.check(coq.export(certificate, "claim"), patience=300) is True


def test_without_coq_there_is_no_verdict(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert coq.check("Lemma.") is None


ON_REALS = "Axioms:\nClassicalDedekindReals.sig_not_dec\n  : forall P : Prop, {~ ~ P}\n"


@pytest.mark.parametrize(
    ("code", "said", "verdict"),
    [
        (0, "", True),
        (0, ON_REALS, True),
        (0, "Axioms:\nclaim : 0 <= 1\n", False),
        (1, "", False),
        (-9, "", False),
    ],
)
def test_the_verdict_is_that_of_coq_on_the_whole_text(monkeypatch, code, said, verdict):
    text, seen = lemma_of(*QUESTIONS["root of a number"]), []

    def coqc(command, *, timeout, **_):
        seen.append((command[0], Path(command[-1]).read_text("utf-8"), timeout))
        return subprocess.CompletedProcess(command, code, stdout=said)

    monkeypatch.setattr(shutil, "which", lambda name: f"/here/{name}")
    monkeypatch.setattr(subprocess, "run", coqc)
    assert coq.check(text, patience=7) is verdict
    [(program, given, patience)] = seen
    assert (program, patience) == ("/here/coqc", 7)
    whole, _, asked = given.partition("\nPrint Assumptions ")
    assert whole == text
    assert asked.endswith("Print Assumptions claim.\n")


def test_a_coq_that_is_not_back_in_time_has_no_verdict(monkeypatch):
    def coqc(command, *, timeout, **_):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(subprocess, "run", coqc)
    assert coq.check("Lemma.") is None


@needs_coq
@pytest.mark.parametrize(
    "text",
    [
        "Lemma a : 1 = 2. Admitted.",
        "Axiom f : False.\nLemma a : 1 = 2. Proof. destruct f. Qed.",
        "Axiom f : False.\nTheorem a : 1 = 2. Proof. destruct f. Qed.",
    ],
)
def test_what_is_admitted_is_not_accepted(text):
    assert coq.check(f"{text}\n") is False
    assert coq.check("Lemma a : 1 = 1. Proof. reflexivity. Qed.\n")


@needs_coq
def test_a_product_that_is_not_zero_raises_signs_in_coq_too():
    a, b = symbols("a b", nonnegative=True)
    assert coq.check(coq.export(certify([Ne(a * b, 0)], a * b + a > 0), "claim"))
