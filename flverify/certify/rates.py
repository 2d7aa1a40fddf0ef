"""Certify a linear rate for a whole function class: search, round, check.

forms -> discover -> expect -> ansatz -> solve -> rationalise -> check. Only the last
speaks: a rate is reported when the checker, which shares nothing with what found the
numbers, accepts the exact certificate.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from flverify._core.checks import positive
from flverify._core.errors import DomainError, RefusedError
from flverify._core.exact import is_exact, scalar
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.discover import discover
from flverify.certify.search import (
    NO_CERTIFICATE,
    Problem,
    Search,
    just_above,
    levels,
    problem,
    prove,
    read_round,
    search,
    smallest,
    trials,
)
from flverify.participation._law import Participation

Status = Literal["certified", "not_certified", "inconclusive"]

PRECISION = Fraction(1, 10**5)
TOP = 1 - Fraction(1, 10**9)  # no rate above is searched for
BLURRED = 1 - Fraction(1, 10**6)  # above, floats miss what is there
TOO_SLOW = (
    "a quadratic allows no rate below 0.999999 here, and so near 1 floats miss what is "
    "there; ask for a rate of your own"
)
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


def certify(
    algorithm: Algorithm,
    participation: Participation,
    strong_convexity: object,
    smoothness: object,
    rate: object | None = None,
    lower_bound: object | None = None,
) -> Certified:
    """Certify E|x_r - x*|^2 <= rho^r (C1 |x_0 - x*|^2 + C2 mean|g*|^2) for the class.

    Parameters
    ----------
    algorithm : Algorithm
        FOCUS, FedAvg, SCAFFOLD, ProxSkip or gradient descent, with rational settings.
    participation : Participation
        Full, Bernoulli, uniform or all-or-nothing.
    strong_convexity, smoothness : rational, weight f/x^2
        0 < mu < L; every f_i is L-smooth and mu-strongly convex.
    rate : rational in (0, 1), optional
        The rate to certify; without it the smallest that certifies, to 1e-5.
    lower_bound : rational, optional
        A rate that no certificate can be below, such as that of the worst quadratic;
        the search for a better ansatz stops within 1e-5 of it.

    Returns
    -------
    result : Certified

    Raises
    ------
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
    ('certified', 0.918114)
    """
    setting = problem(algorithm, participation, strong_convexity, smoothness)
    reading = read_round(setting)
    structure = discover(reading)
    if structure.neighbourhood:
        raise RefusedError(
            "a rate to the minimiser needs a round that stays at x* whatever the "
            "gradients there are; got a biased method; certify its neighbourhood."
        )
    wanted = None if rate is None else _rate(rate)
    aim = _aim(wanted, lower_bound)
    best, words = Certified("not_certified", ""), []
    ladder = [search(reading, *rung, setting.mu) for rung in levels(reading, structure)]
    if aim is not None and wanted is None:  # one solve per ansatz, before any bisection
        for found in ladder:
            result = _proved(found, setting, aim) if aim < 1 else best
            if result.status == "certified":
                return result
    for found in ladder:
        ceiling = TOP if best.rate is None else best.rate - PRECISION
        result = _attempt(found, setting, wanted, aim, ceiling)
        words.append((found.level.name, result))
        if result.rate is not None and (best.rate is None or result.rate < best.rate):
            best = result
        if best.rate is not None and aim is not None and best.rate <= aim:
            break
    if best.rate is not None:
        return best
    if aim is not None and BLURRED < aim < 1:
        return Certified("inconclusive", TOO_SLOW if wanted is None else TOO_NEAR)
    return _nothing(words)


def _aim(wanted: Fraction | None, lower_bound: object) -> Fraction | None:
    """Say at which rate the search for a better one stops."""
    if wanted is not None or lower_bound is None:
        return wanted
    bound = scalar(lower_bound, "lower_bound")
    return just_above(Fraction(bound))


def _nothing(found: list[tuple[str, Certified]]) -> Certified:
    unsure = any(result.status == "inconclusive" for _, result in found)
    status: Status = "inconclusive" if unsure else "not_certified"
    return Certified(status, "; ".join(f"{name}: {r.reason}" for name, r in found))


def _rate(value: object) -> Fraction:
    number = positive(value, "rate")
    if not is_exact(number) or not number < 1:
        raise DomainError(
            f"rate must be a rational below 1; got {number}; give a fraction or "
            "decimal text."
        )
    return Fraction(number)


def _attempt(
    found: Search,
    setting: Problem,
    wanted: Fraction | None,
    aim: Fraction | None,
    ceiling: Fraction,
) -> Certified:
    """Certify one rate, or the smallest with this ansatz below a ceiling."""
    if wanted is not None:
        return _proved(found, setting, wanted)
    rho, word = smallest(found, float(aim or 0), float(ceiling))
    if rho is None:
        failed = word != NO_CERTIFICATE
        reason = f"the solver stopped with {word}" if failed else word
        return Certified("inconclusive" if failed else "not_certified", reason)
    for rate in trials(rho):
        result = _proved(found, setting, rate)
        if result.status == "certified":
            return result
        word = result.reason
    return Certified("inconclusive", word or "rounding would take the rate to 1")


def _proved(found: Search, setting: Problem, rho: Fraction) -> Certified:
    certificate, word = prove(found, rho, setting)
    if certificate is not None:
        return Certified("certified", "", rho, found.level.name, certificate)
    status: Status = "not_certified" if word == NO_CERTIFICATE else "inconclusive"
    return Certified(status, word)
