"""The worst corner of the scalar curvature families, in floats and fast.

Clients are f_i = h_i x^2/2 with h_i in {mu, L}; by exchangeability only the number of
clients at L in each class of the law matters. Rates depend on eta h alone, so one
reading of a round serves every step size and every smoothness.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from flverify._core.exact import Array
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.classes import classes
from flverify.certify.coordinates import Structure
from flverify.certify.forms import read
from flverify.certify.quadratics import QuadraticRates, search
from flverify.certify.quadratics.rows import Batch
from flverify.engines.conserved import redundant
from flverify.explore.view import LAW_PARAMETERS, View

PIECE = 512  # corners whose matrices are made at a time


@dataclass(frozen=True)
class Corner:
    """Clients at L and at mu, class by class of the law.

    Parameters
    ----------
    at_most : tuple of int
        Clients with h_i = L in each class.
    sizes : tuple of int
        Clients of each class.
    """

    at_most: tuple[int, ...]
    sizes: tuple[int, ...]

    def __str__(self) -> str:
        parts = zip(self.at_most, self.sizes, strict=True)
        return f"{' and '.join(f'{k} of {n}' for k, n in parts)} clients at L"


def law_of(view: View, *kept: str) -> View:
    """Return the view with what plays no role set aside: a key for what is known.

    Parameters
    ----------
    view : View
    *kept : str
        Which of strong_convexity, smoothness and step_size play one.

    Examples
    --------
    >>> one, two = View(step_size="1/8", cohort=3), View(over="n", smoothness="7")
    >>> law_of(one) == law_of(two), law_of(one, "smoothness") == law_of(two)
    (True, True)
    """
    plain = View()
    spare = {"probability", "cohort", "p_min", "p_max"} - {*LAW_PARAMETERS[view.law]}
    spare |= {"strong_convexity", "smoothness", "step_size", "over"} - {*kept}
    values: dict[str, Any] = {name: getattr(plain, name) for name in spare}
    return replace(view, **values)


def scaled(view: View) -> tuple[float, float]:
    """Return mu/L and eta L.

    Examples
    --------
    >>> scaled(View(strong_convexity="1", smoothness="4", step_size="1/8"))
    (0.25, 0.5)
    """
    smooth = view.number("smoothness")
    ratio = view.number("strong_convexity") / smooth
    return float(ratio), float(view.number("step_size") * smooth)


@lru_cache(maxsize=256)
def unit_rates(view: View) -> QuadraticRates:
    """Read the round of a `law_of` view at step size 1.

    Raises
    ------
    RefusedError
        If the law has too many classes of clients.
    """
    algorithm, law = view.algorithm_object().retuned(Fraction(1)), view.participation()
    if view.algorithm == "proxskip":
        return QuadraticRates.of(algorithm, law)
    structure = _structure(algorithm, view.n_clients)
    return QuadraticRates(read(algorithm, classes(law)), structure)


@lru_cache(maxsize=64)
def _structure(algorithm: Algorithm, n_clients: int) -> Structure:
    """Return what a server slot always equals, whatever the cohorts are."""
    found = redundant(algorithm, n_clients)
    return Structure(
        {
            slot: {other: share * n_clients for other, share in shares.items()}
            for slot, shares in found.items()
        }
    )


def corner_batch(
    rates: QuadraticRates, ratio: float, scales: Array, places: Array | None = None
) -> Batch:
    """Corners (s, s ratio) for every s of the scales, the scales outermost.

    Parameters
    ----------
    rates : QuadraticRates
    ratio : float
        mu/L.
    scales : (B,) array
        eta L.
    places : array of int, optional
        Which corners, in the order of `search.corners`; all by default.
    """
    corners = all_corners(rates.classes.sizes, ratio)
    return stretched(corners, scales, places)


def stretched(rays: Batch, scales: Array, places: Array | None = None) -> Batch:
    """Every ray times every scale, the scales outermost; `places`: of some rays."""
    if places is not None:
        rays = search.pick(rays, places)
    curvatures = scales[:, None, None] * rays.curvatures
    return Batch(
        rays.law_classes,
        np.tile(rays.clients, (len(scales), 1)),
        curvatures.reshape(-1, rays.curvatures.shape[1]),
    )


@lru_cache(maxsize=256)
def all_corners(sizes: tuple[int, ...], ratio: float) -> Batch:
    """Return corners (1, ratio) of classes of some sizes: of one class every one.

    Of curvatures that are one there is one corner: parted in two groups, it would have
    directions that no start moves.
    """
    if len(sizes) > 1 and ratio < 1:
        return search.corners(sizes, search.Range(ratio, 1.0))
    first = [sizes] if ratio >= 1 else [(k,) for k in range(sizes[0] + 1)]
    pairs = np.array([[1.0, min(ratio, 1.0)] * len(sizes)] * len(first))
    return search.two_groups(sizes, np.array(first), pairs)


def all_tried(view: View, ratio: float) -> bool:
    """Whether `worst_corner` looks at every corner, not at some of many.

    Examples
    --------
    >>> spread = View(law="bernoulli_spread")
    >>> [all_tried(law_of(view), 0.1) for view in (View(n_clients=100), spread)]
    [True, False]
    """
    sizes = unit_rates(view).classes.sizes
    every = 1 if ratio >= 1 else math.prod(n + 1 for n in sizes)
    return len(all_corners(sizes, ratio).clients) == every


def radii(rates: QuadraticRates, batch: Batch) -> Array:
    """Rates of a batch in floats, as `QuadraticRates.rates` with larger pieces."""
    parts = matrices(rates, batch)
    found = [np.abs(np.linalg.eigvals(p)).max(axis=1, initial=0.0) for p in parts]
    return np.concatenate(found)


def matrices(rates: QuadraticRates, batch: Batch) -> Iterator[Array]:
    """Matrices of a batch in large pieces: each costs a good millisecond to begin."""
    places = np.arange(len(batch.clients))
    for first in range(0, len(places), PIECE):
        yield rates.matrices(search.pick(batch, places[first : first + PIECE]))


@lru_cache(maxsize=4096)
def worst_corner(view: View, ratio: float, scale: float) -> tuple[float, Corner]:
    """Largest rate over corners at eta L = scale, and the first corner that has it.

    All corners of one class of clients; of more classes some, see `all_tried`.

    Parameters
    ----------
    view : View
        In the form of `law_of`.
    ratio : float
        mu/L.
    scale : float
        eta L.

    Examples
    --------
    >>> descent = law_of(View(algorithm="gradient_descent", local_steps=1, law="full"))
    >>> rate, corner = worst_corner(descent, 0.5, 1 / 16)
    >>> rate, str(corner)
    (0.25, '0 of 16 clients at L')
    """
    rates = unit_rates(view)
    batch = corner_batch(rates, ratio, np.array([scale]))
    found = radii(rates, batch)
    best = int(np.argmax(found > found.max() * (1 - 1e-12)))
    return float(found[best]), corner_of(rates, batch, best, scale)


def corner_of(rates: QuadraticRates, batch: Batch, place: int, scale: float) -> Corner:
    """Return one corner of a batch at some scale."""
    sizes = rates.classes.sizes
    at_most = [0] * len(sizes)
    groups = zip(
        batch.law_classes,
        batch.clients[place].tolist(),
        batch.curvatures[place].tolist(),
        strict=True,
    )
    for r, clients, h in groups:
        at_most[r] += clients if h == scale else 0
    return Corner(tuple(at_most), sizes)
