"""How far a biased method stays from the minimiser, over a whole function class.

FedAvg does not stay at x* when clients disagree there. Its certificates carry the
disagreement mean|g*_i|^2 along: E V+ <= rho V - s |x - x*|^2 + c mean|g*|^2, with V a
square of x. With s = 1 and rho = 1 the average of E|x_r - x*|^2 tends to at most
c mean|g*|^2; with s = 0 every round satisfies
E|x_r - x*|^2 <= rho^r V_0 + (c/(1 - rho)) mean|g*|^2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, islice
from math import sqrt
from types import ModuleType
from typing import Any

import numpy as np

from flverify._core.errors import RefusedError
from flverify._core.exact import Array
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.ansatz import Level
from flverify.certify.certificate import Proof
from flverify.certify.check import Rejected
from flverify.certify.discover import discover
from flverify.certify.inequality import Sweep
from flverify.certify.rates import BLURRED, MISSED, TOO_NEAR, Status, asked_rate
from flverify.certify.rationalise import rationalise
from flverify.certify.sandwich import worst_quadratic
from flverify.certify.search import (
    NO_CERTIFICATE,
    Problem,
    Search,
    constants,
    problem,
    read_round,
    search,
    smallest,
    written,
)
from flverify.certify.short_rates import trials
from flverify.certify.solve import Programme, is_infeasible, least, widest_margin
from flverify.certify.threshold import descended
from flverify.participation._law import Participation

NEAREST = (4, 6)  # millionths above what floats found, where rounding is tried first
DIGITS = 12
SHORTEST = Fraction(1, 10**100)  # a unit or mu; floats have its square
SLACK = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)  # how far above the least c to round


@dataclass(frozen=True)
class Neighbourhood:
    """What came of an attempt to bound a neighbourhood.

    Parameters
    ----------
    status : {"certified", "not_certified", "inconclusive"}
    reason : str
    rate : Fraction or None
        rho.
    constant : Fraction or None, weight x^2/g^2
        c.
    certificate : dict or None
    """

    status: Status
    reason: str
    rate: Fraction | None = None
    constant: Fraction | None = None
    certificate: dict[str, Any] | None = None


@np.errstate(over="ignore", invalid="ignore")  # the solver says what it cannot take
def distance(
    algorithm: Algorithm,
    participation: Participation,
    strong_convexity: object,
    smoothness: object,
    loop: ModuleType | None = None,
) -> Neighbourhood:
    """Certify c with lim sup (1/R) sum_{r<R} E|x_r - x*|^2 <= c mean|grad f_i(x*)|^2.

    Parameters
    ----------
    algorithm, participation, strong_convexity, smoothness, loop
        As in `flverify.certify.rates.certify`.

    Returns
    -------
    result : Neighbourhood

    Raises
    ------
    InputError
        If a part of the setting is of another kind.
    DomainError
        If a number lies outside its domain.
    RefusedError
        If the algorithm, its round or the law has no certificates.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg
    >>> from flverify.participation import Full
    >>> found = distance(FedAvg("1/10", 2), Full(2), "1/10", 1)
    >>> found.status, round(float(found.constant), 5)
    ('certified', 0.00935)
    """
    setting = problem(algorithm, participation, strong_convexity, smoothness, loop)
    found, one = _search(setting), Fraction(1)
    tried: list[Neighbourhood] = []
    for units in _units(found):
        tried += [_certified(found, setting, one, one, unit) for unit in units]
        known = {t.constant: t for t in tried if t.constant is not None}
        if known:
            return known[min(known)]
    result = tried[0]
    if result.status != "not_certified":
        return result
    worst = worst_quadratic(algorithm, participation, strong_convexity, smoothness)
    blurred = BLURRED < worst.lower_bound < 1
    return Neighbourhood("inconclusive", MISSED) if blurred else result


@np.errstate(over="ignore", invalid="ignore")  # the solver says what it cannot take
def contraction(
    algorithm: Algorithm,
    participation: Participation,
    strong_convexity: object,
    smoothness: object,
    rate: object | None = None,
    loop: ModuleType | None = None,
) -> Neighbourhood:
    """Certify the smallest rho with some c: E V+ <= rho V + c mean|grad f_i(x*)|^2.

    Parameters
    ----------
    rate : rational in (0, 1), optional
        The rho to certify; without it the smallest, to 1e-5.

    Raises
    ------
    InputError
        If a part of the setting is of another kind.
    DomainError
        If a number lies outside its domain.
    RefusedError
        If the algorithm, its round or the law has no certificates.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg
    >>> from flverify.participation import UniformCohort
    >>> found = contraction(FedAvg("1/10", 2), UniformCohort(4, 1), "1/10", 1)
    >>> found.status, float(found.rate)
    ('certified', 0.960601)
    """
    setting = problem(algorithm, participation, strong_convexity, smoothness, loop)
    wanted = None if rate is None else asked_rate(rate)
    found = _search(setting)
    unit = _unit(found)
    if wanted is not None:
        result = _certified(found, setting, wanted, Fraction(0), unit)
        unseen = wanted > BLURRED and result.status == "not_certified"
        return Neighbourhood("inconclusive", TOO_NEAR) if unseen else result
    # with room for c, rho is bound by g* = 0 alone; c then grows towards the bound
    rho, word = smallest(_search(setting, shared=True))
    if rho is None:
        if word == NO_CERTIFICATE:
            return Neighbourhood("not_certified", word)
        return Neighbourhood("inconclusive", f"the solver stopped with {word}")
    result = Neighbourhood("inconclusive", "rounding would take the rate to 1")
    nearest = chain.from_iterable(islice(trials(rho, gap), 1) for gap in NEAREST)
    for trial in chain(nearest, trials(rho, first=10), _halfway(rho)):
        result = _certified(found, setting, trial, Fraction(0), unit)
        if result.status == "certified":
            break

    def lower(rate: Fraction) -> Neighbourhood | None:
        again = _certified(found, setting, rate, Fraction(0), unit)
        return again if again.status == "certified" else None

    # rounding fails now and then close to the smallest rate, and not still closer
    return descended(result, lower, Fraction(0))


def _halfway(rho: float) -> Iterator[Fraction]:
    """Yield a rate that leaves more room than the last that `trials` has below 1."""
    return islice(trials((1 + rho) / 2), 1)


def _search(setting: Problem, *, shared: bool = False) -> Search:
    """Lay out V in the slots; `shared`: x* minimises every f_i, so that g* is zero."""
    reading = read_round(setting)
    found = discover(reading)
    structure = replace(found, neighbourhood=True, memories=())
    stays = any(beta for _, beta in structure.equilibrium.values())
    if stays and not found.neighbourhood:
        raise RefusedError(
            "a neighbourhood is for methods that move away from x*; got one that "
            "stays there; certify its rate."
        )
    if shared:
        structure = replace(structure, neighbourhood=False)
    return search(reading, structure, Level("slots"), setting.mu)


def _certified(
    found: Search, setting: Problem, rho: Fraction, weight: Fraction, unit: Fraction
) -> Neighbourhood:
    programme = _programme(found, rho, weight, unit)
    best = least(programme, _wanted(found))
    if best.status == "failed":
        if is_infeasible(best.detail):
            return Neighbourhood("not_certified", NO_CERTIFICATE)
        word = f"the solver stopped with {best.detail}"
        return Neighbourhood("inconclusive", word)
    least_c = float(_wanted(found) @ best.values)
    word = "the solver's points were not centred"
    for slack in SLACK:
        room = 1e-9 + 1e-3 * slack + slack * least_c
        proof = _proof(found, programme, best.values, least_c + room, rho, unit)
        if proof is None:
            continue
        try:
            certificate = written(replace(proof, weight=weight), setting)
        except Rejected as error:
            word = f"the checker rejects the rounded point: {error}"
            continue
        constant = proof.values["c",] / setting.smoothness**2
        return Neighbourhood("certified", "", rho, constant, certificate)
    return Neighbourhood("inconclusive", word)


def _wanted(found: Search) -> Array:
    """Return what picks c among the unknowns."""
    return np.array([u == ("c",) for u in found.ansatz.unknowns], float)


def _programme(
    found: Search, rho: Fraction, weight: Fraction, unit: Fraction
) -> Programme:
    """Lay out the inequality with -s |x - x*|^2, and V >= |x - x*|^2 where s = 0.

    Written in g* times a unit, and so c over its square.
    """
    ansatz = found.ansatz
    constant: dict[str, Array] = {}
    block = "decrease/mean" if weight else "positivity/mean"
    constant[block] = -ansatz.model_square(ansatz.sizes[block])
    programme = Sweep(ansatz, constant, _bases(found, float(unit))).at(float(rho))
    for one in programme.blocks:
        one.coefficients[ansatz.place["c",]] *= float(unit) ** 2
    return programme


def _unit(found: Search, *, lasting: bool = False) -> Fraction:
    """Return what makes g* and c of a size that the solver sees.

    Where nobody is drawn, x moves off x* by about step_size g*, and in c are its
    squares; drawing moves it, in the long run, by the root of step_size/mu. For one
    round 1 is as good. Stable step sizes are hardly above 2.
    """
    reading, one = found.space.reading, Fraction(1)
    step = min(max(Fraction(reading.algorithm.step_size), SHORTEST), 2 * one)
    if reading.classes.sure is not None:
        return step
    flattest = max(found.ansatz.mu, float(SHORTEST))
    return _root(float(step) / flattest) if lasting else one


def _units(found: Search) -> Iterator[list[Fraction]]:
    """Yield the unit of the step size and some in which c is about 1, then others.

    Rounding adds to c a part of the square of the unit: the smallest c counts.
    """
    first, one = _unit(found, lasting=True), Fraction(1)
    near = [first, first / 1000]
    best = least(_programme(found, one, one, first), _wanted(found))
    if best.status != "failed" and (c := float(_wanted(found) @ best.values)) > 0:
        near += [first * _root(c), 10 * first * _root(c)]
    yield near
    yield [one, 1000 * one]


def _root(value: float) -> Fraction:
    """Return a short rational near the square root."""
    return Fraction(f"{sqrt(value):.3g}")


def _bases(found: Search, unit: float) -> dict[str, Array]:
    """Return the bases of a search, with g* times the unit in place of g*."""
    sizes, space = found.ansatz.sizes, found.space
    mean = np.array([1 / unit if name[-1] == "star" else 1.0 for name in space.z])
    own = np.array([1 / unit if name == "star" else 1.0 for name in space.own])
    out = {}
    for block, size in sizes.items():
        scale = mean if block.endswith("/mean") else own
        out[block] = found.bases.get(block, np.eye(size)) * scale[:size]
    return out


def _proof(
    found: Search,
    programme: Programme,
    near: Array,
    constant: float,
    rho: Fraction,
    unit: Fraction,
) -> Proof | None:
    """Centre at a given c, and round."""
    place = found.ansatz.place["c",]
    row = np.zeros((1, programme.size))
    row[0, place] = 1.0
    room = 2.0 * float(programme.normal @ near) + 1.0
    pinned = replace(
        programme,
        equalities=np.concatenate([programme.equalities, row]),
        values=np.append(programme.values, constant),
        normal=programme.normal / room,
    )
    solution = widest_margin(pinned)
    if solution.status == "failed" or not solution.margin > 0:
        return None
    c = Fraction(round(float(solution.values[place]) * 10**DIGITS), 10**DIGITS)
    fixed = {("c",): c * unit**2}
    values = rationalise(found.ansatz, solution.values, rho, DIGITS, fixed)
    start = constants(found, values)
    return (
        None if start is None else Proof(found.space, found.level, values, start, rho)
    )
