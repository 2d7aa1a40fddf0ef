"""The judge's part for provers: their answers become findings, never stronger.

An implication over the reals is a proof in its scope; a vector inequality with its
certificate is certified at the constants that were listed; a one-step lemma on listed
quadratics is supported. What refutes is an exact point, confirmed a second time here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from sympy.core.relational import Relational

from flverify._core.errors import InputError, Refusal
from flverify._core.sentences import every
from flverify._core.shown import shown
from flverify.certify import gram, quadratic_form
from flverify.certify.implication import Answer, Implication, implies
from flverify.claims import _cases, _given
from flverify.claims._points import FAILURES, UNCONFIRMED, inconclusive
from flverify.claims.verdict import Finding, Verdict
from flverify.engines.kinds import require_setting

EQUATIONS = (
    "; one of them is False as it was written: == compares how expressions are "
    "written, so write equal(a, b) of flverify.claims.written for an equation"
)


@dataclass(frozen=True)
class Step:
    """A one-step lemma on one quadratic setting.

    Parameters
    ----------
    where : mapping
        The instance in words and exact numbers.
    problem, algorithm, participation
        The rational setting.
    lemma : Inequality
        Written in the vocabulary of `flverify.certify.quadratic_form`.
    zero : sequence of Vector
        Vectors that vanish on the states meant, such as conserved ones.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg
    >>> from flverify.certify.quadratic_form import after, expect, minimiser, server
    >>> from flverify.participation import Full
    >>> from flverify.problems import Quadratics
    >>> x, best = server("model"), minimiser()
    >>> lemma = expect(gram.square(after(x) - best)) <= gram.square(x - best)
    >>> one = Step({"h": 1}, Quadratics([[[1]]], [[2]]), FedAvg("1/2"), Full(1), lemma)
    >>> print(one_step([one], "h = 1").verdict)
    SUPPORTED
    """

    where: Mapping[str, Any]
    problem: Any
    algorithm: Any
    participation: Any
    lemma: Any
    zero: Sequence[Any] = field(default_factory=tuple)


def implied(hypotheses: Sequence[Any], conclusion: Any, scope: str) -> Finding:
    """Judge an implication between real inequalities.

    PROVED if no real values satisfy the hypotheses and not the conclusion, REFUTED
    with a rational point that does, whole in the integer symbols. A conclusion that
    sympy settles as it is written (x <= x is True) is INCONCLUSIVE; `at_most` and
    `at_least` of `flverify.claims.written` keep it as it is. sympy's And and Or drop
    parts that it settled, before anybody sees them: give hypotheses one by one, and
    join others by `both` and `either` of that module, which refuse such parts.

    Parameters
    ----------
    hypotheses : sequence of sympy relations
    conclusion : sympy relation
    scope : str
        What the symbols range over.

    Raises
    ------
    InputError
        If a hypothesis or the conclusion is no relation.

    Examples
    --------
    >>> x = sympy.Symbol("x", real=True)
    >>> print(implied([x >= 1], x**2 >= x, "every x").verdict)
    PROVED
    >>> print(implied([x >= 0], x**2 >= x, "every x").verdict)
    REFUTED
    """
    _given.words(scope, "the scope")
    # they are read more than once
    listed = (*_given.entries(hypotheses, "hypotheses", "x <= 1"), conclusion)
    denied = any(one is False for one in listed)  # by Python, as by ==
    *kept, conclusion = map(_relation, listed)
    hypotheses = tuple(kept)
    answer = _asked(implies, hypotheses, conclusion)
    if answer.answer == Answer.PROVED:
        return _proved(answer, scope, _stated(hypotheses, conclusion))
    if answer.answer == Answer.REFUTED and answer.counterexample is not None:
        return _point(answer.counterexample, hypotheses, conclusion)
    return inconclusive(answer.reason + (EQUATIONS if denied else ""))


@lru_cache(maxsize=1024)
def _asked(
    prover: Callable[..., Implication], hypotheses: tuple[Any, ...], conclusion: Any
) -> Implication:
    """Ask once: a correction asks much of what its claim asked, in equal symbols."""
    return prover(hypotheses, conclusion)


def _relation(one: object) -> Any:
    """Return a relation; what Python settled itself, as 1 <= 2, is one of sympy's."""
    if isinstance(one, bool | np.bool_):
        return sympy.true if one else sympy.false
    if isinstance(one, sympy.logic.boolalg.Boolean) and not one.is_Symbol:
        return one
    raise InputError(
        "hypotheses and conclusion must be relations of sympy; got "
        f"{shown(one)}; write them like x <= 1."
    )


