"""Where step sizes stop being stable on quadratics.

Scaling f by c and eta by 1/c changes no iterate, so rates depend on the products
s_i = eta h_i alone, and the first step size at which some quadratic's rate reaches 1
has a client at h = L. Along a ray s_i = s theta_i, with the largest theta_i = 1, the
first s is sought at which the rate is 1; the boundary is the least of them over L.

The grid. Rays: every count of clients (a geometric selection for many) at theta = 1
with the others at mu/L; pairs (1, theta) with theta at mu/L, between, and nearly 1;
one theta per class of the law; then a local descent over counts and theta; and at 0.9,
0.97 and 0.995 of the boundary found, the search for the worst quadratic, which may
lower it. Along a ray: [0, s_0], where det(I - A(s)) over its power of s is positive,
then intervals that grow by a factor 3/2, on which 1 - rate is interpolated at 13
Chebyshev nodes, and halved, until it is positive or its first zero is resolved: no
island and no tangency along a ray is stepped over. Along the ray found the zero is then
isolated in rationals, where it may be a flat one (FOCUS with three or more local steps
stands still, to high order, at h = 1/eta).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np

from flverify._core.errors import RefusedError
from flverify._core.exact import Array, Scalar
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.quadratics import Group, Instance, QuadraticRates, search
from flverify.certify.quadratics.rows import Batch
from flverify.certify.sandwich import limits, worst_of
from flverify.certify.stability import _chebyshev as cheb
from flverify.certify.stability._exact_boundary import first_crossing
from flverify.engines.moments._radius import Interval
from flverify.participation._law import Participation

GROWTH = 1.5
FURTHEST = 1e4  # eta L beyond which no boundary is sought
SMALLEST = 1e-12  # eta L below which a step must contract
FEW_COUNTS = 16
STEPS = 40  # of the descent
EQUAL = 1e-7  # relative difference of boundaries that floats cannot order
FLAT = 0.2  # relative error of a float boundary at a flat zero, at most
LOWER = ("0.9", "0.97", "0.995")  # parts of a boundary where other rays are looked for
LOWERINGS = 8


@dataclass(frozen=True)
class Boundary:
    """The smallest step size found at which some quadratic's rate reaches 1.

    Parameters
    ----------
    step_size : float
        Weight x^2/f.
    instance : Instance
        The quadratics whose rate is 1 there.
    interval : (Fraction, Fraction) or None
        Rational enclosure of the step size: below it the instance contracts, in it
        lies a step at which its rate is 1. None if rationals only confirm that it does
        not contract just above the step size.
    """

    step_size: float
    instance: Instance
    interval: Interval | None


def stability_boundary(
    algorithm: Algorithm,
    participation: Participation,
    strong_convexity: Scalar,
    smoothness: Scalar,
) -> Boundary | None:
    """Find the smallest step size at which some scalar quadratic does not contract.

    Parameters
    ----------
    algorithm : Algorithm
        Its own step size plays no role.
    strong_convexity, smoothness : scalar > 0, weight f/x^2
        mu <= L.

    Returns
    -------
    boundary : Boundary or None
        None if every step size up to 10^4/L contracts.

    Raises
    ------
    DomainError
        If not 0 < mu <= L.
    RefusedError
        If floats see no step size that contracts, or a boundary that rationals do not
        confirm; if the step size is not the only setting with a dimension, or the law
        or the algorithm is refused.
    ReadingError
        If the round is not linear in the features.

    Examples
    --------
    >>> from flverify.algorithms import Focus
    >>> from flverify.participation import Bernoulli
    >>> found = stability_boundary(Focus("1/8"), Bernoulli(["1/2"] * 2), "1/10", 1)
    >>> found.interval, str(found.instance)
    ((Fraction(3, 5), Fraction(3, 5)), '2 x 1')
    """
    rates = QuadraticRates.of(algorithm, participation)
    return boundary_of(rates, strong_convexity, smoothness)


def boundary_of(
    rates: QuadraticRates, strong_convexity: Scalar, smoothness: Scalar
) -> Boundary | None:
    """`stability_boundary` for an algorithm that is read already (for sweeps).

    Raises
    ------
    DomainError
        If not 0 < mu <= L.
    RefusedError
        If floats see no step size that contracts, or a boundary that rationals do not
        confirm, or the step size is not the only setting with a dimension.
    """
    mu, smooth = limits(strong_convexity, smoothness)
    rays = _Rays(rates.unit(), mu / smooth)
    found = rays.first()
    if found is None:
        return None
    crossing = rays.settled(*found)
    if crossing is None:
        raise RefusedError(
            "rates at a stability boundary must be far enough from 1 for floats; they "
            "are not; use rate at single step sizes."
        )
    for _ in range(LOWERINGS):
        lower = rays.lowered(crossing)
        if lower is None:
            break
        crossing = lower
    groups = (
        Group(g.law_class, g.n_clients, smooth * g.curvature)
        for g in crossing.ray.groups
    )
    ends = (crossing.low / smooth, crossing.high / smooth) if crossing.exact else None
    step = float(crossing.high / smooth)
    return Boundary(step, Instance(tuple(groups)), ends)


@dataclass(frozen=True)
class _Crossing:
    """A ray with largest theta 1, and the s at which its rate reaches 1."""

    low: Fraction
    high: Fraction
    ray: Instance
    exact: bool


class _Rays:
    """1 - rate along many rays, at step size 1."""

    def __init__(self, unit: QuadraticRates, ratio: Fraction) -> None:
        self.unit, self.ratio = unit, ratio
        self.limits = search.Range(float(ratio), 1.0)
        self.rays, self.start = self._directions(), 0.0

    def _directions(self) -> Batch:
        """Rays of the grid, the one with all clients at 1 first."""
        sizes = self.unit.classes.sizes
        everybody = search.two_groups(
            sizes, np.array([sizes]), np.array([[1.0, self.limits.least] * len(sizes)])
        )
        found = [everybody, search.corners(sizes, self.limits)]
        if self.limits.width > 0:
            found.append(search.inside(sizes, self.limits))
        batch = _normalised(search.joined(found))
        allowed = [search.counts(n, FEW_COUNTS) for n in sizes]
        columns = [np.isin(batch.clients[:, 2 * r], a) for r, a in enumerate(allowed)]
        return search.pick(batch, np.flatnonzero(np.logical_and.reduce(columns)))

    def _batch(self, rays: Batch, which: Array, s: Array) -> Batch:
        values = s[:, None] * rays.curvatures[which]
        return Batch(rays.law_classes, rays.clients[which], values)

    def _gaps(self, rays: Batch) -> cheb.Functions:
        def values(which: Array, s: Array) -> Array:
            return np.asarray(1 - self.unit.rates(self._batch(rays, which, s)))

        return values

    def _determinants(self, which: Array, s: Array) -> Array:
        parts = self.unit.chunks(self._batch(self.rays, which, s))
        return np.concatenate([np.linalg.det(np.eye(len(p[0])) - p) for p in parts])

    def first(self) -> tuple[float, Batch] | None:
        """Smallest s at which a ray's rate reaches 1, and the ray."""
        self.start, which = self._start(), np.arange(len(self.rays.clients))
        low = self.start
        while low < FURTHEST:
            high = GROWTH * low
            ends = np.full(len(which), low), np.full(len(which), high)
            screened = cheb.coefficients(self._determinants, which, *ends)
            unclear = which[~cheb.positive(screened)]
            points = cheb.first_touches(self._gaps(self.rays), unclear, low, high)
            if np.isfinite(points).any():
                # the first ray of the list among those that floats cannot order
                best = int(np.argmax(points <= points.min() * (1 + EQUAL)))
                return float(points[best]), search.pick(self.rays, unclear[[best]])
            low = high
        return None

    def _start(self) -> float:
        """Return s_0 such that every ray contracts on (0, s_0]."""
        which = np.arange(len(self.rays.clients))
        s = 0.01 / self.unit.classes.n_clients
        while s > SMALLEST:
            order = self._orders(which, s)
            if order is not None:

                def divided(k: Array, at: Array, power: Array = order) -> Array:
                    return np.asarray(self._determinants(k, at) / at ** power[k])

                ends = 0.0 * which, np.full(len(which), s)
                clear = cheb.positive(cheb.coefficients(divided, which, *ends))
                stable = self._gaps(self.rays)(which, ends[1]) > 0
                if clear.all() and stable.all():
                    return s
            s /= 4
        raise RefusedError(
            "small step sizes must contract on quadratics, as far as floats see; they "
            f"see none down to {SMALLEST}/L that does; use rate to see why."
        )

    def _orders(self, which: Array, s: float) -> Array | None:
        """Powers of s with which the determinants vanish at 0."""
        near, far = (
            self._determinants(which, np.full(len(which), s * part))
            for part in (0.01, 0.02)
        )
        if (near <= 0).any() or (far <= 0).any():
            return None
        powers = np.log2(far / near)
        sharp = np.abs(powers - np.round(powers)) < 0.1
        return np.round(powers).astype(int) if sharp.all() else None

    def descend(self, s: float, ray: Batch) -> tuple[float, Batch]:
        """Move counts and curvatures as long as the boundary moves down."""
        reach, block = 0.25, max(int(ray.clients.max()) // 4, 1)
        for _ in range(STEPS):
            if reach < search.FINEST or self.limits.width == 0:
                break
            near = search.neighbours(ray, reach * self.limits.width, block, self.limits)
            near = _normalised(near)
            which = np.arange(len(near.clients))
            points = cheb.first_touches(self._gaps(near), which, s / GROWTH, s)
            best = int(np.argmin(points)) if len(points) else 0
            if len(points) and points[best] < s * (1 - EQUAL):
                s, ray = float(points[best]), search.pick(near, which[[best]])
            else:
                reach, block = reach / 4, max(block // 4, 1)
        return s, ray

    def settled(self, s: float, ray: Batch) -> _Crossing | None:
        """Descend from a ray, and isolate where its rate reaches 1; None if nowhere."""
        lower, moved = self.descend(s, ray)
        near = _instance(moved, self.ratio)
        rough = _Crossing(Fraction(lower), Fraction(lower), near, exact=False)
        whole, *corners = self._corners()
        known = self._isolated([whole, _instance(ray, self.ratio), near])
        best = min(known, key=lambda c: c.high, default=rough)
        if known and float(best.high) <= lower * (1 + FLAT):
            return best
        if self._stands(rough):
            return rough
        # of rare clients floats see crossings where there are none, and miss others
        known += self._isolated(corners)
        return min(known, key=lambda c: c.high, default=None)

    def _corners(self) -> list[Instance]:
        """Rays with one curvature for each class of the law, 1 or mu/L."""
        sizes = self.unit.classes.sizes
        thetas = product(dict.fromkeys([Fraction(1), self.ratio]), repeat=len(sizes))
        return [
            Instance(tuple(map(Group, range(len(sizes)), sizes, ray)))
            for ray in thetas
            if max(ray) == 1
        ]

    def _isolated(self, rays: list[Instance]) -> list[_Crossing]:
        """Where rays cease to contract, in rationals, of those that do."""
        found = [(first_crossing(self.unit, r), r) for r in dict.fromkeys(rays)]
        return [_Crossing(*ends, r, exact=True) for ends, r in found if ends]

    def _stands(self, rough: _Crossing) -> bool:
        """Whether the ray does not contract just above a crossing, in rationals."""
        s = rough.high * (1 + 10 * Fraction(EQUAL))
        groups = (replace(g, curvature=s * g.curvature) for g in rough.ray.groups)
        return bool(self.unit.enclosure(Instance(tuple(groups)))[0] >= 1)

    def lowered(self, crossing: _Crossing) -> _Crossing | None:
        """Look below a crossing for other rays that do not contract there."""
        for part in LOWER:
            # nine digits, whatever its size: of billions of clients it is tiny
            s = Fraction(f"{float(crossing.high * Fraction(part)):.9g}")
            worst = worst_of(self.unit, s * self.ratio, s)
            if worst.lower_bound < 1:
                continue
            lower = self._below(_ray(worst.instance, self.limits), float(s))
            return lower if lower and lower.high < crossing.high else None
        return None

    def _below(self, ray: Batch, s: float) -> _Crossing | None:
        """Find where a ray that does not contract at s ceases to contract."""
        which = np.zeros(1, dtype=int)
        at = cheb.first_touches(self._gaps(ray), which, self.start, s)
        if np.isfinite(at[0]):
            return self.settled(float(at[0]), ray)
        # rates so near 1 that floats see none
        alone = _instance(ray, self.ratio)
        ends = first_crossing(self.unit, alone)
        return _Crossing(*ends, alone, exact=True) if ends else None


def _ray(instance: Instance, bounds: search.Range) -> Batch:
    """Return an instance's direction as a batch of one, group 0 among the largest."""
    most = max(g.curvature for g in instance.groups)
    values = [float(g.curvature / most) for g in instance.groups]
    return Batch(
        tuple(g.law_class for g in instance.groups),
        np.array([[g.n_clients for g in instance.groups]]),
        bounds.clip(np.array([values])),
    )


def _normalised(rays: Batch) -> Batch:
    """Keep rays with a client at 1."""
    there = np.where(rays.clients > 0, rays.curvatures, 0.0).max(axis=1)
    return search.pick(rays, np.flatnonzero(there == 1.0))


def _instance(ray: Batch, ratio: Fraction) -> Instance:
    """Rational instance of a batch of one."""
    values = []
    for theta in ray.curvatures[0].tolist():
        near = max(Fraction(theta).limit_denominator(10**7), ratio)
        values.append(ratio if theta == float(ratio) else near)
    groups = zip(ray.law_classes, ray.clients[0].tolist(), values, strict=True)
    return Instance.of(Group(r, n, h) for r, n, h in groups)
