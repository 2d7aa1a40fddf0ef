"""The quadratics that curves are drawn on, and their rounds as linear maps.

f_i = L (x - 1)^2/2 for every other client, f_i = mu (x + 1)^2/2 for the rest: scalar
curvatures at both ends of the class and minimisers that differ. Coordinates are
shifted so that x* = 0, and runs start at distance 1 from it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from flverify._core.exact import Array, objects
from flverify.certify.quadratics.rows import Batch
from flverify.engines.moments._moments import Moments, moments
from flverify.explore.corners import unit_rates
from flverify.explore.view import View
from flverify.problems.quadratics import Quadratics

START = 1.0  # distance of the start from x*
SAME = 1e-12  # relative difference of curvatures that are equal but for rounding


def curvatures(view: View) -> Array:
    """h_i: L for clients 0, 2, 4, ..., mu for the others, shape (N,)."""
    odd = np.arange(view.n_clients) % 2 == 1
    ends = float(view.number("smoothness")), float(view.number("strong_convexity"))
    return np.where(odd, ends[1], ends[0])


def rational(view: View) -> Quadratics:
    """Return the instance, in rationals."""
    ends = view.number("smoothness"), view.number("strong_convexity")
    h = [ends[i % 2] for i in range(view.n_clients)]
    plain = [1 - 2 * (i % 2) for i in range(view.n_clients)]
    centre = sum(a * c for a, c in zip(h, plain, strict=True)) / sum(h)
    linear = [a * (c - centre) for a, c in zip(h, plain, strict=True)]
    return Quadratics(objects(h)[:, None, None], objects(linear)[:, None])


def problem(view: View) -> Quadratics:
    """Return the instance, every number of it the float nearest to it.

    Examples
    --------
    >>> two = problem(View(n_clients=2, strong_convexity="1/3"))
    >>> two.linear.ravel().round(12).tolist(), bool(abs(two.minimiser()[0]) < 1e-12)
    ([0.5, -0.5], True)
    """
    return rational(view).as_float()


def describe(view: View) -> str:
    """Say what the instance is.

    Examples
    --------
    >>> describe(View(n_clients=3))
    '2 clients L(x-1)²/2, 1 client μ(x+1)²/2; start at distance 1 from x*'
    """
    most = (view.n_clients + 1) // 2
    rest = view.n_clients - most
    parts = [f"{most} client{'s' * (most > 1)} L(x-1)²/2"]
    if rest:
        parts.append(f"{rest} client{'s' * (rest > 1)} μ(x+1)²/2")
    return f"{', '.join(parts)}; start at distance 1 from x*"


def stands_alone(ratio: float, scale: float) -> bool:
    """Whether a step ends in a minimiser, or all curvatures are alike.

    Directions that no start moves there count in rates of groups, as limits of others.

    Examples
    --------
    >>> stands_alone(0.5, 1.0), stands_alone(1.0, 0.5), stands_alone(0.5, 0.5)
    (True, True, False)
    """
    high, low = _ends(ratio, scale)
    return 1.0 in (high, low) or abs(high - low) <= SAME * high


def _ends(ratio: float, scale: float) -> tuple[float, float]:
    """Return eta L and eta mu, 1 where they are but for rounding."""
    ends = scale, scale * ratio
    high, low = (1.0 if abs(value - 1) < SAME else value for value in ends)
    return high, low


def _of_it_alone(view: View, ratio: float, scale: float) -> float | None:
    """Return the rate that the instance has where it stands alone."""
    if not stands_alone(ratio, scale):
        return None
    high, low = _ends(ratio, scale)
    h = np.where(np.arange(view.n_clients) % 2 == 1, low, high)
    alike = Quadratics(h[:, None, None], np.zeros((view.n_clients, 1)))
    algorithm = view.algorithm_object().retuned(1.0)
    found = moments(alike, algorithm, view.participation(floats=True))
    return float(found.mean_square_rate) if isinstance(found, Moments) else None


@lru_cache(maxsize=512)
def instance_rate(view: View, ratio: float, scale: float) -> float:
    """Mean-square rate of the instance, exact but for rounding.

    Parameters
    ----------
    view : View
        In the form of `law_of`.
    ratio, scale : float
        mu/L and eta L.

    Examples
    --------
    >>> view = View("focus", 2, probability="9/10")
    >>> [round(instance_rate(view, 0.1, scale), 4) for scale in (1.0, 1.001)]
    [0.8051, 1.0186]
    """
    alone = _of_it_alone(view, ratio, scale)
    if alone is not None:
        return alone
    rates = unit_rates(view)
    clients, values = [], []
    first = 0
    for size in rates.classes.sizes:
        odd = sum(1 for i in range(first, first + size) if i % 2)
        # the first group of a batch is never empty: a class of one client lists itself
        groups = [(size - odd, scale), (odd, scale * ratio)]
        groups = groups if groups[0][0] else groups[::-1]
        clients += [n for n, _ in groups]
        values += [h for _, h in groups]
        first += size
    places = tuple(r for r in range(len(rates.classes.sizes)) for _ in range(2))
    batch = Batch(places, np.array([clients]), np.array([values]))
    return float(rates.rates(batch)[0])
