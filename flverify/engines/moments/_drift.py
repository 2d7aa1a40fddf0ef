"""What a round changes in the mean, Mbar - 1, to the digits of floats.

A tiny step moves a state by little beside itself: of Mbar in floats that little has
few digits left, and a fixed point made of it is wrong by as many. So it is read in
rationals; of many coordinates, whose products would take minutes, the multiples of the
identity alone: they cancel before anything is rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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

FEW = 8  # coordinates up to which all of it is read in rationals
NONE = NEAREST.convert(0)


@dataclass(frozen=True)
class _Beside:
    """A multiple of the identity, rational, and the rest of a block in floats."""

    share: Any
    rest: Array
    __array_ufunc__ = None

    def __add__(self, other: _Beside) -> _Beside:
        return _Beside(self.share + other.share, self.rest + other.rest)

    def __rmul__(self, factor: Any) -> _Beside:
        return _Beside(factor * self.share, float(factor) * self.rest)

    def __sub__(self, other: _Beside) -> _Beside:
        return self + -1 * other

    def __rsub__(self, nothing: int) -> _Beside:  # a point without a constant
        return -1 * self

    def __rmatmul__(self, hessian: Array) -> _Beside:
        moved = hessian @ self.rest
        return _Beside(
            NONE, moved + float(self.share) * hessian if self.share else moved
        )

    def astype(self, kind: type) -> Array:
        """Round the multiple, and put it beside the rest."""
        whole = float(self.share) * np.eye(*self.rest.shape) if self.share else 0.0
        return np.asarray(self.rest + whole, dtype=kind)


class _Apart(Lowering):
    """Blocks whose multiples of the identity are kept apart."""

    def __init__(self, problem: Any, points: Any) -> None:
        plain = problem.as_float()
        super().__init__(plain.hessians, plain.linear, points, NEAREST.convert)
        self.identity: Any = _Beside(NEAREST.convert(1), np.zeros_like(self.identity))

    def column(self, client: int) -> _Beside:
        """b_i, no multiple of the identity."""
        return _Beside(NONE, super().column(client))


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
    traced = trace(twin, n_clients)
    layout = Layout(traced.server_slots, traced.client_slots, n_clients, problem.dim)
    lowering = _lowering(problem, traced.points)
    rows = lower(traced.after, layout, lowering)
    weights = _weights(participation, {draw for draw, _ in rows})
    total = {(block, block): -1 * lowering.identity for block in layout.blocks}
    for (draw, block), row in rows.items():
        for column, part in row.items():
            key, value = (block, column), weights[draw] * part
            total[key] = total[key] + value if key in total else value
    return _eliminated(total, layout, redundant(twin, n_clients))


def _lowering(problem: Any, points: Any) -> Lowering:
    if problem.dim > FEW:
        return _Apart(problem, points)
    data = NEAREST.array(problem.hessians), NEAREST.array(problem.linear)
    return Lowering(*data, points, NEAREST.convert)


def _weights(participation: Any, draws: set[Draw]) -> Mapping[Draw, Any]:
    """Means of the features, as the rationals that they are."""
    of = {TAKES_PART: participation.inclusion, SHARE: participation.averaging_weights}
    means = {kind: NEAREST.array(of[kind]()) for kind in {k for k, _ in draws} & {*of}}
    known = {draw: means[draw[0]][draw[1]] for draw in draws if draw != ALWAYS}
    return {ALWAYS: NEAREST.convert(1), **known}


def _eliminated(
    total: Mapping[tuple[Block, Block], Any],
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
