"""Where the means of listed rounds end, in rationals: those of ProxSkip, by its coin.

With a rare coin or a tiny step a round moves means by less than floats hold of them.
Coordinates that are equal in all rounds are taken together, so that few are left.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from flverify._core.errors import Refusal, RefusedError
from flverify._core.exact import Array, objects
from flverify._core.rationals import entries, matrix, nearest_floats, solve
from flverify.engines.arithmetic import RATIONAL
from flverify.engines.moments._radius import exact_radius
from flverify.engines.moments._system import build
from flverify.explore.instance import START, rational
from flverify.explore.view import View


@lru_cache(maxsize=64)
def at_rest(view: View) -> tuple[Array, Array] | None:
    """Return the limit of the means, and the covariance that a round adds there.

    Shapes (n,) and (n, n), in floats; None where the means do not settle.

    Raises
    ------
    RefusedError
        If moments refuse the setting.

    Examples
    --------
    >>> view = View("proxskip", 2, "all_or_nothing", "1/1000000", local_steps=1)
    >>> state, noise = at_rest(view)
    >>> float(state[0]), bool(noise.any())
    (0.0, False)
    """
    law = view.participation()
    found = build(rational(view), view.algorithm_object(), law, RATIONAL)
    if isinstance(found, Refusal):
        raise RefusedError(str(found))
    (move,) = found.moves
    begun = found.start[0] @ RATIONAL.array(objects([START, 1]))
    state = limit(move.mean, begun)
    if state is None:
        return None
    moved = [(float(w), nearest_floats(a @ state - state)) for w, a in move.terms]
    noise = np.sum([w * np.outer(v, v) for w, v in moved], axis=0)
    return nearest_floats(state), np.asarray(noise)


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
    >>> halved, turned = (RATIONAL.array(np.array([[m]])) for m in ("1/2", "-1"))
    >>> begun = RATIONAL.array(objects([3]))
    >>> limit(halved, begun), limit(turned, begun)
    (array([0], dtype=object), None)
    """
    groups, summed = _alike(mean, begun)
    first = [groups.index(g) for g in range(max(groups) + 1)]
    few = summed[first]
    one = np.eye(len(few), dtype=object) * RATIONAL.convert(1)
    kept, seen = _null(few - one), _null((few - one).T)
    try:
        stays = kept @ solve(seen.T @ kept, seen.T)
    except ZeroDivisionError:  # means grow in proportion to the rounds
        return None
    if not exact_radius(few - stays)[1] < 1:
        return None
    return np.asarray((stays @ begun[first])[groups])


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
