"""Certify one algorithm at many step sizes: what is discovered is discovered once.

The rate of the worst quadratic is a floor under every certified rate. Where a
certificate exists just above the floor, one programme and one exact proof are all that
a step size costs; elsewhere the richest ansatz is searched above the floor. Whatever
is reused or guessed, the checker judges every certificate from scratch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

from flverify.algorithms._algorithm import Algorithm
from flverify.certify.ansatz import Level
from flverify.certify.coordinates import Structure
from flverify.certify.discover import discover
from flverify.certify.neighbourhood import contraction
from flverify.certify.rates import (
    BLURRED,
    DIVERGES,
    TOO_NEAR,
    TOO_SLOW,
    TOP,
    Certified,
    Status,
    lowered,
)
from flverify.certify.search import (
    NO_CERTIFICATE,
    Problem,
    Search,
    levels,
    problem,
    prove,
    read_round,
    searches,
    smallest,
)
from flverify.certify.short_rates import just_above, rounded_up
from flverify.certify.threshold import WIDE_ENOUGH
from flverify.participation._law import Participation

NEARLY_ONE = BLURRED  # the rate that asks whether there is any
GAP = Fraction(4, 10**6)  # from what floats found to the first attempt to round
AGAIN = Fraction(5, 2)  # how much further up the next attempt to round is

# the power of the step size that grows so when it is doubled
DOUBLED = {Fraction(2) ** power: power for power in (-2, -1, 0, 1, 2)}

_ANSWERS: Mapping[Status, bool | None] = {
    "certified": True,
    "not_certified": False,
    "inconclusive": None,
}

Rungs: TypeAlias = tuple[tuple[Structure, Level], ...]


@dataclass(frozen=True)
class Ladder:
    """An algorithm under a law, ready to be certified at any step size.

    Parameters
    ----------
    setting : Problem
        At some step size.
    rungs : tuple of (Structure, Level)
        What was discovered there, and the ansaetze from poor to rich.
    powers : tuple of tuple of mapping, or None
        Rung by rung and value by value, with which power of the step size each
        coefficient of the point grows; None where the rungs depend on it otherwise.
    neighbourhood : bool
        Whether the method moves away from x*; its rates are those of the contraction
        to a neighbourhood.

    Examples
    --------
    >>> from flverify.algorithms import Focus
    >>> from flverify.participation import Bernoulli
    >>> ladder = Ladder.of(Focus("1/5"), Bernoulli(["1/2", "1/2"]), "1/10", 1)
    >>> found = ladder.certify(Fraction(1, 10), Fraction("0.959566"))
    >>> found.level, float(found.rate)
    ('slots', 0.959571)
    """

    setting: Problem
    rungs: Rungs
    powers: tuple[tuple[Mapping[str, int], ...], ...] | None
    neighbourhood: bool

    @classmethod
    def of(
        cls,
        algorithm: Algorithm,
        participation: Participation,
        strong_convexity: object,
        smoothness: object,
    ) -> Ladder:
        """Read an algorithm and discover what its round keeps.

        Raises
        ------
        DomainError
            If a number lies outside its domain.
        RefusedError
            If the algorithm, its round or the law has no certificates.
        """
        setting = problem(algorithm, participation, strong_convexity, smoothness)
        here, there = _rungs(setting), _rungs(_at(setting, 2 * algorithm.step_size))
        moved = here[0][0].neighbourhood
        return cls(setting, here, _powers(here, there), moved)

    def certify(self, step_size: Fraction, lower_bound: Fraction) -> Certified:
        """Certify the smallest rate at one step size, to 1e-5.

        Parameters
        ----------
        step_size : Fraction
        lower_bound : Fraction
            No certified rate is below it; that of a quadratic.

        Returns
        -------
        result : Certified
            "not_certified" only where the solver answered and rates are seen: a method
            that is slower than 0.999999 on a quadratic is not.
        """
        setting, target = _at(self.setting, step_size), just_above(lower_bound)
        if lower_bound >= 1:
            return Certified("not_certified", DIVERGES)
        if self.neighbourhood:
            result = _contraction(setting, target)
        else:
            result = self._smallest(setting, target)
        blurred = result.status == "not_certified" and target > NEARLY_ONE
        return Certified("inconclusive", TOO_SLOW) if blurred else result

    def _smallest(self, setting: Problem, target: Fraction) -> Certified:
        """Try every ansatz just above the floor, then bisect from the richest down."""
        step_size = setting.algorithm.step_size
        tried: list[Search] = []
        for found in self.searches(step_size):
            result = _proved(found, setting, target)
            if result.status == "certified":
                return result
            tried.append(found)
        if target > NEARLY_ONE:  # nothing lies between
            return Certified("not_certified", NO_CERTIFICATE)
        results = []
        for found in reversed(tried):
            results.append(_best(found, setting, target))
            if results[-1].status == "certified":
                return lowered(results[-1], tried, setting, target)
        unsure = [result for result in results if result.status == "inconclusive"]
        if not unsure and _sees(tried[-1], TOP):  # the richest, which has all there is
            return Certified("inconclusive", TOO_NEAR)
        return (unsure or results)[0]

    def promising(self, step_size: Fraction) -> bool | None:
        """Whether floats see a certificate of 1 - 1e-6 at a step size; no proof.

        None where they see none and the solver gave up.
        """
        if self.neighbourhood:
            return self.certifiable(step_size)
        found = reversed(list(self.searches(step_size)))
        return _any(_sees(one, NEARLY_ONE) for one in found)

    def certifiable(self, step_size: Fraction) -> bool | None:
        """Whether 1 - 1e-6 is certified at a step size; None where that is open."""
        setting = _at(self.setting, step_size)
        if self.neighbourhood:
            asked = contraction(*_question(setting), rate=NEARLY_ONE)
            return _ANSWERS[asked.status]
        found = reversed(list(self.searches(step_size)))
        return _any(_ANSWERS[_proved(one, setting, NEARLY_ONE).status] for one in found)

    def searches(self, step_size: Fraction) -> Iterator[Search]:
        """Lay out the ansaetze from poor to rich, each when it is asked for."""
        setting = _at(self.setting, step_size)
        reading = read_round(setting)
        moved = _rungs(setting) if self.powers is None else self._moved(setting)
        yield from searches(reading, moved, setting.mu)

    def _moved(self, setting: Problem) -> Rungs:
        """Return the rungs at another step size, by the powers they grow with."""
        times = setting.algorithm.step_size / self.setting.algorithm.step_size
        return tuple(
            (shape, replace(level, values=_scaled(level.values, powers, times)))
            for (shape, level), powers in zip(
                self.rungs, self.powers or (), strict=True
            )
        )


def _rungs(setting: Problem) -> Rungs:
    reading = read_round(setting)
    return tuple(levels(reading, discover(reading)))


def _powers(
    here: Rungs, there: Rungs
) -> tuple[tuple[Mapping[str, int], ...], ...] | None:
    """Compare the rungs at a step size with those at its double."""
    if [_shape(rung) for rung in here] != [_shape(rung) for rung in there]:
        return None
    out = []
    for (_, one), (_, two) in zip(here, there, strict=True):
        pairs = zip(one.values, two.values, strict=True)
        growth = [{name: b[name] / a[name] for name in a} for a, b in pairs]
        if any(ratio not in DOUBLED for point in growth for ratio in point.values()):
            return None
        out.append(tuple({n: DOUBLED[r] for n, r in p.items()} for p in growth))
    return tuple(out)


def _shape(rung: tuple[Structure, Level]) -> tuple[Any, ...]:
    """All of a rung but the numbers in its points."""
    structure, level = rung
    return structure, level.name, level.ghost_values, [set(v) for v in level.values]


def _scaled(
    values: tuple[Mapping[str, Fraction], ...],
    powers: tuple[Mapping[str, int], ...],
    times: Fraction,
) -> tuple[Mapping[str, Fraction], ...]:
    return tuple(
        {name: v * times ** power[name] for name, v in point.items()}
        for point, power in zip(values, powers, strict=True)
    )


def _at(setting: Problem, step_size: Fraction) -> Problem:
    algorithm = setting.algorithm.retuned(step_size)
    scaled = algorithm.rescaled(1 / setting.smoothness)
    return replace(setting, algorithm=algorithm, scaled=scaled)


def _question(setting: Problem) -> tuple[Algorithm, Participation, Fraction, Fraction]:
    """Return a setting as the entry functions take it."""
    numbers = setting.strong_convexity, setting.smoothness
    return setting.algorithm, setting.classes.law, *numbers


def _contraction(setting: Problem, target: Fraction) -> Certified:
    """Certify the contraction of a method that moves away from x*."""
    found = contraction(*_question(setting), rate=target)
    if found.status != "certified":
        found = contraction(*_question(setting))
    return Certified(found.status, found.reason, found.rate, "slots", found.certificate)


def _proved(found: Search, setting: Problem, rho: Fraction) -> Certified:
    certificate, word = prove(found, rho, setting)
    if certificate is not None:
        return Certified("certified", "", rho, found.level.name, certificate)
    unsure = word != NO_CERTIFICATE
    return Certified("inconclusive" if unsure else "not_certified", word)


def _best(found: Search, setting: Problem, floor_: Fraction) -> Certified:
    """Certify the smallest rate of one ansatz above the floor."""
    rho, word = smallest(found, float(floor_), float(NEARLY_ONE))
    if rho is None and word == NO_CERTIFICATE:
        return Certified("not_certified", word)
    if rho is None:
        return Certified("inconclusive", f"the solver stopped with {word}")
    gap, word = GAP, "rounding would take the rate to 1"
    while rounded_up(Fraction(rho) + gap) < 1:
        result = _proved(found, setting, rounded_up(Fraction(rho) + gap))
        if result.status == "certified":
            return result
        gap, word = gap * AGAIN, result.reason
    return Certified("inconclusive", word)  # floats saw one, whatever the last try said


def _sees(found: Search, rho: Fraction) -> bool | None:
    """Whether floats see a certificate at a rate; None where the solver gave up."""
    solution = found.margin(float(rho))
    if solution.margin > WIDE_ENOUGH:
        return True
    return None if solution.status == "failed" else False


def _any(answers: Iterable[bool | None]) -> bool | None:
    """Whether one is yes; None where none is and not all are no.

    Examples
    --------
    >>> _any([None, True]), _any([False, None]), _any([False, False])
    (True, None, False)
    """
    seen = False
    for answer in answers:
        if answer:
            return True
        seen = seen or answer is None
    return None if seen else False
