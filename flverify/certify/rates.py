"""Certify a linear rate for a whole function class: search, round, check.

forms -> discover -> expect -> ansatz -> solve -> rationalise -> check. Only the last
speaks: a rate is reported when the checker, which shares nothing with what found the
numbers, accepts the exact certificate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from flverify._core.checks import positive
from flverify._core.errors import DomainError, ReadingError, RefusedError
from flverify._core.exact import Array, is_exact, scalar
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.ansatz import Ansatz, Level
from flverify.certify.certificate import NAMES, Proof, write
from flverify.certify.check import Rejected, check
from flverify.certify.classes import Classes, classes
from flverify.certify.coordinates import Coordinates, Structure
from flverify.certify.discover import discover, previous_point
from flverify.certify.forms import Reading, read
from flverify.certify.inequality import Sweep
from flverify.certify.rationalise import Values, rationalise, worst_pivot
from flverify.certify.solve import Solution, given, least, widest_margin
from flverify.certify.start import Start
from flverify.participation._law import Participation

Status = Literal["certified", "not_certified", "inconclusive"]

LEVELS = ("slots", "lifted", "previous point", "last step")
ALONG = tuple(Fraction(k, 4) for k in (0, 4, 2, 1, 3))  # parts of the last step
PRECISION = Fraction(1, 10**5)
TOP = 1 - Fraction(1, 10**9)  # no rate above is worth a certificate
BISECTION = 2e-6  # width at which the float search stops
NO_CERTIFICATE = "this ansatz has none"
WIDE_ENOUGH = 1e-11  # margin that lets rounding try


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


@dataclass(frozen=True)
class Problem:
    """A setting brought to smoothness L = 1: step sizes times L, mu over L."""

    algorithm: Algorithm
    scaled: Algorithm
    classes: Classes
    strong_convexity: Fraction
    smoothness: Fraction

    @property
    def mu(self) -> Fraction:
        """Strong convexity at smoothness 1."""
        return self.strong_convexity / self.smoothness


def problem(
    algorithm: Algorithm,
    participation: Participation,
    strong_convexity: object,
    smoothness: object,
) -> Problem:
    """Check a setting and bring it to smoothness 1.

    Raises
    ------
    DomainError
        If 0 < mu < L does not hold, or a number is not rational.
    RefusedError
        If the algorithm or the law has no certificates.
    """
    mu = positive(strong_convexity, "strong_convexity")
    smooth = positive(smoothness, "smoothness")
    if not (is_exact(mu) and is_exact(smooth) and is_exact(algorithm.step_size)):
        raise DomainError(
            "a certificate must be given rational numbers; got floats; write them as "
            "fractions or decimal text."
        )
    if not mu < smooth:
        raise DomainError(
            f"strong_convexity must be below smoothness; got {mu} and {smooth}; lower "
            "one or raise the other."
        )
    if type(algorithm).__name__ not in NAMES:
        raise RefusedError(
            f"a certificate must be for one of {', '.join(sorted(NAMES))}; got "
            f"{type(algorithm).__name__}; use rate for this algorithm."
        )
    scaled = algorithm.retuned(algorithm.step_size * smooth)
    return Problem(algorithm, scaled, classes(participation), mu, smooth)


@dataclass(frozen=True)
class Search:
    """One ansatz for one setting, with its programmes at every rho."""

    space: Coordinates
    level: Level
    ansatz: Ansatz
    sweep: Sweep

    def margin(self, rho: float) -> Solution:
        """Widest margin at one rho, measured anew on the mended point."""
        solution = widest_margin(self.sweep.at(rho))
        if not solution.margin > 0:
            return solution
        measured = worst_pivot(self.ansatz, solution.values, rho)
        return replace(solution, margin=measured)


def levels(reading: Reading, structure: Structure) -> list[tuple[Structure, Level]]:
    """Return the ansaetze, from poor to rich.

    V is a quadratic in the slots and the value F(x); then it knows the points where
    remembered gradients were taken, and the values there; then also the value at the
    server's previous point; then values along the server's last step.
    """
    plain = replace(structure, memories=())
    here = {"model": Fraction(1)}
    out = [(plain, Level(LEVELS[0], (here,)))]
    if not structure.memories:
        return out
    out.append((structure, Level(LEVELS[1], (here,), ghost_values=True)))
    before = previous_point(Coordinates(reading, structure, Fraction))
    if before is not None:
        away = {name: v - here.get(name, Fraction(0)) for name, v in before.items()}
        along = [
            {n: here.get(n, Fraction(0)) + t * v for n, v in away.items()}
            for t in ALONG
        ]
        points = tuple({n: v for n, v in point.items() if v} for point in along)
        out.append((structure, Level(LEVELS[2], points[:2], ghost_values=True)))
        out.append((structure, Level(LEVELS[3], points, ghost_values=True)))
    return out


def search(
    reading: Reading, structure: Structure, level: Level, mu: Fraction
) -> Search:
    """Lay out one ansatz in floats."""
    space = Coordinates(reading, structure, float)
    ansatz = Ansatz(space, level, mu, 1)
    return Search(space, level, ansatz, Sweep(ansatz))


def smallest(
    found: Search, low: float = 0.0, high: float = 1.0 - 1e-9
) -> tuple[float | None, str]:
    """Bisect for the smallest rho with a margin; None (and a word) if there is none.

    Parameters
    ----------
    low, high : float
        No rho below `low` is possible, and none above `high` is of interest.
    """
    top = found.margin(high)
    if not top.margin > WIDE_ENOUGH:
        return None, top.detail if top.status == "failed" else NO_CERTIFICATE
    while high - low > BISECTION:
        middle = (low + high) / 2
        if found.margin(middle).margin > WIDE_ENOUGH:
            high = middle
        else:
            low = middle
    return high, ""


def prove(
    found: Search, rho: Fraction, setting: Problem
) -> tuple[dict[str, Any] | None, str]:
    """Round the centred point at one rho and let the checker judge it.

    Returns
    -------
    certificate : dict or None
    word : str
        Why there is none.
    """
    solution = found.margin(float(rho))
    if solution.status == "failed":
        return None, f"the solver stopped with {solution.detail}"
    scaled = _normalised(found, solution.values) if solution.margin > 0 else None
    if scaled is None:
        return None, NO_CERTIFICATE
    for digits in (9, 12):
        values = rationalise(found.ansatz, scaled, rho, digits)
        start = constants(found, values)
        if start is None:
            continue
        proof = Proof(found.space, found.level, values, start, rho)
        certificate = write(
            proof, setting.algorithm, setting.strong_convexity, setting.smoothness
        )
        try:
            check(certificate)
        except Rejected:
            continue
        return certificate, ""
    return None, "the solver's point did not survive rounding"


def _normalised(found: Search, values: Array) -> Array | None:
    """Scale so that V >= |x - x*|^2, with a little to spare."""
    numbers = dict(zip(found.ansatz.unknowns, values, strict=True))
    block = found.ansatz.blocks_at(numbers, 0.0)["positivity/mean"].astype(float)
    row = found.space.symbol(("server", "model")).z[: len(block)].astype(float)
    try:
        inverse = float(row @ np.linalg.solve(block, row))
    except np.linalg.LinAlgError:
        return None
    if not 0 < inverse < 1e12:
        return None
    return values * inverse * (1 + 1e-6)


def constants(found: Search, values: Values) -> Values | None:
    """Find C1 and C2 with their multipliers, for a given V."""
    start = Start(found.space, found.level, values, float(found.ansatz.mu), 1.0)
    programme = Sweep(start, start.constants).at(0.0)
    one = start.place["one",]
    objective = np.array([u in {("C1",), ("C2",)} for u in start.unknowns], float)
    solution = least(given(programme, one, 1.0), objective, margin=1e-7)
    if solution.status == "failed":
        return None
    padded = solution.values.copy()
    for name in ("C1", "C2"):
        padded[start.place[name,]] *= 1 + 1e-6
        padded[start.place[name,]] += 1e-7
    return rationalise(start, padded, Fraction(0), 9, {("one",): Fraction(1)})


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
    ('certified', 0.918115)
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
    for shape, level in levels(reading, structure):
        found = search(reading, shape, level, setting.mu)
        ceiling = TOP if best.rate is None else best.rate - PRECISION
        result = _attempt(found, setting, wanted, aim, ceiling)
        words.append((level.name, result))
        if result.rate is not None and (best.rate is None or result.rate < best.rate):
            best = result
        if best.rate is not None and aim is not None and best.rate <= aim:
            break
    return best if best.rate is not None else _nothing(words)


def _aim(wanted: Fraction | None, lower_bound: object) -> Fraction | None:
    """Say at which rate the search for a better one stops."""
    if wanted is not None or lower_bound is None:
        return wanted
    bound = scalar(lower_bound, "lower_bound")
    return rounded_up(Fraction(bound) + PRECISION / 2)


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


def read_round(setting: Problem) -> Reading:
    """Read the round of a setting.

    Raises
    ------
    RefusedError
        If it leaves what certificates can follow.
    """
    try:
        return read(setting.scaled, setting.classes)
    except ReadingError as error:
        raise RefusedError(str(error)) from error


def _attempt(
    found: Search,
    setting: Problem,
    wanted: Fraction | None,
    aim: Fraction | None,
    ceiling: Fraction,
) -> Certified:
    """Certify one rate, or the smallest with this ansatz below a ceiling."""
    if aim is not None and aim <= ceiling:
        result = _proved(found, setting, aim)
        if wanted is not None or result.status == "certified":
            return result
    rho, word = smallest(found, float(aim or 0), float(ceiling))
    if rho is None:
        failed = word != NO_CERTIFICATE
        reason = f"the solver stopped with {word}" if failed else word
        return Certified("inconclusive" if failed else "not_certified", reason)
    gap = PRECISION / 10
    while rounded_up(Fraction(rho) + gap) < 1:
        result = _proved(found, setting, rounded_up(Fraction(rho) + gap))
        if result.status == "certified":
            return result
        gap *= 10
    return Certified("inconclusive", "the solver's points did not survive rounding")


def _proved(found: Search, setting: Problem, rho: Fraction) -> Certified:
    certificate, word = prove(found, rho, setting)
    if certificate is not None:
        return Certified("certified", "", rho, found.level.name, certificate)
    status: Status = "not_certified" if word == NO_CERTIFICATE else "inconclusive"
    return Certified(status, word)


def rounded_up(value: Fraction, step: Fraction = Fraction(1, 10**6)) -> Fraction:
    """Round up to a multiple of a step."""
    return -((-value) // step) * step
