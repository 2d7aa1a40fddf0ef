"""The limit of means in rationals, from where they start.

Coordinates that are equal in all rounds are taken together, so that few are left of
many clients.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from flverify._core.exact import Array
from flverify._core.rationals import entries, matrix, nearest_floats, solve
from flverify.engines.arithmetic import RATIONAL
from flverify.engines.moments._radius import exact_radius
from flverify.engines.moments._reduce import means, moved
from flverify.engines.moments._system import System


class Settled(Protocol):
    """Where a setting ends."""

    def mean_fixed_point(self) -> Array:
        """Server model at the fixed point of the mean dynamics."""

    def stationary_error(self, optimum: Array) -> float:
        """E|x - optimum|^2 in the stationary law."""


def limit(mean: Array, begun: Array) -> Array | None:
    """Return lim Mbar^r x_0; None where there is none.

    Parameters
    ----------
    mean : (n, n) array of flint rationals
        Mbar.
    begun : (n,) array of flint rationals
        x_0.

    Examples
    --------
    >>> from flverify._core.exact import objects
    >>> halved, turned = (RATIONAL.array(np.array([[m]])) for m in ("1/2", "-1"))
    >>> begun = RATIONAL.array(objects([3]))
    >>> limit(halved, begun), limit(turned, begun)
    (array([0], dtype=object), None)
    """
    groups, first, few, stays = _split(mean, begun)
    if stays is None or not exact_radius(few - stays)[1] < 1:
        return None
    return np.asarray((stays @ begun[first])[groups])


def at_rest(system: System) -> tuple[System, Array] | None:
    """Return a system about the state that its means keep from 0, over all modes.

    Beside it the server model there, in floats; None where means grow in proportion to
    the rounds.
    """
    lifted = means(system)
    begun = lifted.start[0][:, -1]
    groups, first, _, stays = _split(lifted.moves[0].mean, begun)
    if stays is None:
        return None
    state = np.sum(np.split((stays @ begun[first])[groups], len(system.sizes)), axis=0)
    model = nearest_floats(system.readout[0] @ state)[:-1]
    return moved(system, state[:-1]), model


def is_still(system: System) -> bool:
    """Whether every outcome of a round leaves the origin as it is."""
    terms = (values for move in system.moves for _, values in move.terms)
    return not any(values[:-1, -1].any() for values in terms)


def _split(
    mean: Array, begun: Array
) -> tuple[list[int], list[int], Array, Array | None]:
    """Return groups, the first of each, their map and its projection on what stays."""
    groups, summed = _alike(mean, begun)
    first = [groups.index(g) for g in range(max(groups) + 1)]
    few = summed[first]
    one = np.eye(len(few), dtype=object) * RATIONAL.convert(1)
    kept, seen = _null(few - one), _null((few - one).T)
    try:
        return groups, first, few, kept @ solve(seen.T @ kept, seen.T)
    except ZeroDivisionError:
        return groups, first, few, None


def _alike(mean: Array, begun: Array) -> tuple[list[int], Array]:
    """Group coordinates that are equal in all rounds; sum the columns of groups."""
    groups = _numbered([(value,) for value in begun])
    while True:
        members = [np.equal(groups, g) for g in range(max(groups) + 1)]
        summed = np.stack([mean[:, m].sum(axis=1) for m in members], axis=1)
        finer = _numbered([(g, *row) for g, row in zip(groups, summed, strict=True)])
        if max(finer) == max(groups):
            return groups, summed
        groups = finer


def _numbered(keys: list[tuple[object, ...]]) -> list[int]:
    """Give every key the number of keys that came before it first."""
    numbers: dict[tuple[object, ...], int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def _null(square: Array) -> Array:
    """Return a basis of the vectors that a matrix sends to 0, as columns."""
    reduced, rank = matrix(square).rref()
    rows = entries(reduced)[:rank]
    pivots = [int(np.flatnonzero(row != 0)[0]) for row in rows]
    free = [k for k in range(len(square)) if k not in pivots]
    out = np.zeros((len(square), len(free)), dtype=object) * RATIONAL.convert(0)
    out[free, range(len(free))] = RATIONAL.convert(1)
    out[pivots] = -rows[:, free]
    return np.asarray(out)
