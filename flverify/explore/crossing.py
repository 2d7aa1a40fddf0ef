"""Where the worst of a few families of quadratics stops contracting.

The boundary is where det(I - A(s)), s = eta L, is first not positive on a grid: of
ratio 2 up to 1/64 and 1.1 from there, and s = 1 apart, where FOCUS stands still without
a change of sign. The grid looks at corners with a few counts of clients at L; what it
finds is located to a share of 1e-7, below 1/64 to one of 1e-6, rounded down, and then
all corners, and a few curvatures between mu and L, are asked whether they contract
below. Where some surely do not, as where two eigenvalues reach 1 together, rates
themselves are followed instead of signs. Where a rate is so near to 1 that floats do
not tell its side, it is asked in rationals; the last cuts of a cell are not, so that
the line may end a thousandth early. Islands of instability narrower than the grid, and
other curvatures between, are left to `flverify.certify.stability`, which the slow layer
asks.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from flverify._core.exact import Array
from flverify.certify.quadratics import Group, Instance, QuadraticRates, search
from flverify.certify.quadratics.rows import Batch
from flverify.explore.corners import (
    all_corners,
    corner_of,
    matrices,
    radii,
    stretched,
    unit_rates,
)
from flverify.explore.view import View

GRID = np.concatenate([2.0 ** np.arange(-29, -6), 1.1 ** np.arange(-44, 15)])
STILL = 1.0  # eta L where a client's local step ends at its own minimiser
TOUCHED = 1e-9  # a gap below this is none
TINY = 2.0 ** np.arange(-40, -29)  # scales below the grid
PARTS, CUTS = 32, 4  # into which a cell of the grid is cut, and how often
ASKED = 2  # cuts in which a doubtful side of 1 is asked in rationals
# parts of a boundary where all rays must contract; at the last they may stand still
BELOW = np.array([0.25, 0.5, 0.75, 0.9, 0.97, 0.999, 1.0])
SURE = 1 + 1e-4  # rates above are no rounding, even where eigenvalues meet
AGAIN = 3  # times that rays unstable below are scanned


@lru_cache(maxsize=256)
def _rays(sizes: tuple[int, ...], ratio: float) -> Batch:
    """All corners, then rays with curvatures between."""
    corners, limits = all_corners(sizes, ratio), search.Range(min(ratio, 1.0), 1.0)
    if limits.width == 0:
        return corners
    inside = search.inside(sizes, limits)
    largest = np.where(inside.clients > 0, inside.curvatures, 0.0).max(axis=1)
    return search.joined([corners, search.pick(inside, np.flatnonzero(largest == 1.0))])


@lru_cache(maxsize=256)
def _telling(sizes: tuple[int, ...], ratio: float) -> Array:
    """Places of the corners that the grid looks at: few counts in every class."""
    corners = all_corners(sizes, ratio)
    at_most = np.where(corners.curvatures == 1.0, corners.clients, 0)
    counts = at_most.reshape(len(at_most), len(sizes), 2).sum(axis=2)
    allowed = [(0, n) if len(sizes) > 1 else (0, 1, n // 2, n - 1, n) for n in sizes]
    kept = [np.isin(counts[:, r], listed) for r, listed in enumerate(allowed)]
    return np.flatnonzero(np.logical_and.reduce(kept))


@lru_cache(maxsize=4096)
def crossing(view: View, ratio: float) -> tuple[float, str] | None:
    """Smallest eta L at which the rate of a ray reaches 1, and that ray in words.

    Parameters
    ----------
    view : View
        In the form of `law_of`.
    ratio : float
        mu/L.

    Returns
    -------
    found : (float, str) or None
        None if no ray stops contracting on the grid; not a number, and no ray, where
        floats do not tell.

    Examples
    --------
    >>> from flverify.explore.corners import law_of
    >>> descent = law_of(View("gradient_descent", local_steps=1, law="full"))
    >>> found, ray = crossing(descent, 0.5)
    >>> round(found, 5), ray
    (0.125, '16 of 16 clients at L')
    """
    rates = unit_rates(view)
    found = _scanned(rates, ratio, _telling(rates.classes.sizes, ratio))
    for again in range(AGAIN + 1):
        top = float(GRID[-1]) if found is None else found[0]
        below = _rates_below(rates, ratio, top)
        unstable = np.flatnonzero((below[:-1] >= 1).any(axis=0))
        more = len(unstable) > 0 and again < AGAIN
        lower = _scanned(rates, ratio, unstable) if more else None
        if lower is None or lower[0] >= top:
            break
        found = lower
    surely = np.flatnonzero((below > SURE).any(axis=0))
    return _followed(rates, ratio, surely, top) if len(surely) else found


def _scanned(
    rates: QuadraticRates, ratio: float, places: Array
) -> tuple[float, str] | None:
    """Go along the grid until a ray stops contracting, then cut that cell."""
    found = _first_beyond(rates, ratio, GRID, places)
    if found is None or GRID[max(found[0] - 1, 0)] >= STILL:
        still = _still(rates, ratio, places)
        if still is not None:
            return STILL, still
    if found is None:
        return None
    cell, places = found
    low, high = float(GRID[max(cell - 1, 0)]), float(GRID[cell])
    for cut in range(CUTS):
        scales = np.linspace(low, high, PARTS + 1)
        found = _first_beyond(rates, ratio, scales, places, asked=cut < ASKED)
        cell, places = found if found is not None else (PARTS, places)
        low, high = float(scales[max(cell - 1, 0)]), float(scales[cell])
    return low, _told(rates, ratio, int(places[0]))


def _followed(
    rates: QuadraticRates, ratio: float, places: Array, top: float
) -> tuple[float, str]:
    """Last scale below which all rates of some rays are below 1, as floats tell them.

    Not a number where they tell a rate of 1 or more at every scale.
    """
    scales = np.sort(np.concatenate([TINY, GRID, top * BELOW]))
    for _ in range(CUTS):
        first, place = _first_expanding(rates, ratio, scales, places)
        if first == 0:
            return math.nan, ""
        low, high = float(scales[first - 1]), float(scales[first])
        scales = np.linspace(low, high, PARTS + 1)
    return low, _told(rates, ratio, place)


def _first_expanding(
    rates: QuadraticRates, ratio: float, scales: Array, places: Array
) -> tuple[int, int]:
    """First scale at which a rate is not below 1, else the last, and its ray."""
    found = radii(rates, _batch(rates, ratio, scales, places)).reshape(len(scales), -1)
    for k in np.flatnonzero((found >= 1).any(axis=1)).tolist():
        if _expands(rates, _batch(rates, ratio, scales[k : k + 1], places), found[k]):
            return k, int(places[np.argmax(found[k])])
    return len(scales) - 1, int(places[np.argmax(found[-1])])


def _told(rates: QuadraticRates, ratio: float, place: int) -> str:
    """Word a ray."""
    rays = _rays(rates.classes.sizes, ratio)
    theta = rays.curvatures[place][rays.clients[place] > 0]
    between = sorted({*theta.tolist()} - {ratio, 1.0})
    others = "".join(f", others at {value:.4g} L" for value in between)
    return f"{corner_of(rates, rays, place, 1.0)}{others}"


def _still(rates: QuadraticRates, ratio: float, places: Array) -> str | None:
    """Return the last ray that stands still at eta L = 1, if one does."""
    found = radii(rates, _batch(rates, ratio, np.array([STILL]), places)) >= 1 - TOUCHED
    still = places[found]
    return _told(rates, ratio, int(still[-1])) if len(still) else None


def _batch(
    rates: QuadraticRates, ratio: float, scales: Array, places: Array | None = None
) -> Batch:
    return stretched(_rays(rates.classes.sizes, ratio), scales, places)


def _rates_below(rates: QuadraticRates, ratio: float, top: float) -> Array:
    """Rates of all rays at some scales up to one, (scales, rays)."""
    found = radii(rates, _batch(rates, ratio, top * BELOW))
    return found.reshape(len(BELOW), -1)


def _signs(rates: QuadraticRates, ratio: float, scales: Array, places: Array) -> Array:
    """Whether det(I - A) is positive, (scales, rays)."""
    parts = matrices(rates, _batch(rates, ratio, scales, places))
    values = [np.linalg.det(np.eye(part.shape[1]) - part) for part in parts]
    return np.concatenate(values).reshape(len(scales), -1) > 0


def _first_beyond(
    rates: QuadraticRates,
    ratio: float,
    scales: Array,
    places: Array,
    *,
    asked: bool = True,
) -> tuple[int, Array] | None:
    """First scale at which rays do not contract, and those rays.

    Where all contract, det(I - A) is positive; but next to 0 its sign is rounding, so
    that the ray with the largest rate may be asked.
    """
    beyond = ~_signs(rates, ratio, scales, places)
    for cell in np.flatnonzero(beyond.any(axis=1)).tolist():
        listed = places[beyond[cell]]
        batch = _batch(rates, ratio, scales[cell : cell + 1], listed)
        if not asked or _expands(rates, batch, radii(rates, batch)):
            return cell, listed
    return None


def _expands(rates: QuadraticRates, batch: Batch, found: Array) -> bool:
    """Whether one of some instances does not contract; floats tell their rates."""
    if (found >= SURE).any():
        return True
    doubtful = np.flatnonzero(found > 2 - SURE)
    return any(_does_not_contract(rates, batch, place) for place in doubtful.tolist())


def _does_not_contract(rates: QuadraticRates, batch: Batch, place: int) -> bool:
    """Ask one instance in rationals."""
    groups = zip(
        batch.law_classes,
        batch.clients[place].tolist(),
        batch.curvatures[place].tolist(),
        strict=True,
    )
    instance = Instance.of(Group(r, n, Fraction(h)) for r, n, h in groups)
    return bool(rates.enclosure(instance)[1] >= 1)
