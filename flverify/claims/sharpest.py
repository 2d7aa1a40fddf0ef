"""The best value of a claim's free constant, with what shows it and what stops there.

Every verdict is that of the claim's own check at that very value. A claim that is
refuted as printed becomes the corrected one, with the proof at the best value and a
counterexample just beyond it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flverify._core.checks import instance
from flverify._core.errors import (
    FormatError,
    InputError,
    RefusedError,
    TerminatedError,
)
from flverify._core.exact import Scalar
from flverify._core.shown import shown
from flverify.certify.brackets import (
    PRECISION,
    Bracket,
    Side,
    Tried,
    bracket,
    sharpest_step_size,
)
from flverify.claims import judge
from flverify.claims.audit import FAULTS, no_finding, raised
from flverify.claims.claim import Claim
from flverify.claims.free import Free
from flverify.claims.probes import Probes
from flverify.claims.verdict import Finding, Verdict

__all__ = [
    "PRECISION",
    "Bracket",
    "Sharpest",
    "Side",
    "Tried",
    "sharpest",
    "sharpest_step_size",
]

TWO_SIDED = "the constant binds from both sides, or one of the two is wrong"


@dataclass(frozen=True)
class Sharpest:
    """The best value of one free constant of a claim.

    Parameters
    ----------
    claim : Claim
    free : Free
    bracket : Bracket
        Its values show findings.
    """

    claim: Claim
    free: Free
    bracket: Bracket

    @property
    def printed(self) -> Fraction | None:
        """The value in print, if the print has that constant."""
        return self.free.value(self.claim.constants)

    @property
    def finding(self) -> Finding | None:
        """What was shown at the best value: the proof, certificate or search."""
        return self.bracket.best.shown if self.bracket.best else None

    @property
    def counterexample(self) -> Finding | None:
        """The refutation just beyond the best value, where there is one."""
        return self.bracket.beyond.shown if self.bracket.beyond else None

    def remarks(self) -> list[str]:
        """Say what the bracket leaves open, and what it contradicts."""
        notes, found = [], self.bracket
        if found.best is None:
            notes.append("no value that passes was found in the range searched")
        elif found.best.shown.verdict == Verdict.SUPPORTED:
            notes.append(
                f"{found.best.value} is shown on the instances searched only; over the "
                "whole claim the sharp value may be weaker"
            )
        if found.best and found.beyond is None and not found.between:
            notes.append(f"passes to the end of the range, {found.best.value}")
        notes += self._of_print()
        if found.between:
            values = [t.value for t in found.between]
            notes.append(
                f"undecided between: {len(values)} values from {min(values)} to "
                f"{max(values)}, none refuted and none passing"
            )
        for stray in found.strays:
            notes.append(
                f"not monotone: {stray.value} is {stray.shown.verdict} although the "
                f"weaker {found.beyond and found.beyond.value} is refuted; "
                f"{_against_order(stray)}"
            )
        if found.dents:
            refuted = ", ".join(str(dent.value) for dent in found.dents)
            passing = next(t for t in found.tried if t.value == found.start)
            notes.append(
                f"not monotone: refuted at {refuted} although the stronger "
                f"{found.start} passes; {_against_order(passing)}"
            )
        return notes

    def _of_print(self) -> list[str]:
        """Say that the printed value fails, is beyond one that does, or was untried."""
        printed, beyond = self.printed, self.bracket.beyond
        sides = {t.value: t.side for t in self.bracket.tried}
        if printed in sides:
            refuted = sides[printed] is Side.FAILS
            note = f"the printed value {printed} is refuted{self._beside()}"
            return [note] if refuted else []
        if printed is None:
            return []
        sign = 1 if self.free.weaker == "smaller" else -1
        if beyond is not None and sign * printed > sign * beyond.value:
            note = f"the printed value {printed} is stronger than {beyond.value}"
            return [f"{note}, refuted{self._beside()}"]
        ends = f"{self.free.low} to {self.free.high}"
        return [f"the printed value {printed} was not tried: the range is {ends}"]

    def _beside(self) -> str:
        """Name constants beside the free one that are not as in print."""
        given = self.free.given
        printed = _plain({name: self.claim.constants.get(name) for name in given})
        changed = [
            f"{name} = {value}"
            for name, value in _plain(given).items()
            if name != self.free.name and printed.get(name) != value
        ]
        return f" with {', '.join(changed)}, not as in print" if changed else ""

    def statement(self) -> str:
        """Return the claim's proposition with the best value put in."""
        if self.bracket.best is None:
            return ""
        changed = self.free.changed(self.claim.constants, self.bracket.best.value)
        before = _plain({name: self.claim.constants.get(name) for name in changed})
        put = "; ".join(
            f"{name} = {value}{_instead(value, before.get(name))}"
            for name, value in _plain(changed).items()
        )
        reading = f", read as {self.free.reading!r}" if self.free.reading else ""
        return f"{self.claim.proposition} With {put}{reading}."


