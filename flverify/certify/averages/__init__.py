"""Bounds on averages over rounds, for functions that need not be strongly convex.

With V_r >= 0 and E V_{r+1} <= E V_r - s E M_r + c mean|g*_i|^2 in every round,
(1/K) sum_{r<K} E M_r <= V_0/(s K) + (c/s) mean|g*_i|^2 for every K. For convex f_i, M
is f(x) - f(x*); for others it is |grad f(x)|^2, and x* a global minimiser of f.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from types import ModuleType
from typing import Any

import numpy as np

from flverify._core.checks import whole
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.averages.at_most import at_most as read_at_most
from flverify.certify.averages.ladder import ZERO_START, Rung, rungs, told
from flverify.certify.averages.rounding import least_certificate
from flverify.certify.inequality import Unknown
from flverify.certify.rates import Status
from flverify.certify.search import NO_CERTIFICATE, Problem, problem
from flverify.participation._law import Participation

ROUNDS = 100
WORTH = Fraction(1, 10**4)  # how much smaller a bound of a richer ansatz must be


@dataclass(frozen=True)
class Average:
    """What came of an attempt to bound an average.

    Parameters
    ----------
    status : {"certified", "not_certified", "inconclusive"}
    reason : str
        Why there is no certificate; empty if there is one.
    of : {"gap", "gradient"}
        M is f(x) - f(x*), or |grad f(x)|^2.
    by_gap : Fraction or None, weight M/f
        C0/s, the factor of (f(x_0) - f(x*))/K.
    by_distance : Fraction or None, weight M/x^2
        C1/s, the factor of |x_0 - x*|^2/K.
    by_gradients : Fraction or None, weight M/g^2
        C2/s, the factor of mean|grad f_i(x*)|^2/K.
    constant : Fraction or None, weight M/g^2
        c/s, what remains of mean|grad f_i(x*)|^2 whatever K is.
    level : str
        The ansatz that did it.
    certificate : dict or None
        Exact data that `flverify.certify.check.check` proves anew.
    """

    status: Status
    reason: str
    of: str
    by_gap: Fraction | None = None
    by_distance: Fraction | None = None
    by_gradients: Fraction | None = None
    constant: Fraction | None = None
    level: str = ""
    certificate: dict[str, Any] | None = None


@np.errstate(over="ignore", invalid="ignore")  # the solver says what it cannot take
def average(
    algorithm: Algorithm,
    participation: Participation,
    smoothness: object,
    strong_convexity: object = 0,
    rounds: int = ROUNDS,
    loop: ModuleType | None = None,
    **at_most: object,
) -> Average:
    """Certify (1/K) sum_{r<K} E M_r <= (C0 [f(x_0) - f(x*)] + C1 |x_0 - x*|^2 + ...)/K.

    Parameters
    ----------
    algorithm : Algorithm
        With rational settings. Slots that remember gradients must start at those of
        x_0, unless mu > 0.
    participation : Participation
        Full, Bernoulli, uniform or all-or-nothing.
    smoothness, strong_convexity : rational, weight f/x^2
        L > 0 and -L <= mu < L: every f_i has an L-Lipschitz gradient, and
        f_i - (mu/2) |x|^2 is convex. With mu = -L they are all smooth functions.
    rounds : int >= 1
        K in what is made small, which at L = 1 is C0 + C1 + C2 + c K: without a c it
        does not matter, and the bound holds for every K whatever it is.
    loop : module, optional
        The plain loop of an algorithm of one's own.
    by_gap, by_distance, by_gradients, constant : rational, optional
        Numbers that the bound must not exceed, with the weights of `Average`. Without
        convexity there is by_gap alone, otherwise there are the others.

    Returns
    -------
    result : Average

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
    A gradient step of 1/(2L) on smooth functions: 8/3 is 1/(eta (1 - eta L/2)).

    >>> from flverify.algorithms import GradientDescent
    >>> from flverify.participation import Full
    >>> found = average(GradientDescent("1/2"), Full(1), 1, strong_convexity=-1)
    >>> found.status, found.of, round(float(found.by_gap), 3)
    ('certified', 'gradient', 2.667)
    """
    numbers = strong_convexity, smoothness
    setting = problem(algorithm, participation, *numbers, loop, convex=False)
    whole(rounds, "rounds")
    asked = read_at_most(at_most, convex=setting.mu >= 0)
    found = _smallest(setting, rounds, {})
    if found.certificate is None or asked.keeps(found):
        return found
    return _smallest(setting, rounds, asked.unknowns(setting.smoothness))


def _smallest(
    setting: Problem, rounds: int, at_most: dict[Unknown, Fraction]
) -> Average:
    """Return the smallest bound of all ansaetze."""
    best: Average | None = None
    enough: Fraction | float = inf
    words: dict[str, list[str]] = {}
    for name, rung in rungs(setting):
        result = _of_rung(name, rung, setting, rounds, at_most)
        words.setdefault(result.reason, []).append(name)
        if result.certificate and _size(result, setting, rounds) < enough:
            best, enough = result, (1 - WORTH) * _size(result, setting, rounds)
    if best is not None:
        return best
    status, reason = told(words)
    return Average(status, reason, result.of, level=result.level)


def _of_rung(
    name: str,
    rung: Rung | None,
    setting: Problem,
    rounds: int,
    at_most: dict[Unknown, Fraction],
) -> Average:
    """Return the least bound of one ansatz."""
    of = "gap" if setting.mu >= 0 else "gradient"
    found = rung.laid(at_most) if rung else None
    if found is None:
        reason = NO_CERTIFICATE if rung else ZERO_START
        return Average("not_certified", reason, of, level=name)
    best = least_certificate(found, setting, rounds)
    if best.certificate is None:
        return Average(best.status, best.reason, of, level=name)
    return _told(best.certificate, of, name)


def _told(certificate: dict[str, Any], of: str, level: str) -> Average:
    """Read off what an accepted certificate proves."""
    start, around = certificate["start"], certificate["neighbourhood"] or {}
    weight = Fraction(certificate["average"]["weight"])
    c0, c1, c2 = (Fraction(start[name]) / weight for name in ("C0", "C1", "C2"))
    constant = Fraction(around.get("constant", 0)) / weight
    return Average("certified", "", of, c0, c1, c2, constant, level, certificate)


def _size(found: Average, setting: Problem, rounds: int) -> Fraction:
    """Return what was made small, in units where L = 1."""
    nothing, smooth = Fraction(0), setting.smoothness
    by_x = (found.by_gap or nothing) + (found.by_distance or nothing)
    by_g = (found.by_gradients or nothing) + rounds * (found.constant or nothing)
    return by_x / smooth + by_g * smooth
