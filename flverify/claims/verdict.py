"""Verdicts and findings: how much was shown, over which scope, and with what."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain, dropwhile, islice
from typing import Any

from flverify._core.errors import FormatError

OF_CLAIMS = "flverify_proofs_"  # how the module of a file of claims is named


class Verdict(StrEnum):
    """How much was shown.

    PROVED: shown exactly for every parameter in the scope. CERTIFIED: an exact
    certificate passed the independent checker. SUPPORTED: exact values on listed
    instances, or sampling within its stated error. REFUTED: a counterexample,
    re-checked in exact arithmetic. INCONCLUSIVE: anything else, with the reason.
    """

    PROVED = "PROVED"
    CERTIFIED = "CERTIFIED"
    SUPPORTED = "SUPPORTED"
    REFUTED = "REFUTED"
    INCONCLUSIVE = "INCONCLUSIVE"


PASSING = (Verdict.PROVED, Verdict.CERTIFIED, Verdict.SUPPORTED)  # strongest first


def from_lines(lines: Sequence[str], scope: str) -> str:
    """Say in a scope which printed lines were taken as given."""
    return f"given {', '.join(lines)}; {scope}" if lines else scope


def weakest(verdicts: list[Verdict]) -> Verdict:
    """Return the weakest of passing verdicts."""
    return max(verdicts, key=PASSING.index)


class _AsMade(dict[str, Any]):
    """What a finding holds: a dict, also for JSON and pickle, that stays as it is."""

    def _kept(self, *_: object, **__: object) -> Any:
        raise FormatError(
            "a finding must stay as the judge made it; something in it is changed; say "
            "more of it in a reading or a correction."
        )

    __setitem__ = __delitem__ = __ior__ = _kept
    update = pop = popitem = setdefault = clear = _kept

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


@dataclass(frozen=True)
class Finding:
    """A verdict with its scope, reason and evidence; made by the judge alone.

    Parameters
    ----------
    verdict : Verdict
    scope : str
        All parameters, a parameter box, or the listed instances.
    reason : str
        One line.
    evidence : mapping
        Exact text and numbers: instances, counterexample, margins.
    readings : mapping
        Finding of each reading the print allows, by its name.
    correction : Correction or None
        A repaired statement with its own finding.
    parts : mapping
        Finding of each part of a claim made of several, such as the links of a proof.
    argument : str
        How the parts add up, for a reader; may be empty.
    given : tuple of str
        Printed lines that were taken as given.
    """

    verdict: Verdict
    scope: str
    reason: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    readings: Mapping[str, Finding] = field(default_factory=dict)
    correction: Correction | None = None
    parts: Mapping[str, Finding] = field(default_factory=dict)
    argument: str = ""
    given: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        raise FormatError(
            "verdicts must be made by the judge, and there is one kind of finding; got "
            f"another one, {cls.__name__}; return what flverify.claims.judge gives."
        )

    def __post_init__(self) -> None:
        _require_ours()
        for name in ("evidence", "readings", "parts"):
            object.__setattr__(self, name, _AsMade(getattr(self, name)))

    def corrected(self, statement: str, finding: Finding) -> Finding:
        """Return the same finding beside a repaired statement and its finding."""
        return replace(self, correction=Correction(statement, finding))

    def granted(self, lines: Sequence[str]) -> Finding:
        """Return the same finding, said of a step from printed lines.

        Examples
        --------
        >>> Finding(Verdict.PROVED, "every N", "").granted(["(1)", "(2)"]).scope
        'given (1), (2); every N'
        """
        fixed = self.correction
        return replace(
            self,
            scope=from_lines(lines, self.scope),
            given=(*self.given, *lines),
            readings={name: one.granted(lines) for name, one in self.readings.items()},
            correction=fixed
            and Correction(fixed.statement, fixed.finding.granted(lines)),
        )

    def passes(self) -> bool:
        """Whether the verdict is PROVED, CERTIFIED or SUPPORTED."""
        return self.verdict in PASSING


@dataclass(frozen=True)
class Correction:
    """A repaired statement, with the finding that it earned."""

    statement: str
    finding: Finding


def _require_ours() -> None:
    """Check that no file of claims makes a finding, nor a module beside it."""
    others = islice(_callers(), 3, None)  # the first are of the finding itself
    callers = dropwhile("dataclasses".__eq__, others)  # replace() is of its user
    by = next(callers, "")
    if by.startswith("flverify.") or not any(
        one.startswith(OF_CLAIMS) for one in chain([by], callers)
    ):
        return
    raise FormatError(
        "verdicts must be made by the judge; a file of claims, or a module beside it, "
        "makes one itself; return what flverify.claims.judge gives."
    )


def _callers() -> Iterator[str]:
    """Yield the names of the modules whose functions run, the innermost first."""
    frame = inspect.currentframe()
    while frame := frame and frame.f_back:
        yield str(frame.f_globals.get("__name__", ""))
