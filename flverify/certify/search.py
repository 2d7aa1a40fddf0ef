"""Search one ansatz: lay it out, find the smallest rho in floats, round, and check.

A setting is first brought to smoothness 1 by f -> f/L, eta -> eta L, which changes no
rate. Only the checker speaks: what the solver calls feasible is a proposal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from flverify._core.checks import positive, whole
from flverify._core.errors import DomainError, ReadingError, RefusedError
from flverify._core.exact import Array, is_exact, scalar, within_floats
from flverify._core.shown import shown
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.ansatz import Ansatz, Level
from flverify.certify.certificate import Proof, write
from flverify.certify.check import MOST_CLIENTS, Rejected
from flverify.certify.check.one_by_one import Loop
from flverify.certify.classes import Classes, classes
from flverify.certify.coordinates import Coordinates, Memory, Structure
from flverify.certify.discover import previous_point
from flverify.certify.dual_units import dual_units, measured
from flverify.certify.expect import Round, expected_round
from flverify.certify.forms import Reading, read
from flverify.certify.inequality import Sweep
from flverify.certify.known_points import KnownPoints
from flverify.certify.loop_shift import shifted
from flverify.certify.own_loops import judged, own_loop
from flverify.certify.quadratics.unseen import unseen
from flverify.certify.rationalise import Mended, Values, rationalise
from flverify.certify.short_rates import SHARE, short
from flverify.certify.slot_units import slot_units
from flverify.certify.solve import Solution, given, least
from flverify.certify.start import Start
from flverify.certify.threshold import WIDE_ENOUGH, Margin, threshold
from flverify.engines.kinds import require_algorithm, require_law
from flverify.engines.own_rounds import require_number
from flverify.participation._law import Participation

LEVELS = ("slots", "lifted", "previous point", "last step", "previous gradients")
ALONG = tuple(Fraction(k, 4) for k in (0, 4, 2, 1, 3))  # parts of the last step
MOST_STEPS = 40  # local steps; the inequality grows with their square
ACCURACY = 2e-6  # width at which the float search stops
IN_UNITS = ", duals in units of the weight"
NO_CERTIFICATE = "floats see none of this ansatz"
CLOSE = 0.5  # mu/L above which gradients are shifted; below, that gains nothing
NARROWEST = 1 - Fraction(1, 10**6)  # the largest mu, with L = 1, that is searched for
MARGINS = (1e-7, 1e-6, 1e-5, 1e-4)  # left over for rounding in the start's condition


@dataclass(frozen=True)
class Problem:
    """A setting brought to smoothness L = 1: step sizes times L, mu over L."""

    algorithm: Algorithm
    scaled: Algorithm
    classes: Classes
    strong_convexity: Fraction
    smoothness: Fraction
    own: Loop | None = None  # of a method that the checker has none of

    @property
    def mu(self) -> Fraction:
        """Strong convexity at smoothness 1."""
        return self.strong_convexity / self.smoothness

    @cached_property
    def units(self) -> dict[str, int]:
        """Units of the slots, in powers of the smoothness."""
        if self.smoothness == 1:
            return {}
        own, scaled = (read(a, self.classes) for a in (self.algorithm, self.scaled))
        return slot_units(own, scaled, self.smoothness)


def problem(
    algorithm: Algorithm,
    participation: Participation,
    strong_convexity: object,
    smoothness: object,
    loop: object = None,
    *,
    convex: bool = True,
) -> Problem:
    """Check a setting and bring it to smoothness 1; `convex`: strongly so.

    Raises
    ------
    DomainError
        If 0 < mu < L (or -L <= mu < L) does not hold, a number is not rational, or
        step_size times smoothness is larger than all floats.
    InputError
        If the algorithm or the law is something else.
    RefusedError
        If the algorithm or the law has no certificates.
    """
    require_algorithm(algorithm, "step_size")
    require_law(participation)
    require_number(algorithm)
    read = positive if convex else scalar
    mu = read(strong_convexity, "strong_convexity")
    smooth = positive(smoothness, "smoothness")
    _require_rational(mu, smooth, algorithm.step_size)
    if mu < -smooth:
        raise DomainError(
            f"strong_convexity must be at least -smoothness; got {shown(mu)} and "
            f"{shown(smooth)}; raise it: -L means all smooth functions."
        )
    if not mu < smooth:
        raise DomainError(
            f"strong_convexity must be below smoothness; got {shown(mu)} and "
            f"{shown(smooth)}; lower one or raise the other."
        )
    steps = getattr(algorithm, "local_steps", 1)
    whole(steps, "local_steps of a certificate", most=MOST_STEPS)
    whole(participation.n_clients, "n_clients of a certificate", most=MOST_CLIENTS)
    own = own_loop(algorithm, participation, smooth, loop)
    _require_rational(*(v for v in vars(algorithm).values() if isinstance(v, float)))
    scaled = algorithm.rescaled(1 / Fraction(smooth))
    within_floats(scaled.step_size, "step_size times smoothness")
    return Problem(algorithm, scaled, classes(participation), mu, smooth, own)


def _require_rational(*numbers: Any) -> None:
    for number in numbers:
        if not is_exact(number):
            raise DomainError(
                f"a certificate must be given rational numbers; got {shown(number)}; "
                "write a fraction or decimal text."
            )


@dataclass(frozen=True)
class Search:
    """One ansatz for one setting, with its programmes at every rho."""

    space: Coordinates
    level: Level
    ansatz: Ansatz
    sweep: Sweep
    bases: dict[str, Array]
    known: dict[float, Solution] = field(default_factory=dict, compare=False)
    units: str = ""

    @property
    def name(self) -> str:
        """What V knows, and in which units it is sought if not in the usual ones."""
        return self.level.name + self.units

    def margin(self, rho: float) -> Solution:
        """Widest margin at one rho and its slope, measured anew on the mended point."""
        if rho not in self.known:
            self.known[rho] = self._margin(rho)
        return self.known[rho]

    @cached_property
    def _mended(self) -> Mended:
        return Mended(self.sweep)

    def _margin(self, rho: float) -> Solution:
        solution = self.sweep.pencil.widest_margin(rho)
        if not solution.margin > 0:
            return solution
        measured = self._mended.worst_pivot(solution.values, rho)
        # the slope is that of the solver's own margin, which may have other units
        slope = measured / solution.margin * self.sweep.slope(solution)
        return replace(solution, margin=measured, slope=slope)


def levels(reading: Reading, structure: Structure) -> list[tuple[Structure, Level]]:
    """Return the ansaetze, from poor to rich.

    V is a quadratic in the slots and the value F(x); then it knows the points where
    remembered gradients were taken, and the values there; then also the value at the
    server's previous point; then values along the server's last step; then gradients of
    all clients, present or not, at the model of the last round; where nothing is
    remembered, but clients keep something else, this comes second. What the model never
    sees, no V has to; if it is remembered, a first V is without it, others have it.
    """
    gone = unseen(reading, structure) if reading.client_slots else frozenset()
    remembered = {memory.slot for memory in structure.memories}
    structure = replace(structure, unseen=gone - remembered)
    plain = replace(structure, memories=())
    # where the model is eliminated, as in a mean of the clients' models, it is that
    here = dict(structure.eliminated.get("model", {"model": Fraction(1)}))
    slots = Level(LEVELS[0], (here,))
    out = [(plain, slots)]
    if gone & remembered:
        out.insert(0, (replace(plain, unseen=gone), slots))
    if not reading.client_slots:
        return out
    before = None
    if structure.memories:
        out.append((structure, Level(LEVELS[1], (here,), ghost_values=True)))
        before = previous_point(reading, structure)
    if before is not None:
        away = {name: v - here.get(name, Fraction(0)) for name, v in before.items()}
        along = [
            {n: here.get(n, Fraction(0)) + t * v for n, v in away.items()}
            for t in ALONG
        ]
        points = tuple({n: v for n, v in point.items() if v} for point in along)
        out.append((structure, Level(LEVELS[2], points[:2], ghost_values=True)))
        out.append((structure, Level(LEVELS[3], points, ghost_values=True)))
    known = (*structure.memories, Memory(None, (0,), (Fraction(0),)))
    richest = Level(LEVELS[4], out[-1][1].values, ghost_values=True)
    out.append((replace(structure, memories=known), richest))
    return out


def searches(
    reading: Reading, rungs: Iterable[tuple[Structure, Level]], mu: Fraction
) -> Iterator[Search]:
    """Lay out ansaetze, each when it is asked for; those of one structure share it.

    The last comes once more in other units, if there are duals to be measured.
    """
    space = None
    for structure, level in rungs:
        if space is None or space.structure is not structure:
            space = Coordinates(reading, structure, float)
            expected = expected_round(space)
            known = KnownPoints(space, min(mu, NARROWEST), 1)
        yield _laid_out(known, level, expected)
    if space is not None and (units := dual_units(space)):
        yield _measured(_laid_out(known, level, expected), units)


def search(
    reading: Reading, structure: Structure, level: Level, mu: Fraction
) -> Search:
    """Lay out one ansatz in floats."""
    return next(searches(reading, [(structure, level)], mu))


def _laid_out(known: KnownPoints, level: Level, expected: Round) -> Search:
    """Lay out one ansatz, given what a round does to its coordinates.

    Multipliers for a class serve every class within it, whose inequalities say more; so
    where mu is too close to L for floats, a slightly larger class is asked for.
    """
    space = known.space
    ansatz = Ansatz(space, level, known.mu, 1, expected, known)
    near = ansatz.mu > CLOSE
    bases = shifted(space, float(ansatz.mu), ansatz.sizes) if near else {}
    return Search(space, level, ansatz, Sweep(ansatz, bases=bases), bases)


def _measured(found: Search, units: Mapping[str, float]) -> Search:
    """Lay out the same ansatz with slots in units of their own."""
    bases = measured(found.space, found.ansatz.sizes, found.bases, units)
    sweep = Sweep(found.ansatz, bases=bases)
    return replace(found, sweep=sweep, bases=bases, known={}, units=IN_UNITS)


def smallest(
    found: Search, low: float = 0.0, high: float = 1.0 - 1e-9, trusted: float = 0.0
) -> tuple[float | None, str]:
    """Find the smallest rho with a margin; None (and a word) if there is none.

    Parameters
    ----------
    low, high : float
        No rho below `low` is possible, and none above `high` is of interest.
    trusted : float
        As for `threshold`: what a caller confirms anyway, need not be confirmed here.
        Then rho is a short number where it can be, so that it can be proved as it is.
    """
    top = found.margin(high)
    if not top.margin > WIDE_ENOUGH:
        return None, top.detail if top.status == "failed" else NO_CERTIFICATE
    known = high, Margin(top.margin, top.slope)
    margin = partial(_margin, found)
    place = short if trusted else float
    return threshold(margin, low, known, _width, trusted, place), ""


def _margin(found: Search, rho: float) -> Margin:
    solution = found.margin(rho)
    return Margin(solution.margin, solution.slope)


def _width(high: float) -> float:
    """Return how far to narrow a rate; slow ones differ by their distance from 1."""
    return min(ACCURACY, (1 - high) * float(SHARE))


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
    # a solver that stops early may have come far enough: its point is measured, too
    if solution.status == "failed" and not solution.margin > WIDE_ENOUGH:
        return None, f"the solver stopped with {solution.detail}"
    if not solution.margin > 0:
        return None, NO_CERTIFICATE
    word = "the solver's point did not survive rounding"
    scaled = _normalised(found, solution.values)
    if scaled is None:
        return None, word
    for digits in (9, 12):
        values = rationalise(found.ansatz, scaled, rho, digits)
        start = constants(found, values)
        if start is None:
            continue
        proof = Proof(found.space, found.level, values, start, rho)
        try:
            certificate = written(proof, setting)
        except Rejected as error:
            word = f"the checker rejects the rounded point: {error}"
            continue
        return certificate, ""
    return None, word


def written(proof: Proof, setting: Problem) -> dict[str, Any]:
    """Write a certificate, and let the checker judge it.

    Raises
    ------
    Rejected
        If it proves nothing.
    """
    mu, smoothness, own = setting.strong_convexity, setting.smoothness, setting.own
    told = replace(proof, units=setting.units)
    certificate = write(told, setting.algorithm, mu, smoothness, own)
    judged(certificate, own)
    return certificate


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
    for margin in MARGINS:  # a solver is less exact where V is large
        solution = least(given(programme, one, 1.0), objective, margin)
        if solution.status == "failed":
            continue
        padded = solution.values.copy()
        for name in ("C1", "C2"):
            padded[start.place[name,]] *= 1 + 1e-6
            padded[start.place[name,]] += margin
        rounded = rationalise(start, padded, Fraction(0), 9, {("one",): Fraction(1)})
        if _stands(start, rounded):
            return rounded
    return None


def _stands(start: Start, values: Values) -> bool:
    """Whether floats see the start's condition met; the checker judges it exactly."""
    blocks = start.blocks_at({u: float(x) for u, x in values.items()}, 0.0)
    return all(
        np.linalg.eigvalsh(block + start.constants[name])[0] > MARGINS[0] / 100
        for name, block in blocks.items()
    )


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
