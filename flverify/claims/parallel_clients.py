"""Clients with finitely bounded heterogeneity, and the exact limits of FedAvg on them.

Gradients of quadratics with different Hessians drift apart without bound. So each
client is curved on an interval and parallel to the others outside:

    f_i'(x) = h_i (x - b_i) for lo <= x <= hi, and of slope L = max_i h_i elsewhere.

Every b_i lies in [lo, hi] and eta L <= 1, so local steps from the interval stay there,
where FedAvg is linear and its moments are exact; the rounds contract, so the limit is
the same from every start. Every f_i is mu-strongly convex with mu = min_i h_i and
L-smooth, and |f_i' - F'| is largest at an end of the interval. In several dimensions
f_i is a sum over coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

from flverify._core.errors import DomainError, Refusal, RefusedError, ShapeError
from flverify._core.exact import array
from flverify.algorithms.fedavg import FedAvg
from flverify.claims._cases import short
from flverify.engines.moments import moments
from flverify.participation._law import Participation
from flverify.participation.explicit_law import ExplicitLaw
from flverify.problems.quadratics import Quadratics

Row = tuple[Fraction, ...]


@dataclass(frozen=True)
class Coordinate:
    """Derivatives of the clients along one coordinate.

    Parameters
    ----------
    curvatures : tuple of N rationals > 0, weight f/x^2
        h_i.
    minimisers : tuple of N rationals, weight x
        b_i.
    interval : (rational, rational), weight x
        Where the clients are curved.
    slope : rational > 0, weight f/x^2
        Common slope outside.
    """

    curvatures: Row
    minimisers: Row
    interval: tuple[Fraction, Fraction]
    slope: Fraction

    def derivative(self, client: int, x: Fraction) -> Fraction:
        """f_i'(x), inside and outside the interval, weight f/x."""
        low, high = self.interval
        inside = min(max(x, low), high)
        curved = self.curvatures[client] * (inside - self.minimisers[client])
        return curved + self.slope * (x - inside)

    def mean(self, x: Fraction) -> Fraction:
        """F'(x), weight f/x."""
        n = len(self.curvatures)
        return sum((self.derivative(i, x) for i in range(n)), Fraction(0)) / n

    @cached_property
    def minimiser(self) -> Fraction:
        """x*, the zero of F'; it lies in the interval, weight x."""
        pairs = zip(self.curvatures, self.minimisers, strict=True)
        return sum((h * b for h, b in pairs), Fraction(0)) / sum(self.curvatures)


