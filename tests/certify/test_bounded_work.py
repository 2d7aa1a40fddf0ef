"""What a question may cost is bounded by counts, before and while z3 is asked."""

from __future__ import annotations

import pytest
import z3
from sympy import Ge, Integer, Lt, Max, Rational, Symbol, symbols

from flverify.certify import _second_opinion, coefficients, implication
from flverify.certify._scalar import quotients
from flverify.certify._scalar.counterexamples import Model
from flverify.certify._scalar.relations import read, roots_of
from flverify.certify.implication import Answer, Solver, implies

x, y, w = symbols("x y w", real=True)
L = Symbol("L", positive=True)
t = Symbol("t", integer=True, nonnegative=True)


def test_long_numbers_are_not_factored(monkeypatch):
    """Of thousands of bits that takes minutes, which no limit of solver steps sees."""
    left = Integer(10) ** 200 * x**3 + Integer(7) ** 200 * y**3
    real = quotients._factors

    def factored(polynomial):
        longest = max(int(c.numerator).bit_length() for c in polynomial.coeffs())
        assert longest <= quotients.LONGEST_FACTORED
        return real(polynomial)

    monkeypatch.setattr(quotients, "_factors", factored)
    question = Ge(left, w**5 - Integer(3) ** 330 * y, evaluate=False)
    assert implies([], question, cross_check=False).answer is Answer.REFUTED
    assert implies([x >= 1], x * Integer(10) ** 900 >= 1).answer is Answer.PROVED


def test_short_numbers_are_factored_as_before():
    ring = quotients.Quotients([x, y])
    for size in (1, 10**80):
        shown = quotients.without_positive_factors(
            ring.of(size * x * (y - x)).numer, {x: ">"}
        )
        assert shown.as_expr().expand() == y - x
    long = ring.of(10**200 * x * (y - x)).numer
    assert quotients.without_positive_factors(long, {x: ">"}) == long


def test_with_integers_high_degrees_are_not_asked(monkeypatch):
    """z3 counts 3000 steps in a minute here: a point has to be found before."""
    hypotheses, conclusion = [t**2 < L], Lt(t ** Rational(9, 16), Max(L**2, t - 1))
    reading = read(hypotheses, conclusion, roots_of(hypotheses, conclusion))
    facts = [fact.formula for fact in reading.facts()]
    real = z3.SolverFor

    def solver(logic, **options):
        assert logic != "QF_NIRA"
        return real(logic, **options)

    monkeypatch.setattr(z3, "SolverFor", solver)
    found = Solver(reading, 10**6).check(facts, integers=True)
    assert (found.status, found.reason) == (
        "unknown",
        "the degree is too high with integers",
    )
    assert Solver(reading, 10**6).check(facts).status == "sat"


def test_with_integers_low_degrees_are_asked():
    reading = read([t**8 * L >= 300], t >= 1)
    facts = [fact.formula for fact in reading.facts()]
    assert Solver(reading, 10**5).check(facts, integers=True).status == "sat"


@pytest.mark.parametrize("limit", [1, 1000, implication.LIMIT])
def test_z3_is_never_asked_without_its_limit(monkeypatch, limit):
    given, checked = {}, []
    real_set, real_check = z3.Solver.set, z3.Solver.check

    def set_(solver, *option):
        given[solver] = {**given.get(solver, {}), option[0]: option[1]}
        real_set(solver, *option)

    def check(solver, *assumed):
        checked.append(given[solver]["rlimit"])
        return real_check(solver, *assumed)

    monkeypatch.setattr(z3.Solver, "set", set_)
    monkeypatch.setattr(z3.Solver, "check", check)
    for question in (
        ([x * y >= 1], x**2 + y**2 >= 2),
        ([t >= 1], 1 / t >= Rational(1, 2)),
        ([1 / x >= 1], x <= 1),
    ):
        implies(*question, limit=limit, cross_check=False)
    assert checked
    assert max(checked) <= limit


def test_a_second_opinion_that_is_late_changes_no_answer(monkeypatch):
    monkeypatch.setattr(coefficients, "from_reading", lambda _: None)
    monkeypatch.setattr(_second_opinion, "installed", lambda: True)

    def late(*_, **options):
        raise _second_opinion.subprocess.TimeoutExpired("cvc5", options["timeout"])

    monkeypatch.setattr(_second_opinion.subprocess, "run", late)
    found = implies([x >= 1], x**2 >= 1)
    assert (found.answer, found.methods) == (Answer.PROVED, ("z3",))


def test_what_is_defined_is_asked_for_so_many_steps_only(monkeypatch):
    """Each answer brings all open questions again: 55 where none is shown."""
    asked = []

    def check(solver, formulas):
        asked.append(formulas)
        solver.steps += solver.limit
        return Model("unknown")

    monkeypatch.setattr(Solver, "check", check)
    parts = [1 / (x**2 * y - x - k) for k in range(10)]
    question = implication._Question(read([], sum(parts) >= w), 1000, False, False)
    assert len(asked) == implication.MOST_SETTLING + 1
    assert len(question.domain.assumed) == len(parts)


def test_steps_of_z3_are_counted():
    reading = read([x * y >= 1], x**2 + y**2 >= 2)
    solver = Solver(reading, 10**5)
    counted = []
    for formulas in ([], [fact.formula for fact in reading.facts()]):
        solver.check(formulas)
        counted.append(solver.steps)
    assert 0 <= counted[0] < counted[1] < 10**5
