"""Rates of large float systems: only the messages are random.

With M = Mbar + sum_phi (phi - E phi) E_phi C_phi the operator is T(P) = Mbar P Mbar'
+ E (K o (C P C')) E', K the covariance of the features blown up to blocks. For c above
rho(Mbar)^2, rho(T) < c iff rho(F(c)) < 1 with F(c): Phi -> C X C', c X - Mbar X Mbar'
= E (K o Phi) E'. One eigendecomposition of Mbar gives every F(c); right and left
iterates of F meet in a two-sided quotient whose root in c converges fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, gmres

from flverify._core.errors import RefusedError
from flverify._core.exact import Array
from flverify.engines.moments._alike import FEW, classes, shared
from flverify.engines.moments._dimension import dimension
from flverify.engines.moments._drift import drift
from flverify.engines.moments._eigen import least_modulus, visible_radius
from flverify.engines.moments._faint import large_growth
from flverify.engines.moments._fixed import fixed_state
from flverify.engines.moments._messages import MessageSystem, message_system
from flverify.engines.moments._perron import MessageMap, perron
from flverify.engines.moments._radius import quotients
from flverify.engines.moments._reduce import LEFT
from flverify.engines.moments._small import SLOWEST, in_square, unsettled
from flverify.engines.moments._spectrum import Spectrum
from flverify.engines.moments._thin import Thin, apart, entire, thin

VERIFIED = 1e-6  # relative gap that an eigenvector of the operator may leave
ABOVE = (1e-6, 1e-4, 1e-2)  # how far above the rate, relatively, enclosures look
VANISHED = 1e-12  # of its terms: noise so small is 0, and 2.5e-13 was seen of none
NEAR_ONE = 1e-9  # a mean map that near is not followed as a whole
GROWS = 1e-6  # above 1: less may be what rounding makes of what is conserved
STILL = 1e-6  # what the start may do to a fixed point, by rounding


@dataclass(frozen=True)
class LargeMoments:
    """Rates, fixed point and error curve of a large traced float system."""

    problem: Any
    algorithm: Any
    participation: Any
    exact = False

    @cached_property
    def system(self) -> MessageSystem:
        """The system without redundant slots, for rates and fixed points."""
        return message_system(self.problem, self.algorithm, self.participation)

    @cached_property
    def _plain(self) -> MessageSystem:
        """The system with every slot, for curves."""
        return message_system(self.problem, self.algorithm, self.participation, False)

    @cached_property
    def _thin(self) -> Thin:
        return self._reached(thin(self.system, self._alike))

    @cached_property
    def _alike(self) -> Array | None:
        """Columns of states whose clients that are alike hold the same; None if all."""
        # of few outcomes features are few too; so many columns of them tell soon
        some = self.system.covariance[:, : 2 * FEW]
        if some.size and np.linalg.matrix_rank(some) >= FEW:
            return None
        found = classes(self.problem, self.algorithm, self.participation)
        return None if found is None else shared(self.system.layout, found)

    def _reached(self, found: Thin) -> Thin:
        size = len(found.mean)
        if size > 1 and found.factor.shape[1] < FEW:
            real = dimension(self.problem, self.algorithm, self.participation)
            if real is not None and real < size:
                raise RefusedError(
                    f"a float rate must be of the directions that starts move, {real}; "
                    f"rounding makes them {size}, as where clients are alike under few "
                    "outcomes; use fewer clients, in rationals."
                )
        return found

    def require_reached(self) -> None:
        """Refuse systems in which rounding makes more directions look reachable.

        Clients that are alike for differences need not be for the error.

        Raises
        ------
        RefusedError
            If starts move fewer of them.
        """
        _ = self._thin if self._alike is None else self._reached(thin(self.system))

    @cached_property
    def _spectrum(self) -> Spectrum:
        return Spectrum.of(self._thin)

    @property
    def mean_rate_interval(self) -> tuple[float, float]:
        """Spectral radius of the mean map, twice: floats carry no enclosure here."""
        self._require_followed()
        system = self._thin
        rate = visible_radius(system.mean, system.start, system.seen)
        return rate, rate

    @cached_property
    def mean_settles(self) -> bool:
        """Whether the mean converges, whatever starts and constants of `init` move."""
        weak = self._thin.lost > LEFT and self._weak_growth
        if weak or self.mean_rate_interval[1] >= SLOWEST or self._unfollowed[0]:
            return False
        more = self._apart
        if len(more.mean) > len(self._thin.mean):
            return float(np.abs(np.linalg.eigvals(more.mean)).max()) < SLOWEST
        if float(np.abs(np.linalg.eigvals(self._thin.mean)).max(initial=0)) < SLOWEST:
            return True
        # noise reaches what means of starts do not, but constants may move
        return visible_radius(more.mean, more.start, more.seen) < SLOWEST

    @cached_property
    def _weak_growth(self) -> float:
        """By what directions too weak to be followed may grow in a round; 0 if none."""
        if self._thin.lost <= LEFT:
            seeds = self.system.start[:-1, :-1]
            whole, size = entire(self.system), len(self._thin.mean)
            _, more = large_growth(whole, seeds, size)
            return more if more and self._followed[0] < 1 else 0.0
        rates = np.abs(np.linalg.eigvals(entire(self.system).mean))
        most = float(rates.max(initial=0.0))
        return most if most > 1 + GROWS else 0.0

    @cached_property
    def _apart(self) -> Thin:
        return apart(self.system)

    @cached_property
    def _unfollowed(self) -> tuple[float, float]:
        """Growth, in the mean and in square, of what constants move but too weakly."""
        system = self.system
        added = [system.mean[:-1, -1:], system.rows[:-1] * system.columns[:, -1]]
        seeds = np.concatenate([system.start[:-1], *added], axis=1)
        return large_growth(entire(system), seeds, len(self._apart.mean))

    @property
    def grows_faintly(self) -> bool:
        """Whether more may grow, in mean square, than floats follow."""
        return bool(self._weak_growth or self._unfollowed[1])

    @cached_property
    def _followed(self) -> tuple[float, Array | None]:
        """Rate and message of the directions that are followed."""
        with np.errstate(over="ignore", invalid="ignore"):  # refused where it matters
            return perron(MessageMap(self._spectrum, self._thin))

    def _require_followed(self) -> None:
        if self._weak_growth:
            raise RefusedError(
                "a float rate must be of all that starts move; some of it is too weak "
                f"to be followed and may grow by {self._weak_growth:.3g} a round; use "
                "fewer clients, in rationals, or a smaller step size."
            )

    @cached_property
    def mean_square_rate(self) -> float:
        """Spectral radius of the second moments of differences."""
        self._require_followed()
        rate, message = self._followed
        if message is not None:
            self._verify(rate, message)
        return rate

    def _verify(self, rate: float, message: Array) -> None:
        """Rebuild X from its messages and check T(X) = rate X."""
        spoken = self._thin.rows @ (self._thin.weight * message) @ self._thin.rows.T
        near = smith(self._thin.mean, spoken, rate)
        size = float(np.abs(near).max())
        gap = float(np.abs(self._thin.apply(near) - rate * near).max())
        if not gap <= VERIFIED * rate * size:
            raise RefusedError(
                f"the float rate must satisfy T(X) = rate X to {VERIFIED}; the gap is "
                f"{gap / size:.1e}; use fewer clients, or a smaller step size."
            )

    @cached_property
    def mean_square_rate_interval(self) -> tuple[float, float]:
        """Enclose the rate: T(X) <= c X above it, known lower bounds below it.

        X solves c X = T(X) + identity for c just above the rate. From below the rate
        is at least that of the mean map squared, and the least quotient of T(X) by X.
        All of them are moved outward by what is rounded. Near repeated modes the rate
        itself has fewer digits (4e-7 off was seen), and may be an end. Directions too
        weak to be followed may have any rate above; below, they move it by a root.
        """
        if self._thin.lost > LEFT:
            size = float(np.linalg.norm(self._thin.sizes()))
            moved = np.sqrt(self._thin.lost) * size**2
            return max(self.mean_square_rate - float(moved), 0.0), float("inf")
        mapped = MessageMap(self._spectrum, self._thin)
        floor = least_modulus(self._thin.mean, self._spectrum.largest) ** 2
        for margin in ABOVE:
            near = self._resolvent(mapped, self.mean_square_rate * (1 + margin))
            if near is not None and np.isfinite(near).all():
                image, terms = self._thin.apply(near), self._thin.terms(near)
                added = 2 * len(near) + 2 * len(self._thin.weight)
                low, high = quotients(near, image, terms, added)
                rate = self.mean_square_rate
                return min(max(low, floor), rate), max(high, rate)
        return min(floor, self.mean_square_rate), float("inf")

    def _resolvent(self, mapped: MessageMap, rate: float) -> Array | None:
        """Solve rate X = T(X) + identity; None if the iteration stalls."""
        forcing = np.eye(len(self._thin.mean))
        rate = rate + 1e-300
        if mapped.cells:
            message = _resolved(mapped, self._heard(forcing, rate), rate, 1e-8)
            if message is None:
                return None
            middle = self._thin.weight * message
            forcing = forcing + self._thin.rows @ middle @ self._thin.rows.T
        return smith(self._thin.mean, forcing, rate)

    def _heard(self, forcing: Array, rate: float) -> Array:
        """C X C' for the X that the mean map alone makes of a forcing."""
        alone = smith(self._thin.mean, forcing, rate)
        return np.asarray(self._thin.columns @ alone @ self._thin.columns.T)

    @cached_property
    def _fixed_state(self) -> Array:
        """Homogeneous state at the fixed point of the mean, in the system's unit."""
        changed = drift(self.problem, self.algorithm, self.participation)
        fixed, moved = fixed_state(
            self.system.start[:-1], self.system.measured(changed)
        )
        model = np.abs(moved[self._model]).max(initial=0.0)
        if not np.isfinite(fixed).all() or not model <= STILL:
            raise RefusedError(
                "the mean dynamics must have exactly one fixed point; the float "
                "system is singular; look at flat directions of the problem, and at "
                "its conserved quantities."
            )
        return np.append(fixed, 1.0)

    def mean_fixed_point(self) -> Array:
        """Server model at the fixed point of the mean dynamics."""
        return np.asarray(self._fixed_state[self._model] * self.system.unit)

    @property
    def _model(self) -> slice:
        return self.system.layout.places["server", "model", -1]

    def stationary_error(self, optimum: Array) -> float:
        """E|x - optimum|^2 in the stationary law; infinite when unstable.

        Raises
        ------
        RefusedError
            If floats do not tell whether it is, or it is beyond them.
        """
        if self.mean_square_rate >= SLOWEST:
            return unsettled(self.mean_square_rate_interval)
        if self._wanders():
            return float("inf")
        unit = self.system.unit
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._stationary_error(optimum / unit)
        if not np.isfinite(found):
            raise RefusedError(
                "the stationary error must be within floats; what is solved for is "
                "not; the mean-square rate is too close to 1."
            )
        return in_square(found, unit)

    def _stationary_error(self, optimum: Array) -> float:
        bias = self._fixed_state[self._model] - optimum
        if not self.system.messages:
            return float(bias @ bias)
        noise = self.system.columns @ self._fixed_state
        whole, spectrum = self._noisy(noise)
        if not len(whole.mean):
            return float(bias @ bias)
        mapped = MessageMap(spectrum, whole)
        first = mapped.unpack(mapped.step(mapped.pack(np.outer(noise, noise)), 1.0))
        solved = _resolved(mapped, first, 1.0, 1e-12)
        if solved is None:
            raise RefusedError(
                "the stationary error must be solved to 1e-12; the iteration stalled; "
                "the mean-square rate is too close to 1."
            )
        middle = whole.weight * (solved + np.outer(noise, noise))
        second = smith(whole.mean, whole.rows @ middle @ whole.rows.T, 1.0)
        spread = np.trace(whole.seen @ second @ whole.seen.T)
        return float(max(spread, 0.0) + bias @ bias)  # rounding may dip below

    def _wanders(self) -> bool:
        """Whether what constants of `init` move does not settle in mean square."""
        more = self._apart
        if len(more.mean) <= len(self._thin.mean):
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            rate, _ = perron(MessageMap(Spectrum.of(more), more))
        return rate >= SLOWEST

    def _noisy(self, noise: Array) -> tuple[Thin, Spectrum]:
        """Return what noise of the fixed state moves, and the spectrum of its mean."""
        whole = entire(self.system)
        spectrum = Spectrum.of(whole)
        if spectrum.radius < 1 - NEAR_ONE:
            return whole, spectrum
        # something is conserved, and does not move
        terms = np.abs(self.system.columns) @ np.abs(self._fixed_state)
        heard = np.where(np.abs(noise) > VANISHED * terms, noise, 0.0)
        seeds = whole.rows @ (heard[:, None] * whole.factor[whole.owner])
        seeds = seeds / max(float(np.abs(seeds).max(initial=0.0)), 1e-300)
        inner, _ = whole.restricted(seeds)
        outer, _ = inner.transposed().restricted(inner.seen.T)
        part = outer.transposed()
        return part, Spectrum.of(part)

    def error_curve(self, start: Array, optimum: Array, rounds: int) -> list[float]:
        """E|x_r - optimum|^2 for r = 0, ..., rounds."""
        unit = self._plain.unit
        state = self._plain.start @ np.append(start / unit, 1.0)
        second, optimum = np.outer(state, state), optimum / unit
        curve = [self._error(second, optimum)]
        for _ in range(rounds):
            second = self._plain.apply(second)
            curve.append(self._error(second, optimum))
        return [error * unit * unit for error in curve]

    def _error(self, second: Array, optimum: Array) -> float:
        place = self._plain.layout.places["server", "model", -1]
        spread = np.trace(second[place, place])
        cross = optimum @ second[place, -1]
        error = float(spread - 2 * cross + optimum @ optimum)
        return max(error, 0.0)  # rounding may dip below


def _resolved(
    mapped: MessageMap, heard: Array, rate: float, tolerance: float
) -> Array | None:
    """Solve Phi = F(rate) Phi + heard; None if the iteration stalls."""
    driven = mapped.pack(heard)

    def residual(vector: Array) -> Array:
        return np.asarray(vector - mapped.step(vector, rate))

    shape = (len(driven), len(driven))
    operator = LinearOperator(shape, matvec=residual, dtype=np.float64)
    solution, failed = gmres(operator, driven, rtol=tolerance, restart=60, maxiter=6)
    return None if failed else mapped.unpack(solution)


def smith(mean: Array, forcing: Array, rate: float) -> Array:
    """Solve rate X = mean X mean' + forcing by doubling."""
    with np.errstate(over="ignore", invalid="ignore"):  # at a rate of 0
        step, total = mean / np.sqrt(rate), forcing / rate
        for _ in range(60):
            added = step @ total @ step.T
            total = total + added
            if np.abs(added).max() <= 1e-15 * np.abs(total).max():
                break
            step = step @ step
        return np.asarray((total + total.T) / 2)