@dataclass(frozen=True, eq=False)
class Setting:
    """Clients of bounded heterogeneity, a law of cohorts, and settings of FedAvg.

    Parameters
    ----------
    curvatures, minimisers : d tuples of N rationals
        h_i and b_i along each coordinate.
    law : Participation
        Rational, every client with p_i > 0; rounds are independent.
    local_steps : int
        tau.
    step_size : rational > 0, weight x^2/f
        eta, at most min{1/(3L), 1/(4 (tau - 1) L)}, the caps of Theorem 2 of the
        FOCUS paper.
    reach : rational >= 0, weight x
        How far the intervals go beyond the minimisers.

    Raises
    ------
    ShapeError
        If a coordinate has not as many clients as the law.
    DomainError
        If a curvature or the step size is not in its range, or a client never
        participates.

    Examples
    --------
    >>> from flverify.participation import UniformCohort
    >>> setting = Setting(((1, 1),), ((-1, 1),), UniformCohort(2, 1), 1, Fraction(1, 3))
    >>> setting.limit(), setting.heterogeneity, setting.mismatch
    (Fraction(1, 5), Fraction(1, 1), Fraction(0, 1))
    """

    curvatures: Sequence[Sequence[Any]]
    minimisers: Sequence[Sequence[Any]]
    law: Participation
    local_steps: int
    step_size: Fraction
    reach: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        rows = (*self.curvatures, *self.minimisers)
        sizes = sorted({len(row) for row in rows})
        if sizes != [self.n_clients]:
            raise ShapeError(
                f"every coordinate must have the {self.n_clients} clients of the law; "
                f"got {sizes}; give one number per client."
            )
        if not self.strong_convexity > 0:
            raise DomainError(
                f"curvatures must be above 0; got {self.strong_convexity}; strong "
                "convexity needs it."
            )
        if not min(self.weights) > 0:
            raise DomainError(
                f"every client must participate at times; got q = {self.weights}; "
                "Assumption 1 asks for p_i > 0."
            )
        if not 0 < self.step_size <= step_cap(self.smoothness, self.local_steps):
            raise DomainError(
                "step_size must be above 0 and at most min{1/(3L), 1/(4(tau-1)L)}; "
                f"got {self.step_size} with L = {self.smoothness}; make it smaller."
            )

    @property
    def n_clients(self) -> int:
        """Number of clients N."""
        return self.law.n_clients

    @cached_property
    def smoothness(self) -> Fraction:
        """Least L for which every f_i is L-smooth, weight f/x^2."""
        return max(Fraction(h) for row in self.curvatures for h in row)

    @cached_property
    def strong_convexity(self) -> Fraction:
        """Largest mu for which every f_i is mu-strongly convex, weight f/x^2."""
        return min(Fraction(h) for row in self.curvatures for h in row)

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The clients along each coordinate."""
        out = []
        for row, points in zip(self.curvatures, self.minimisers, strict=True):
            h, b = tuple(map(Fraction, row)), tuple(map(Fraction, points))
            ends = (min(b) - self.reach, max(b) + self.reach)
            out.append(Coordinate(h, b, ends, self.smoothness))
        return tuple(out)

    @cached_property
    def weights(self) -> Row:
        """Averaging weights q_i = E[I_i/|S|]."""
        return tuple(self.law.averaging_weights().tolist())

    @cached_property
    def uniform(self) -> bool:
        """Whether q_i = 1/N for every client."""
        return set(self.weights) == {Fraction(1, self.n_clients)}

    @cached_property
    def heterogeneity(self) -> Fraction:
        """sigma_G^2 = sup over i and x of |grad f_i - grad F|^2, weight f^2/x^2."""
        widest = [_widest(c) for c in self.coordinates]
        return max(sum(column, Fraction(0)) for column in zip(*widest, strict=True))

    @cached_property
    def mismatch(self) -> Fraction | None:
        """delta_q^2 of (29) over x = 1x, weight f^2/x^2; None if it is infinite.

        It is infinite where the q_i do not sum to 1, since grad F is unbounded.
        """
        if sum(self.weights) != 1:
            return None
        excess = [q - Fraction(1, self.n_clients) for q in self.weights]
        return sum((_mismatch(c, excess) for c in self.coordinates), Fraction(0))

    def limit(self, weights: Sequence[Fraction] | None = None) -> Fraction:
        """Return limsup over K of E|xbar_K - x*|^2, weight x^2.

        xbar_K = sum_i w_i x_{K,i} over the local models of (33)-(35), in which every
        client works; w = q by default. The limsup is the largest of the limits at
        the tau iterations of a round, from the communication on.
        """
        w = self.weights if weights is None else tuple(weights)
        return max(
            sum(
                (self._error(c, w, t) for c in self.coordinates),
                Fraction(0),
            )
            for t in range(self.local_steps)
        )

    def _error(self, c: Coordinate, weights: Row, t: int) -> Fraction:
        """Limit of E(xbar - x*)^2 along a coordinate, t steps after communicating."""
        rates = tuple(self.step_size * h for h in c.curvatures)
        mean, variance = stationary(rates, c.minimisers, self.law, self.local_steps)
        kept = [w * (1 - r) ** t for w, r in zip(weights, rates, strict=True)]
        added = sum(
            (w - k) * b for w, k, b in zip(weights, kept, c.minimisers, strict=True)
        )
        slope = sum(kept, Fraction(0))
        return slope**2 * variance + (slope * mean + added - c.minimiser) ** 2

    def scaled(self, factor: Fraction) -> Setting:
        """Return the setting of f -> c f, eta -> eta/c, in which no iterate changes."""
        rows = tuple(tuple(factor * h for h in row) for row in self.curvatures)
        return replace(self, curvatures=rows, step_size=self.step_size / factor)

    def where(self) -> dict[str, Any]:
        """Return the instance and its constants, for a report."""
        several = len(self.coordinates) > 1
        ends = [list(c.interval) for c in self.coordinates]
        return {
            "f_i'(x)": "h_i (x - b_i) on the interval, of slope L outside",
            "h": list(self.curvatures if several else self.curvatures[0]),
            "b": list(self.minimisers if several else self.minimisers[0]),
            "interval": ends if several else ends[0],
            "law": _shown(self.law),
            "q": list(self.weights),
            "tau": self.local_steps,
            "step size": self.step_size,
            "mu": self.strong_convexity,
            "L": self.smoothness,
            "sigma_G^2": self.heterogeneity,
            "delta_q^2": "infinite" if self.mismatch is None else self.mismatch,
        }

    def name(self) -> str:
        """Return the same in one line."""
        return ", ".join(f"{key} = {short(one)}" for key, one in self.where().items())


def _shown(law: Participation) -> str:
    if not isinstance(law, ExplicitLaw):
        return law.spec
    listed = (f"{sorted(i + 1 for i in s)}: {p}" for s, p in law.support().items())
    return "explicit, " + ", ".join(listed)


def _widest(c: Coordinate) -> list[Fraction]:
    """Largest (f_i' - F')^2 of each client along a coordinate."""
    clients = range(len(c.curvatures))
    gaps = [[c.derivative(i, x) for i in clients] for x in c.interval]
    means = [sum(row, Fraction(0)) / len(row) for row in gaps]
    return [
        max((row[i] - mean) ** 2 for row, mean in zip(gaps, means, strict=True))
        for i in clients
    ]


def _mismatch(c: Coordinate, excess: Sequence[Fraction]) -> Fraction:
    """Largest (sum_i (q_i - 1/N) f_i')^2 along a coordinate."""
    gaps = [
        sum((v * c.derivative(i, x) for i, v in enumerate(excess) if v), Fraction(0))
        for x in c.interval
    ]
    return max(gap * gap for gap in gaps)


def step_cap(smoothness: Fraction, local_steps: int) -> Fraction:
    """min{1/(3L), 1/(4 (tau - 1) L)}, weight x^2/f."""
    cap = 1 / (3 * smoothness)
    if local_steps == 1:
        return cap
    return min(cap, 1 / (4 * (local_steps - 1) * smoothness))


@cache
def stationary(
    rates: Row, minimisers: Row, law: Participation, local_steps: int
) -> tuple[Fraction, Fraction]:
    """Mean and variance of the server model in the limit, from exact moments.

    `rates` are eta h_i: the iterates depend on no other scale.
    """
    linear = [[r * b] for r, b in zip(rates, minimisers, strict=True)]
    hessians = array([[[r]] for r in rates], "rates")
    problem = Quadratics(hessians, array(linear, "minimisers"))
    found = moments(problem, FedAvg(Fraction(1), local_steps), law)
    if isinstance(found, Refusal):
        raise RefusedError(str(found))
    mean = Fraction(found.mean_fixed_point[0])
    offset = mean - Fraction(problem.minimiser()[0])
    return mean, found.stationary_mean_square_error - offset**2
