"""Bounds on averages over rounds, for functions that need not be strongly convex.

With V_r >= 0 and E V_{r+1} <= E V_r - s E M_r + c mean|g*_i|^2 in every round,
(1/K) sum_{r<K} E M_r <= V_0/(s K) + (c/s) mean|g*_i|^2 for every K. For convex f_i, M
is f(x) - f(x*); for others it is |grad f(x)|^2, and x* a global minimiser of f.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from flverify._core.checks import whole
from flverify._core.errors import RefusedError
from flverify._core.exact import Array
from flverify._core.rationals import rational
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.ansatz import Level
from flverify.certify.averages.at_most import at_most as read_at_most
from flverify.certify.averages.joint import Joint
from flverify.certify.averages.reduction import Reduced, reduce
from flverify.certify.certificate import Proof
from flverify.certify.check import Rejected
from flverify.certify.check.plain import MOST_CALLS, TooManyError, effort
from flverify.certify.coordinates import Coordinates, Structure
from flverify.certify.discover import discover
from flverify.certify.expect import expected_round
from flverify.certify.forms import Reading
from flverify.certify.inequality import Unknown
from flverify.certify.known_points import KnownPoints
from flverify.certify.rates import Status
from flverify.certify.search import (
    NO_CERTIFICATE,
    Problem,
    levels,
    problem,
    read_round,
    written,
)
from flverify.certify.solve import is_infeasible, least, widest_margin
from flverify.engines.forms import ClientForm
from flverify.participation._law import Participation

Rungs: TypeAlias = list[tuple[Structure, Level]]

ROUNDS = 100
RICHEST = 3  # ansaetze that are tried; richer ones took seconds and gave no more
SLACK = (1e-5, 1e-4, 1e-3, 1e-2)  # how far above the least bound to round
DIGITS = (9, 12)
WORTH = Fraction(1, 10**4)  # how much smaller a bound of a richer ansatz must be
NOTHING = "this says nothing about the method, since a richer V may have one"
ZERO_START = (
    "a remembered gradient must start at that of x_0 where functions need not have a "
    "point of gradient 0; got one that starts at 0; start it there, as "
    "initial_gradients=start and initial_tracker=sum do for FOCUS"
)


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
    reading = read_round(setting)
    _require_short(setting, len(reading.points))
    structure = discover(reading)
    if structure.neighbourhood and setting.mu < 0:
        raise RefusedError(
            "for functions that are not convex a method must stay at x* whatever the "
            "gradients there are; got one that moves away; take convex functions."
        )
    rungs = levels(reading, structure)[:RICHEST]
    found = _smallest(setting, rungs, rounds, {})
    if found.certificate is None or asked.keeps(found):
        return found
    return _smallest(setting, rungs, rounds, asked.unknowns(setting.smoothness))


def _smallest(
    setting: Problem, rungs: Rungs, rounds: int, at_most: dict[Unknown, Fraction]
) -> Average:
    """Return the smallest bound of all ansaetze."""
    best: Average | None = None
    enough: Fraction | float = inf
    words: dict[str, list[str]] = {}
    for found in _searches(setting, rungs, at_most):
        result = found if isinstance(found, Average) else _best(found, setting, rounds)
        words.setdefault(result.reason, []).append(result.level)
        if result.certificate and _size(result, setting, rounds) < enough:
            best, enough = result, (1 - WORTH) * _size(result, setting, rounds)
    if best is not None:
        return best
    told = [f"{', '.join(names)}: {reason}" for reason, names in words.items()]
    return replace(result, status=_unsure(words), reason="; ".join([*told, NOTHING]))


def _unsure(words: Iterable[str]) -> Status:
    """Say whether every ansatz was seen to have nothing."""
    sure = {*words} <= {NO_CERTIFICATE, ZERO_START}
    return "not_certified" if sure else "inconclusive"


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


def _searches(
    setting: Problem, rungs: Rungs, at_most: dict[Unknown, Fraction]
) -> Iterator[Reduced | Average]:
    """Lay out ansaetze from poor to rich; those that cannot be met are told."""
    reading, space = read_round(setting), None
    of = "gap" if setting.mu >= 0 else "gradient"
    for structure, level in rungs:
        nothing = Average("not_certified", NO_CERTIFICATE, of, level=level.name)
        if setting.mu <= 0 and _starts_at_zero(reading, structure):
            yield replace(nothing, reason=ZERO_START)
            continue
        if space is None or space.structure is not structure:
            space = Coordinates(reading, structure, rational)
            expected = expected_round(space)
            known = KnownPoints(space, setting.mu, Fraction(1))
        found = reduce(Joint(known, level, expected, at_most))
        yield nothing if found is None else found


def _starts_at_zero(reading: Reading, structure: Structure) -> bool:
    """Whether a remembered gradient is zero at the start."""
    slots = [memory.slot for memory in structure.memories if memory.slot]
    forms = [reading.start[slot] for slot in slots]
    return any(isinstance(f, ClientForm) and not f.terms for f in forms)


def _objective(found: Reduced, rounds: int) -> Array:
    """Return what is made small: V_0, and what every round adds."""
    weights = {("C0",): 1.0, ("C1",): 1.0, ("C2",): 1.0, ("c",): float(rounds)}
    return np.array([weights.get(u, 0.0) for u in found.unknowns])


def _best(found: Reduced, setting: Problem, rounds: int) -> Average:
    """Find the least bound of one ansatz, centre a little above it, and round."""
    level, of = found.joint.level.name, found.joint.of
    wanted = _objective(found, rounds)
    solution = least(found.programme, wanted)
    if solution.status == "failed":
        if is_infeasible(solution.detail):
            return Average("not_certified", NO_CERTIFICATE, of, level=level)
        word = f"the solver stopped with {solution.detail}"
        return Average("inconclusive", word, of, level=level)
    smallest = float(wanted @ solution.values)
    room = 2.0 * float(found.programme.normal @ solution.values) + 1.0
    word = "the solver's points were not centred"
    for slack in SLACK:
        bound = smallest * (1 + slack) + slack / 100
        point = _centred(found, wanted, bound, room)
        if point is None:
            continue
        for digits in DIGITS:
            try:
                certificate = written(
                    _proof(found, found.exact(point, digits)), setting
                )
            except Rejected as error:
                word = f"the checker rejects the rounded point: {error}"
                continue
            return _told(certificate, of, level)
    return Average("inconclusive", word, of, level=level)


def _centred(found: Reduced, wanted: Array, bound: float, room: float) -> Array | None:
    programme, size = found.programme, np.abs(wanted).max()
    pinned = replace(
        programme,
        equalities=np.concatenate([programme.equalities, wanted[None] / size]),
        values=np.append(programme.values, bound / size),
        normal=programme.normal / room,
    )
    solution = widest_margin(pinned)
    if solution.status == "failed" or not solution.margin > 0:
        return None
    return solution.values


def _proof(found: Reduced, values: dict[Any, Fraction]) -> Proof:
    joint = found.joint
    return Proof(joint.space, joint.level, values, values, Fraction(1), of=joint.of)


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
