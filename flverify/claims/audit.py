"""Judge claims one by one, each with its control."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from flverify.claims.claim import Claim
from flverify.claims.verdict import Finding, Verdict


@dataclass(frozen=True)
class Audited:
    """A claim with its finding, its control's finding and the time taken."""

    claim: Claim
    finding: Finding
    control: Finding | None
    seconds: float

    def control_fault(self) -> str:
        """Say what is wrong with the control, or nothing.

        The twin of a claim that passes must be REFUTED, the twin of a refuted claim
        must pass; only an inconclusive claim may have no control.
        """
        if self.finding.verdict == Verdict.INCONCLUSIVE:
            return ""
        if self.control is None:
            return "the control is missing"
        if self.finding.passes() and self.control.verdict != Verdict.REFUTED:
            return f"the broken twin is {self.control.verdict}"
        if not self.finding.passes() and not self.control.passes():
            return f"the mended twin is {self.control.verdict}"
        return ""


def audit(claims: Iterable[Claim]) -> Iterator[Audited]:
    """Judge claims in order, yielding each as it is done."""
    for claim in claims:
        begun = time.perf_counter()
        finding = claim.check()
        control = claim.control()
        yield Audited(claim, finding, control, time.perf_counter() - begun)


def record(audited: Audited) -> dict[str, Any]:
    """JSON-able record of an audited claim."""
    claim, finding = audited.claim, audited.finding
    control = audited.control
    shown = control is not None and finding.verdict != Verdict.INCONCLUSIVE
    correction = finding.correction
    return {
        "id": claim.id,
        **_outcome(finding),
        "readings": [
            {"reading": name, **_outcome(found)}
            for name, found in finding.readings.items()
        ],
        "source": str(claim.source),
        "statement": claim.statement,
        "proposition": claim.proposition,
        "evidence": dict(finding.evidence),
        "control_verdict": str(control.verdict) if control and shown else None,
        "correction": correction
        and {"statement": correction.statement, **_outcome(correction.finding)},
        "seconds": round(audited.seconds, 3),
    }


def _outcome(finding: Finding) -> dict[str, str]:
    return {
        "verdict": str(finding.verdict),
        "scope": finding.scope,
        "reason": finding.reason,
    }
