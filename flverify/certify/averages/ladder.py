"""The ansaetze for functions that need not be strongly convex, from poor to rich."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from flverify._core.errors import RefusedError
from flverify._core.rationals import rational
from flverify.certify.ansatz import Level
from flverify.certify.averages.joint import Joint
from flverify.certify.averages.reduction import Reduced, reduce
from flverify.certify.check.plain import MOST_CALLS, TooManyError, effort
from flverify.certify.coordinates import Coordinates, Structure
from flverify.certify.discover import discover
from flverify.certify.expect import Round, expected_round
from flverify.certify.forms import Reading
from flverify.certify.inequality import Unknown
from flverify.certify.known_points import KnownPoints
from flverify.certify.rates import Status
from flverify.certify.search import NO_CERTIFICATE, Problem, levels, read_round
from flverify.engines.forms import ClientForm

RICHEST = 3  # ansaetze that are tried; richer ones took seconds and gave no more
NOTHING = "this says nothing about the method, since a richer V may have one"
ZERO_START = (
    "a remembered gradient must start at that of x_0 where functions need not have a "
    "point of gradient 0; got one that starts at 0; start it there, as "
    "initial_gradients=start and initial_tracker=sum do for FOCUS"
)


@dataclass(frozen=True)
class Rung:
    """What V may know, and what a round does to it."""

    level: Level
    known: KnownPoints
    expected: Round

    def laid(
        self,
        at_most: Mapping[Unknown, Fraction] | None = None,
        rate: tuple[Fraction, Fraction] | None = None,
    ) -> Reduced | None:
        """Lay out the programme; None if its equalities cannot be met."""
        return reduce(Joint(self.known, self.level, self.expected, at_most, rate))


def rungs(setting: Problem) -> Iterator[tuple[str, Rung | None]]:
    """Yield names and rungs; None for one whose memory starts where nothing is known.

    Raises
    ------
    RefusedError
        If the short checker cannot go through the rounds, or a method moves away from
        x* where functions need not be convex.
    """
    reading = read_round(setting)
    _require_short(setting, len(reading.points))
    found = discover(reading)
    if found.neighbourhood and setting.mu < 0:
        raise RefusedError(
            "for functions that are not convex a method must stay at x* whatever the "
            "gradients there are; got one that moves away; take convex functions."
        )
    space = None
    for structure, level in levels(reading, found)[:RICHEST]:
        if setting.mu <= 0 and _starts_at_zero(reading, structure):
            yield level.name, None
            continue
        if space is None or space.structure is not structure:
            space = Coordinates(reading, structure, rational)
            expected = expected_round(space)
            known = KnownPoints(space, setting.mu, Fraction(1))
        yield level.name, Rung(level, known, expected)


def told(words: Mapping[str, Iterable[str]]) -> tuple[Status, str]:
    """Say why nothing was found, from levels by reason.

    The status is "not_certified" only if every ansatz was seen to have nothing.
    """
    each = [
        f"{', '.join(dict.fromkeys(names))}: {reason}"
        for reason, names in words.items()
    ]
    sure = words.keys() <= {NO_CERTIFICATE, ZERO_START}
    return "not_certified" if sure else "inconclusive", "; ".join([*each, NOTHING])


def _require_short(setting: Problem, calls: int) -> None:
    """Refuse what the short checker, the only one here, cannot go through."""
    law = setting.classes.description
    try:
        effort({"law": law, "calls": calls})
    except TooManyError as error:
        raise RefusedError(f"{error}; take fewer clients.") from error
    if calls > MOST_CALLS:
        raise RefusedError(
            f"at most {MOST_CALLS} gradients a client and round are written out; got "
            f"{calls}; take fewer local steps."
        )


def _starts_at_zero(reading: Reading, structure: Structure) -> bool:
    """Whether a remembered gradient is zero at the start."""
    slots = [memory.slot for memory in structure.memories if memory.slot]
    forms = [reading.start[slot] for slot in slots]
    return any(isinstance(f, ClientForm) and not f.terms for f in forms)
