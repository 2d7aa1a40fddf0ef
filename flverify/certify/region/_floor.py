"""A lower bound of the worst quadratic's rate at many step sizes.

The whole search is done at a few step sizes; what it finds there, and every corner of
the class, is rated at each of the others. The rate of any instance is a lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from flverify.certify.quadratics import Group, Instance, QuadraticRates, search
from flverify.certify.quadratics.rows import Batch
from flverify.certify.sandwich import worst_of
from flverify.certify.stability import Boundary

ONE = Fraction(1)
ANCHORS = 5  # step sizes at which the whole search is done


@dataclass(frozen=True)
class Floor:
    """Instances whose rates stand for the class.

    Parameters
    ----------
    rates : QuadraticRates
        At any step size.
    corners : Batch
        Curvatures mu and L alone.
    limits : (Fraction, Fraction)
        mu and L.
    pool : tuple of Instance
        Others.
    unstable : Fraction or None
        Step size from which some quadratic does not contract.
    unit : Fraction
        Of curvatures: all of the above is at L = 1, but for the last step size. In
        other units floats lose what is small.
    """

    rates: QuadraticRates
    corners: Batch
    limits: tuple[Fraction, Fraction]
    pool: tuple[Instance, ...]
    unstable: Fraction | None = None
    unit: Fraction = Fraction(1)

    @classmethod
    def of(
        cls,
        rates: QuadraticRates,
        limits: tuple[Fraction, Fraction],
        step_sizes: Sequence[Fraction],
        boundary: Boundary | None = None,
    ) -> Floor:
        """Search at a few of the step sizes below the stability boundary."""
        unstable = None if boundary is None else first_unstable(boundary)
        stable = [s for s in step_sizes if unstable is None or s < unstable]
        mu, unit = limits
        scaled = rates.reading.algorithm.rescaled(1 / unit)
        rates, limits = QuadraticRates.of(scaled, rates.classes.law), (mu / unit, ONE)
        pool = [] if boundary is None else [boundary.instance.times(1 / unit)]
        for step in _some(stable):
            pool.append(worst_of(rates.at(step * unit), *limits).instance)
        span = search.Range(*(float(end) for end in limits))
        corners = search.corners(rates.classes.sizes, span)
        return cls(rates, corners, limits, tuple(dict.fromkeys(pool)), unstable, unit)

    def at(self, step_size: Fraction) -> Fraction:
        """Return a rational at most the rate of the worst instance, at a step size.

        Examples
        --------
        >>> from flverify.algorithms import GradientDescent
        >>> from flverify.participation import Full
        >>> rates = QuadraticRates.of(GradientDescent("1/8"), Full(4))
        >>> limits = Fraction(1, 10), Fraction(1)
        >>> floor = Floor.of(rates, limits, [Fraction(1, 8)])
        >>> floor.at(Fraction(1, 8)), floor.at(Fraction(9, 20))
        (Fraction(361, 400), Fraction(1681, 2500))
        """
        here = self.rates.at(step_size * self.unit)
        heights = here.rates(self.corners)
        best = int(np.argmax(heights > heights.max() * (1 - 1e-12)))
        choices = [(float(heights[best]), self._corner(best))]
        choices += [(here.rate(one), one) for one in self.pool]
        highest = max(height for height, _ in choices)
        worst = next(one for height, one in choices if height == highest)
        bound = Fraction(here.enclosure(worst)[0])
        if bound < 1 and self.unstable is not None and step_size >= self.unstable:
            # what does not contract there may lie inside, elsewhere at every step size
            bound = max(bound, worst_of(here, *self.limits).lower_bound)
        return bound

    def _corner(self, place: int) -> Instance:
        mu, smooth = self.limits
        parts = zip(
            self.corners.law_classes,
            self.corners.clients[place].tolist(),
            self.corners.curvatures[place].tolist(),
            strict=True,
        )
        return Instance.of(
            Group(r, n, smooth if h == float(smooth) else mu) for r, n, h in parts
        )


def first_unstable(boundary: Boundary) -> Fraction:
    """Return a rational at or just below a stability boundary.

    Examples
    --------
    >>> str(first_unstable(Boundary(0.6, Instance(()), None)))
    '3/5'
    """
    if boundary.interval is None:
        return Fraction(str(boundary.step_size))
    return Fraction(boundary.interval[0])


def _some(step_sizes: Sequence[Fraction]) -> list[Fraction]:
    """Return a few, evenly by place, the ends among them."""
    last = len(step_sizes) - 1
    places = {round(k * last / (ANCHORS - 1)) for k in range(ANCHORS)}
    return [step_sizes[k] for k in sorted(places)] if step_sizes else []
