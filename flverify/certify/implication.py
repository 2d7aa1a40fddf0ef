"""Implications between step-size conditions, decided by z3 and re-checked.

This is the only module that knows z3. Denominators are cleared before z3 sees
anything, since its division is total; where they may vanish is stated in the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy
import z3

from flverify._core.checks import whole
from flverify._core.errors import RefusedError
from flverify.certify import _second_opinion, coefficients
from flverify.certify._scalar.answers import Answer, Implication
from flverify.certify._scalar.counterexamples import (
    TUPLES,
    Model,
    counterexample,
    witness,
)
from flverify.certify._scalar.domain import settle
from flverify.certify._scalar.formulas import (
    Formula,
    Reading,
    degree,
    negation,
    settled,
)
from flverify.certify._scalar.parts import CoefficientCertificate
from flverify.certify._scalar.relations import read, relations_of, roots_of
from flverify.certify._scalar.rooted import Root
from flverify.certify._scalar.sizes import MOST_DIGITS
from flverify.certify._scalar.smtlib import script

__all__ = ["Answer", "Implication", "Solver", "implies"]

LIMIT = 1_000_000  # z3 steps per question: the field's take some thousands
# with integers one step of z3 may take minutes beyond this total degree
LARGEST_WHOLE_DEGREE = 16
MOST_SETTLING = 12  # times the limit, for all questions whether something is defined
DIGITS = 40  # of the rational that stands in for an irrational value of a model
SETTLED = (sympy.true, sympy.false)
SETTLED_HERE = (
    "sympy settled {} as it was written, and its word is no proof here; write "
    "at_most(a, b) of flverify.claims.written and the like"
)
SETTLED_HYPOTHESIS = (
    "it fails once a hypothesis is left out that sympy settled as it was written, and "
    "its word is no proof here; leave it out, or write at_most(a, b) of "
    "flverify.claims.written and the like"
)
NOWHERE = "the conclusion is defined nowhere"

DECIDED = (Answer.PROVED, Answer.REFUTED)
ROOTED = "roots put for symbols"
VACUOUS = {
    "no": "the hypotheses cannot hold together where all is defined",
    "open": "it was not shown that the hypotheses can hold together",
}
NOT_ON_INTEGERS = (
    "it does not hold over the reals, and no counterexample with the integer symbols "
    f"at integers was found within {TUPLES} tuples; state what integers add as a "
    "hypothesis"
)


def implies(
    hypotheses: Iterable[Any],
    conclusion: Any,
    *,
    limit: int = LIMIT,
    cross_check: bool = True,
) -> Implication:
    """Decide whether hypotheses imply a conclusion, over the reals.

    PROVED if no real values satisfy the hypotheses and not the conclusion; REFUTED
    with a rational point, whole in the integer symbols, where exact arithmetic
    confirms all hypotheses and denies the conclusion; otherwise INCONCLUSIVE.

    Parameters
    ----------
    hypotheses : iterable of sympy relations
        Comparisons, or And, Or, Not of these; empty if there are none. Symbols are
        real; what sympy assumes of their signs is a hypothesis too, and a positive
        integer is at least 1.
    conclusion : sympy relation
    limit : int
        Steps z3 may take each time it is asked; a count, so that answers do not depend
        on the machine. How long a step takes does not show in it: where degrees are
        high a million of them may take a minute.
    cross_check : bool
        Whether to ask cvc5, if installed, where no coefficient certificate is found.
        It gets 20 seconds of the clock, for a single one of its own steps may take
        minutes. Past them it has no opinion, and the answer is that of z3 alone: of
        what is found only `methods` depends on the machine then.

    Returns
    -------
    Implication

    Raises
    ------
    InputError
        If hypotheses are no list, something is not a relation, or two symbols share
        a name.

    Notes
    -----
    sympy settles some comparisons as soon as they are written, x <= x say, and
    wrongly a few; what was compared is lost then. Such a conclusion is INCONCLUSIVE,
    and so is what fails beside such a hypothesis, or has one as a part of an Or;
    `sympy.Le(x, x, evaluate=False)` stays as it is written. What it settled inside And
    or Or is dropped from these, and cannot be seen here.

    A comparison is judged only where each of its quotients and roots is defined; what
    is not shown to follow from the hypotheses, within 12 times the limit for all of it,
    is listed as a side condition. Hypotheses that cannot hold together imply nothing
    here: the answer is INCONCLUSIVE. Where symbols are assumed to be more than real,
    integer and of a sign, such as odd, a point that satisfies the hypotheses and is all
    that has to be found too. Questions that are too large, `_scalar.sizes` says which,
    are INCONCLUSIVE.

    A question that stays open is asked once more with A = a^k for symbols A under
    roots that are not negative by a hypothesis or an assumption; its answer rests on
    "roots put for symbols", too.

    Examples
    --------
    >>> from sympy import symbols
    >>> eta, L = symbols("eta L", positive=True)
    >>> found = implies([eta <= 1 / L], eta - eta**2 * L / 2 >= eta / 2)
    >>> found.answer, found.methods
    (<Answer.PROVED: 'proved'>, ('z3', 'coefficients'))
    >>> found = implies([eta <= 2 / L], eta - eta**2 * L / 2 >= eta / 2)
    >>> found.answer, found.reason
    (<Answer.REFUTED: 'refuted'>, 'it fails at L = 1, eta = 3/2')
    >>> tau = symbols("tau", integer=True, positive=True)
    >>> implies([eta <= 1 / (L * (tau - 1))], eta * L * (tau - 1) <= 1).side_conditions
    ('tau - 1 != 0',)
    >>> implies([eta > 1, eta < 1], eta > 2).reason
    'the hypotheses cannot hold together where all is defined'
    """
    asked = whole(limit, "limit"), cross_check
    relations = relations_of(hypotheses, conclusion), conclusion
    found, mended = _answered(*relations, *asked)
    if mended:
        try:
            roots = roots_of(*relations)
        except RefusedError:
            roots = {}
        if roots:
            again, _ = _answered(*relations, *asked, roots)
            return again if again.answer in mended else found
    return found


def _answered(
    hypotheses: Sequence[Any],
    conclusion: Any,
    limit: int,
    cross_check: bool,
    roots: Mapping[sympy.Symbol, Root] | None = None,
) -> tuple[Implication, Sequence[Answer]]:
    """Answer, and which answers one that puts roots for symbols may give instead."""
    try:
        reading = read(hypotheses, conclusion, roots)
        question = _Question(reading, limit, cross_check, bool(roots))
        return question.answer(), question.mended
    except RefusedError as refused:
        return Implication(Answer.INCONCLUSIVE, str(refused)), DECIDED


class _Question:
    """One implication on its way to an answer."""

    def __init__(
        self, reading: Reading, limit: int, cross_check: bool, rooted: bool
    ) -> None:
        self.reading, self.cross_check, self.rooted = reading, cross_check, rooted
        self.mended: Sequence[Answer] = ()
        self.solver = Solver(reading, limit)
        self.domain = settle(reading, self._impossible)
        denied = negation(reading.conclusion.formula)
        self.denied = [*self.domain.facts, denied]

    def _impossible(self, formulas: Sequence[Formula]) -> bool:
        """Ask z3, unless what it was asked so far took too many steps."""
        if self.solver.steps > MOST_SETTLING * self.solver.limit:
            return False
        return self.solver.check(formulas).status == "unsat"

    def answer(self) -> Implication:
        lost = self._lost()
        if lost:
            return self._open(SETTLED_HERE.format(lost))
        first = self.solver.check(self.denied)
        if first.status == "sat":
            return self._from_model(first)
        held = witness(self.solver, self.reading, self.domain.facts)
        if held != "yes":
            alone = held == "no" and not self.reading.relations
            self.mended = DECIDED if held == "open" else ()
            return self._open(NOWHERE if alone else VACUOUS[held])
        certificate = coefficients.from_reading(self.reading)
        if first.status == "unsat" and certificate is None:
            return self._proved_by_solvers()
        if certificate is None:
            self.mended = DECIDED
            return self._open(f"z3 gave up: {first.reason}")
        agreed = ("z3",) if first.status == "unsat" else ()
        return self._proved((*agreed, "coefficients"), certificate)

    def _lost(self) -> str:
        """Name what sympy settled and nobody can judge; a whole hypothesis may stay."""
        if self.reading.concluded in SETTLED:
            return "the conclusion"
        if settled(self.reading.concluded):
            return "a part of the conclusion"
        parts = any(settled(r) for r in self.reading.relations if r not in SETTLED)
        return "a part of a hypothesis" if parts else ""

    def _from_model(self, first: Model) -> Implication:
        if any(relation in SETTLED for relation in self.reading.relations):
            return self._open(SETTLED_HYPOTHESIS)
        point = counterexample(self.solver, self.reading, self.denied, first)
        if point is not None:
            shown = ", ".join(f"{name} = {value}" for name, value in point.items())
            reason = f"it fails at {shown or 'every point'}"
            methods = ("z3", "exact evaluation")
            return self._given(Answer.REFUTED, reason, methods, counterexample=point)
        if any(symbol.is_integer for symbol in self.reading.symbols):
            return self._open(NOT_ON_INTEGERS)
        # z3 has a point already: no second question may prove that there is none
        self.mended = (Answer.REFUTED,)
        return self._open(
            "it fails over the reals by z3, but exact arithmetic confirms no rational "
            "counterexample near its model"
        )

    def _proved_by_solvers(self) -> Implication:
        opinion = None
        if self.cross_check:
            opinion = _second_opinion.ask(script(self.reading, self.denied))
        if opinion == "sat":
            return self._open("z3 and cvc5 disagree: z3 says unsat, cvc5 says sat")
        return self._proved(("z3", "cvc5") if opinion == "unsat" else ("z3",), None)

    def _proved(
        self, methods: tuple[str, ...], certificate: CoefficientCertificate | None
    ) -> Implication:
        reason = "no real point satisfies the hypotheses and not the conclusion"
        if self.domain.assumed:
            reason += f", wherever {' and '.join(self.domain.assumed)}"
        if self.rooted:
            methods = (*methods, ROOTED)
        return self._given(Answer.PROVED, reason, methods, certificate=certificate)

    def _open(self, reason: str) -> Implication:
        return self._given(Answer.INCONCLUSIVE, reason, ())

    def _given(
        self, answer: Answer, reason: str, methods: tuple[str, ...], **found: Any
    ) -> Implication:
        return Implication(
            answer,
            reason,
            side_conditions=self.domain.assumed,
            methods=methods,
            assumed=tuple(fact.text for fact in self.reading.assumed),
            **found,
        )


class Solver:
    """z3 on formulas of one reading, under a limit of steps.

    Parameters
    ----------
    reading : Reading
    limit : int
        Steps per question.
    """

    def __init__(self, reading: Reading, limit: int) -> None:
        self.reading, self.limit, self.steps = reading, limit, 0

    def check(
        self,
        formulas: Sequence[Formula],
        fixed: Mapping[str, Fraction] | None = None,
        integers: bool = False,
        share: int = 1,
    ) -> Model:
        """Whether formulas can hold together, with a share of the steps.

        With integers, formulas of a high degree are unknown: z3 would count few steps
        there and take minutes for each.
        """
        if integers and self._degree(formulas) > LARGEST_WHOLE_DEGREE:
            return Model("unknown", reason="the degree is too high with integers")
        # a fresh context each time: an answer depends on its question alone
        context = z3.Context()
        logic = "QF_NIRA" if integers else "QF_NRA"
        solver = z3.SolverFor(logic, ctx=context)
        solver.set("rlimit", max(1, self.limit // share))
        solver.set("random_seed", 0)
        solver.from_string(script(self.reading, formulas, fixed, integers))
        status = str(solver.check())
        self.steps += solver.statistics().get_key_value("rlimit count")
        if status == "sat":
            return self._model(solver.model())
        if status == "unsat":
            return Model("unsat")
        return Model("unknown", reason=solver.reason_unknown())

    def _degree(self, formulas: Sequence[Formula]) -> int:
        quotients = self.reading.quotients
        return max((degree(formula, quotients) for formula in formulas), default=0)

    def _model(self, model: z3.ModelRef) -> Model:
        found: dict[str, Any] = {str(entry): model[entry] for entry in model.decls()}
        values, exact = {}, set()
        for index, symbol in enumerate(self.reading.symbols):
            term: Any = found.get(f"x{index}")
            irrational = term is not None and z3.is_algebraic_value(term)
            value = _rational(term.approx(DIGITS) if irrational else term)
            if value is not None and not irrational:
                exact.add(symbol.name)
            values[symbol.name] = Fraction(0) if value is None else value
        return Model("sat", values, frozenset(exact))


def _rational(term: Any) -> Fraction | None:
    """Read a value, unless it is too long; what a model leaves out may be anything."""
    if term is None:
        return Fraction(0)
    if len(term.as_string()) > MOST_DIGITS:
        return None
    if z3.is_int_value(term):
        return Fraction(term.as_long())
    return Fraction(term.numerator_as_long(), term.denominator_as_long())
