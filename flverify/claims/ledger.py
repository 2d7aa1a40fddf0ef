"""The ledger: every claim's expected verdict, generated and compared, never typed.

Beside the verdict it keeps those of the control, of readings, and of what lies within
these: corrections, and parts of what does not pass; the scope of whatever passes; which
parts no control refutes; all that provers were given for what passes, a digest of what
they showed, and how much was compared. So an audit notices a correction that is no
longer proved, a scope that shrank, one hypothesis more, another conclusion, one line of
a list of identities less.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

from flverify.claims.audit import Audited
from flverify.claims.ledger_file import Entry, read, write
from flverify.claims.verdict import Finding

__all__ = [
    "Entry",
    "compared",
    "differences",
    "entry",
    "read",
    "shows",
    "uses",
    "write",
]

INNER, CORRECTED = " / ", "corrected"  # how what lies within a finding is named
ABSENT = "none"  # what is told of what only the ledger has, or the finding
USED = "given", "assumed of the symbols"  # in the evidence of a prover
DIGITS = 12  # of a digest
LINES = "identities", "inequalities"  # in that of a finding about several at once


def entry(audited: Audited) -> Entry:
    """Return what the ledger keeps of an audited claim."""
    finding, control = audited.finding, audited.control
    kept: Entry = {"verdict": str(finding.verdict)}
    if finding.passes():
        kept["scope"] = finding.scope
    if control is not None:
        kept["control"] = str(control.verdict)
    if uncontrolled := audited.uncontrolled():
        kept["uncontrolled"] = uncontrolled
    if found := uses(finding):
        kept["uses"] = found
    if digest := shows(finding):
        kept["shows"] = digest
    if count := compared(finding):
        kept["compared"] = count
    inner = dict(_inner(finding))
    tables: dict[str, dict[str, str] | dict[str, list[str]]] = {
        "given": {line: list(ids) for line, ids in audited.claim.given.items()},
        "readings": {k: str(one.verdict) for k, one in finding.readings.items()},
        "within": {
            k: str(one.verdict) for k, one in inner.items() if k not in finding.readings
        },
        "scopes": {k: one.scope for k, one in inner.items() if one.passes()},
    }
    return {**kept, **{name: table for name, table in tables.items() if table}}


def _inner(finding: Finding) -> Iterator[tuple[str, Finding]]:
    """Yield readings, corrections, and parts of what does not pass, by name."""
    fixed = finding.correction
    corrected = {CORRECTED: fixed.finding} if fixed else {}
    parts = {f"part: {name}": one for name, one in finding.parts.items()}
    for name, one in (*finding.readings.items(), *corrected.items(), *parts.items()):
        if name not in parts or not finding.passes():
            yield name, one
        yield from ((f"{name}{INNER}{k}", found) for k, found in _inner(one))


def uses(finding: Finding) -> list[str]:
    """List what provers were given for all that passes in a finding, as written.

    Parameters
    ----------
    finding : Finding
    """
    return sorted({*_uses(finding)})


def _uses(finding: Finding) -> Iterator[str]:
    if finding.passes():
        for name in USED:
            yield from map(str, finding.evidence.get(name, ()))
    fixed = [finding.correction.finding] if finding.correction else []
    for one in (*finding.readings.values(), *finding.parts.values(), *fixed):
        yield from _uses(one)


def shows(finding: Finding) -> str:
    """Return a digest of all that is shown in what passes in a finding, as written.

    These are conclusions of provers, and identities; nothing is shown, no digest.

    Examples
    --------
    >>> import sympy
    >>> from flverify.claims import judge
    >>> x, y = sympy.symbols("x y", positive=True)
    >>> found = [judge.implied([x <= y], x <= k * y, "all") for k in (1, 2, 2)]
    >>> [len({*map(shows, some)}) for some in (found[:2], found[1:])]
    [2, 1]
    """
    found = sorted(_shown(finding))
    return sha256("\n".join(found).encode()).hexdigest()[:DIGITS] if found else ""


def _shown(finding: Finding) -> Iterator[str]:
    if finding.passes():
        yield from map(str, finding.evidence.get("identities", ()))
        if "shown" in finding.evidence:
            yield str(finding.evidence["shown"])
    fixed = [finding.correction.finding] if finding.correction else []
    for one in (*finding.readings.values(), *finding.parts.values(), *fixed):
        yield from _shown(one)


def compared(finding: Finding) -> int:
    """Count what passes in a finding: identities, inequalities, and parts of one each.

    Examples
    --------
    >>> from flverify.claims import judge
    >>> two = judge.identity([("one", 1, 1), ("another", 2, 2)], "all")
    >>> compared(two), compared(judge.all_of({"a": two, "b": judge.inconclusive("x")}))
    (2, 2)
    """
    fixed = [finding.correction.finding] if finding.correction else []
    count = sum(map(compared, (*finding.readings.values(), *fixed)))
    if finding.parts:
        return count + sum(map(compared, finding.parts.values()))
    lines = sum(len(finding.evidence.get(name, ())) for name in LINES)
    return count + (max(lines, 1) if finding.passes() else 0)


def differences(audited: Iterable[Audited], expected: dict[str, Entry]) -> list[str]:
    """Name each claim whose entry differs from the ledger, and what differs."""
    out = []
    for one in audited:
        found, known = entry(one), expected.get(one.claim.id)
        if known is None:
            out.append(f"{one.claim.id}: not in the ledger -> {found['verdict']}")
        elif known != found:
            before, after = _flat(known), _flat(found)
            places = dict.fromkeys([*before, *after])
            told = [
                f"{place}{_change(before.get(place), after.get(place))}"
                for place in places
                if before.get(place) != after.get(place)
            ]
            out.append(f"{one.claim.id}: {'; '.join(told)}")
    return out


def _change(before: Any, after: Any) -> str:
    """Say what changed: of lists, what is no longer there and what is new."""
    if not {type(before), type(after)} <= {list, type(None)}:
        return f"{ABSENT if before is None else before} -> {after or ABSENT}"
    lists = before or [], after or []
    gone, new = ([str(v) for v in a if v not in b] for a, b in (lists, lists[::-1]))
    return ", ".join([*(f"no longer {v}" for v in gone), *(f"now {v}" for v in new)])


def _flat(kept: Entry) -> dict[str, Any]:
    """Name all that an entry keeps; the verdict of the claim needs no name."""
    out: dict[str, Any] = {}
    for name, value in kept.items():
        if isinstance(value, dict):
            out |= {f"{name}: {key}: ": one for key, one in value.items()}
        else:
            out["" if name == "verdict" else f"{name}: "] = value
    return out
