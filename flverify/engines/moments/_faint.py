"""Whether a float system may grow along links too weak for floats to follow.

What is reached is told by directions of some size; an entry of 1e-20 leads nowhere
then, and what it leads to may grow all the same. Entries that are not 0 show where it
may; those that are rounding, or that cancel, show more than there is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flverify._core.exact import Array
from flverify.engines.moments._operator import SecondMoments
from flverify.engines.moments._radius import float_radius
from flverify.engines.moments._reduce import means
from flverify.engines.moments._system import System

GROWS = 1e-2  # above 1: less may be rounding of an eigenvalue 1 that is repeated
LARGEST = 400  # order up to which second moments are looked at; of more, means


def may_grow(system: System, followed: int) -> bool:
    """Whether more coordinates than are followed take part, and may grow in a round.

    Followed are the coordinates of a reduced system without its constant.
    """
    if len(set(system.sizes)) > 1:
        return False
    places = _taking_part(system)
    if len(places) <= followed:
        return False
    part = _restricted(system, places)
    operator = SecondMoments(part)
    if operator.offsets[-1] <= LARGEST:
        return float_radius(operator.matrix()) > 1 + GROWS
    return float_radius(means(part).moves[0].mean) > 1 + GROWS


def _taking_part(system: System) -> Array:
    """Coordinates, but the constant, that starts lead to and that lead to the model."""
    links = np.eye(system.sizes[0], dtype=bool)
    for move in system.moves:
        for values in (move.mean, *(a for _, a in move.terms)):
            links = links | (values != 0)
    reached = np.any([part.any(axis=1) for part in system.start], axis=0)
    seen = np.any([part[:-1].any(axis=0) for part in system.readout], axis=0)
    for _ in links:
        reached, seen = links[:, reached].any(axis=1), links[seen].any(axis=0)
    return np.flatnonzero((reached & seen)[:-1])


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
