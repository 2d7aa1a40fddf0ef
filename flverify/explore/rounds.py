"""The rounds of a view on its instance as linear maps: curves, samples and bias.

A round of second moments is P -> Mbar P Mbar' + E (K o C P C') E' for what can be
traced (features of the law with covariance K), else one term per outcome.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from flverify._core.errors import Refusal, RefusedError
from flverify._core.exact import Array
from flverify.algorithms._algorithm import Algorithm
from flverify.engines.arithmetic import arithmetic_for
from flverify.engines.forms import TAKES_PART
from flverify.engines.moments._drift import drift
from flverify.engines.moments._fixed import fixed_state
from flverify.engines.moments._messages import message_system
from flverify.engines.moments._system import build, feature_moments
from flverify.explore.at_rest import at_rest
from flverify.explore.corners import law_of
from flverify.explore.instance import START, problem, rational
from flverify.explore.near_one import curves_rate
from flverify.explore.view import View
from flverify.participation._law import Participation

DOUBLINGS = 40  # of the rounds after which means have settled, or never do
QUICK = 16  # doublings after which a mean that settles has all digits
SLOW = 1e-6  # share of a mean that a round moves: below, it may look settled at once
ROUNDING = 1e-15  # relative change of a mean that has settled
NEARLY = 1e-12  # that of one that is slow: the others have no limit
NONE = 1e-12  # a bias, or noise in a model, below is rounding
UNSURE = 1e-8  # a bias below may be what is left of the way to 0, and is solved for
CANCELLED = 1e-14  # of its terms: noise so small is rounding
FAINT = 1e-9  # gap from a rate to 1 below which a variance has lost its digits
SMALL = 12  # numbers of a state whose stationary covariance is solved for
FAR = 1e15  # means beyond do not settle


@dataclass(frozen=True)
class Rounds:
    """The rounds of a view on its instance, in homogeneous coordinates (state, 1).

    Parameters
    ----------
    view : View
        In the form of `law_of`.
    units : (n - 1,) array
        In which the state is measured.
    mean : (n, n) array
        Mbar.
    rows, columns : (n, m) and (m, n) arrays
        E and C; empty for a system of outcomes.
    features : tuple of (str, int)
        Feature and client of each of the m messages.
    first : (m,) array
        Means of the features.
    covariance : (m, m) array
        K.
    outcomes : tuple of (float, frozenset, (n, n) array)
        Probability, participants and map, where rounds are listed.
    start : (n,) array
        The state at distance 1.
    readout : (n,) array
        Of the server model.
    """

    view: View
    units: Array
    mean: Array
    rows: Array
    columns: Array
    features: tuple[tuple[str, int], ...]
    first: Array
    covariance: Array
    outcomes: tuple[tuple[float, frozenset[int], Array], ...]
    start: Array
    readout: Array

    @classmethod
    def of(cls, view: View) -> Rounds:
        """Read the rounds of a view.

        Raises
        ------
        RefusedError
            If moments refuse the setting.
        """
        algorithm, law = view.algorithm_object(), view.participation(floats=True)
        algorithm = algorithm.retuned(float(view.number("step_size")))
        if view.algorithm == "proxskip":
            return cls._listed(view, algorithm, law)
        system = message_system(problem(view), algorithm, law)
        draws = [m.draw for m in system.messages for _ in range(m.width)]
        means = np.zeros(0)
        if draws:
            means = np.asarray(feature_moments(law, draws)[0], dtype=np.float64)
        owner = [k for k, m in enumerate(system.messages) for _ in range(m.width)]
        readout = np.zeros(system.size)
        readout[system.layout.places["server", "model", -1].start] = 1.0
        units = np.append(np.full(system.size - 1, system.unit), 1.0)
        return cls(
            view,
            np.array([system.units[slot] for _, slot, _ in system.layout.blocks]),
            system.mean / units * units[:, None],
            system.rows * units[:, None],
            system.columns / units,
            tuple(draws),
            means,
            system.covariance[np.ix_(owner, owner)],
            (),
            system.start @ np.array([START / system.unit, 1.0]) * units,
            readout,
        )

    @classmethod
    def _listed(cls, view: View, algorithm: Algorithm, law: Participation) -> Rounds:
        instance = problem(view)
        arithmetic = arithmetic_for(instance, algorithm, law)
        found = build(instance, algorithm, law, arithmetic)
        if isinstance(found, Refusal):
            raise RefusedError(str(found))
        (move,) = found.moves
        members = [s for s, chance in law.support().items() if chance != 0]
        terms = zip(move.terms, members, strict=True)
        outcomes = tuple((float(w), s, matrix) for (w, matrix), s in terms)
        none = np.zeros((len(move.mean), 0))
        return cls(
            view,
            np.ones(len(move.mean) - 1),
            move.mean,
            none,
            none.T,
            (),
            np.zeros(0),
            np.zeros((0, 0)),
            outcomes,
            found.start[0] @ np.array([START, 1.0]),
            found.readout[0][0],
        )

    def curve(self, rounds: int) -> Array:
        """E|x_r - x*|^2 for r = 0, ..., rounds, in floats."""
        second = np.outer(self.start, self.start)
        out = [self.readout @ second @ self.readout]
        for _ in range(rounds):
            second = self._next(second)
            out.append(self.readout @ second @ self.readout)
        return np.maximum(out, 0.0)

    def _next(self, second: Array) -> Array:
        if self.outcomes:
            parts = [w * (a @ second @ a.T) for w, _, a in self.outcomes]
            return np.asarray(sum(parts[1:], start=parts[0]))
        out = self.mean @ second @ self.mean.T
        if self.features:
            heard = self.columns @ second @ self.columns.T
            out += self.rows @ (self.covariance * heard) @ self.rows.T
        return np.asarray(out)

    def sampled(self, masks: Array) -> Array:
        """|x_r - x*|^2 of sampled runs, shape (runs, rounds + 1).

        Parameters
        ----------
        masks : (runs, rounds, N) array of bool
            Who takes part.
        """
        runs, rounds, _ = masks.shape
        states = np.tile(self.start, (runs, 1))
        out = np.empty((rounds + 1, runs))
        out[0] = states @ self.readout
        drawn = self._drawn(masks)
        mean, rows, columns = self.mean.T, self.rows.T, self.columns.T
        for r in range(rounds):
            if self.outcomes:
                states = self._played(states, masks[:, r])
            else:
                states = states @ mean + (drawn[:, r] * (states @ columns)) @ rows
            out[r + 1] = states @ self.readout
        return np.asarray(out.T**2)

    def _drawn(self, masks: Array) -> Array:
        """Features less their means, (runs, rounds, m)."""
        if not self.features:
            return np.zeros((*masks.shape[:2], 0))
        clients = [i for _, i in self.features]
        counts = np.maximum(masks.sum(axis=2, keepdims=True), 1)
        shares = np.where([kind == TAKES_PART for kind, _ in self.features], 1, counts)
        return np.asarray(masks[:, :, clients] / shares - self.first)

    def _played(self, states: Array, mask: Array) -> Array:
        out = np.empty_like(states)
        for _, members, matrix in self.outcomes:
            chosen = mask.sum(axis=1) == len(members)
            out[chosen] = states[chosen] @ matrix.T
        return out

    def bias(self) -> float:
        """|lim E x_r - x*|, 0 below rounding; infinite where means do not settle."""
        state = self._settled
        if state is None:
            return math.inf
        found = abs(float(self.readout @ state))
        return 0.0 if found <= NONE else found  # not a number where floats tell none

    def stationary(self, gap: float = 1.0) -> float:
        """Return lim E|x_r - x*|^2 where second moments contract, 0 below rounding.

        Infinite where means do not settle; not a number where the gap between 1 and
        the rate is so small that floats tell little of a variance.
        """
        state = self._settled
        if state is None:
            return math.inf
        noise = self._noise(state)
        least = self.bias() ** 2
        told = gap >= FAINT
        if not noise.any() or (told and np.abs(noise).max() <= NONE**2):
            return least  # every round leaves the mean as it is
        variance = self._variance(noise) if told else math.nan
        return least + max(variance, 0.0)  # rounding may dip below, and nan stays nan

    @cached_property
    def _settled(self) -> Array | None:
        """The limit of the means; None where they do not settle."""
        if self.outcomes:
            found = at_rest(self.view)
            return None if found is None else found[0]
        step, state = self.mean, self.start
        quick = QUICK if self._slowest() > SLOW else -1
        for doubled in range(DOUBLINGS):
            change = np.abs(self.mean @ state - state).max()
            size = np.abs(state).max()
            if not np.isfinite(change) or size > FAR:
                return None
            if change <= ROUNDING * size and doubled <= quick:
                unsure = NONE < abs(float(self.readout @ state)) <= UNSURE
                return self._solved() if unsure else state
            step, state = step @ step, step @ state
        told = change <= NEARLY * size or curves_rate(self.view) < 1
        return self._solved() if told else None

    def _slowest(self) -> float:
        """Return roughly the least share of a mean that rounds move."""
        step_size = self.view.number("step_size")
        ends = (self.view.number(end) for end in ("strong_convexity", "smoothness"))
        moved = min(self._moved(float(step_size * h)) for h in ends)
        return moved * float(min(self.view.chances()))

    def _moved(self, scaled: float) -> float:
        """Return the share of the way to its minimiser that a client goes in a round.

        FOCUS: the share of it that the gradient tells where its local steps have ended.
        """
        left, steps = abs(1 - scaled), self.view.local_steps
        if self.view.algorithm == "focus":
            return scaled * left ** (steps - 1)
        return scaled if steps == 1 else abs(1 - left**steps)

    def _solved(self) -> Array:
        """Solve for the fixed mean that the start leads to, with digits that last."""
        view, begun = self.view, self.start[:-1] * self.units
        changed = drift(rational(view), view.algorithm_object(), view.participation())
        fixed, _ = fixed_state(begun[:, None], changed)
        return np.append(fixed / self.units, 1.0)

    def _noise(self, state: Array) -> Array:
        """Covariance that a round adds at a state which it keeps in the mean."""
        if self.outcomes:
            found = at_rest(self.view)
            return np.zeros_like(self.mean) if found is None else found[1]
        if not self.features:
            return np.zeros_like(self.mean)
        heard = self.columns @ state
        sizes = np.abs(self.columns) @ np.abs(state)
        heard = np.where(np.abs(heard) > CANCELLED * sizes, heard, 0.0)
        middle = self.covariance * np.outer(heard, heard)
        added = self.rows @ middle @ self.rows.T
        terms = np.abs(self.rows) @ np.abs(middle) @ np.abs(self.rows).T
        return np.where(np.abs(added) > CANCELLED * terms, added, 0.0)

    def _variance(self, noise: Array) -> float:
        """Stationary variance of the server model: S = (round of S) + noise."""
        free = len(noise) - 1  # the last coordinate is the constant 1
        if free >= SMALL:
            return math.nan
        units = np.eye(free + 1)[:free]
        images = [
            self._next(np.outer(one, other))[:free, :free].ravel()
            for one in units
            for other in units
        ]
        left = np.eye(free**2) - np.array(images).T
        found = np.linalg.lstsq(left, noise[:free, :free].ravel(), rcond=None)[0]
        here = self.readout[:free]
        return float(here @ found.reshape(free, free) @ here)


def rounds_of(view: View) -> Rounds:
    """Return the rounds of a view on its instance, read once."""
    return _rounds(law_of(view, "strong_convexity", "smoothness", "step_size"))


@lru_cache(maxsize=64)
def _rounds(view: View) -> Rounds:
    return Rounds.of(view)