def _stated(hypotheses: Sequence[Any], conclusion: Any) -> dict[str, Any]:
    """Write out what is given, and the conclusion if it is one comparison."""
    one = isinstance(conclusion, sympy.core.relational.Relational)
    given = _written(hypotheses)
    shown = {"shown": str(conclusion)} if one else {}
    return {**({"given": given} if given else {}), **shown}


def _written(hypotheses: Sequence[Any]) -> list[str]:
    """Write hypotheses out, but those of which sympy, settling them, left nothing."""
    return [str(one) for one in hypotheses if one != sympy.true]


def _proved(answer: Implication, scope: str, stated: dict[str, Any]) -> Finding:
    evidence = {**stated, "methods": list(answer.methods)}
    if answer.assumed:
        evidence["assumed of the symbols"] = list(answer.assumed)
    if answer.certificate is not None:
        evidence["certificate"] = str(answer.certificate)
    reason = f"no real values violate it ({', '.join(answer.methods)})"
    if answer.side_conditions:
        evidence["side conditions"] = list(answer.side_conditions)
        scope = f"{scope}; where {', '.join(answer.side_conditions)}"
    return Finding(Verdict.PROVED, scope, reason, evidence)


def _point(
    point: Mapping[str, Fraction], hypotheses: Sequence[Any], conclusion: Any
) -> Finding:
    """Refute if sympy's own substitution agrees at the rational point."""
    where = {name: str(value) for name, value in point.items()}
    kept = all(_at(h, point) is True for h in hypotheses)
    if not kept or _at(conclusion, point) is not False:
        doubt = f"a second substitution does not confirm {where}"
        return replace(inconclusive(doubt), evidence={UNCONFIRMED: doubt})
    evidence = {
        "counterexample": where,
        "relation": str(conclusion),
        "given": _written(hypotheses),
        **_values(conclusion, point),
    }
    reason = f"{conclusion} fails at {_listed(where) or 'every point'}"
    return Finding(Verdict.REFUTED, "counterexample", reason, evidence)


def _values(relation: Any, point: Mapping[str, Fraction]) -> dict[str, list[str]]:
    """Return both sides at a point, if it is one comparison."""
    if not isinstance(relation, sympy.core.relational.Relational):
        return {}
    at = _placed(relation, point)
    return {"values": [str(relation.lhs.subs(at)), str(relation.rhs.subs(at))]}


def _placed(relation: Any, point: Mapping[str, Fraction]) -> dict[Any, Any]:
    """Return the values of a relation's symbols in sympy's numbers."""
    values = {s: point[s.name] for s in relation.free_symbols}
    return {s: sympy.Rational(v.numerator, v.denominator) for s, v in values.items()}


def _at(relation: Any, point: Mapping[str, Fraction]) -> bool | None:
    values = _placed(relation, point)
    try:
        found = sympy.sympify(relation).subs(values)
        if isinstance(found, Relational):  # 2 <= 1 may have been kept as written
            found = found.func(*found.args)
    except FAILURES:
        return None
    return bool(found) if found in (sympy.true, sympy.false) else None


def one_step(steps: Iterable[Step], searched: str) -> Finding:
    """Judge a one-step lemma for all states of listed quadratic settings.

    SUPPORTED if each is proved by an exact sum of squares, REFUTED at the first with
    a rational state that violates it, confirmed by running every cohort's round.

    Parameters
    ----------
    steps : iterable of Step
    searched : str
        What family the settings were drawn from.

    Raises
    ------
    InputError
        If a step or a part of it is of another kind.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg
    >>> from flverify.certify.quadratic_form import after, expect, minimiser, server
    >>> from flverify.participation import Full
    >>> from flverify.problems import Quadratics
    >>> x, best = server("model"), minimiser()
    >>> lemma = 2 * expect(gram.square(after(x) - best)) <= gram.square(x - best)
    >>> problem = Quadratics([[[1]]], [[2]])
    >>> for eta in ("1/2", "1/4"):
    ...     step = Step({"eta": eta}, problem, FedAvg(eta), Full(1), lemma)
    ...     print(one_step([step], "h = 1").verdict)
    SUPPORTED
    REFUTED
    """
    proved = list[str]()
    open_ = doubt = ""
    _given.words(searched, "what was searched")
    like = "Step(where, problem, algorithm, law, lemma)"
    for step in _given.instances_of(steps, Step, "steps", like):
        _given.mapping(step.where, "where", "{'N': 2}")
        require_setting(step.problem, step.algorithm, step.participation)
        answer = quadratic_form.one_step(
            step.problem, step.algorithm, step.participation, step.lemma, step.zero
        )
        where = _listed(step.where)
        if isinstance(answer, quadratic_form.Counterexample):
            if answer.confirmed:
                return _violating_state(step, answer)
            open_ = f"a violation at {where} was not confirmed by listing cohorts"
            doubt = open_
        elif isinstance(answer, Refusal):
            open_ = f"undecided at {where}: {answer.reason}"
        else:
            proved.append(where)
    if open_ or not proved:
        left_open = inconclusive(open_ or "no instance was searched")
        return replace(left_open, evidence={UNCONFIRMED: doubt} if doubt else {})
    count = len(set(proved))
    evidence = {"instances": count, "searched": searched, "states": "all of them"}
    reason = f"holds for all states of {every(count, 'setting')}"
    return Finding(Verdict.SUPPORTED, searched, reason, evidence)


