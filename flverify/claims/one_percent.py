"""The rule of one percent: a proved claim is as strong as its constants let it be.

Every number among the constants says which way it strengthens the claim. One that is
free is moved 1 % against its weaker side, also where one reading alone is proved; one
of an equality, both ways; and the verdict must leave PROVED, unless the claim states
the sharp value beside it, with a finding of its own. A number of the structure, such
as an index, says why it has no such side. A number that says nothing breaks the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from flverify._core.errors import FlverifyError
from flverify.claims import _given
from flverify.claims.claim import Claim
from flverify.claims.free import PERCENT, Free
from flverify.claims.sharp import covered
from flverify.claims.verdict import Finding, Verdict

NO_STATEMENT = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)

Kind = Literal["free", "exact", "undeclared"]
Put = Callable[[Fraction], dict[str, Any]]


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
    kind : {"free", "exact", "undeclared"}
        What the claim declares: one side is tried, both, or none.
    sharp : str
        The sharp value that the claim states; empty if it states none.
    """

    claim: str
    constant: str
    printed: Fraction
    beside: Mapping[Fraction, str]
    kind: Kind
    sharp: str = ""

    @property
    def complies(self) -> bool:
        """Whether the proof breaks, or the sharp constant is stated beside it.

        At least one of the values tried must have made a statement.
        """
        verdicts = list(self.beside.values())
        broken = Verdict.PROVED not in verdicts
        return bool(self.sharp) or (
            broken and any(v in list(Verdict) for v in verdicts)
        )


def undeclared(claims: Mapping[str, Claim]) -> dict[str, list[str]]:
    """Name the numbers among constants of which nothing is declared, by claim.

    Raises
    ------
    InputError
        If it is no mapping, or an entry is no claim.

    Examples
    --------
    >>> undeclared({})
    {}
    """
    found = {
        key: [name for name, kind, _, _ in _numbers(one) if kind == "undeclared"]
        for key, one in _given.named(claims, Claim, "the claims").items()
    }
    return {key: names for key, names in found.items() if names}


def moved(claim: Claim, finding: Finding) -> Iterator[Moved]:
    """Move every number of a claim that is proved, but those of the structure.

    Of a claim that is not, what is free in a reading that is proved.

    Parameters
    ----------
    claim : Claim
    finding : Finding
        What was found of it; nothing is yielded unless that, or a reading, is a proof.

    Raises
    ------
    InputError
        If they are of another kind.

    Examples
    --------
    >>> from flverify._core.sources import Source
    >>> from flverify.claims import judge
    >>> from flverify.claims.claim import claim
    >>> @claim("demo.two", source=Source("flverify", "example"), statement="1+1=2",
    ...        proposition="one and one are two", constants={"two": 2},
    ...        twin={"two": 3}, exact=("two",))
    ... def demo(c):
    ...     return judge.identity([("sum", 1 + 1, c.two)], "all")
    >>> for one in moved(demo, demo.check()):
    ...     print(one.constant, one.kind, one.complies)
    two exact True
    """
    _given.instance_of(claim, Claim, "the claim", "shipped_claims()['focus.thm1.pl']")
    _given.instance_of(finding, Finding, "the finding", "claim.check()")
    best = covered(finding)
    for one in claim.free:
        printed = one.value(claim.constants)
        if printed is not None and one.judged(finding).verdict == Verdict.PROVED:
            value = one.stronger(printed)
            changed = replace(one, given={}).changed(claim.constants, value)
            beside = {value: _verdict(claim, changed, one)}
            sharp = best.get(one.name, "")
            yield Moved(claim.id, one.name, printed, beside, "free", sharp)
    numbers = _numbers(claim) if finding.verdict == Verdict.PROVED else ()
    for name, kind, printed, put in numbers:
        both = [_tried(claim, printed, s, put) for s in (1, -1) if kind == "exact"]
        yield Moved(claim.id, name, printed, dict(both), kind)


def _tried(
    claim: Claim, printed: Fraction, sign: int, put: Put
) -> tuple[Fraction, str]:
    """Move by 1 %, or by 1 where a fraction makes no statement."""
    value = printed + sign * (abs(printed) * PERCENT or PERCENT)
    verdict = _verdict(claim, put(value))
    if verdict.startswith("no statement") and printed.denominator == 1:
        value = printed + sign
        verdict = _verdict(claim, put(value))
    return value, verdict


def _verdict(claim: Claim, changed: Mapping[str, Any], free: Free | None = None) -> str:
    try:
        finding = claim.check(**changed)
    except (FlverifyError, *NO_STATEMENT) as error:
        return f"no statement: {type(error).__name__}"
    if free is not None:
        finding = free.judged(finding)
    return str(finding.verdict)


def _numbers(claim: Claim) -> Iterator[tuple[str, Kind, Fraction, Put]]:
    """Numbers that are neither free nor structural, and how to put another there."""
    known = {(free.constant, free.key) for free in claim.free}
    for constant, value in claim.constants.items():
        if (constant, "") in known or constant in claim.structural:
            continue
        kind: Kind = "exact" if constant in claim.exact else "undeclared"
        for path, number in _inside(value):
            if not (len(path) == 1 and (constant, str(path[0])) in known):
                name = constant + "".join(f"[{step}]" for step in path)
                yield name, kind, number, _putter(claim, constant, path)


def _inside(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, Fraction]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _inside(part, (*path, key))
    elif isinstance(value, list | tuple):
        for place, part in enumerate(value):
            yield from _inside(part, (*path, place))
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
