"""A linear rate of f(x) - f(x*) where the gradient of f dominates it.

That is the condition of Polyak and Lojasiewicz: |grad f(x)|^2 >= 2 beta (f(x) - f(x*))
for all x, f the mean of the f_i, which need not be convex. With V >= f(x) - f(x*) and
rho V - E V+ >= m (|grad f(x)|^2 - 2 beta (f(x) - f(x*))) in every round, m >= 0,
E f(x_r) - f(x*) <= rho^r V_0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from types import ModuleType
from typing import Any

import numpy as np

from flverify._core.checks import positive
from flverify._core.errors import DomainError
from flverify._core.shown import shown
from flverify.algorithms._algorithm import Algorithm
from flverify.certify._vectors import rational
from flverify.certify.averages.ladder import ZERO_START, Rung, rungs, told
from flverify.certify.averages.rounding import least_certificate, objective
from flverify.certify.rates import TOO_NEAR, Status, asked_rate
from flverify.certify.search import NO_CERTIFICATE, Problem, problem
from flverify.certify.solve import least
from flverify.participation._law import Participation

SLOWEST = Fraction(999_999, 1_000_000)  # no slower rate is looked for
ACCURACY = Fraction(1, 100_000)
SHARE = Fraction(1, 200)  # of what a slow rate leaves to 1
WORTH = Fraction(1, 10**4)  # of 1 - rho: how much better a richer ansatz must be
SLOWER = (Fraction(0), Fraction(1, 10**4), Fraction(1, 10**3), Fraction(1, 100))

SLOW: tuple[Status, str] = ("inconclusive", TOO_NEAR)
NOTHING: tuple[Status, str] = ("not_certified", NO_CERTIFICATE)


@dataclass(frozen=True)
class GapRate:
    """What came of an attempt.

    Parameters
    ----------
    status : {"certified", "not_certified", "inconclusive"}
    reason : str
        Why there is no certificate; empty if there is one.
    rate : Fraction or None, weight 1
        rho in E[f(x_r) - f(x*)] <= rho^r C0 (f(x_0) - f(x*)).
    by_gap : Fraction or None, weight 1
        C0.
    level : str
        The ansatz that did it.
    certificate : dict or None
        Exact data that `flverify.certify.check.check` proves anew.
    """

    status: Status
    reason: str
    rate: Fraction | None = None
    by_gap: Fraction | None = None
    level: str = ""
    certificate: dict[str, Any] | None = None


@np.errstate(over="ignore", invalid="ignore")  # the solver says what it cannot take
def gap_rate(
    algorithm: Algorithm,
    participation: Participation,
    smoothness: object,
    polyak_lojasiewicz: object,
    rate: object = None,
    loop: ModuleType | None = None,
) -> GapRate:
    """Certify E[f(x_r) - f(x*)] <= rho^r C0 (f(x_0) - f(x*)) without convexity.

    Parameters
    ----------
    algorithm : Algorithm
        With rational settings. Slots that remember gradients must start at those of
        x_0.
    participation : Participation
        Full, Bernoulli, uniform or all-or-nothing.
    smoothness : rational, weight f/x^2
        L > 0; every f_i has an L-Lipschitz gradient.
    polyak_lojasiewicz : rational, weight f/x^2
        beta in |grad f(x)|^2 >= 2 beta (f(x) - f(x*)), above 0 and at most L.
    rate : rational in (0, 1), optional
        The rho that is asked for; without it the smallest one is sought, to 1e-5.
    loop : module, optional
        The plain loop of an algorithm of one's own.

    Returns
    -------
    result : GapRate

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
    A gradient step of 1/L: the rate 1 - beta/L is the one of textbooks.

    >>> from flverify.algorithms import GradientDescent
    >>> from flverify.participation import Full
    >>> found = gap_rate(GradientDescent(1), Full(1), 1, "1/10")
    >>> found.status, round(float(found.rate), 4), round(float(found.by_gap), 2)
    ('certified', 0.9, 1.0)
    """
    smooth = positive(smoothness, "smoothness")
    setting = problem(algorithm, participation, -smooth, smooth, loop, convex=False)
    beta = dominance(polyak_lojasiewicz, smooth) / setting.smoothness
    asked = None if rate is None else asked_rate(rate)
    best: GapRate | None = None
    words: dict[str, list[str]] = {}
    for name, rung in rungs(setting):
        below = SLOWEST if best is None else _better(best)
        found = _attempt(name, rung, setting, beta, asked, below)
        words.setdefault(found.reason, []).append(name)
        if found.rate is not None and (best is None or found.rate < below):
            best = found
        if best is not None and asked is not None:
            break
    return best if best is not None else GapRate(*told(words))


def _better(found: GapRate) -> Fraction:
    """Return the rate that a richer ansatz must stay below to be preferred."""
    rate = found.rate or Fraction(1)
    return rate - WORTH * (1 - rate)


def dominance(polyak_lojasiewicz: object, smoothness: object) -> Fraction:
    """Read beta.

    Raises
    ------
    DomainError
        If 0 < beta <= L does not hold, or beta is not rational.

    Examples
    --------
    >>> dominance("1/10", 1)
    Fraction(1, 10)
    """
    beta = rational(polyak_lojasiewicz, "polyak_lojasiewicz")
    smooth = positive(smoothness, "smoothness")
    if not 0 < beta <= smooth:
        raise DomainError(
            f"polyak_lojasiewicz must be above 0 and at most smoothness; got "
            f"{shown(beta)} and {shown(smooth)}; choose it between them."
        )
    return beta


def _attempt(
    name: str,
    rung: Rung | None,
    setting: Problem,
    beta: Fraction,
    asked: Fraction | None,
    below: Fraction,
) -> GapRate:
    """Find the smallest rate of one ansatz, or try the one that is asked for.

    A rate that is not below what is given is not looked for.
    """
    if rung is None:
        return GapRate("not_certified", ZERO_START, level=name)
    rho = asked or _smallest(rung, beta, below)
    if rho is None:
        slow = _holds(rung, Fraction(1), beta)  # then a slower rate may be there
        status, reason = SLOW if slow else NOTHING
        return GapRate(status, reason, level=name)
    found = GapRate("not_certified", NO_CERTIFICATE, level=name)
    for slower in SLOWER if asked is None else SLOWER[:1]:
        rate = rho + _rounded(slower * (1 - rho), rho)
        reduced = rung.laid(rate=(rate, beta))
        if reduced is None:
            continue
        best = least_certificate(reduced, setting, 1)
        if best.certificate is not None:
            return _told(best.certificate, name)
        found = GapRate(best.status, best.reason, level=name)
    return found


def _smallest(rung: Rung, beta: Fraction, below: Fraction) -> Fraction | None:
    """Halve the interval of rates until what is found is near the smallest."""
    if not _holds(rung, below, beta):
        return None
    low, high = Fraction(0), below
    while high - low > min(ACCURACY, SHARE * (1 - high)):
        middle = low + _rounded((high - low) / 2, high)
        if not low < middle < high:
            break
        if _holds(rung, middle, beta):
            high = middle
        else:
            low = middle
    return high


def _holds(rung: Rung, rho: Fraction, beta: Fraction) -> bool:
    found = rung.laid(rate=(rho, beta))
    if found is None:
        return False
    return least(found.programme, objective(found, 1)).status != "failed"


def _rounded(step: Fraction, rho: Fraction) -> Fraction:
    """Round a step of rates up, to digits that are small against 1 - rho."""
    unit = 10**7 if 1 - rho > Fraction(1, 100) else 10**9
    return Fraction(ceil(step * unit), unit)


def _told(certificate: dict[str, Any], level: str) -> GapRate:
    """Read off what an accepted certificate proves."""
    v, c0 = (
        Fraction(certificate[part][key])
        for part, key in (("dominance", "v"), ("start", "C0"))
    )
    rho = Fraction(certificate["rho"])
    return GapRate("certified", "", rho, c0 / v, level, certificate)