def _violating_state(step: Step, answer: quadratic_form.Counterexample) -> Finding:
    state = {slot: _cases.text(value) for slot, value in answer.state.items()}
    evidence = {
        "counterexample": {k: _cases.text(v) for k, v in step.where.items()},
        "state": state,
        "left": str(answer.left),
        "right": str(answer.right),
        "relation": "<=",
    }
    sides = _cases.compared(answer.left, "<=", answer.right)
    where = _listed(step.where)
    reason = f"{sides} fails at {where} in the state {_listed(state)}"
    return Finding(Verdict.REFUTED, "counterexample", reason, evidence)


def vectors(lemmas: Iterable[tuple[Mapping[str, Any], Any]], scope: str) -> Finding:
    """Judge a vector inequality at listed constants, for all functions and vectors.

    CERTIFIED if each has an exact certificate that the standard-library checker
    accepts, REFUTED at the first with explicit rational vectors and functions. These
    satisfy hypotheses at the points where the lemma lists them: list one about a whole
    function, as Polyak-Lojasiewicz, at every point where it is used.

    Parameters
    ----------
    lemmas : iterable of (where, lemma)
        The constants in words, and a `gram.Lemma` or inequality.
    scope : str
        What the constants range over; all vectors, dimensions and functions of the
        class are meant.

    Raises
    ------
    InputError
        If an entry is of another kind.

    Examples
    --------
    >>> x, y = gram.vector("x"), gram.vector("y")
    >>> two = gram.square(x + y) <= 2 * gram.square(x) + 2 * gram.square(y)
    >>> print(vectors([({"factor": 2}, two)], "factor 2").verdict)
    CERTIFIED
    >>> one = gram.square(x + y) <= gram.square(x) + gram.square(y)
    >>> print(vectors([({"factor": 1}, one)], "factor 1").verdict)
    REFUTED
    """
    count, open_, given = 0, "", dict[str, None]()
    _given.words(scope, "the scope")
    for where, lemma in _given.rows(lemmas, 2, "lemmas", "(where, lemma)"):
        _given.mapping(where, "where", "{'N': 2}")
        named = _listed(where)
        answer = gram.prove(lemma)
        if isinstance(answer, gram.Counterexample):
            return _violating_vectors(where, answer)
        if isinstance(answer, gram.Undecided):
            open_ = f"undecided at {named}: {answer.reason}"
            continue
        if gram.verify(answer.as_dict()):
            count += 1
            given |= dict.fromkeys(_taken(answer.as_dict(), lemma))
        else:
            open_ = f"the checker rejects the certificate at {named}"
    if open_ or not count:
        return inconclusive(open_ or "no instance was searched")
    evidence = {"certificates": count, "constants": scope, "given": [*given]}
    reason = f"an exact certificate at {every(count, 'choice')} of the constants"
    return Finding(Verdict.CERTIFIED, scope, reason, evidence)


def _taken(certificate: Mapping[str, Any], lemma: Any) -> Iterator[str]:
    """Say what a certificate takes of functions, vectors and numbers."""
    for name, kind in certificate["functions"].items():
        yield f"{name}: {', '.join(f'{k} {v}' for k, v in kind.items())}"
    if isinstance(lemma, gram.Lemma):
        yield from map(str, lemma.assumed)
        yield from (f"{one} = 0" for one in lemma.where)


def _violating_vectors(
    where: Mapping[str, Any], answer: gram.Counterexample
) -> Finding:
    found = {k: _cases.text(v) for k, v in where.items()}
    listed = {
        "vector": {k: _cases.text(v) for k, v in answer.vectors.items()},
        "number": {k: str(v) for k, v in answer.numbers.items()},
        "function": answer.functions,
    }
    for kind, named in listed.items():  # a vector and a number may have one name
        found |= {f"{kind} {k}" if k in found else k: v for k, v in named.items()}
    evidence = {
        "counterexample": found,
        "left": str(answer.left),
        "right": str(answer.right),
        "relation": "<=",
    }
    sides = _cases.compared(answer.left, "<=", answer.right)
    reason = f"{sides} fails at {_listed(found)}"
    return Finding(Verdict.REFUTED, "counterexample", reason, evidence)


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_cases.plain(v)}" for name, v in values.items())
