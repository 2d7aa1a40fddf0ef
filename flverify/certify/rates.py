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
from flverify._core.exact import Array, is_exact
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

LEVELS = ("slots", "lifted", "previous point")
PRECISION = Fraction(1, 10**5)
BISECTION = 1e-7  # width at which the float search stops
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
    """Return the ansaetze: slots, remembered points, the server's previous point."""
    plain = replace(structure, memories=())
    here = {"model": Fraction(1)}
    out = [(plain, Level(LEVELS[0], (here,)))]
    if not structure.memories:
        return out
    out.append((structure, Level(LEVELS[1], (here,), ghost_values=True)))
    before = previous_point(Coordinates(reading, structure, Fraction))
    if before is not None:
        out.append((structure, Level(LEVELS[2], (here, before), ghost_values=True)))
    return out


def search(
    reading: Reading, structure: Structure, level: Level, mu: Fraction
) -> Search:
    """Lay out one ansatz in floats."""
    space = Coordinates(reading, structure, float)
    ansatz = Ansatz(space, level, mu, 1)
    return Search(space, level, ansatz, Sweep(ansatz))


def smallest(found: Search, low: float = 0.0) -> tuple[float | None, str]:
    """Bisect for the smallest rho with a margin; None (and a word) if there is none."""
    high = 1.0 - 1e-9
    top = found.margin(high)
    if not top.margin > WIDE_ENOUGH:
        return None, top.detail if top.status == "failed" else "no certificate"
    while high - low > BISECTION:
        middle = (low + high) / 2
        if found.margin(middle).margin > WIDE_ENOUGH:
            high = middle
        else:
            low = middle
    return high, ""


def prove(found: Search, rho: Fraction, setting: Problem) -> dict[str, Any] | None:
    """Round the centred point at one rho and let the checker judge it."""
    solution = found.margin(float(rho))
    if solution.status == "failed" or not solution.margin > 0:
        return None
    scaled = _normalised(found, solution.values)
    if scaled is None:
        return None
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
        return certificate
    return None


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
    best: Certified | None = None
    words = []
    for shape, level in levels(reading, structure):
        found = search(reading, shape, level, setting.mu)
        result = _attempt(found, setting, wanted)
        if result.status == "certified":
            if best is None or best.rate is None or result.rate < best.rate - PRECISION:  # type: ignore[operator]
                best = result
            if wanted is not None:
                return best
        words.append(f"{level.name}: {result.reason or result.rate}")
    if best is not None:
        return best
    failed = any("solver" in word for word in words)
    status: Status = "inconclusive" if failed else "not_certified"
    return Certified(status, "; ".join(words))


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


def _attempt(found: Search, setting: Problem, wanted: Fraction | None) -> Certified:
    if wanted is not None:
        certificate = prove(found, wanted, setting)
        if certificate is not None:
            return Certified("certified", "", wanted, found.level.name, certificate)
        return Certified("not_certified", "no certificate at this rate")
    rho, word = smallest(found)
    if rho is None:
        failed = word != "no certificate"
        reason = f"the solver stopped with {word}" if failed else word
        return Certified("inconclusive" if failed else "not_certified", reason)
    gap = PRECISION / 10
    rounded = rounded_up(Fraction(rho) + gap)
    while rounded < 1:
        certificate = prove(found, rounded, setting)
        if certificate is not None:
            return Certified("certified", "", rounded, found.level.name, certificate)
        gap *= 10
        rounded = rounded_up(Fraction(rho) + gap)
    return Certified("inconclusive", "the solver's points did not survive rounding")


def rounded_up(value: Fraction, step: Fraction = Fraction(1, 10**6)) -> Fraction:
    """Round up to a multiple of a step."""
    return -((-value) // step) * step
