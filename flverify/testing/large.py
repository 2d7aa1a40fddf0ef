"""The error of a float system too large to write out: the rate of its messages.

As in `dynamics`, the error is followed and not only differences of two runs: what the
start leaves of the fixed state is one more direction that has to be reached.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import matrix_balance

from flverify._core.errors import Refusal, RefusedError
from flverify._core.exact import Array, Scalar
from flverify.engines.moments._large import VERIFIED, LargeMoments, smith
from flverify.engines.moments._messages import MessageSystem
from flverify.engines.moments._perron import MessageMap, perron
from flverify.engines.moments._reduce import LEFT
from flverify.engines.moments._spectrum import Spectrum
from flverify.engines.moments._thin import Thin, entire
from flverify.testing.dynamics import FINE, FLOOR, LEAK, ROUNDING
from flverify.testing.fixed_state import SETTLED, keeps_still
from flverify.testing.moments import Answer
from flverify.testing.setting import Setting

NEAR_ONE = 1e-5  # rounding that is conserved has an eigenvalue this close to 1
SHAKEN = 1e-10  # relative, of every entry
NEAR = 1e-6  # relative: a float rate this close to the claimed one decides nothing


@dataclass(frozen=True, eq=False)
class LargeDynamics:
    """How fast the error of a large float system shrinks."""

    asked: Setting
    answer: Answer
    exact: bool = False

    @property
    def searched(self) -> int:
        """Rounds among which a broken one is sought; each takes its time."""
        size = int(self.answer.found._engine.system.size)
        return max(50, min(500, 100_000 // size))

    @cached_property
    def _system(self) -> Thin:
        engine = self.answer.found._engine
        engine.require_reached()
        return _thin(self.asked, engine)

    @cached_property
    def doubt(self) -> float:
        """How far off the rate may be, relatively: what shaking the system does to it.

        A Jordan block of order k answers with the k-th root of the shaking.
        """
        system, draws = self._system, np.random.default_rng(0)

        def shaken(values: Array) -> Array:
            noise = draws.standard_normal(values.shape)
            return np.asarray(values * (1 + SHAKEN * noise))

        moved = replace(system, mean=shaken(system.mean), rows=shaken(system.rows))
        rate, _ = perron(MessageMap(Spectrum.of(moved), moved))
        return max(NEAR, 2 * abs(rate - self.contraction) / max(rate, 1e-300))

    @cached_property
    def contraction(self) -> float:
        """Rate of what the start and its distance to the fixed state excite."""
        system = self._system
        rate, message = perron(MessageMap(Spectrum.of(system), system))
        if message is not None:
            _verify(system, rate, message)
        return rate

    @cached_property
    def residue(self) -> float:
        """Stationary error over the squared size of the problem."""
        error = self.answer.found.stationary_mean_square_error
        return float(error) / self.asked.size**2

    @property
    def rate_interval(self) -> tuple[float, float]:
        """Rate of E|x_r - x*|^2, twice; 1 where a stationary error remains."""
        rate = self.contraction
        stays = rate < 1 and not self.settles
        return (1.0, 1.0) if stays else (rate, rate)

    @cached_property
    def settles(self) -> bool:
        """Whether nothing moves the fixed state, and its model is x*."""
        engine, optimum = self.answer.found._engine, self.asked.minimiser
        system, state = engine.system, engine._fixed_state
        size, optimum = self.asked.size / system.unit, optimum / system.unit
        return keeps_still(system, state, optimum.astype(np.float64), size)

    @property
    def quick(self) -> bool:
        """Whether numbers to be shown may come from the moments themselves."""
        return True

    def is_bounded_by(self, rate: Scalar) -> bool | None:
        """Whether E|x_r - x*|^2 <= C rate^r for some C; None if floats cannot tell."""
        claimed, found = float(rate), self.contraction
        if abs(found - claimed) <= self.doubt * max(claimed, found):
            return None
        if claimed < found and abs(found - 1) < NEAR_ONE:
            return None
        if found > claimed * (1 + ROUNDING):
            return False
        if self.settles:
            weak = self._system.lost > LEFT or self.grows_faintly
            return None if weak else True
        return False if self.residue >= LEAK else None

    @property
    def floor(self) -> float:
        """Squared errors below this are rounding."""
        return FLOOR * self.asked.size**2

    @property
    def fine(self) -> float:
        """What squared errors may be too small by."""
        return FINE * self.asked.size**2

    def stays_bounded(self) -> bool | None:
        """Whether E|x_r - x*|^2 stays bounded."""
        if self.near_one or (self.contraction < 1 and self.grows_faintly):
            return None
        return self.contraction < 1

    @property
    def grows_faintly(self) -> bool:
        """Whether more may grow than floats follow."""
        return bool(self.answer.found._engine.grows_faintly)

    @property
    def near_one(self) -> bool:
        """Whether the rate cannot be told from 1."""
        return abs(self.contraction - 1) < max(NEAR_ONE, self.doubt)

    @property
    def undecided(self) -> str:
        """Why there is no answer."""
        if self._system.lost > LEFT or self.grows_faintly:
            return (
                f"at a float rate of {self.contraction:.9g} some of what the start "
                "moves is too weak to be followed, and may be slower; take another "
                "start, or every one"
            )
        return (
            f"a float rate of {self.contraction:.9g} and a stationary error of "
            f"{self.residue:.1e} of the problem's size are too close to call (the rate "
            f"is known to {self.doubt:.0e}); claim a slightly larger rate"
        )

    @property
    def remark(self) -> str:
        """What the answer is up to."""
        return "; a large system, bias to 1e-9 of the problem's size"

    def in_floats(self) -> LargeDynamics:
        """Return itself."""
        return self

    def curve(self, begin: Array) -> Iterator[Scalar]:
        """Yield E|x_r - x*|^2 for r = 0, 1, ...; rounding stays as a floor."""
        rounds = 64
        done = 0
        while True:
            with np.errstate(over="ignore", invalid="ignore"):
                found = self.answer.found.mean_square_error(begin, rounds)
            yield from found[done:]
            done, rounds = rounds + 1, 2 * rounds


def large_dynamics(asked: Setting, answer: Answer) -> LargeDynamics | Refusal:
    """Follow the error of a traced float system with one mode."""
    if not isinstance(answer.found._engine, LargeMoments):
        return Refusal("moments", "the operator of second moments is too large.")
    return LargeDynamics(asked, answer)


def _verify(system: Thin, rate: float, message: Array) -> None:
    """Rebuild X from its messages and check T(X) = rate X, as the engine does."""
    spoken = system.rows @ (system.weight * message) @ system.rows.T
    near = smith(system.mean, spoken, rate)
    size = float(np.abs(near).max())
    gap = float(np.abs(system.apply(near) - rate * near).max())
    if not gap <= VERIFIED * rate * size:
        raise RefusedError(
            f"a float rate must satisfy T(X) = rate X to {VERIFIED}; the gap is "
            f"{gap / size:.1e}; use fewer clients, or a smaller step size."
        )


def _thin(asked: Setting, engine: Any) -> Thin:
    """Restrict the linear part to what the error reaches and the server sees."""
    system: MessageSystem = engine.system
    whole = entire(system)
    _, scales = matrix_balance(whole.mean, permute=False, separate=True)
    units = scales[0][:, None]
    seeds = _seeds(asked, system, engine._fixed_state)
    inner, reach = whole.scaled(scales[0]).restricted(seeds / units)
    place = system.layout.places["server", "model", -1]
    outer, _ = inner.transposed().restricted(reach.T[:, place])
    return outer.transposed()


def _seeds(asked: Setting, system: MessageSystem, fixed: Array) -> Array:
    """Directions of the first error: every start, or the one given, less the end."""
    start, rest = system.start[:-1, :-1], system.start[:-1, -1] - fixed[:-1]
    if asked.start is not None:
        begin = asked.start.astype(np.float64) / system.unit
        rest, start = rest + start @ begin, start[:, :0]
    size = float(np.abs(rest).max(initial=0.0))
    away = size * system.unit
    if asked.start is not None and away <= SETTLED * asked.size:
        raise RefusedError(
            f"a start in floats must differ from the fixed point by {SETTLED:g} of the "
            f"problem's size; got {away:.1e}; take another start, or rationals."
        )
    column = (rest / size if size > 0 else rest)[:, None]
    return np.concatenate([start, column], axis=1)
