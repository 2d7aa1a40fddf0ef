"""What the claims on (7) to (9) of the agnostic paper share: terms and schedules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from flverify.claims import judge
from flverify.claims.verdict import Finding

ROOM = {"sigma^2": Fraction(2), "G^2": Fraction(3), "ell G H": Fraction(8)}
RATE = {"sigma^2": Fraction(1), "G^2": Fraction(3, 2), "ell G H": Fraction(4)}
NOTHING = dict.fromkeys(ROOM, Fraction(0))
SCHEDULES = {
    "(i) Algorithm 1 as printed, H - 1 local steps": "literal",
    "(ii) H local steps, then a communication": "separate",
}
TWIN_NOTE = (
    "depends on how many local steps Algorithm 1 takes; the twin, without the terms of "
    "sigma, G and ell, fails for both"
)


def coefficients(terms: Any) -> tuple[Any, Any, Any]:
    """Return the coefficients of sigma^2, G^2 and ell G H."""
    return terms["sigma^2"], terms["G^2"], terms["ell G H"]


def lost(schedule: str, count: str) -> int:
    """Return how many of the steps that a bound counts are not taken."""
    return int(schedule == "literal" and count == "H")


def proof_beside_search(
    proof: Callable[[], Finding], search: Finding, lost_steps: int
) -> Finding:
    """Judge by both if all counted steps are taken; else the proof says nothing."""
    return search if lost_steps else judge.proof_or_search(proof(), search)


def by_schedule(
    count: str,
    proof: Callable[[], Finding],
    cases: Callable[[str], Iterable[judge.Case]],
    searched: str,
) -> Finding:
    """Judge a bound with `count` for the number of steps under both schedules."""
    found = {}
    for name, schedule in SCHEDULES.items():
        search = judge.instances(cases(schedule), "<=", searched)
        found[name] = proof_beside_search(proof, search, lost(schedule, count))
    return judge.readings(found)


MENDED = (
    r"\text{with }k=H-1\text{, the local steps that Algorithm 1 as printed takes, in "
    r"place of }H\text{ on the right},\ H\ge2"
)
