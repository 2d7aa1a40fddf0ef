"""Tables of claims: verdicts, what they are about, and one claim in full."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from flverify._core.sentences import number_of
from flverify.claims.audit import Audited
from flverify.claims.claim import Claim
from flverify.claims.store import read, written
from flverify.claims.verdict import Finding, Verdict
from flverify.report import console

_STYLE = {
    Verdict.PROVED: "green",
    Verdict.CERTIFIED: "green",
    Verdict.SUPPORTED: "cyan",
    Verdict.REFUTED: "red",
    Verdict.INCONCLUSIVE: "yellow",
}


def powers(text: str) -> str:
    """Write the powers of a formula as readers do.

    Examples
    --------
    >>> powers("eta**2 <= (1 - q)**(k - 1), **not** here")
    'eta^2 <= (1 - q)^(k - 1), **not** here'
    """
    return re.sub(r"(?<=[\w)])\*\*(?=[\w(-])", "^", text)


def as_read(one: Audited) -> Audited:
    """Return an audited claim with the powers in its findings as readers write them."""
    return read(one.claim, json.loads(powers(json.dumps(written(one)))))


def verdict_table(audited: Sequence[Audited]) -> None:
    """Print id, verdict, scope and reason of every claim."""
    rows = [
        (
            one.claim.id,
            coloured(one.finding.verdict),
            one.finding.scope,
            one.finding.reason,
        )
        for one in map(as_read, audited)
    ]
    console.table(("claim", "verdict", "scope", "reason"), rows, keep=2)


def counts(audited: Sequence[Audited]) -> dict[str, int]:
    """Return how many claims have each verdict, zeros included."""
    found = Counter(one.finding.verdict for one in audited)
    return {str(verdict): found[verdict] for verdict in Verdict}


def twin_of(one: Audited) -> str:
    """Name the twin; that of an open claim may be broken, mended or both."""
    if one.finding.verdict == Verdict.INCONCLUSIVE:
        return "twin"
    return "broken twin" if one.finding.passes() else "mended twin"


def corrections(finding: Finding) -> Iterator[str]:
    """Yield the repaired statements of a finding and of all that it is made of."""
    if finding.correction:
        yield finding.correction.statement
        yield from corrections(finding.correction.finding)
    for part in (*finding.parts.values(), *finding.readings.values()):
        yield from corrections(part)


def count_line(audited: Sequence[Audited]) -> str:
    """Return the count per verdict as one line."""
    parts = [f"{many} {name}" for name, many in counts(audited).items() if many]
    return f"{number_of(len(audited), 'claim')}: {', '.join(parts)}"


def claim_table(claims: Sequence[Claim], expected: Mapping[str, str]) -> None:
    """Print id, expected verdict, source and proposition of every claim."""
    rows = [
        (one.id, expected.get(one.id, "none"), str(one.source), one.proposition)
        for one in claims
    ]
    console.table(("claim", "ledger", "source", "proposition"), rows, keep=2)


def reproduce(claim: Claim) -> list[str]:
    """Say how to judge a claim again: command line, Python, and where its check is."""
    code = getattr(claim.judged_by, "__code__", None)
    path = claim.path if claim.path.name else Path("claims.py")
    shipped = path.parent.name in ("proofs", "_proofs")
    name = f"{path.parent.name}/{path.name}" if shipped else str(path)
    target = claim.id if shipped else name
    load = "shipped_claims()" if shipped else f"claims_in([Path({name!r})])"
    needed = load.partition("(")[0]
    ways = [
        f"flverify audit {target}",
        f"from flverify.claims.registry import {needed}; "
        + ("" if shipped else "from pathlib import Path; ")
        + f"{load}[{claim.id!r}].check()",
    ]
    where = []
    if code is not None and Path(code.co_filename) == path:
        where = [f"the check is in {name}, line {code.co_firstlineno}"]
    return ways + where


def flat(label: str, content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield nested evidence as labels and texts."""
    for key, value in content.items():
        name = f"{label}: {key}"
        if isinstance(value, Mapping) and value:
            yield from flat(name, value)
        elif isinstance(value, list | tuple):
            yield name, ", ".join(str(entry) for entry in value)
        else:
            yield name, str(value)


def coloured(verdict: Verdict) -> Text:
    """Return a verdict in its colour."""
    return Text(str(verdict), style=_STYLE[verdict])
