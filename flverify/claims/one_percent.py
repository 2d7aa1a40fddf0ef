"""The rule of one percent: a proved claim is as strong as its constants let it be.

Every number among the constants is moved by 1 % and the claim is judged again. A number
that is declared free is moved against its weaker side, and the verdict must leave
PROVED. Of any other number the strengthening side is the one where the proof breaks: a
weaker statement stays true. So it must break on one side at least; a number that may
move both ways is slack, or structure and no constant of the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from flverify._core.errors import FlverifyError
from flverify.claims.claim import Claim
from flverify.claims.free import Free
from flverify.claims.verdict import Finding, Verdict

PERCENT = Fraction(1, 100)
NO_STATEMENT = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)

Judge = Callable[[Mapping[str, Any]], str]


@dataclass(frozen=True)
class Moved:
    """One number of a claim, and the verdicts beside it.

    Parameters
    ----------
    claim : str
    constant : str
        Its name, with the entry or place if it stands inside another.
    printed : Fraction
    beside : mapping
        Verdict, or why there is none, by the value that was tried.
    declared : bool
        Whether the number is declared free: only the stronger side was tried then.
    sharp : str
        Verdict of the sharp statement beside the claim; empty if there is none.
    """

    claim: str
    constant: str
    printed: Fraction
    beside: Mapping[Fraction, str]
    declared: bool
    sharp: str = ""

    @property
    def complies(self) -> bool:
        """Whether the proof breaks, or the sharp constant is stated beside it."""
        return bool(self.sharp) or any(
            v != Verdict.PROVED for v in self.beside.values()
        )


def undeclared(claims: Mapping[str, Claim]) -> dict[str, list[str]]:
    """Name the numbers among constants that are not declared free, by claim.

    Examples
    --------
    >>> undeclared({})
    {}
    """
    found = {key: [n for n, _, _ in _others(one)] for key, one in claims.items()}
    return {key: names for key, names in found.items() if names}


def moved(claim: Claim, finding: Finding) -> Iterator[Moved]:
    """Move every number of a claim that is proved.

    Parameters
    ----------
    claim : Claim
    finding : Finding
        What was found of it; nothing is yielded unless that is a proof.
    """
    if finding.verdict != Verdict.PROVED:
        return
    fixed = finding.correction
    sharp = str(fixed.finding.verdict) if fixed and fixed.finding.passes() else ""
    for free in claim.free:
        printed = free.value(claim.constants)
        if printed is not None:
            value = printed + (1 if free.weaker == "smaller" else -1) * _by(
                printed, free
            )
            plain = replace(free, given={})
            changed = plain.changed(claim.constants, value)
            beside = {value: _verdict(claim, changed, free.reading)}
            yield Moved(
                claim.id, free.name, printed, beside, declared=True, sharp=sharp
            )
    for name, printed, put in _others(claim):
        beside = {}
        for sign in (1, -1):
            value, verdict = _tried(claim, printed, sign, put)
            beside[value] = verdict
            if verdict != Verdict.PROVED:
                break
        yield Moved(claim.id, name, printed, beside, declared=False, sharp=sharp)


def _by(printed: Fraction, free: Free | None = None) -> Fraction:
    if free is not None and free.whole:
        return Fraction(1)
    return abs(printed) * PERCENT or PERCENT


Put = Callable[[Fraction], dict[str, Any]]


def _tried(
    claim: Claim, printed: Fraction, sign: int, put: Put
) -> tuple[Fraction, str]:
    """Move by 1 %, or by 1 where a fraction makes no statement."""
    value = printed + sign * _by(printed)
    verdict = _verdict(claim, put(value))
    if verdict.startswith("no statement") and printed.denominator == 1:
        value = printed + sign
        verdict = _verdict(claim, put(value))
    return value, verdict


def _verdict(claim: Claim, changed: Mapping[str, Any], reading: str = "") -> str:
    try:
        finding = claim.check(**changed)
    except (FlverifyError, *NO_STATEMENT) as error:
        return f"no statement: {type(error).__name__}"
    if reading:
        finding = finding.readings[reading]
    return str(finding.verdict)


def _others(claim: Claim) -> Iterator[tuple[str, Fraction, Put]]:
    """Numbers that are not declared free, each with a way to put another there."""
    known = {(free.constant, free.key) for free in claim.free}
    for constant, value in claim.constants.items():
        if (constant, "") in known:
            continue
        for path, number in _numbers(value):
            if not (len(path) == 1 and (constant, str(path[0])) in known):
                name = constant + "".join(f"[{step}]" for step in path)
                yield name, number, _putter(claim, constant, path)


def _numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, Fraction]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _numbers(part, (*path, key))
    elif isinstance(value, list | tuple):
        for place, part in enumerate(value):
            yield from _numbers(part, (*path, place))
    elif isinstance(value, int | Fraction) and not isinstance(value, bool):
        yield path, Fraction(value)
    elif isinstance(value, str):
        try:
            yield path, Fraction(value)
        except (ValueError, ZeroDivisionError):
            return


def _putter(claim: Claim, constant: str, path: tuple[Any, ...]) -> Put:
    def put(value: Fraction) -> dict[str, Any]:
        return {constant: _replaced(claim.constants[constant], path, value)}

    return put


def _replaced(whole: Any, path: tuple[Any, ...], value: Fraction) -> Any:
    """Return a copy with another number at a place, text where it was text."""
    if path:
        first, *rest = path
        if isinstance(whole, Mapping):
            return {**whole, first: _replaced(whole[first], tuple(rest), value)}
        parts = list(whole)
        parts[first] = _replaced(parts[first], tuple(rest), value)
        return type(whole)(parts)
    if isinstance(whole, str):
        return str(value)
    return int(value) if value.denominator == 1 and isinstance(whole, int) else value
