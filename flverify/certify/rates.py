"""Certify a linear rate for a whole function class: search, round, check.

forms -> discover -> expect -> ansatz -> solve -> rationalise -> check. Only the last
speaks: a rate is reported when the checker, which shares nothing with what found the
numbers, accepts the exact certificate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import merge
from itertools import islice, repeat, tee
from types import ModuleType
from typing import Any, Literal, TypeAlias

import numpy as np

from flverify._core.checks import positive
from flverify._core.errors import DomainError, RefusedError
from flverify._core.exact import is_exact, scalar
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.discover import discover
from flverify.certify.sandwich import worst_quadratic
from flverify.certify.search import (
    ACCURACY,
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
from flverify.certify.short_rates import just_above, nearest
from flverify.certify.threshold import PRECISION, descended
from flverify.participation._law import Participation

Status = Literal["certified", "not_certified", "inconclusive"]

TOP = 1 - Fraction(1, 10**9)  # no rate above is searched for
BLURRED = 1 - Fraction(1, 10**6)  # above, floats miss what is there
MISSED = (
    "a quadratic allows no rate below 0.999999 here, and so near 1 floats miss what is "
    "there"
)
TOO_SLOW = f"{MISSED}; ask for a rate of your own"
DIVERGES = "a quadratic does not contract"
NARROW = "floats see a margin that is too narrow to be told from none"
TOO_NEAR = "a rate above 0.999999 is so near 1 that floats miss what is there"


@dataclass(frozen=True)
class Certified:
    """What came of an attempt to certify.

    Parameters
    ----------
    status : {"certified", "not_certified", "inconclusive"}
    reason : str
        Why there is no certificate; empty if there is one.
    rate : Fraction or None
        The certified factor per round of the squared distance.
    level : str
        The ansatz that did it.
    certificate : dict or None
        Exact data that `flverify.certify.check` proves anew.
    """

    status: Status
    reason: str
    rate: Fraction | None = None
    level: str = ""
    certificate: dict[str, Any] | None = None


Words: TypeAlias = dict[str, Certified]


@np.errstate(over="ignore", invalid="ignore")  # the solver says what it cannot take
def certify(
    algorithm: Algorithm,
    participation: Participation,
    strong_convexity: object,
    smoothness: object,
    rate: object | None = None,
    lower_bound: object | None = None,
    loop: ModuleType | None = None,
) -> Certified:
    """Certify E|x_r - x*|^2 <= rho^r (C1 |x_0 - x*|^2 + C2 mean|g*|^2) for the class.

    Parameters
    ----------
    algorithm : Algorithm
        FOCUS, SCAFFOLD, FedDyn, ProxSkip, gradient descent, MIFA or FedVARP with one
        local step, or one's own with its loop; with rational settings.
    participation : Participation
        Full, Bernoulli, uniform or all-or-nothing.
    strong_convexity, smoothness : rational, weight f/x^2
        0 < mu < L; every f_i is L-smooth and mu-strongly convex.
    rate : rational in (0, 1), optional
        The rate to certify; without it the smallest that certifies, to 1e-5: at 1e-5
        less no certificate was found.
    lower_bound : rational, optional
        A rate that no certificate can be below, such as that of the worst quadratic;
        the search for a better ansatz stops within 1e-5 of it.
    loop : module, optional
        The plain loop of an algorithm of one's own, by the functions start and play
        that `flverify.certify.check.own.check_own` describes; it is first compared
        with the round.

    Returns
    -------
    result : Certified

    Raises
    ------
    InputError
        If a part of the setting is of another kind.
    DomainError
        If a number lies outside its domain.
    RefusedError
        If the algorithm, its round or the law has no certificates of this kind.

    Examples
    --------
    >>> from flverify.algorithms import Focus
    >>> from flverify.participation import Bernoulli
    >>> found = certify(Focus("1/5"), Bernoulli(["1/2", "1/2"]), "1/10", 1)
    >>> found.status, float(found.rate)
    ('certified', 0.918113)
    """
    setting = problem(algorithm, participation, strong_convexity, smoothness, loop)
    reading = read_round(setting)
    structure = discover(reading)
    if structure.neighbourhood:
        raise RefusedError(
            "a rate to the minimiser needs a round that stays at x* whatever the "
            "gradients there are; got a biased method; certify its neighbourhood."
        )
    wanted = None if rate is None else asked_rate(rate)
    aim = _aim(wanted, lower_bound)
    rungs = levels(reading, structure)
    asked, ladder, below, last = tee(searches(reading, rungs, setting.mu), 4)
    words: Words = {}
    result = None
    if aim is not None:  # one solve per ansatz, before any bisection
        result = _first(((aim, found) for found in asked), setting, words)
    if result is None and wanted is None:
        result = _smallest(ladder, setting, aim, words)
        result = result and lowered(result, tuple(below), setting, aim or Fraction(0))
    if result is not None:
        return result
    result = _nothing(words)
    if aim is None and result.status == "not_certified":  # as if it had been given
        aim = worst_quadratic(
            algorithm, participation, strong_convexity, smoothness
        ).lower_bound
    if aim is not None and aim >= 1:
        return Certified("not_certified", DIVERGES)
    if aim is not None and aim > BLURRED:
        return Certified("inconclusive", TOO_SLOW if wanted is None else TOO_NEAR)
    if result.status == "not_certified" and wanted is None:
        # margins may drown in what floats lose; the slowest rate is tried all the same
        slow = _first(zip(repeat(BLURRED), last, strict=False), setting, {})
        if slow is not None:
            return lowered(slow, tuple(below), setting, aim or Fraction(0))
    return result


def _aim(wanted: Fraction | None, lower_bound: object) -> Fraction | None:
    """Say at which rate the search for a better one stops."""
    if wanted is not None or lower_bound is None:
        return wanted
    bound = scalar(lower_bound, "lower_bound")
    return just_above(max(Fraction(bound), Fraction(0)))


def _nothing(words: Mapping[str, Certified]) -> Certified:
    unsure = any(result.status == "inconclusive" for result in words.values())
    status: Status = "inconclusive" if unsure else "not_certified"
    reason = "; ".join(f"{name}: {found.reason}" for name, found in words.items())
    return Certified(status, reason)


def asked_rate(value: object) -> Fraction:
    """Return a rate that is asked for, a rational between 0 and 1.

    Raises
    ------
    DomainError
        If it is another number.
    """
    number = positive(value, "rate")
    if not is_exact(number) or not number < 1:
        raise DomainError(
            f"rate must be a rational below 1; got {number}; give a fraction or "
            "decimal text."
        )
    return Fraction(number)


def _first(
    attempts: Iterable[tuple[Fraction, Search]], setting: Problem, words: Words
) -> Certified | None:
    """Return the first of some attempts that the checker accepts."""
    for rho, found in attempts:
        if rho >= 1:
            continue
        result = _proved(found, setting, rho)
        if result.status == "certified":
            return result
        words[found.name] = result
    return None


def _smallest(
    ladder: Iterable[Search], setting: Problem, aim: Fraction | None, words: Words
) -> Certified | None:
    """Certify the smallest rate of all ansaetze, with few proofs of any other.

    Each is searched in floats, below what those before it reached. Where rounding
    loses the smallest, those that were passed over are searched up to 1.
    """
    seen: list[tuple[float, Search]] = []
    passed: list[Search] = []
    ceiling = TOP
    for found in ladder:
        hopeless = aim is not None and ceiling < aim
        rho = None if hopeless else _sought(found, aim, ceiling, words)
        if rho is not None:
            seen.append((rho, found))
            # where the next are asked again once that rate is proved
            ceiling = next(nearest(rho), TOP) - PRECISION
        elif seen:
            passed.append(found)
    result = _first(islice(_trials(seen[-1:]), 1), setting, words)
    if result is None and seen:
        more = ((_sought(found, aim, TOP, words), found) for found in passed)
        seen += [(rho, found) for rho, found in more if rho is not None]
        result = _first(_trials(seen), setting, words)
    for _, found in seen:  # floats saw a rate, whatever they say at others
        name = found.name
        words[name] = replace(words[name], status="inconclusive")
    return result


def lowered(
    best: Certified, searches: Sequence[Search], setting: Problem, floor: Fraction
) -> Certified:
    """Go down from a certified rate until 1e-5 less is not certified by any ansatz.

    What floats took for the smallest rate, or could be rounded there, need not be it.
    """
    return descended(
        best,
        lambda rho: _first(zip(repeat(rho), searches, strict=False), setting, {}),
        floor,
    )


def _trials(seen: list[tuple[float, Search]]) -> Iterator[tuple[Fraction, Search]]:
    """Yield rates to prove, the smallest first whatever its ansatz."""
    each = [zip(nearest(rho), repeat(found), strict=False) for rho, found in seen]
    return merge(*each, key=lambda pair: pair[0])


def _sought(
    found: Search, aim: Fraction | None, ceiling: Fraction, words: Words
) -> float | None:
    """Find the smallest rate of one ansatz below a ceiling in floats."""
    # `lowered` confirms what it is a step below
    rho, word = smallest(found, float(aim or 0), float(ceiling), ACCURACY)
    status: Status = "not_certified" if word == NO_CERTIFICATE else "inconclusive"
    if rho is not None:
        word = "rounding would take the rate to 1"
    elif status == "not_certified" and found.margin(float(ceiling)).margin > 0:
        status, word = "inconclusive", NARROW  # asked for, such a rate may be proved
    elif status == "inconclusive":
        word = f"the solver stopped with {word}"
    words[found.name] = Certified(status, word)
    return rho


def _proved(found: Search, setting: Problem, rho: Fraction) -> Certified:
    certificate, word = prove(found, rho, setting)
    if certificate is not None:
        return Certified("certified", "", rho, found.level.name, certificate)
    status: Status = "not_certified" if word == NO_CERTIFICATE else "inconclusive"
    return Certified(status, word)
