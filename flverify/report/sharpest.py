"""The best values of free constants, on the screen and as JSON-able records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from flverify._core.sentences import number_of
from flverify.certify.brackets import Bracket, Side, Tried
from flverify.claims.sharpest import Sharpest
from flverify.claims.verdict import Finding
from flverify.report import console
from flverify.report.claims import flat, powers
from flverify.report.numbers import bound, shown

CLAIMED = (
    "what is shown is shown at the values tried; between two of them that pass, others "
    "may fail"
)
DIGITS = 6  # of decimals, which still pass, or are refuted, as the value is


def show(found: Sequence[Sharpest]) -> None:
    """Print what was found about each free constant of a claim."""
    for place, one in enumerate(found):
        if place:
            console.line()
        console.fields([(name, powers(text)) for name, text in _fields(one)])
    console.remarks([CLAIMED])


def record(found: Sharpest) -> dict[str, Any]:
    """JSON-able record of one free constant."""
    free, bracket = found.free, found.bracket
    return {
        "constant": free.constant,
        "key": free.key or None,
        "weaker": free.weaker,
        "low": free.low,
        "high": free.high,
        "given": dict(free.given),
        "reading": free.reading or None,
        "precision": bracket.precision,
        "printed": found.printed,
        "best": _tried(bracket.best),
        "beyond": _tried(bracket.beyond),
        "within_precision": bracket.closed,
        "remarks": found.remarks(),
        "statement": found.statement() or None,
        "tried": [
            {"value": one.value, "verdict": str(one.shown.verdict)}
            for one in bracket.tried
        ],
        "inconclusive": [
            {"value": one.value, "reason": one.shown.reason}
            for one in bracket.undecided
        ],
    }


def _tried(one: Tried | None) -> dict[str, Any] | None:
    if one is None:
        return None
    finding: Finding = one.shown
    return {
        "value": one.value,
        "verdict": str(finding.verdict),
        "scope": finding.scope,
        "reason": finding.reason,
        "evidence": dict(finding.evidence),
    }


def _fields(found: Sharpest) -> Iterator[tuple[str, str]]:
    free, bracket = found.free, found.bracket
    yield "claim", found.claim.id
    yield "proposition", found.claim.proposition
    yield "source", found.claim.source.citation()
    yield "free", f"{free.name} in [{free.low}, {free.high}], {free.weaker} is weaker"
    if free.reading:
        yield "reading", free.reading
    yield from flat("given", free.given)
    if found.printed is not None:
        yield "printed", shown(found.printed)
    larger = free.weaker == "larger"
    best = "none"
    if bracket.best is not None:
        best = _with_decimal(bracket.best, up=larger)
    yield "sharpest", best + _undecided(bracket.between)
    yield from _finding("at that value", bracket.best)
    if bracket.beyond is not None:
        yield "refuted from", _with_decimal(bracket.beyond, up=not larger)
        yield from _finding("just beyond", bracket.beyond)
    if bracket.undecided:
        yield "inconclusive", _where(bracket)
    if found.statement():
        yield "statement", found.statement()
    yield from (("remark", note) for note in found.remarks())
    yield "tried", ", ".join(f"{t.value} {t.shown.verdict}" for t in bracket.tried)


def _undecided(between: Sequence[Tried]) -> str:
    """Say that a better value may be among those about which nothing is known."""
    if not between:
        return ""
    values = [one.value for one in between]
    tried = f"{number_of(len(values), 'value')} tried from {min(values)} to"
    return f"; undecided beyond it: {tried} {max(values)}"


def _where(found: Bracket) -> str:
    """Say how many values are undecided, where, and why the first of them is."""
    runs = groupby(found.tried, lambda tried: tried.side is Side.OPEN)
    places = [[str(one.value) for one in run] for is_open, run in runs if is_open]
    named = [_from_to(run) for run in places]
    first: Finding = found.undecided[0].shown
    total = number_of(len(found.tried), "value")
    return (
        f"{len(found.undecided)} of {total} tried: {', '.join(named)}; at "
        f"{places[0][0]}: {first.reason}"
    )


def _from_to(run: Sequence[str]) -> str:
    return run[0] if len(run) == 1 else f"{len(run)} from {run[0]} to {run[-1]}"


def _with_decimal(one: Tried, *, up: bool) -> str:
    """Text of a value, with decimals unless it is an integer, rounded to one side."""
    if one.value.denominator == 1:
        return str(one.value)
    return f"{one.value} (about {bound(one.value, DIGITS, up=up)})"


def _finding(label: str, one: Tried | None) -> Iterator[tuple[str, str]]:
    if one is None:
        return
    finding: Finding = one.shown
    yield label, f"{finding.verdict} ({finding.scope}): {finding.reason}"