def sharpest(
    claim: Claim,
    free: Free,
    precision: Scalar = PRECISION,
    *,
    probes: Probes | None = None,
    begin: Callable[[Fraction], object] = lambda _: None,
) -> Sharpest:
    """Find the best value of a free constant for which a claim still passes.

    Parameters
    ----------
    claim : Claim
    free : Free
        The constant, its range and which way it weakens the claim.
    precision : rational
        Width of the bracket.
    probes : Probes, optional
        Of the claim: what they have kept is not judged again, what is found is kept.
    begin : callable
        Called with every value that is judged, before it is.

    Raises
    ------
    InputError
        If the claim has no such constant or reading, or is none, or if the probes are
        of another claim.
    FormatError
        If its check raises at a value, or returns no finding.

    Examples
    --------
    >>> from flverify._core.sources import Source
    >>> from flverify.claims.claim import claim
    >>> import sympy
    >>> a, b = sympy.symbols("a b", positive=True)
    >>> @claim("demo.square", source=Source("flverify", "example"), statement="",
    ...     proposition="(a + b)^2 <= c (a^2 + b^2).", constants={"c": 3},
    ...     twin={"c": 1})
    ... def square(k):
    ...     gap = (sympy.Rational(k.c) - 2) * (a**2 + b**2)  # (a - b)^2 is left out
    ...     return judge.nonnegative([("gap", gap)], "all a, b > 0")
    >>> found = sharpest(square, Free("c", 1, 4, weaker="larger"), "1/10")
    >>> found.bracket.best.value, found.finding.verdict, found.counterexample.verdict
    (Fraction(2, 1), <Verdict.PROVED: 'PROVED'>, <Verdict.REFUTED: 'REFUTED'>)
    """
    instance(claim, "claim", Claim, "a check that @claim(...) stands over")
    instance(free, "free", Free, 'Free("c", 1, 4, weaker="larger")')
    free.require_of(claim.id, claim.constants)
    if probes is not None and probes.claim is not claim:
        raise InputError(
            f"probes must be of the claim whose constant is sought, {claim.id}; got "
            f"those of {probes.claim.id}; write Probes(claim, folder)."
        )

    def check(value: Fraction) -> Any:
        changed = free.changed(claim.constants, value)
        if probes is not None:
            return probes.find(changed, lambda: begin(value))
        begin(value)
        return claim.check(**changed)

    def ask(value: Fraction) -> tuple[Side, Finding]:
        finding = _judged(claim, free, value, check)
        if finding.passes():
            return Side.HOLDS, finding
        refuted = finding.verdict == Verdict.REFUTED
        return (Side.FAILS if refuted else Side.OPEN), finding

    found = bracket(
        ask,
        free.low,
        free.high,
        precision,
        weaker=free.weaker,
        whole=free.whole,
        start=free.value(claim.constants),
    )
    return Sharpest(claim, free, found)


def _against_order(passing: Tried) -> str:
    """Say why a value may pass although a weaker one is refuted."""
    proved = passing.shown.verdict in (Verdict.PROVED, Verdict.CERTIFIED)
    return TWO_SIDED if proved else "its instances miss that"


def _judged(
    claim: Claim, free: Free, value: Fraction, check: Callable[[Fraction], Any]
) -> Finding:
    what = f"the check of {claim.id} with {free.name} = {shown(value)}"
    try:
        finding = check(value)
    except RefusedError as refused:
        return judge.inconclusive(str(refused))
    except TerminatedError:
        raise
    except FAULTS as error:
        raise FormatError(raised(what, error)) from error
    if not isinstance(finding, Finding):
        raise FormatError(no_finding(what, finding))
    return free.judged(finding)


def _instead(value: str, before: str | None) -> str:
    """Say which number of the proposition a value stands for, if for another one."""
    return "" if before in (None, "None", value) else f" in place of {before}"


def _plain(changed: Mapping[str, Any]) -> dict[str, str]:
    """Text of constants, those inside a mapping listed."""
    out: dict[str, str] = {}
    for name, value in changed.items():
        if isinstance(value, Mapping):
            out |= {f"{name}[{key}]": str(inner) for key, inner in value.items()}
        else:
            out[name] = str(value)
    return out
