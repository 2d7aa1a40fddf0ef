"""The judge: the only place where verdicts are made, and where thresholds live.

A proof needs exact algebra over the whole scope; exact numbers on instances give
SUPPORTED at most; floats never refute and never prove; a counterexample refutes only
after a second computation in rationals confirms it. Identities, signs, comparisons
and what is made of other findings have a private module each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flverify._core.checks import whole
from flverify._core.errors import InputError
from flverify._core.sentences import every
from flverify._core.shown import shown
from flverify.claims import _cases, _given
from flverify.claims._cases import Case
from flverify.claims._combined import all_of, induction, proof_or_search, readings
from flverify.claims._identities import Pair, identity
from flverify.claims._points import UNCONFIRMED, inconclusive
from flverify.claims._provers import Step, implied, one_step, vectors
from flverify.claims._signs import nonnegative
from flverify.claims.verdict import Finding, Verdict

__all__ = [
    "Case",
    "Pair",
    "Step",
    "all_of",
    "identity",
    "implied",
    "inconclusive",
    "induction",
    "instances",
    "nonnegative",
    "one_step",
    "proof_or_search",
    "readings",
    "share",
    "vectors",
    "witness",
]

LIKE = "Case({'N': 2}, left, right, recheck)"  # one instance of a claim
FEWEST_TRIALS = 20  # a trend seen on fewer data sets supports nothing


def instances(cases: Iterable[Case], relation: str, searched: str) -> Finding:
    """Judge a universal claim on listed instances.

    SUPPORTED if all satisfy the relation, with the number of distinct instances and
    the smallest margin, and the recheck of the closest one that is not 0 = 0 arrives
    at the same sides; REFUTED at the first violation that its recheck confirms.

    Parameters
    ----------
    cases : iterable of Case
    relation : {"==", "<=", "<", ">=", ">"}
    searched : str
        What family the instances were drawn from.

    Raises
    ------
    InputError
        If a side is neither rational nor float, or an entry is no case.

    Examples
    --------
    >>> squares = [Case({"n": n}, n, n**2, lambda n=n: (n, n * n)) for n in (0, 1, 2)]
    >>> found = instances(squares, "<=", "n = 0, 1, 2")
    >>> print(found.verdict, "-", found.reason)
    SUPPORTED - holds at all 3 instances; smallest margin 0
    >>> print(instances(squares, "<", "n = 0, 1, 2").reason)
    0 < 0 fails at n = 0
    """
    distinct, violated, undecided = set[object](), "", ""
    closest: tuple[float, Case] | None = None
    telling: tuple[float, Case] | None = None  # 0 = 0 tells little of the two sides
    _given.words(searched, "what was searched")
    for case in _given.instances_of(cases, Case, "cases", LIKE):
        _given.mapping(case.where, "where", "{'N': 2}")
        distinct.add(_cases.same(case.where))
        sides = case.sides()
        holds = _cases.holds(sides, relation)
        if holds is False:
            found = _refutation(case, relation)
            if found.verdict == Verdict.REFUTED:
                return found
            violated = found.reason
        elif holds is None:
            undecided = f"undecided at {_cases.where(case)}"
        margin = _cases.margin(sides)
        if closest is None or margin < closest[0]:
            closest = (margin, case)
        if any(map(any, sides)) and (telling is None or margin < telling[0]):
            telling = (margin, case)
    if violated:
        return replace(inconclusive(violated), evidence={UNCONFIRMED: violated})
    if undecided or closest is None:
        return inconclusive(undecided or "no instance was searched")
    doubt = _denied((telling or closest)[1], relation)
    if doubt:
        return replace(inconclusive(doubt), evidence={UNCONFIRMED: doubt})
    return _held(len(distinct), *closest, searched)


def _denied(case: Case, relation: str) -> str:
    """Say so if the recheck of a case that holds does not arrive at the same."""
    if case.recheck is None:
        return ""
    fault = _cases.second_look(case, relation, wanted=True).fault
    return fault and f"what holds at {_cases.where(case)} {fault}"


def _held(count: int, margin: float, case: Case, searched: str) -> Finding:
    evidence = {
        "instances": count,
        "searched": searched,
        "smallest relative margin": f"{margin:.3g}",
        "at": {k: _cases.text(v) for k, v in case.where.items()},
    }
    reason = f"holds at {every(count, 'instance')}; smallest margin {margin:.3g}"
    return Finding(Verdict.SUPPORTED, searched, reason, evidence)


def _refutation(case: Case, relation: str) -> Finding:
    """Refute if the recheck is rational and violates the relation in the same way."""
    again = _cases.second_look(case, relation, wanted=False)
    if again.fault:
        return inconclusive(f"a violation at {_cases.where(case)} {again.fault}")
    evidence = {
        "counterexample": {k: _cases.text(v) for k, v in case.where.items()},
        "left": _cases.text(again.left),
        "right": _cases.text(again.right),
        "relation": relation,
    }
    sides = _cases.compared(again.left, relation, again.right)
    reason = f"{sides} fails at {_cases.where(case)}"
    return Finding(Verdict.REFUTED, "counterexample", reason, evidence)


def witness(case: Case, relation: str, scope: str) -> Finding:
    """Judge an existence claim by one exact instance, confirmed by its recheck.

    Parameters
    ----------
    case : Case
    relation : {"==", "<=", "<", ">=", ">"}
    scope : str
        Where the instance was taken.

    Raises
    ------
    InputError
        If it is no case, or a side is neither rational nor float.

    Examples
    --------
    >>> even = Case({"n": 2}, 2**2, 4, lambda: (2 * 2, 4))
    >>> print(witness(even, "==", "n = 2").verdict, witness(even, "<", "n = 2").verdict)
    PROVED INCONCLUSIVE
    """
    _given.words(scope, "the scope")
    _given.text(relation, "the relation")
    _given.instance_of(case, Case, "the witness", LIKE)
    _given.mapping(case.where, "where", "{'N': 2}")
    sides = case.sides()
    told = _cases.compared(case.left, relation, case.right)
    place = f"{told} at {_cases.where(case)}"
    if not _cases.exact(sides) or not _cases.holds(sides, relation):
        return inconclusive(f"the witness fails or is not exact: {place}")
    again = _cases.second_look(case, relation, wanted=True)
    if again.fault:
        return inconclusive(f"the witness {place} {again.fault}")
    evidence = {
        "witness": {k: _cases.text(v) for k, v in case.where.items()},
        "left": _cases.text(case.left),
        "right": _cases.text(case.right),
    }
    return Finding(Verdict.PROVED, scope, place, evidence)


def share(name: str, successes: int, trials: int, scope: str) -> Finding:
    """Judge a described trend on generated data: SUPPORTED only if always seen.

    A trend that fails on some data is not refuted: the data are ours, not the paper's.
    One that was always seen on a few data sets only is not supported.

    Raises
    ------
    InputError
        If the successes are not between 0 and the trials.

    Examples
    --------
    >>> print(share("FOCUS is faster", 20, 20, "generated data").verdict)
    SUPPORTED
    >>> print(share("FOCUS is faster", 19, 20, "generated data").verdict)
    INCONCLUSIVE
    """
    whole(trials, "trials", least=0)
    if not 0 <= whole(successes, "successes", least=0) <= trials:
        raise InputError(
            f"{name} must be seen between 0 and {shown(trials)} times; got "
            f"{shown(successes)}; count each trial once."
        )
    evidence = {"seen": successes, "trials": trials}
    reason = f"{name}: {successes} of {trials}"
    if trials < FEWEST_TRIALS:
        reason += f", fewer trials than {FEWEST_TRIALS}"
    seen = successes == trials >= FEWEST_TRIALS
    verdict = Verdict.SUPPORTED if seen else Verdict.INCONCLUSIVE
    return Finding(verdict, scope, reason, evidence)
