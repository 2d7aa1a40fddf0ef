"""Whether a twin contradicts what a claim declares of a free constant.

A twin that changes nothing but a free constant is judged anyway. If one of the two
values passes and the other is refuted, the refuted one cannot be the weaker one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flverify._core.errors import InputError
from flverify.claims.claim import Claim
from flverify.claims.free import Free
from flverify.claims.verdict import Finding, Verdict


def misdeclared(claim: Claim, finding: Finding, control: Finding | None) -> str:
    """Say which free constant has its weaker side on the other side, or nothing.

    Parameters
    ----------
    claim : Claim
    finding, control : Finding
        What was found of it and of its twin.
    """
    twin = {**claim.constants, **claim.twin}
    for free in claim.free if control is not None else ():
        judged = _judged(free, finding), _judged(free, control)
        fault = _fault(free, claim.constants, twin, judged)
        if fault:
            return fault
    return ""


def _judged(free: Free, finding: Finding | None) -> Finding | None:
    if finding is None or not free.reading:
        return finding
    return finding.readings.get(free.reading)


def _fault(
    free: Free,
    printed: Mapping[str, Any],
    twin: Mapping[str, Any],
    judged: tuple[Finding | None, Finding | None],
) -> str:
    try:
        values = free.value(printed), free.value(twin)
    except InputError:  # a twin may be anything
        return ""
    alone = _without(free, printed) == _without(free, twin)
    there = all(printed[name] == value for name, value in free.given.items())
    if None in (*values, *judged) or not (alone and there):
        return ""
    pairs = list(zip(values, judged, strict=True))
    passing = [value for value, found in pairs if found and found.passes()]
    refuted = [v for v, found in pairs if found and found.verdict == Verdict.REFUTED]
    if len(passing) != 1 or len(refuted) != 1:
        return ""
    good, bad = passing[0], refuted[0]
    if good is None or bad is None or (bad > good) is (free.weaker == "smaller"):
        return ""
    return (
        f"{free.name} is declared weaker where {free.weaker}, but {bad} is refuted and "
        f"{good} passes"
    )


def _without(free: Free, constants: Mapping[str, Any]) -> dict[str, Any]:
    """Return all constants but the free one, or but its entry."""
    out = dict(constants)
    found = out.pop(free.constant)
    if free.key and isinstance(found, Mapping):
        out[free.constant] = {k: v for k, v in found.items() if k != free.key}
    return out
