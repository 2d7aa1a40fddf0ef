"""The error itself as a linear system: how fast E|x_r - x*|^2 grows or shrinks.

The moments engine's rate is that of differences of two runs. The error is more: it
also follows what no difference excites, such as a bias, or a stored gradient that no
start moves. So the state with its constant 1 is observed through x - x* and reduced to
what is reachable from the start and seen by that: T is its second-moment operator, and
E|x_r - x*|^2 <= C rate^r for some C exactly if the radius of T is below rate, or equal
to it with an index of 1 (no Jordan block). If x* is where the method ends, the constant
is not seen and drops out; a bias keeps it, with its eigenvalue 1.

T maps positive semidefinite matrices to such, so its radius is an eigenvalue whose
index no other eigenvalue of that modulus exceeds. On a reduced system the sums of the
first powers of T and of its adjoint map the start and the observation into the
interior of the cone, hence the observed error grows like |T^r| and no slower.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import matrix_balance

from flverify._core.errors import Refusal, RefusedError
from flverify._core.exact import Array, Scalar, identity
from flverify._core.rationals import (
    is_positive_definite,
    matrix,
    solve,
    to_fraction,
)
from flverify.engines.arithmetic import RATIONAL
from flverify.engines.moments import _reduce
from flverify.engines.moments._faint import may_grow
from flverify.engines.moments._operator import SecondMoments
from flverify.engines.moments._radius import exact_radius, float_radius
from flverify.engines.moments._small import LARGEST_OPERATOR, SmallMoments
from flverify.engines.moments._system import System
from flverify.testing.fixed_state import common_fixed_state
from flverify.testing.given import as_float
from flverify.testing.moments import Answer
from flverify.testing.setting import Setting

ROUNDING = 1e-9  # relative: float rates that differ by less are taken as equal
NEAR = 1e-4  # relative: rates this close are checked for a power of r
INVARIANT = 1e-11  # of a map: what it may lead out of a subspace by rounding
PERTURBED = 1e-12  # of its norm: how far off a float operator may be
LARGEST_SPECTRUM = 66  # order up to which the eigenvalues of a rational T are taken
LARGEST_FLOATS = 1200  # order up to which a float operator's eigenvalues are taken
LEAK = 1e-10  # of the squared size: a stationary error below it may be rounding
FLOOR = 1e-12  # of the squared size: float errors below it are rounding
FINE = 1e-14  # of the squared size: what float errors may be too small by
LONG = 4096  # rounds after which a polynomial factor shows in floats


@dataclass(frozen=True)
class Dynamics:
    """The reduced system of the error x_r - x* of one setting."""

    system: System
    unit: float = 1.0  # float states are measured in it
    searched: int = 20_000  # rounds among which a broken one is sought
    biased: bool | None = False  # what floats say apart from T; T tells in rationals
    lost: float = 0.0  # how far from invariant a reduction in floats is
    contraction: float = 0.0  # float rate of differences, from any starts
    faint: bool = False  # whether more may grow than floats follow

    @property
    def exact(self) -> bool:
        """Whether the system is rational."""
        return self.system.arithmetic.exact

    @property
    def quick(self) -> bool:
        """Whether numbers to be shown may come from the moments themselves."""
        return not self.exact or self.order <= LARGEST_SPECTRUM

    @property
    def undecided(self) -> str:
        """Why `is_bounded_by` gave None."""
        if self.exact:
            return "the claimed rate is an eigenvalue and not told from the largest"
        return (
            "floats do not tell whether this rate is rounding, or exceeded by a power "
            "of r; pass rationals, or claim a slightly larger rate"
        )

    @property
    def remark(self) -> str:
        """What an answer is up to."""
        return "" if self.exact else f", rates to {ROUNDING:g}, parts to 1e-8"

    @cached_property
    def operator(self) -> SecondMoments:
        """T on second moments."""
        return SecondMoments(self.system)

    @property
    def floor(self) -> float:
        """Squared errors below this are rounding; in a reduced system nothing is."""
        return 0.0 if self.exact else FLOOR * self.unit**2

    @property
    def fine(self) -> float:
        """What squared errors may be too small by: decaying parts are relative."""
        return 0.0

    @property
    def order(self) -> int:
        """Order of T."""
        return self.operator.offsets[-1]

    @cached_property
    def rate_interval(self) -> tuple[Scalar, Scalar]:
        """Enclosure of the radius of T, or one float twice."""
        if not self.order:
            return 0, 0
        if self.exact and self.order <= LARGEST_SPECTRUM:
            return exact_radius(self.operator.matrix())
        rate = float_radius(self.in_floats().operator.matrix())
        rate = max(rate, 1.0) if self.biased else rate
        return rate, rate

    def is_bounded_by(self, rate: Scalar) -> bool | None:
        """Whether E|x_r - x*|^2 <= C rate^r for some C; None if that is not decided.

        Floats are compared to 1e-9 relatively.
        """
        if not self.exact:
            return self._bounded_in_floats(_below_one(rate), self.rate_interval[0])
        below = self.is_below(rate)
        if below is not None:
            return below
        if self.order > LARGEST_SPECTRUM:
            return None
        low, high = self.rate_interval  # rate is an eigenvalue, perhaps not the largest
        if low > rate:
            return False
        return self._has_index_one(rate) if low == high == rate else None

    def is_below(self, rate: Scalar) -> bool | None:
        """Whether the radius of a rational T is below a rate; None at an eigenvalue.

        It is exactly if rate X - T(X) = identity has a positive definite solution.
        """
        values = -self.operator.matrix()
        values[np.diag_indices(len(values))] += RATIONAL.convert(rate)
        sizes = self.system.sizes
        units = tuple(RATIONAL.array(identity(n, exact=True)) for n in sizes)
        try:
            solved = solve(values, self.operator.stack(units)[:, None])[:, 0]
        except ZeroDivisionError:
            return None
        return all(is_positive_definite(p) for p in self.operator.unstack(solved))

    def stays_bounded(self) -> bool | None:
        """Whether E|x_r - x*|^2 stays bounded."""
        if self.exact:
            return self.is_bounded_by(1)
        may_be_biased = replace(self, biased=True)  # that is no reason to be unbounded
        return may_be_biased._bounded_in_floats(1.0, self.rate_interval[0])

    def _bounded_in_floats(self, rate: float, found: float) -> bool | None:
        if self.lost > INVARIANT:
            return None
        leaks = self.contraction < rate < found and abs(found - 1) < NEAR
        if (self.biased is None and found <= rate) or (not self.biased and leaks):
            return None  # what is conserved has the eigenvalue 1, as has its rounding
        near = abs(found - rate) <= NEAR * rate
        if near and _grows_like_a_polynomial(self.operator.matrix() / found):
            return None  # such an eigenvalue is known to a third of the digits
        tied = abs(found - rate) <= ROUNDING * rate
        if not tied and self.may_lie_across(rate, found):
            return None
        if found > rate * (1 + ROUNDING):
            return False
        # a claim of convergence where there may be none
        across = tied and rate < 1 <= found * (1 + ROUNDING)
        # faster than differences of two runs: a start of its own, or lost in rounding
        faster = self.contraction > rate * (1 + ROUNDING)
        return None if across or faster or self.faint else True

    def may_lie_across(self, rate: float, found: float) -> bool:
        """Whether rounding of T may have moved its radius from beyond a rate to found.

        The radius moves continuously, and for positive operators it is an eigenvalue:
        on its way every number in between becomes one of some operator close to T. A
        Jordan block of order k moves by the k-th root of the rounding.
        """
        if not self.order:
            return False
        values, _ = matrix_balance(self.operator.matrix(), permute=False)
        reach = PERTURBED * float(np.linalg.norm(values))
        ends = math.log(rate), math.log(max(found, 1e-300))
        between = (math.exp(ends[0] + k / 3 * (ends[1] - ends[0])) for k in range(3))
        return all(_distance(values, place) <= reach for place in between)

    def _has_index_one(self, rate: Scalar) -> bool:
        """Whether T - rate and its square have the same rank."""
        values = self.operator.matrix()
        values[np.diag_indices(len(values))] -= RATIONAL.convert(rate)
        shifted = matrix(values)
        return bool(shifted.rank() == (shifted * shifted).rank())

    def in_floats(self) -> Dynamics:
        """Return the same reduced system in floats; nothing cancels in it any more."""
        return self if not self.exact else Dynamics(_in_floats(self.system))

    def curve(self, begin: Array) -> Iterator[Scalar]:
        """Yield E|x_r - x*|^2 for r = 0, 1, ... from a start (or the one given)."""
        convert = self.system.arithmetic.convert
        columns = self.system.start[0].shape[1]
        inside = begin if self.exact else [float(v) / self.unit for v in begin]
        vector = [*inside, 1] if columns > 1 else [1]
        parts = self.operator.start(np.array([convert(v) for v in vector]))
        while True:
            yield self._seen(parts)
            with np.errstate(over="ignore", invalid="ignore"):
                parts = self.operator.apply(parts)

    def _seen(self, parts: tuple[Array, ...]) -> Scalar:
        pairs = zip(self.system.readout, parts, strict=True)
        seen = sum(np.trace(read @ part @ read.T) for read, part in pairs)
        if self.exact:
            return to_fraction(RATIONAL.convert(seen))
        error = float(seen) * self.unit**2
        return error if math.isfinite(error) else math.inf


def dynamics(asked: Setting, answer: Answer) -> Dynamics | Refusal:
    """Observe the error of a setting whose system is small enough to write out."""
    engine = answer.found._engine
    if not isinstance(engine, SmallMoments):
        return Refusal("moments", "the system is too large to be written out.")
    if engine.exact:
        return _within_limits(_exactly(asked, engine.system))
    found = _approximately(asked, answer, engine.system)
    if found.lost > INVARIANT and engine.units is not None:
        # a link that is weak in units that balance need not be weak as it stands
        plain = _reduce.measured(engine.system, 1 / engine.units)
        found = min(found, _approximately(asked, answer, plain), key=lambda d: d.lost)
    return _within_limits(found)


def _exactly(asked: Setting, system: System) -> Dynamics:
    """Observe x - x* from the state with its constant."""
    optimum = RATIONAL.array(asked.minimiser)
    readout = tuple(r[:-1] - np.outer(optimum, r[-1]) for r in system.readout)
    start = system.start
    if asked.start is not None:
        begin = np.append(RATIONAL.array(asked.start), RATIONAL.convert(1))
        start = tuple((s @ begin)[:, None] for s in system.start)
    return Dynamics(_reduce.reduced(replace(system, start=start, readout=readout)))


def _approximately(asked: Setting, answer: Answer, whole: System) -> Dynamics:
    """Observe the distance to a state that nothing moves, or else as in rationals."""
    unit = asked.size
    system = _reduce.rescaled(whole, unit)
    optimum = asked.minimiser.astype(np.float64) / unit
    start = system.start
    if asked.start is not None:
        begin = np.append(asked.start.astype(np.float64) / unit, 1.0)
        start = tuple((s @ begin)[:, None] for s in system.start)
    still = common_fixed_state(system, optimum)
    if still is None:
        readout = tuple(r[:-1] - np.outer(optimum, r[-1]) for r in system.readout)
    else:  # the constant is the last coordinate: here it is 0 and stays so
        readout = tuple(r[:-1] for r in system.readout)
        constant = np.zeros((len(still), start[0].shape[1]))
        constant[:, -1] = still
        start = tuple(s - constant for s in start)
    observed = replace(system, start=start, readout=readout)
    found, lost = _reduce.reduced(observed), _left_out(observed)
    biased = False if still is not None else _is_biased(answer, system, optimum)
    rate = 0.0 if math.isnan(answer.contraction) else answer.contraction
    faint = rate < 1 and may_grow(whole, max(found.sizes))
    return Dynamics(
        found, unit, biased=biased, contraction=rate, lost=lost, faint=faint
    )


def _left_out(system: System) -> float:
    """Largest part, relative to its map, by which a step leaves the reached space.

    Reached is what exceeds 1e-8; along a weak link that is not all that matters.
    """
    weighted = zip(system.start, system.initial, strict=True)
    seeds = [s.T if weight != 0 else s.T[:0] for s, weight in weighted]
    steps = [(m.source, m.target, [a.T for _, a in m.terms]) for m in system.moves]
    rows = [basis.rows for basis in _reduce.closure(seeds, steps, system.arithmetic)]
    lost = 0.0
    for source, target, maps in steps:
        for values in maps:
            image = rows[source] @ values
            out = image - (image @ rows[target].T) @ rows[target]
            size = float(np.linalg.norm(values)) or 1.0
            lost = max(lost, float(np.linalg.norm(out)) / size)
    return lost


def _is_biased(answer: Answer, system: System, optimum: Array) -> bool | None:
    """Whether a stationary error remains; None where it may be rounding.

    The system is measured in units of the problem, which the engine's tolerances like.
    """
    if not answer.contraction < 1:
        return None
    try:
        with np.errstate(all="ignore"):
            error = float(SmallMoments(system).stationary_error(optimum))
    except RefusedError:
        return None
    return None if error < LEAK else True


def differences(answer: Answer) -> Dynamics | Refusal:
    """Follow the difference of two runs of the same rounds, from any starts."""
    engine = answer.found._engine
    if not isinstance(engine, SmallMoments):
        return Refusal("moments", "the system is too large to be written out.")
    return _within_limits(Dynamics(engine._differences.system))


def _within_limits(found: Dynamics) -> Dynamics | Refusal:
    most = LARGEST_OPERATOR if found.exact else LARGEST_FLOATS
    if found.order <= most:
        return found
    why = f"second moments are limited to an operator of order {most}"
    return Refusal("moments", f"{why}; got {found.order}.")


def _in_floats(system: System) -> System:
    """Return a rational system in floats."""

    def plain(values: Array) -> Array:
        flat = [number(v) for v in values.flat]
        return np.array(flat).reshape(values.shape)

    def number(value: Scalar) -> float:
        return as_float(to_fraction(RATIONAL.convert(value)))

    return _reduce.in_floats(system, plain, number)


def _below_one(rate: Scalar) -> float:
    """Return the nearest float in (0, 1) to a rate between 0 and 1."""
    return min(max(as_float(rate), 1e-300), math.nextafter(1, 0))


def _distance(values: Array, place: float) -> float:
    """How close a matrix is to one with a given eigenvalue."""
    shifted = values - place * np.eye(len(values))
    return float(np.linalg.svd(shifted, compute_uv=False)[-1])


def _grows_like_a_polynomial(scaled: Array) -> bool:
    """Whether the powers of a float matrix of radius 1 keep growing."""
    once = np.linalg.matrix_power(scaled, LONG)
    return bool(np.linalg.norm(once @ once) > 1.5 * np.linalg.norm(once))
