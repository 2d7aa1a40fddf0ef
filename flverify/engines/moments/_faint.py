"""Whether a float system may grow along links too weak for floats to follow.

What is reached is told by directions of some size; an entry of 1e-20 leads nowhere
then, and what it leads to may grow all the same. Entries that are not 0 show where it
may: where they lead to more than strong ones do, and that may grow, nothing is told.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flverify._core.exact import Array
from flverify.engines.moments._operator import SecondMoments
from flverify.engines.moments._radius import float_radius
from flverify.engines.moments._reduce import means
from flverify.engines.moments._system import System
from flverify.engines.moments._thin import Thin
from flverify.engines.moments._units import units_beside

FAINT = 1e-13  # of the largest entry: weaker ones may not be followed
GROWS = 1e-2  # above 1: less may be rounding of an eigenvalue 1 that is repeated
LARGEST = 400  # order up to which second moments are looked at; of more, means
LONG = 256  # rounds after which what grows by powers of r grows by less a round


def may_grow(system: System, followed: int) -> bool:
    """Whether more coordinates than are followed take part, and may grow in a round.

    Followed are the coordinates of a reduced system without its constant; the system
    is measured in units that balance it.
    """
    if len(set(system.sizes)) > 1:
        return False
    places = _taking_part(system, 0.0)
    if len(places) <= max(followed, len(_taking_part(system, FAINT))):
        return False
    part = _restricted(system, places)
    operator = SecondMoments(part)
    if operator.offsets[-1] <= LARGEST:
        return float_radius(operator.matrix()) > 1 + GROWS
    return float_radius(means(part).moves[0].mean) > 1 + GROWS


def _taking_part(system: System, least: float) -> Array:
    """Coordinates, but the constant, that starts lead to and that lead to the model."""
    links = np.zeros((system.sizes[0],) * 2, dtype=bool)
    reached, seen = links[0], links[0]
    for move in system.moves:
        for values in (move.mean, *(a for _, a in move.terms)):
            links = links | _entries(values, least)
    for start, readout in zip(system.start, system.readout, strict=True):
        reached = reached | _entries(start, least).any(axis=1)
        seen = seen | _entries(readout[:-1], least).any(axis=0)
    return np.flatnonzero((_led_to(links, reached) & _led_to(links.T, seen))[:-1])


def _entries(values: Array, least: float) -> Array:
    """Say which entries exceed a share of the largest; constants, of theirs."""
    sizes = np.abs(values)
    most = np.full(values.shape[1], sizes[:, :-1].max(initial=0.0))
    most[-1:] = sizes[:, -1:].max(initial=0.0)
    return np.asarray(sizes > least * most)


def _led_to(links: Array, begun: Array) -> Array:
    """Coordinates that some are led to; column j holds what coordinate j leads to."""
    found, more = begun, np.asarray(begun | links[:, begun].any(axis=1))
    while (more & ~found).any():
        found, more = more, np.asarray(more | links[:, more].any(axis=1))
    return more


def large_growth(whole: Thin, seeds: Array, followed: int) -> tuple[float, float]:
    """By what a large system may grow in a round where it is not followed; 0 if none.

    In the mean, and in mean square: there single coordinates are looked at. Seeds have
    what starts, or constants, move.
    """
    units = units_beside(whole.sizes(), whole.start, whole.seen)
    whole, seeds = whole.scaled(units), seeds / units[:, None]
    places = _large_part(whole, seeds, 0.0)
    if len(places) <= max(followed, len(_large_part(whole, seeds, FAINT))):
        return 0.0, 0.0
    turned = (whole.rows * whole.columns.T)[places]
    alone = np.diag(whole.mean)[places] ** 2
    alone = alone + ((turned @ whole.weight) * turned).sum(axis=1)
    mean = _pace(whole.mean[np.ix_(places, places)])
    square = max(float(alone.max()), mean**2)
    return mean * (mean > 1 + GROWS), square * (square > 1 + GROWS)


def _large_part(whole: Thin, seeds: Array, least: float) -> Array:
    """Coordinates that seeds lead to and that lead to the model."""
    spoken = (_strong(one, least).astype(float) for one in (whole.rows, whole.columns))
    links = _strong(whole.mean, least) | (np.matmul(*spoken) > 0)
    begun = _strong(seeds / np.maximum(np.abs(seeds).max(axis=0), 1e-300), least)
    first, last = begun.any(axis=1), _strong(whole.seen, least).any(axis=0)
    places = _led_to(links, np.asarray(first)) & _led_to(links.T, np.asarray(last))
    return np.flatnonzero(places)


def _strong(values: Array, least: float) -> Array:
    sizes = np.abs(values)
    return np.asarray(sizes > least * sizes.max(initial=0.0))


def _pace(mean: Array) -> float:
    """By what most vectors grow in a round, late."""
    state, grown = np.random.default_rng(0).standard_normal(len(mean)), 0.0
    for r in range(2 * LONG):
        state = mean @ state
        size = float(np.linalg.norm(state))
        if not size > 0:
            return 0.0
        state, grown = state / size, grown + (float(np.log(size)) if r >= LONG else 0.0)
    return float(np.exp(grown / LONG))


def _restricted(system: System, places: Array) -> System:
    """Take these coordinates alone."""
    block = np.ix_(places, places)
    moves = tuple(
        replace(
            move,
            mean=move.mean[block],
            terms=tuple((w, a[block]) for w, a in move.terms),
        )
        for move in system.moves
    )
    start = tuple(part[places] for part in system.start)
    readout = tuple(part[:, places] for part in system.readout)
    return replace(system, moves=moves, start=start, readout=readout)
