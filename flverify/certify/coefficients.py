"""Proofs that need no solver: substitute the constraints away, read the coefficients.

With L = mu + d, eta = 1/(3 L (1 + u)), N = 1 + n and the like, all symbols that are
left range over the positive or nonnegative numbers. If then no coefficient of the
numerator and of the denominator is negative, the inequality holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import sympy

from flverify._core.checks import instance
from flverify._core.errors import RefusedError
from flverify.certify._scalar.formulas import Atom, Formula, Reading, settled
from flverify.certify._scalar.parts import (
    CoefficientCertificate,
    Part,
    Stage,
    stages,
)
from flverify.certify._scalar.recheck import holds_up
from flverify.certify._scalar.relations import read
from flverify.certify._scalar.search import search
from flverify.certify._scalar.substitutions import ends


def certify(
    hypotheses: Iterable[Any], conclusion: Any
) -> CoefficientCertificate | None:
    """Look for a coefficient certificate.

    Parameters
    ----------
    hypotheses, conclusion
        As in `implication.implies`.

    Returns
    -------
    CoefficientCertificate or None
        None does not mean that the implication is false. Hypotheses that cannot hold
        together may get one too: `implies` looks at that, a certificate does not.

    Raises
    ------
    InputError
        If hypotheses are no list, something is not a relation, or two symbols share
        a name.

    Examples
    --------
    >>> eta, L, mu = sympy.symbols("eta L mu", positive=True)
    >>> found = certify([eta <= 1 / (3 * L), mu <= L], eta * mu <= sympy.Rational(1, 3))
    >>> found.parts[0].numerator
    mu*u1 + u1*u2 + u2
    """
    try:
        return from_reading(read(hypotheses, conclusion))
    except RefusedError:
        return None


def from_reading(reading: Reading) -> CoefficientCertificate | None:
    """Look for a coefficient certificate of what was read, if sympy settled nothing."""
    if settled(reading.concluded):
        return None
    found: list[Part] = []
    for goal in _atoms(reading.conclusion.formula):
        part = None if goal is None else _prove(reading, goal)
        if part is None or not is_valid(part):
            return None
        found.append(part)
    named = dict.fromkeys(fact.text for fact in reading.definitions)
    return CoefficientCertificate(tuple(found), tuple(named))


def is_valid(part: Part) -> bool:
    """Re-check a proof from what it says, without the search that found it.

    Examples
    --------
    >>> from dataclasses import replace
    >>> x = sympy.Symbol("x", positive=True)
    >>> part = certify([x >= 2], x**2 >= 4).parts[0]
    >>> is_valid(part), is_valid(replace(part, goal=Atom(x**2 - 5, ">=")))
    (True, False)
    """
    reached = part.numerator, part.denominator, part.final_signs
    try:
        return holds_up(part.goal, part.facts, part.signs, part.steps, reached)
    except RefusedError:  # a denominator that vanishes throughout
        return False


def _atoms(formula: Formula) -> Iterator[Atom | None]:
    """Comparisons of a conjunction; None for what is none."""
    if isinstance(formula, Atom):
        yield formula
    elif formula.kind == "all":
        for part in formula.parts:
            yield from _atoms(part)
    else:
        yield None


def _prove(reading: Reading, goal: Atom) -> Part | None:
    listed = [
        (atom, fact.text)
        for fact in (*reading.facts(), *reading.conditions)
        for atom in _atoms(fact.formula)
        if atom is not None
    ]
    facts, texts = tuple(a for a, _ in listed), tuple(text for _, text in listed)
    found = search((*reading.symbols, *reading.auxiliaries), facts, texts, goal)
    if found is None:
        return None
    first, last = found
    above, below = ends(last)
    return Part(
        goal,
        facts,
        texts,
        tuple(first.signs.items()),
        tuple(step.written() for step in last.steps),
        above.as_expr(),
        below.as_expr(),
        tuple(last.signs.items()),
    )


def proof_of(certificate: CoefficientCertificate) -> str:
    """Write a certificate so that it can be followed by hand.

    Raises
    ------
    InputError
        If it is none.

    Examples
    --------
    >>> p, r = sympy.symbols("p r", positive=True)
    >>> print(proof_of(certify([p >= 1, r <= p], r <= p**2)))
    To show: p**2 - r >= 0, where p > 0, r > 0.
    1. p >= 1 says p - 1 >= 0. Put u1 = p - 1 >= 0.
       So p = u1 + 1.
    2. r <= p says -r + u1 + 1 >= 0. Put u2 = -(r - u1 - 1)/r >= 0, as 1/r times that.
       So r = (u1 + 1)/(u2 + 1).
    Now it is (u1**2*u2 + u1**2 + 2*u1*u2 + u1 + u2) / (u2 + 1).
    No coefficient is negative and u1 >= 0, u2 >= 0.
    """
    like = "flverify.certify.coefficients.certify(hypotheses, conclusion)"
    instance(certificate, "certificate", CoefficientCertificate, like)
    texts = [_proof(part) for part in certificate.parts]
    if certificate.named:
        texts.insert(0, f"With {', '.join(certificate.named)}.")
    return "\n\n".join(texts)


def _proof(part: Part) -> str:
    signs = ", ".join(f"{symbol} {sign} 0" for symbol, sign in part.signs)
    where = f", where {signs}" if signs else ""
    lines = [f"To show: {part.goal.expression} {part.goal.comparison} 0{where}."]
    lines += [_stage(k, stage) for k, stage in enumerate(stages(part), 1)]
    risen = [
        s for s, sign in part.final_signs if (s, ">=") in part.signs and sign == ">"
    ]
    lines += [
        f"{symbol} is a factor of what is not 0: {symbol} > 0." for symbol in risen
    ]
    lines.append(f"Now it is ({part.numerator}) / ({part.denominator}).")
    return "\n".join([*lines, _ending(part)])


def _stage(number: int, stage: Stage) -> str:
    step = stage.step
    known, factor, new, value = map(
        sympy.factor, (stage.known, step.factor, step.slack_value, step.value)
    )
    text = f"{number}. {step.because} says {known} {stage.comparison} 0."
    if step.slack is not None:
        times = "" if factor == 1 else f", as {factor} times that"
        text += f" Put {step.slack} = {new} {step.slack_sign} 0{times}."
    return f"{text}\n   So {step.symbol} = {value}."


def _ending(part: Part) -> str:
    if part.goal.comparison == "==":
        return "The numerator is 0."
    final = ", ".join(f"{symbol} {sign} 0" for symbol, sign in part.final_signs)
    strict = part.goal.comparison != ">="
    more = "; above, one monomial has positive factors only" if strict else ""
    where = f" and {final}" if final else ""
    never = "negative"
    if part.below:
        never = "positive above or negative below the line"
    return f"No coefficient is {never}{where}{more}."
