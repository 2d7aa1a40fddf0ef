"""The judge: the only place where verdicts are made, and where thresholds live.

A proof needs exact algebra over the whole scope; exact numbers on instances give
SUPPORTED at most; floats never refute and never prove; a counterexample refutes only
after a second computation in rationals confirms it. Identities, signs and comparisons
have a private module each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from flverify._core.checks import whole
from flverify._core.errors import InputError
from flverify._core.sentences import every, number_of
from flverify._core.shown import shown
from flverify.claims import _cases, _given
from flverify.claims._cases import Case
from flverify.claims._identities import Pair, identity
from flverify.claims._points import (
    DIVIDED,
    UNCONFIRMED,
    inconclusive,
    within_denominators,
)
from flverify.claims._provers import Step, implied, one_step, vectors
from flverify.claims._signs import nonnegative
from flverify.claims.verdict import (
    PASSING,
    Finding,
    Verdict,
    from_lines,
    weakest,
)

__all__ = [
    "Case",
    "Pair",
    "Step",
    "all_of",
    "identity",
    "implied",
    "inconclusive",
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
    the smallest margin; REFUTED at the first violation that an independent recheck
    confirms.

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
    """
    distinct, violated, undecided = set[object](), "", ""
    closest: tuple[float, Case] | None = None
    _given.text(searched, "what was searched")
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
    if violated:
        return replace(inconclusive(violated), evidence={UNCONFIRMED: violated})
    if undecided or closest is None:
        return inconclusive(undecided or "no instance was searched")
    return _held(len(distinct), *closest, searched)


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
    sides = f"{_cases.short(again.left)} {relation} {_cases.short(again.right)}"
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
    """
    _given.text(scope, "the scope")
    _given.text(relation, "the relation")
    _given.instance_of(case, Case, "the witness", LIKE)
    _given.mapping(case.where, "where", "{'N': 2}")
    sides = case.sides()
    told = f"{_cases.short(case.left)} {relation} {_cases.short(case.right)}"
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


def proof_or_search(proof: Finding, search: Finding) -> Finding:
    """Judge by a proof, or by the counterexample of a search if the proof fails.

    A proof that does not go through refutes nothing: without a counterexample the
    claim stays open. A proof beside a counterexample, confirmed or not, means that
    one of them is wrong.

    Raises
    ------
    InputError
        If one of them is no finding.
    """
    for name, one in {"the proof": proof, "the search": search}.items():
        _given.instance_of(one, Finding, name, "judge.identity(...)")
    against = _against(search)
    if proof.passes() and against:
        return _open(
            f"a proof stands against a counterexample: {against}", proof, search
        )
    if search.verdict == Verdict.REFUTED:
        return search
    if proof.passes():
        evidence = {**proof.evidence, "searched beside the proof": search.reason}
        return replace(proof, evidence=evidence)
    shows = "a violation" if against else "no violation"
    return _open(
        f"the proof does not go through ({proof.reason}) and the search shows {shows} "
        f"({search.reason})",
        proof,
        search,
    )


def _open(reason: str, proof: Finding, search: Finding) -> Finding:
    """Leave open, beside what was tried; a violation stops later proofs too."""
    against = _against(search) or _violated(proof)
    evidence = {UNCONFIRMED: against} if against else {}
    tried = {"the proof": proof, "the search": search}
    return replace(inconclusive(reason), evidence=evidence, parts=tried)


def _against(search: Finding) -> str:
    """Return what a search found against a claim, confirmed or not."""
    return _refuted(search) or _violated(search)


def _violated(finding: Finding) -> str:
    """Return the unconfirmed violation in a finding or in one that it is made of."""
    if UNCONFIRMED in finding.evidence:
        return str(finding.evidence[UNCONFIRMED])
    return next(filter(None, map(_violated, _made_of(finding))), "")


def _refuted(finding: Finding) -> str:
    """Return why a finding is refuted, or one that it is made of."""
    if finding.verdict == Verdict.REFUTED:
        return finding.reason
    return next(filter(None, map(_refuted, _made_of(finding))), "")


def _made_of(finding: Finding) -> Iterator[Finding]:
    return chain(finding.parts.values(), finding.readings.values())


def all_of(
    parts: Mapping[str, Finding], *, scope: str = "", argument: str | None = None
) -> Finding:
    """Judge a claim made of several: refuted by any part, else as weak as any.

    Parameters
    ----------
    parts : mapping
    scope : str
        What parts that are all proved add up to, such as a first case and a step;
        theirs if it is empty. Conditions of the parts are kept.
    argument : str or None
        How they do, for a reader.

    Raises
    ------
    InputError
        If there are no parts, one is no finding, two have one name, or a scope comes
        without an argument.
    """
    _require_some(parts, "a claim made of several")
    _given.text(scope, "the scope")
    _given.text("" if argument is None else argument, "the argument")
    if scope and not argument:
        raise InputError(
            f"a scope beyond those of the parts must have an argument; got {scope!r} "
            "without one; say how the parts add up to it."
        )
    kept = {str(name): part for name, part in parts.items()}
    if len(kept) < len(parts):
        raise InputError(
            f"parts must have names of their own; got {', '.join(map(repr, parts))}; "
            "rename those that read the same."
        )
    for wanted in (Verdict.REFUTED, Verdict.INCONCLUSIVE):
        for name, part in kept.items():
            if part.verdict == wanted:
                evidence = {"part": name, **part.evidence}
                violated = next(filter(None, map(_violated, kept.values())), "")
                if violated:
                    evidence[UNCONFIRMED] = violated
                reason = f"{name}: {part.reason}"
                return Finding(wanted, part.scope, reason, evidence, parts=kept)
    verdict = weakest([part.verdict for part in kept.values()])
    if scope and verdict == Verdict.PROVED:
        scope = _with_conditions(scope, kept)
    else:
        scope = "; ".join(dict.fromkeys(_scopes(kept, verdict)))
    reason = "; ".join(f"{name}: {_in_short(part)}" for name, part in kept.items())
    return Finding(verdict, scope, reason, parts=kept, argument=argument or "")


def _with_conditions(scope: str, parts: Mapping[str, Finding]) -> str:
    """Add to a scope what parts, or theirs, take as given or assume."""
    steps = [*_steps(parts.values())]
    scope = within_denominators(scope, any(DIVIDED in one.scope for one in steps))
    asked = [one.evidence.get("side conditions", ()) for one in steps]
    listed = [*dict.fromkeys(chain.from_iterable(asked))]
    scope = f"{scope}; where {', '.join(listed)}" if listed else scope
    return from_lines([*dict.fromkeys(chain(*(one.given for one in steps)))], scope)


def _steps(parts: Iterable[Finding]) -> Iterator[Finding]:
    for part in parts:
        yield part
        yield from _steps(_made_of(part))


def _scopes(parts: Mapping[str, Finding], weak: Verdict) -> list[str]:
    """List the scopes of the weakest parts, each in its own words."""
    out = []
    for part in parts.values():
        if part.verdict == weak:
            inner = _scopes(part.parts, weak)
            joined = part.scope == "; ".join(dict.fromkeys(inner))
            out += inner if joined else [part.scope]
    return out


def _in_short(part: Finding) -> str:
    return number_of(len(part.parts), "part") if part.parts else part.reason


def readings(found: Mapping[str, Finding]) -> Finding:
    """Judge a claim whose print allows several readings.

    It passes only if every reading passes (the weakest counts), is refuted only if
    every reading is, and depends on the reading otherwise.

    Raises
    ------
    InputError
        If there are no readings, or one is no finding.
    """
    _require_some(found, "a claim decided by reading")
    verdicts = [finding.verdict for finding in found.values()]
    listed = ", ".join(f"{name}: {f.verdict}" for name, f in found.items())
    named = dict(found)
    if all(v in PASSING for v in verdicts):
        scope = "; ".join(dict.fromkeys(f.scope for f in found.values()))
        reason = f"under every reading ({listed})"
        return Finding(weakest(verdicts), scope, reason, {}, named)
    if all(v == Verdict.REFUTED for v in verdicts):
        first = next(iter(found.values()))
        reason = f"under every reading; {first.reason}"
        return Finding(
            Verdict.REFUTED, first.scope, reason, dict(first.evidence), named
        )
    reason = f"depends on the reading: {listed}"
    return Finding(Verdict.INCONCLUSIVE, "by reading", reason, {}, named)


def _require_some(found: Mapping[str, Finding], what: str) -> None:
    if not _given.named(found, Finding, "findings"):
        raise InputError(f"{what} must have some findings; got none; give them.")


def share(name: str, successes: int, trials: int, scope: str) -> Finding:
    """Judge a described trend on generated data: SUPPORTED only if always seen.

    A trend that fails on some data is not refuted: the data are ours, not the paper's.
    One that was always seen on a few data sets only is not supported.

    Raises
    ------
    InputError
        If the successes are not between 0 and the trials.
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
