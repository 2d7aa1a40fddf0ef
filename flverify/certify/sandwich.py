"""The lower side of a certificate: the worst scalar quadratic of a function class.

Whatever rate is certified for all mu-strongly convex, L-smooth f_i, it is not below
the rate of any f_i = h_i x^2/2 with mu <= h_i <= L. Corners h_i in {mu, L} are tried
first, up to exchangeability, then the inside; what is found is an instance, with a
rational bound below its rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from flverify._core.checks import positive
from flverify._core.errors import DomainError
from flverify._core.exact import Array, Scalar, is_exact, within_floats
from flverify._core.shown import shown
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.certificate import loop_of
from flverify.certify.quadratics import Group, Instance, QuadraticRates, search
from flverify.certify.quadratics.rows import Batch
from flverify.engines.kinds import require_algorithm
from flverify.participation._law import Participation

DIGITS = 10**7  # denominators of curvatures found inside, in units of L
ROUNDED = 1e-8  # relative error of floats where eigenvalues meet
CUT = Fraction(1, 10**12)  # relative: two enclosures of one root are this close
SHIFTS = 10**12  # of what L - mu has between an instance and the one beside it
MOST_TIED = 70  # instances of one rate that are looked at; all corners of 64 clients


@dataclass(frozen=True)
class WorstQuadratic:
    """The worst instance found, with its rate and a rational bound below it.

    Parameters
    ----------
    instance : Instance
        With rational curvatures.
    rate : float
        Its mean-square rate per round, weight 1.
    lower_bound : Fraction
        At most the rate that runs of it have, or of one beside it, proved in rationals;
        no certified rate is below.
    tried : int
        Instances looked at.
    inside : bool
        Whether a curvature lies strictly between mu and L.
    occurs : bool
        Whether runs of the instance have this rate; if not, it is the limit of the
        rates of instances near it.
    """

    instance: Instance
    rate: float
    lower_bound: Fraction
    tried: int
    inside: bool
    occurs: bool = True


def worst_quadratic(
    algorithm: Algorithm,
    participation: Participation,
    strong_convexity: Scalar,
    smoothness: Scalar,
) -> WorstQuadratic:
    """Search the class for the scalar quadratics of largest mean-square rate.

    Definition: max over groups of clients and h in [mu, L] of the spectral radius of
    the second moments' map; no certified rate lies below it.

    Parameters
    ----------
    algorithm : Algorithm
        One whose round is linear on quadratics.
    participation : Participation
        Full, Bernoulli, uniform or all-or-nothing.
    strong_convexity, smoothness : scalar > 0, weight f/x^2
        mu <= L, rational (floats are taken as the rationals they are).

    Returns
    -------
    worst : WorstQuadratic

    Raises
    ------
    InputError
        If a part of the setting is of another kind.
    DomainError
        If not 0 < mu <= L.
    RefusedError
        If the law or the algorithm is refused.
    ReadingError
        If the round is not linear in the features.

    Notes
    -----
    All corners are tried for up to 64 clients of one class, a geometric selection
    beyond; then pairs of curvatures inside, three groups, and a local ascent from the
    best. The search is deterministic and may miss the worst; what it returns holds.

    Examples
    --------
    >>> from flverify.algorithms import GradientDescent
    >>> from flverify.participation import Full
    >>> worst = worst_quadratic(GradientDescent("1/8"), Full(4), "1/10", 1)
    >>> str(worst.instance), worst.lower_bound
    ('4 x 1/10', Fraction(361, 400))
    """
    require_algorithm(algorithm, "step_size")
    if loop_of(algorithm) is None:  # what else has a dimension is not known
        rates = QuadraticRates.of(algorithm, participation)
        return worst_of(rates, strong_convexity, smoothness)
    mu, smooth = limits(strong_convexity, smoothness)
    within_floats(smooth, "smoothness")
    # at L = 1, as certificates are found: in large units floats lose what is small
    rates = QuadraticRates.of(algorithm.rescaled(1 / smooth), participation)
    found = worst_of(rates, mu / smooth, Fraction(1))
    return replace(found, instance=found.instance.times(smooth))


def worst_of(
    rates: QuadraticRates, strong_convexity: Scalar, smoothness: Scalar
) -> WorstQuadratic:
    """`worst_quadratic` for an algorithm that is read already (for sweeps).

    Raises
    ------
    DomainError
        If not 0 < mu <= L.
    """
    mu, smooth = limits(strong_convexity, smoothness)
    hunt = _Hunt(rates, mu, smooth)
    instance = hunt.worst()
    inside = any(mu < g.curvature < smooth for g in instance.groups)
    low, high = rates.enclosure(instance)
    rate = float((low + high) / 2)  # where eigenvalues meet, floats lose digits
    bound = Fraction(rates.occurring(instance)[0])
    occurs = bound >= low * (1 - CUT)
    if not occurs:
        bound = max(bound, hunt.near(instance, Fraction(low)))
        rate = rate if bound >= low * (1 - ROUNDED) else float(bound)
    return WorstQuadratic(instance, rate, bound, hunt.tried, inside, occurs)


def corner_rates(
    rates: QuadraticRates,
    step_sizes: Sequence[float],
    strong_convexity: Scalar,
    smoothness: Scalar,
) -> Array:
    """Largest rate over corners and pairs of curvatures, for many step sizes at once.

    The fast path of a sweep: floats, and no ascent; never above what
    `worst_quadratic` finds, up to rounding errors.

    Parameters
    ----------
    step_sizes : sequence of B numbers > 0, weight x^2/f
        The algorithm's own step size plays no role.

    Returns
    -------
    rates : (B,) array

    Raises
    ------
    DomainError
        If not 0 < mu <= L.
    RefusedError
        If rates do not depend on eta h alone, nor on a setting that is a curvature.

    Examples
    --------
    >>> from flverify.algorithms import GradientDescent
    >>> from flverify.participation import Full
    >>> descent = QuadraticRates.of(GradientDescent("1/8"), Full(1))
    >>> corner_rates(descent, [0.5, 1.5], "1/2", 1).tolist()
    [0.5625, 0.25]
    """
    mu, smooth = limits(strong_convexity, smoothness)
    bounds = search.Range(float(mu), float(smooth))
    sizes = rates.classes.sizes
    tables = [search.corners(sizes, bounds)]
    if bounds.width > 0:
        tables.append(search.inside(sizes, bounds))
    tried = search.joined(tables)
    steps = np.asarray(step_sizes, dtype=np.float64)
    if rates.reading.algorithm.curvature_settings:  # rates are not of eta h alone
        method = rates.reading.algorithm.rescaled(1 / smooth)  # in units of L, too
        one = QuadraticRates.of(method, rates.classes.law)
        tried = replace(tried, curvatures=tried.curvatures / float(smooth))
        each = (one.at(smooth * Fraction(step)).rates(tried) for step in steps.tolist())
        return np.array([found.max() for found in each])
    scaled = steps[:, None, None] * tried.curvatures
    many = Batch(
        tried.law_classes,
        np.tile(tried.clients, (len(steps), 1)),
        scaled.reshape(-1, scaled.shape[2]),
    )
    return np.asarray(rates.unit().rates(many).reshape(len(steps), -1).max(axis=1))


def limits(strong_convexity: Scalar, smoothness: Scalar) -> tuple[Fraction, Fraction]:
    """Return mu and L as rationals.

    Raises
    ------
    DomainError
        If not 0 < mu <= L, or one is not a number.
    """
    mu = positive(strong_convexity, "strong_convexity")
    smooth = positive(smoothness, "smoothness")
    if not all(is_exact(v) or isinstance(v, float) for v in (mu, smooth)):
        raise DomainError(
            f"curvatures must be numbers; got {mu} and {smooth}; substitute them first."
        )
    if mu > smooth:
        raise DomainError(
            f"strong_convexity must be at most smoothness; got {shown(mu)} and "
            f"{shown(smooth)}; swap them."
        )
    return Fraction(mu), Fraction(smooth)


class _Hunt:
    """One search: what is tried is counted."""

    def __init__(self, rates: QuadraticRates, mu: Fraction, smooth: Fraction) -> None:
        self.rates, self.mu, self.smooth, self.tried = rates, mu, smooth, 0
        top = within_floats(smooth, "smoothness")  # and so is mu, which is smaller
        self.limits = search.Range(float(mu), top)

    def rate(self, batch: Batch) -> Array:
        """Rates of a batch in floats."""
        self.tried += len(batch.clients)
        return self.rates.rates(batch)

    def worst(self) -> Instance:
        """Return the worst instance found."""
        best = [self._best(batch) for batch in self._tables()]
        found = [one for tied in best for one in tied]
        if self.limits.width > 0:
            found += [
                search.ascend(self.rate, tied[0][1], self.limits) for tied in best
            ]
        # equal rates: the earlier, simpler one, but for those that do not occur
        height = max(value for value, _ in found)
        ties = [b for value, b in found if value >= height * (1 - 1e-12)]
        rated = [
            (one, self.rates.rate(one)) for b in ties for one in self._instances(b)
        ]
        highest = max(value for _, value in rated)
        worst = [one for one, value in rated if value >= highest * (1 - 1e-12)]
        pick = next(filter(self.rates.occurs, worst), worst[0])
        near = [one for one, value in rated if value >= highest * (1 - ROUNDED)]
        return self._simpler(near, pick)

    def near(self, instance: Instance, most: Fraction) -> Fraction:
        """Return a rate that runs of an instance of the class nearby have, or 0."""
        unit, middle = (self.smooth - self.mu) / SHIFTS, (self.mu + self.smooth) / 2
        moved = []
        for k, group in enumerate(instance.groups, 1):
            step = k * unit if group.curvature < middle else -k * unit
            moved.append(replace(group, curvature=group.curvature + step))
        low, _ = self.rates.occurring(Instance.of(moved))
        return min(Fraction(low), most)

    def _simpler(self, near: list[Instance], pick: Instance) -> Instance:
        """Return an instance before the pick that floats called lower, and is not."""
        if self.rates.occurs(pick):
            near = near[: near.index(pick)]
        others = [one for one in near if one != pick and self.rates.occurs(one)]
        if not others:
            return pick
        low, _ = self.rates.enclosure(pick)
        return next((o for o in others if self.rates.enclosure(o)[0] >= low), pick)

    def _tables(self) -> list[Batch]:
        sizes = self.rates.classes.sizes
        out = [search.corners(sizes, self.limits)]
        if self.limits.width > 0:
            out.append(search.inside(sizes, self.limits))
            if len(sizes) == 1 and sizes[0] > 2:
                out.append(search.three_groups(sizes[0], self.limits))
        return out

    def _best(self, batch: Batch) -> list[tuple[float, Batch]]:
        """Return the instances of the largest rate, a few at most."""
        heights = self.rate(batch)
        best = np.flatnonzero(heights >= heights.max() * (1 - 1e-12))[:MOST_TIED]
        return [
            (float(heights[k]), search.pick(batch, best[[j]]))
            for j, k in enumerate(best)
        ]

    def _instances(self, batch: Batch) -> list[Instance]:
        """Rational instances of a batch of one: merged, and with equal ones apart."""
        values = [self._rational(h) for h in batch.curvatures[0].tolist()]
        merged = self._instance(batch, values)
        gap = (self.smooth - self.mu) / 10**6
        apart: list[Fraction] = []
        for k, h in enumerate(values):
            rivals = [
                apart[j]
                for j in range(k)
                if batch.law_classes[j] == batch.law_classes[k]
            ]
            shifted = h
            while gap and any(abs(shifted - r) < gap for r in rivals):
                shifted += gap if h < (self.mu + self.smooth) / 2 else -gap
            apart.append(shifted)
        return list(dict.fromkeys([merged, self._instance(batch, apart)]))

    def _instance(self, batch: Batch, values: list[Fraction]) -> Instance:
        groups = zip(batch.law_classes, batch.clients[0].tolist(), values, strict=True)
        return Instance.of(Group(r, n, h) for r, n, h in groups)

    def _rational(self, curvature: float) -> Fraction:
        """Return a rational of the class next to a float."""
        for end in (self.mu, self.smooth):
            if curvature == float(end):
                return end
        units = round(Fraction(curvature) / self.smooth * DIGITS)
        near = Fraction(units, DIGITS) * self.smooth
        return min(max(near, self.mu), self.smooth)
