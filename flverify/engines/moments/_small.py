"""Moments of systems small enough to write the operators out.

Exact for flint rationals, plain linear algebra for floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import flint
import numpy as np

from flverify._core.errors import RefusedError
from flverify._core.exact import Array, Scalar
from flverify._core.rationals import entries, matrix, nearest_floats
from flverify.engines.moments import _reduce, _units
from flverify.engines.moments._fixed import fixed_modes
from flverify.engines.moments._limit import Settled, at_rest, is_still
from flverify.engines.moments._operator import SecondMoments
from flverify.engines.moments._radius import (
    Interval,
    collatz_wielandt,
    exact_radius,
    float_radius,
)
from flverify.engines.moments._system import System

VANISHED = 1e-13  # of a float state: a constant so small is 0
SLOWEST = 1 - 1e-12  # float rates up to here settle: rounding leaves 1 a little less
ONE_ROUNDED = 1e-14  # what rounding leaves of a map less the identity
LARGEST_OPERATOR = 400  # order up to which operators are written out


@dataclass(frozen=True)
class SmallMoments:
    """Rates, fixed point, stationary error and error curve of one system.

    Parameters
    ----------
    system : System
    twin : System or None
        The same system in rationals, which then decides what is reachable.
    units : array or None
        In which the coordinates of the system are measured; None for as they are.
    whole : Settled or None
        What floats leave out as weak moves fixed points by all of itself: those of the
        same setting with nothing left out.
    """

    system: System
    twin: System | None = None
    units: Array | None = None
    whole: Settled | None = None

    @property
    def exact(self) -> bool:
        """Whether the arithmetic is rational."""
        return self.system.arithmetic.exact

    @property
    def directions(self) -> int:
        """Number of directions of differences, in the largest mode."""
        return max(self._differences.system.sizes)

    @cached_property
    def _differences(self) -> SecondMoments:
        return SecondMoments(self._reduced(_reduce.differences))

    @cached_property
    def _states(self) -> SecondMoments:
        return SecondMoments(self._reduced(lambda system: system))

    def _reduced(self, change: Callable[[System], System]) -> System:
        if self.twin is None:
            return _reduce.reduced(change(self.system))
        return _reduce.in_floats(_reduce.reduced(change(self.twin), even=True))

    def _mean(self, change: Callable[[System], System]) -> tuple[Array, Array]:
        """Mean map of all modes, reduced, and what is seen of its states."""
        found = self._reduced(lambda system: _reduce.means(change(system)))
        return found.moves[0].mean, found.readout[0]

    @cached_property
    def mean_rate_interval(self) -> Interval:
        """Enclosure of the spectral radius of the mean dynamics of differences."""
        lifted, _ = self._mean(_reduce.differences)
        if self.exact:
            return exact_radius(lifted)
        rate = float_radius(lifted)
        return rate, rate

    @cached_property
    def mean_square_rate_interval(self) -> Interval:
        """Enclosure of the spectral radius of the second moments of differences."""
        operator = self._differences
        if operator.offsets[-1] > LARGEST_OPERATOR:
            raise RefusedError(
                f"rates are enclosed up to operators of order {LARGEST_OPERATOR}; "
                f"got {operator.offsets[-1]}; take the float rate alone (--float, or "
                "problem.as_float())."
            )
        if self.exact:
            return exact_radius(operator.matrix())
        return collatz_wielandt(operator, self.mean_square_rate)

    @cached_property
    def mean_square_rate(self) -> Scalar:
        """The radius itself; in exact mode the upper end of its enclosure."""
        if self.exact:
            return self.mean_square_rate_interval[1]
        return float_radius(self._differences.matrix())

    @cached_property
    def mean_settles(self) -> bool:
        """Whether the mean converges, whatever starts, constants and modes move."""
        if self.mean_rate_interval[1] >= (1 if self.exact else SLOWEST):
            return False
        sized = self if self.exact else self._in_unit(self._unit_of())
        more = sized._constants_move_more(sized._states)
        # noise reaches what means of starts do not, but constants may move
        noisy = sized._differences.system.moves[0].mean
        if not more and len(self.system.sizes) == 1 and self._shrinks(noisy):
            return True
        # of all modes in one vector: modes that come in turns need not settle either
        return self._shrinks(_reduce.apart(sized._reduced(_reduce.means)).moves[0].mean)

    def _shrinks(self, mean: Array) -> bool:
        rate = exact_radius(mean)[1] if self.exact else float_radius(mean)
        return bool(rate < (1 if self.exact else SLOWEST))

    def mean_fixed_point(self) -> Array:
        """Server model at the fixed point of the mean dynamics.

        Raises
        ------
        RefusedError
            If the mean dynamics have no unique fixed point, or one that floats lose.
        """
        if self.exact:
            return self._fixed(*self._mean(lambda system: system))
        if self.twin is not None:  # in floats a rare coin moves the mean by too little
            return nearest_floats(SmallMoments(self.twin).mean_fixed_point())
        if self.whole is not None:
            return self.whole.mean_fixed_point()
        found = self._fixed_in(self._unit_of())
        # in its own unit it is of the size of the constant, and floats see it best
        return self._fixed_in(self._unit_of(found))

    def _fixed_in(self, unit: float) -> Array:
        if self.twin is not None:
            return self.mean_fixed_point()
        sized = self._in_unit(unit)
        if sized._kept is None:
            raise RefusedError(
                "the mean dynamics must have exactly one fixed point that floats tell; "
                "got none, or a space of them; take a larger step size, or rationals."
            )
        values = np.concatenate(sized.system.readout, axis=1) @ sized._kept
        return np.asarray(values[:-1] / values[-1]) * unit

    @cached_property
    def _kept(self) -> Array | None:
        return fixed_modes(self.system)

    @property
    def keeps_one_state(self) -> bool:
        """Whether float means of all modes keep one state, which floats tell."""
        return self._in_unit(self._unit_of())._kept is not None

    @cached_property
    def _added(self) -> Array:
        """Sizes of what the first rounds that add to the model add, whatever it is.

        What slots add that the model does not see, or in units of their own, is left
        out, and so is the rounding of what cancels, beside what the next round adds.
        """
        sizes, readout = _reduce.sizes(self.system), np.abs(self.system.readout[-1])
        state = sizes[:-1, -1]
        for _ in state:
            later = sizes[:-1, :-1] @ state
            seen, then = (readout[:-1, :-1] @ one for one in (state, later))
            if _units.most(seen) > VANISHED * _units.most(then):
                return np.asarray(seen)
            state = later
        return np.zeros(1)

    def _unit_of(self, *points: Array) -> float:
        """Return a unit of points; what is less than rounds add may be all rounding."""
        return _units.power_of_two(max(map(_units.most, (self._added, *points))))

    def _in_unit(self, unit: float) -> SmallMoments:
        """Measure points in a power of 2, and slots to which more is added in that."""
        system = _reduce.rescaled(self.system, unit)
        twin = None if self.twin is None else _reduce.rescaled(self.twin, unit)
        if len(set(system.sizes)) == 1:
            added = _reduce.sizes(system)[:-1, -1]
            own = [_units.power_of_two(max(size, 1.0)) for size in added]
            units = np.append(own, 1.0)
            system = _reduce.measured(system, units)
            twin = None if twin is None else _reduce.measured(twin, units)
        return replace(self, system=system, twin=twin)

    def _fixed(self, lifted: Array, readout: Array) -> Array:
        """Read the eigenvector of eigenvalue 1 whose constant is 1."""
        identity = 0 * lifted
        np.fill_diagonal(identity, self.system.arithmetic.convert(1))
        kernel = _kernel(lifted - identity, exact=True)
        values = readout @ kernel
        if kernel.shape[1] != 1 or values[-1, 0] == 0:
            raise RefusedError(
                "the mean dynamics must have exactly one fixed point; got a space of "
                f"{kernel.shape[1]}; look at the conserved quantities of the setting."
            )
        return np.asarray(values[:-1, 0] / values[-1, 0])

    def stationary_error(self, optimum: Array) -> Scalar:
        """E|x - optimum|^2 in the stationary law; infinite when there is none.

        Raises
        ------
        RefusedError
            If there is no unique fixed point, or floats do not tell whether it is.
        """
        if self.exact:
            stays = self.mean_square_rate >= 1
            return math.inf if stays else self._stationary_error(optimum)
        if self.mean_square_rate >= SLOWEST:
            return unsettled(self.mean_square_rate_interval)
        sized = self._in_unit(self._unit_of())
        if sized._mean_grows():
            return math.inf
        if self.whole is not None:
            return self.whole.stationary_error(optimum)
        unit = self._unit_of(optimum)
        with suppress(RefusedError):
            unit = self._unit_of(optimum, self.mean_fixed_point())
        return in_square(float(self._in_unit(unit)._about(optimum / unit)), unit)

    def _about(self, optimum: Array) -> float:
        """Stationary error, about the fixed mean state where floats tell it.

        Moments about an origin far from it have no digits left for the error.
        """
        found = None if self._diverges() else self._at_rest()
        if found is None:
            return float(self._stationary_error(optimum))
        about, mean = found
        away = optimum - mean
        if about.twin is not None and is_still(about.twin):
            return float(away @ away)
        unit = about._unit_of(away, about._fixed_in(about._unit_of()))
        return float(about._in_unit(unit)._settled_error(away / unit)) * unit**2

    def _at_rest(self) -> tuple[SmallMoments, Array] | None:
        """Return the same about the fixed mean state, and the model there, if told."""
        system, twin = self.system, self.twin
        if twin is not None:
            resting = at_rest(twin)
            if resting is None:
                return None
            twin, model = resting
            return replace(self, system=_reduce.in_floats(twin), twin=twin), model
        if len(set(system.sizes)) > 1 or self._kept is None:
            return None
        origin = np.sum(np.split(self._kept, len(system.sizes)), axis=0)[:-1]
        model = system.readout[0][:-1, :-1] @ origin
        return replace(self, system=_reduce.moved(system, origin)), model

    def _stationary_error(self, optimum: Array) -> Scalar:
        return math.inf if self._diverges() else self._settled_error(optimum)

    def _diverges(self) -> bool:
        return self._constants_move_more(self._states) and self._wanders(self._states)

    def _settled_error(self, optimum: Array) -> Scalar:
        operator = self._states
        values = operator.matrix()
        ones = 0 * values
        np.fill_diagonal(ones, self.system.arithmetic.convert(1))
        kernel = _kernel(values - ones, self.exact)
        if kernel.shape[1] != 1:
            raise RefusedError(
                "the second moments must have exactly one fixed point; got a space of "
                f"{kernel.shape[1]}; look at the conserved quantities of the setting."
            )
        parts = operator.unstack(kernel[:, 0])
        if self._constant(operator, parts) == 0:
            return math.inf  # nothing with the constant 1 is kept: the mean grows
        return self._error(operator, parts, optimum)

    def _constants_move_more(self, operator: SecondMoments) -> bool:
        """Whether constants of `init` move parts of the state that starts do not."""
        sizes = operator.system.sizes
        constants = sum(size > 0 for size in sizes)
        return sum(sizes) > sum(self._differences.system.sizes) + constants

    def _wanders(self, operator: SecondMoments) -> bool:
        """Whether what constants of `init` move does not settle in mean square."""
        apart = SecondMoments(_reduce.apart(operator.system))
        return not self._shrinks(apart.matrix())

    def _mean_grows(self) -> bool:
        """Whether float means keep no state with the constant 1, only others."""
        lifted, readout = self._mean(lambda system: system)
        kernel = _kernel(lifted - np.eye(len(lifted)), exact=False)
        if kernel.shape[1] != 1:
            return False
        return abs(float((readout @ kernel)[-1, 0])) <= VANISHED

    def _constant(self, operator: SecondMoments, parts: tuple[Array, ...]) -> Scalar:
        pairs = zip(operator.system.readout, parts, strict=True)
        seen: Scalar = sum((read @ part @ read.T)[-1, -1] for read, part in pairs)
        return seen

    def error_curve(self, start: Array, optimum: Array, rounds: int) -> list[Scalar]:
        """E|x_r - optimum|^2 for r = 0, ..., rounds."""
        if self.exact:
            return self._curve(start, optimum, rounds)
        unit = self._unit_of(start, optimum)
        curve = self._in_unit(unit)._curve(start / unit, optimum / unit, rounds)
        return [error * unit * unit for error in curve]

    def _curve(self, start: Array, optimum: Array, rounds: int) -> list[Scalar]:
        # a curve needs no reduction, and in floats reducing costs digits
        operator = self._states if self.exact else SecondMoments(self.system)
        one = self.system.arithmetic.convert(1)
        parts = operator.start(np.append(start, one))
        curve = [self._error(operator, parts, optimum)]
        for _ in range(rounds):
            parts = operator.apply(parts)
            curve.append(self._error(operator, parts, optimum))
        return curve

    def _error(
        self, operator: SecondMoments, parts: tuple[Array, ...], optimum: Array
    ) -> Scalar:
        system = operator.system
        pairs = zip(system.readout, parts, strict=True)
        seen = [readout @ part @ readout.T for readout, part in pairs]
        total = sum(seen[1:], start=seen[0])
        cross = optimum @ total[:-1, -1]
        length = optimum @ optimum
        spread = np.trace(total[:-1, :-1])
        error = (spread - 2 * cross) / total[-1, -1] + length
        return error if self.exact else max(float(error), 0.0)  # rounding may dip below


def _kernel(values: Array, exact: bool) -> Array:
    """Columns spanning the kernel of a square matrix."""
    if exact:
        return _exact_kernel(values)
    _, sizes, rows = np.linalg.svd(values)
    # what was subtracted is of size 1, and leaves the rounding of that
    small = sizes <= max(1e-11 * float(sizes.max(initial=0.0)), ONE_ROUNDED)
    return np.asarray(rows[small].T)


def unsettled(rate: Interval) -> float:
    """Return the stationary error, infinite, of a float rate that is 1 or more.

    Raises
    ------
    RefusedError
        If it may be less, as of a step that is too small for floats.
    """
    if rate[0] >= 1:
        return math.inf
    raise RefusedError(
        f"a float rate must be below {SLOWEST}, or surely 1 or more, for a stationary "
        f"error; got one from {rate[0]} to {rate[1]}; take a larger step size, or pass "
        "rationals."
    )


def in_square(error: float, unit: float) -> float:
    """Return a squared error measured in a unit as it is."""
    found = error * unit * unit
    if math.isinf(found) and math.isfinite(error):
        raise RefusedError(
            "the stationary error must be within floats; got a larger one; measure "
            "points in a larger unit, or pass rationals."
        )
    return found


def _exact_kernel(values: Array) -> Array:
    reduced, rank = matrix(values).rref()
    rows = entries(reduced)[:rank]
    pivots = [next(k for k, v in enumerate(row) if v != 0) for row in rows]
    free = [k for k in range(values.shape[1]) if k not in pivots]
    out = np.full((values.shape[1], len(free)), flint.fmpq(0), dtype=object)
    for column, place in enumerate(free):
        out[place, column] += 1
        for pivot, row in zip(pivots, rows, strict=True):
            out[pivot, column] -= row[place]
    return out
