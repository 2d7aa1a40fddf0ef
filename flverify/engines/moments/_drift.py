"""What a round changes in the mean, Mbar - 1, with every number rounded once.

A tiny step moves a state by little beside itself: of Mbar in floats that little has
few digits left, and a fixed point made of it is wrong by as many.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flverify._core.exact import Array
from flverify.engines.arithmetic import NEAREST
from flverify.engines.conserved import redundant
from flverify.engines.forms import SHARE, TAKES_PART
from flverify.engines.lower import (
    ALWAYS,
    CONSTANT,
    Block,
    Draw,
    Layout,
    Lowering,
    lower,
)
from flverify.engines.trace import exact_twin, trace


def drift(problem: Any, algorithm: Any, participation: Any) -> Array:
    """Return Mbar - 1 without redundant slots, the constant in its last column.

    Examples
    --------
    >>> from flverify.algorithms import GradientDescent
    >>> from flverify.participation import Full
    >>> from flverify.problems import Quadratics
    >>> one = Quadratics([[[1.0]]], [[2.0]])
    >>> drift(one, GradientDescent(2.0**-60), Full(1)) * 2.0**60
    array([[-1.,  2.]])
    """
    twin, n_clients = exact_twin(algorithm), problem.n_clients
    data = NEAREST.array(problem.hessians), NEAREST.array(problem.linear)
    traced = trace(twin, n_clients)
    layout = Layout(traced.server_slots, traced.client_slots, n_clients, problem.dim)
    lowering = Lowering(*data, traced.points, NEAREST.convert)
    rows = lower(traced.after, layout, lowering)
    weights = _weights(participation, {draw for draw, _ in rows})
    total = {(block, block): -lowering.identity for block in layout.blocks}
    for (draw, block), row in rows.items():
        for column, part in row.items():
            key, value = (block, column), weights[draw] * part
            total[key] = total[key] + value if key in total else value
    return _eliminated(total, layout, redundant(twin, n_clients))


def _weights(participation: Any, draws: set[Draw]) -> Mapping[Draw, Any]:
    """Means of the features, as the rationals that they are."""
    of = {TAKES_PART: participation.inclusion, SHARE: participation.averaging_weights}
    means = {kind: NEAREST.array(of[kind]()) for kind in {k for k, _ in draws} & {*of}}
    known = {draw: means[draw[0]][draw[1]] for draw in draws if draw != ALWAYS}
    return {ALWAYS: NEAREST.convert(1), **known}


def _eliminated(
    total: Mapping[tuple[Block, Block], Array],
    layout: Layout,
    gone: Mapping[str, Mapping[str, Any]],
) -> Array:
    """Write blocks in floats, redundant slots by the sums that they are."""
    places, kept = layout.places, np.ones(layout.size, dtype=bool)
    out = np.zeros((layout.size, layout.size))
    for (row, column), part in total.items():
        out[places[row], places[column]] = part.astype(np.float64)
    for slot, shares in gone.items():
        place = places["server", slot, -1]
        for other, share in shares.items():
            for i in range(layout.n_clients):
                out[:, places["client", other, i]] += float(share) * out[:, place]
        kept[place] = False
    rows = kept.copy()
    rows[places[CONSTANT]] = False
    return np.asarray(out[np.ix_(rows, kept)])
