"""The judge's part for findings made of others: proofs, parts, inductions, readings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from unicodedata import normalize

from flverify._core.errors import InputError
from flverify._core.sentences import number_of
from flverify.claims import _given
from flverify.claims._points import (
    DIVIDED,
    EXISTING,
    UNCONFIRMED,
    inconclusive,
    where_defined,
)
from flverify.claims.verdict import PASSING, Finding, Verdict, from_lines, weakest


def proof_or_search(proof: Finding, search: Finding) -> Finding:
    """Judge by a proof, or by the counterexample of a search if the proof fails.

    A proof that does not go through refutes nothing: without a counterexample the
    claim stays open. A proof beside a counterexample, confirmed or not, means that
    one of them is wrong.

    Raises
    ------
    InputError
        If one of them is no finding.

    Examples
    --------
    >>> from flverify.claims.judge import Case, inconclusive, instances
    >>> proof = inconclusive("too hard")
    >>> search = instances([Case({"n": 2}, 4, 3, lambda: (4, 3))], "<=", "n = 2")
    >>> print(proof_or_search(proof, search).reason)
    4 <= 3 fails at n = 2
    """
    for name, one in {"the proof": proof, "the search": search}.items():
        _given.instance_of(one, Finding, name, "judge.identity(...)")
    against = _against(search)
    if proof.passes() and against:
        return _open(f"a proof and its search disagree: {against}", proof, search)
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

    Examples
    --------
    >>> from flverify.claims.judge import identity
    >>> from sympy import Symbol
    >>> first = identity([("n = 1", 1, 1)], "n = 1")
    >>> n = Symbol("n")
    >>> step = identity([("sum", n**2 + 2 * n + 1, (n + 1) ** 2)], "every n")
    >>> parts = {"first": first, "step": step}
    >>> found = all_of(parts, scope="all n", argument="induction")
    >>> print(found.verdict, "-", found.scope)
    PROVED - all n
    """
    kept = _by_name(parts, "a claim made of several")
    _given.text(scope, "the scope")
    _given.text("" if argument is None else argument, "the argument")
    if scope and not argument:
        raise InputError(
            f"a scope beyond those of the parts must have an argument; got {scope!r} "
            "without one; say how the parts add up to it."
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
    said: dict[str, Finding] = {}  # what the scope is made of
    if not scope or verdict != Verdict.PROVED:
        said = {name: part for name, part in kept.items() if part.verdict == verdict}
        scope = _joined(_scopes(said, verdict))
    scope = _with_conditions(scope, kept, said)
    reason = "; ".join(f"{name}: {_in_short(part)}" for name, part in kept.items())
    return Finding(verdict, scope, reason, parts=kept, argument=argument or "")


def induction(first: Finding, step: Finding, scope: str, argument: str) -> Finding:
    """Judge a claim about every r by its first case and the step from r to r + 1.

    PROVED if both are. REFUTED if the first case is, which the claim contains; a step
    that fails refutes the induction alone, for a true claim may be too weak to carry
    over: then it is INCONCLUSIVE, and `proof_or_search` takes a search beside it.

    Parameters
    ----------
    first, step : Finding
        The step has the claim at r among its hypotheses, and the claim at r + 1 as its
        conclusion.
    scope : str
        What the two add up to, such as every r.
    argument : str
        What is claimed at r, and what stands for a power with r in the exponent.

    Raises
    ------
    InputError
        If one of the two is no finding, or there is no scope or no argument.

    Examples
    --------
    Sums of 1/j^2 are at most 2 - 1/K, by induction, but not by one on 2 alone:

    >>> import sympy
    >>> from flverify.claims.judge import implied, induction
    >>> from flverify.claims.written import at_most
    >>> K = sympy.Symbol("K", integer=True, positive=True)
    >>> total = sympy.Symbol("total", positive=True)
    >>> def up_to(bound):
    ...     first = implied([], at_most(1, bound.subs(K, 1)), "K = 1")
    ...     more = at_most(total + 1 / (K + 1) ** 2, bound.subs(K, K + 1))
    ...     step = implied([total <= bound], more, "a step")
    ...     return induction(first, step, "every K", f"the sum is at most {bound}")
    >>> up_to(2 - 1 / K).verdict, up_to(sympy.Integer(2)).verdict
    (<Verdict.PROVED: 'PROVED'>, <Verdict.INCONCLUSIVE: 'INCONCLUSIVE'>)
    """
    _given.words(scope, "the scope")
    _given.text(argument, "the argument")
    if not (scope and argument):
        raise InputError(
            f"an induction must have a scope and an argument; got {scope!r} and "
            f"{argument!r}; say what its two parts add up to, and how."
        )
    parts = {"first": first, "step": step}
    found = all_of(parts, scope=scope, argument=argument)
    if first.verdict == Verdict.REFUTED or step.verdict != Verdict.REFUTED:
        return found
    reason = (
        f"the step does not carry over: {step.reason}; this refutes the induction, and "
        "not what was to be shown by it"
    )
    return replace(inconclusive(reason), parts=parts)


def _with_conditions(
    scope: str, parts: Mapping[str, Finding], said: Mapping[str, Finding]
) -> str:
    """Add what parts, or theirs, take as given or assume, and the said ones do not."""
    known = [*_steps(said.values())]
    steps = [*_steps(part for name, part in parts.items() if name not in said)]

    def new(listed: Callable[[Finding], Iterable[str]]) -> list[str]:
        told = {*chain.from_iterable(map(listed, known))}
        every = dict.fromkeys(chain.from_iterable(map(listed, steps)))
        return [one for one in every if one not in told]

    told = (any(words in s.scope for s in steps) for words in (DIVIDED, EXISTING))
    scope = where_defined(scope, *told)
    asked = new(lambda one: one.evidence.get("side conditions", ()))
    scope = f"{scope}; where {', '.join(asked)}" if asked else scope
    return from_lines(new(lambda one: one.given), scope)


def _steps(parts: Iterable[Finding]) -> Iterator[Finding]:
    for part in parts:
        yield part
        yield from _steps(_made_of(part))


def _scopes(parts: Mapping[str, Finding], weak: Verdict) -> list[str]:
    """List the scopes of the weakest parts, each in its own words."""
    weakest_ones = (part for part in parts.values() if part.verdict == weak)
    return [*chain.from_iterable(map(_own_scopes, weakest_ones))]


def _own_scopes(finding: Finding) -> list[str]:
    """List the scopes that a finding's scope was joined from, or that alone."""
    inner = _scopes(finding.parts, finding.verdict)
    return inner if finding.scope == _joined(inner) else [finding.scope]


def _joined(scopes: Iterable[str]) -> str:
    """Join scopes; one that another begins with, and adds a condition to, goes in it.

    Examples
    --------
    >>> _joined(["every N", "every N; L = 1 by scaling f", "N = 2", "N = 2, 3"])
    'every N; L = 1 by scaling f; N = 2; N = 2, 3'
    >>> _joined(["every x", "every x, wherever no denominator vanishes"])
    'every x, wherever no denominator vanishes'
    """
    each = [*dict.fromkeys(scopes)]
    added = "; ", DIVIDED, EXISTING  # what a condition begins with
    longer = (
        any(other.startswith(f"{one}{words}") for other in each for words in added)
        for one in each
    )
    return "; ".join(one for one, more in zip(each, longer, strict=True) if not more)


def _in_short(part: Finding) -> str:
    return number_of(len(part.parts), "part") if part.parts else part.reason


def readings(found: Mapping[str, Finding]) -> Finding:
    """Judge a claim whose print allows several readings.

    It passes only if every reading passes (the weakest counts), is refuted only if
    every reading is, is open if every reading is, and depends on the reading otherwise.

    Raises
    ------
    InputError
        If there are no readings, one is no finding, or two have one name.

    Examples
    --------
    >>> from flverify.claims.judge import identity
    >>> whole = identity([("i to N", 3, 3)], "N = 3")
    >>> fewer = identity([("i to N - 1", 2, 3)], "N = 3")
    >>> print(readings({"(i)": whole, "(ii)": fewer}).reason)
    depends on the reading: (i): PROVED, (ii): REFUTED
    >>> from flverify.claims.judge import inconclusive
    >>> print(readings({"(i)": inconclusive("no data"), "(ii)": whole}).reason)
    depends on the reading: (i): INCONCLUSIVE, (ii): PROVED
    >>> print(readings({"(i)": inconclusive("no data")}).reason)
    open under every reading: (i): no data
    """
    named = _by_name(found, "a claim decided by reading")
    verdicts = [finding.verdict for finding in named.values()]
    listed = ", ".join(f"{name}: {f.verdict}" for name, f in named.items())
    if all(v in PASSING for v in verdicts):
        scope = _joined(chain.from_iterable(map(_own_scopes, named.values())))
        reason = f"under every reading ({listed})"
        return Finding(weakest(verdicts), scope, reason, {}, named)
    if all(v == Verdict.REFUTED for v in verdicts):
        first = next(iter(named.values()))
        reason = f"under every reading; {first.reason}"
        return Finding(
            Verdict.REFUTED, first.scope, reason, dict(first.evidence), named
        )
    reason = f"depends on the reading: {listed}"
    if all(v == Verdict.INCONCLUSIVE for v in verdicts):
        why = "; ".join(f"{name}: {f.reason}" for name, f in named.items())
        reason = f"open under every reading: {why}"
    return Finding(Verdict.INCONCLUSIVE, "by reading", reason, {}, named)


def _by_name(found: Mapping[str, Finding], what: str) -> dict[str, Finding]:
    """Return findings by names, of which no two read the same."""
    if not _given.named(found, Finding, "findings"):
        raise InputError(f"{what} must have some findings; got none; give them.")
    alike = {" ".join(normalize("NFKC", str(name)).split()) for name in found}
    if len(alike) < len(found):
        raise InputError(
            "findings must have names of their own; got "
            f"{', '.join(map(repr, found))}; rename those that read the same."
        )
    return {str(name): one for name, one in found.items()}
