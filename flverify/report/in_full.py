"""One claim in full, on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote

from rich.text import Text

from flverify.claims import premises
from flverify.claims.audit import Audited
from flverify.claims.claim import Claim
from flverify.claims.counterexamples import standing
from flverify.claims.ledger import Entry
from flverify.claims.premises import Lines
from flverify.claims.verdict import Finding, Verdict
from flverify.report import console
from flverify.report.claims import as_read, coloured, reproduce, twin_of
from flverify.report.exhibits import (
    STEP,
    alike,
    arguments,
    as_text,
    every_step,
    exhibit,
    first_parts,
    in_a_row,
    told_once,
)

Pairs = Iterator[tuple[str, str | Text]]
PART = 400  # characters that are shown of a part, unless all is asked for


def show(
    audited: Audited, entries: Mapping[str, Entry], *, whole: bool = False
) -> None:
    """Print one claim.

    Parameters
    ----------
    audited : Audited
    entries : mapping of str to entry
        The ledger, with its verdict and those of what it is given.
    whole : bool
        Whether every step of a proof and long lists are shown too.
    """
    audited = as_read(audited)
    claim, finding = audited.claim, audited.finding
    expected = entries.get(claim.id, {}).get("verdict")
    console.fields(
        [
            ("claim", claim.id),
            ("statement", claim.statement),
            ("proposition", claim.proposition),
            ("source", claim.source.citation()),
            ("verdict", coloured(finding.verdict)),
            ("scope", finding.scope),
            ("reason", finding.reason),
            ("ledger", str(expected or "not in the ledger")),
            *_given({**claim.given, **(claim.mended_from or {})}, entries),
            *(("beware", text) for text in premises.warnings(claim, entries)),
            *_constants(claim),
            *_rests_on(finding, whole),
            *_correction(finding, whole),
            *_control(audited),
        ]
    )
    console.whole([f"reproduce: {way}" for way in reproduce(claim)])
    alone = [quote(str(path)) for path in standing(audited)]
    console.whole([f"without flverify: python {path}" for path in alone])
    fixed = finding.correction
    own, of_fixed = arguments(finding), arguments(fixed.finding) if fixed else []
    _arguments("the argument", own)
    _arguments("the argument of the correction", [t for t in of_fixed if t not in own])


def _arguments(label: str, texts: Sequence[str]) -> None:
    for text in texts:
        console.line(f"\n{label}:\n")
        console.line(text.strip())


def _rests_on(finding: Finding, whole: bool) -> Pairs:
    """Yield what a verdict rests on; readings that were found the same together."""
    # that of readings which are all refuted is the first one's
    if not finding.readings or finding.verdict != Verdict.REFUTED:
        yield from _evidence(told_once(finding), whole)
    for names, found in alike(finding.readings):
        yield from (("reading", name) for name in names)
        yield "", _outcome(found)
        yield from ((STEP + name, text) for name, text in _evidence(found, whole))


def _evidence(finding: Finding, whole: bool) -> Pairs:
    shown = exhibit(finding.evidence, whole=whole)
    if shown.kind:
        yield shown.about(shown.kind), shown.where()
    yield from ((STEP + name, text) for name, text in shown.comparison)
    label = "evidence" if shown.kind else shown.about("evidence")
    yield from ((f"{label}: {name}", text) for name, text in shown.rest)
    parts = every_step(finding) if whole else first_parts(finding, PART)
    yield from ((f"part: {name}", text) for name, text in parts)


def _given(lines: Lines, entries: Mapping[str, Entry]) -> Pairs:
    """Yield who judges the lines a claim is given."""
    unknown: Entry = {"verdict": "not in the ledger"}
    for line, keys in lines.items():
        if keys:
            told = [f"{key}, {entries.get(key, unknown)['verdict']}" for key in keys]
            yield f"given {line}", "; ".join(told)


def _outcome(finding: Finding) -> str:
    return f"{finding.verdict} ({finding.scope}): {finding.reason}"


def _constants(claim: Claim) -> Pairs:
    for name, value in claim.constants.items():
        yield f"constant: {name}", as_text(value)


def _correction(finding: Finding, whole: bool) -> Pairs:
    if finding.correction:
        found = finding.correction.finding
        yield "correction", finding.correction.statement
        yield "", _outcome(found)
        rest = _rests_on(found, whole)
        yield from ((STEP + name, text) for name, text in rest)


def _control(audited: Audited) -> Pairs:
    claim = audited.claim
    if audited.control is None:
        yield "control", f"none: {claim.no_control}"
        return
    yield f"control ({twin_of(audited)})", in_a_row(claim.twin)
    yield "control", _outcome(audited.control)
    if untouched := audited.uncontrolled():
        yield "control", f"refutes no {', '.join(untouched)}"
    if audited.control_fault():
        yield "control", f"misbehaves: {audited.control_fault()}"
