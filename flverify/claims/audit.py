"""Judge claims one by one, each with its control."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flverify._core.errors import FlverifyError, TerminatedError
from flverify._core.places import own_line
from flverify.claims._order import misdeclared
from flverify.claims.claim import Claim
from flverify.claims.untouched import untouched
from flverify.claims.verdict import Finding, Verdict

FAULTS = (Exception, SystemExit)  # of a check: only an interruption is let through


@dataclass(frozen=True)
class Audited:
    """A claim with its finding, its controls' findings and the time taken."""

    claim: Claim
    finding: Finding
    control: Finding | None
    seconds: float
    reading_controls: Mapping[str, Finding] = field(default_factory=dict)

    def control_fault(self) -> str:
        """Say what is wrong with the control, or nothing.

        The twin of a claim that passes must be REFUTED, the twin of a refuted claim
        must pass, and every reading that passes must be REFUTED in its own twin, or
        else in the claim's; only an inconclusive claim may have no control. Nor may a
        twin contradict which way a free constant is declared to weaken the claim, nor
        a correction, of the claim or of a part or reading of it, be refuted itself, or
        that of a refuted claim be the print, nor a sharp value not be the best.
        """
        return (
            self._claim_fault()
            or self._reading_fault()
            or self._sharp_fault()
            or misdeclared(self.claim, self.finding, self.control)
            or _corrections_fault(self.finding, self.claim.statement)
        )

    def _claim_fault(self) -> str:
        if self.finding.verdict == Verdict.INCONCLUSIVE:
            return ""
        if self.control is None:
            return "the control is missing"
        if self.finding.passes() and self.control.verdict != Verdict.REFUTED:
            return f"the broken twin is {self.control.verdict}"
        if not self.finding.passes() and not self.control.passes():
            return f"the mended twin is {self.control.verdict}"
        return ""

    def _sharp_fault(self) -> str:
        told = self.finding.correction
        if self.claim.sharp is None or told is None or not self.finding.passes():
            return ""
        if told.finding.passes():
            return ""
        return f"the sharp statement is {told.finding.verdict}: {told.finding.reason}"

    def _reading_fault(self) -> str:
        broken = self._broken()
        for name, found in self.finding.readings.items():
            if found.passes() and name not in broken:
                return f"the reading {name!r} passes and has no control"
            if found.passes() and broken[name].verdict != Verdict.REFUTED:
                return f"the reading {name!r} is {broken[name].verdict} in its twin"
        for name in self.reading_controls.keys() - self.finding.readings.keys():
            if broken[name].verdict != Verdict.REFUTED:
                return f"the part {name!r} is {broken[name].verdict} in its twin"
        return ""

    def _broken(self) -> dict[str, Finding]:
        """Return the control of each reading, and of parts that have their own."""
        twin = self.control.readings if self.control else {}
        return {**twin, **self.reading_controls}

    def uncontrolled(self) -> list[str]:
        """Name parts that no control refutes, of what passes by parts judged apart.

        One that its twin merely leaves open is named: its proof can fail, but nothing
        shows that it does where it should. Where an argument says how parts add up,
        they are links of one proof, and the control is of what they prove.
        """
        whole, broken = self.finding, self._broken()
        out = _unbroken(whole, self.control, "")
        out += [
            one
            for name, found in whole.readings.items()
            for one in _unbroken(found, broken.get(name), f"{name} / ")
        ]
        return [one for one in out if one not in self.reading_controls]


def _unbroken(found: Finding, twin: Finding | None, before: str) -> list[str]:
    if not found.passes() or found.argument or twin is None:
        return []
    apart = {k: twin.parts[k] for k in found.parts if k in twin.parts}
    left = (k for k, one in apart.items() if one.verdict != Verdict.REFUTED)
    return [before + name for name in left]


def _corrections_fault(finding: Finding, printed: str) -> str:
    fixed = finding.correction
    if fixed and fixed.finding.verdict == Verdict.REFUTED:
        return f"the correction is {fixed.finding.verdict}: {fixed.finding.reason}"
    same = fixed is not None and _closed_up(fixed.statement) == _closed_up(printed)
    if same and finding.verdict == Verdict.REFUTED:
        return "the correction repeats the print, which is refuted"
    inner = [*finding.readings.values(), *finding.parts.values()]
    inner += [fixed.finding] if fixed else []
    return next(filter(None, (_corrections_fault(one, printed) for one in inner)), "")


def _closed_up(statement: str) -> str:
    return "".join(statement.split())


@dataclass(frozen=True)
class Failed:
    """A claim that could not be judged, and why: one sentence."""

    claim: Claim
    why: str


class ClaimsFailedError(FlverifyError):
    """Some claims could not be judged; all others were.

    Parameters
    ----------
    failed : sequence of Failed
    """

    def __init__(self, failed: Sequence[Failed]) -> None:
        self.failed = tuple(failed)
        super().__init__("; ".join(one.why.rstrip(".") for one in failed) + ".")


def raised(what: str, error: BaseException) -> str:
    """Say in one sentence what was raised where it must not be.

    Examples
    --------
    >>> raised("the check of demo", ValueError("a number is needed"))
    'the check of demo must run without an exception; it raised ValueError: a number is\
 needed; mend it.'
    """
    line = own_line(error)
    at = f" ({Path(line.filename).name}, line {line.lineno})" if line else ""
    return (
        f"{what} must run without an exception; it raised {type(error).__name__}: "
        f"{str(error).rstrip('.')}{at}; mend it."
    )


def no_finding(what: str, returned: object) -> str:
    """Say in one sentence what was returned in place of a finding."""
    return (
        f"{what} must return a finding of the judge; got {returned!r}; return what "
        "flverify.claims.judge gives."
    )


def attempt(claim: Claim) -> Audited | Failed:
    """Judge one claim; if its check raises or returns no finding, return that."""
    try:
        one = next(audit([claim]))
    except TerminatedError:
        raise
    except FAULTS as error:
        return Failed(claim, raised(f"the check of {claim.id}", error))
    returned: list[object] = [one.finding, *([one.control] if claim.twin else [])]
    for found in returned:
        if not isinstance(found, Finding):
            return Failed(claim, no_finding(f"the check of {claim.id}", found))
    return one


def audit(claims: Iterable[Claim]) -> Iterator[Audited]:
    """Judge claims in order, yielding each as it is done.

    Raises
    ------
    FormatError
        If a check exchanges a function of the package.
    """
    for claim in claims:
        begun = time.perf_counter()
        with untouched(f"the check of {claim.id}"):
            finding = claim.check()
            control = claim.control()
            reading_controls = claim.reading_controls(finding)
        seconds = time.perf_counter() - begun
        yield Audited(claim, finding, control, seconds, reading_controls)


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
