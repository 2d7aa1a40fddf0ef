"""Numbers for a plan: coefficients per step size, client and eigenvalue.

In the eigenbasis of client i every gradient is s_i * point - b^_i, coordinate by
coordinate, so eliminating the gradients leaves combinations of the pulled server
vectors, the own slots and 1, with coefficients of shape (step sizes, N, d).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from flverify._core.exact import Array, within_floats
from flverify._core.scaling import PerClient
from flverify.engines.forms import ONE, SHARE, Symbol
from flverify.engines.simulate._basis import Basis
from flverify.engines.simulate._draws import Draw
from flverify.engines.simulate._plan import Coefficient, Plan, Terms
from flverify.engines.simulate._step_polynomial import StepPolynomial

CONSTANT: Symbol = ("constant", 1)
CACHE_BYTES = 1 << 28

Row = dict[Symbol, Array]


def value(coefficient: Coefficient, steps: Array) -> Array:
    """Value of a coefficient, shape (step sizes, 1 or N, 1)."""
    if isinstance(coefficient, PerClient):
        each = [value(v, steps) for v in coefficient.values]
        return np.concatenate(each, axis=1)
    if isinstance(coefficient, StepPolynomial):
        return coefficient.at(steps)[:, None, None]
    return np.full((len(steps), 1, 1), within_floats(coefficient))


@dataclass(frozen=True, eq=False)
class Tables:
    """A plan's coefficients at the step sizes of a block.

    Parameters
    ----------
    count : int
        Number of step sizes.
    messages : list of {symbol: (step sizes, N, d) array}
        Combinations that clients send.
    updates : {slot: {symbol: (step sizes, N, d) array}}
        New client slots at participants.
    ratios : list of (step sizes,) arrays
        Factor of each use of a message.
    fixed : {slot: {slot: (step sizes,) array}}
        The server's own combination.
    held : list of (step sizes, N or 1) arrays
        Coefficients of server vectors inside sums over clients.
    """

    count: int
    messages: list[Row]
    updates: dict[str, Row]
    ratios: list[Array]
    fixed: dict[str, dict[str, Array]]
    held: list[Array]


def tabulate(plan: Plan, basis: Basis, steps: Array) -> Tables:
    """Evaluate a plan at given step sizes."""
    gradients: list[Row] = []
    for point in plan.points:
        row = _combined(point, gradients, steps)
        gradient = {symbol: basis.values * part for symbol, part in row.items()}
        gradient[CONSTANT] = gradient.get(CONSTANT, 0) - basis.linear
        gradients.append(gradient)
    shape = (len(steps), *basis.values.shape)

    def table(terms: Terms) -> Row:
        row = _combined(terms, gradients, steps)
        return {s: np.broadcast_to(v, shape).copy() for s, v in row.items()}

    ratios = [
        (value(u.above, steps) / value(u.below, steps))[:, 0, 0] for u in plan.uses
    ]
    return Tables(
        len(steps),
        [table(terms) for terms in plan.messages],
        {slot: table(terms) for slot, terms in plan.updates.items()},
        ratios,
        {
            slot: {name: value(c, steps)[:, 0, 0] for name, c in terms.items()}
            for slot, terms in plan.fixed.items()
        },
        [value(held.coefficient, steps)[:, :, 0] for held in plan.held],
    )


def _combined(terms: Terms, gradients: list[Row], steps: Array) -> Row:
    out: Row = {}
    for symbol, coefficient in terms.items():
        factor = value(coefficient, steps)
        parts: Mapping[Symbol, Array | float] = {symbol: 1.0}
        if symbol[0] == "gradient":
            parts = gradients[symbol[1]]
        for base, part in parts.items():
            out[base] = out.get(base, 0) + factor * part
    return out


def tabulator(plan: Plan, basis: Basis) -> Callable[[tuple[float, ...]], Tables]:
    """Return `tabulate` for step sizes as a tuple, remembering recent answers."""
    outputs = len(plan.messages) + len(plan.updates)
    inputs = 1 + len(plan.server_slots) + len(plan.client_slots)
    size = 8 * basis.values.size * outputs * inputs
    kept = max(2, CACHE_BYTES // max(size, 1))

    @lru_cache(maxsize=kept)
    def at(steps: tuple[float, ...]) -> Tables:
        return tabulate(plan, basis, np.array(steps))

    return at


def feature_weights(draw: Draw, feature: str, coefficients: Array) -> Array:
    """Sum_i feature_i coefficients_i in every row; coefficients (rows or 1, N or 1)."""
    n_clients = len(draw.mask)
    full = np.broadcast_to(coefficients, (len(coefficients), n_clients))
    if feature == ONE:
        return np.broadcast_to(full.sum(axis=1), (draw.n_rows,))
    total = np.einsum("nr,rn->r", draw.mask, np.broadcast_to(full, draw.mask.T.shape))
    return np.asarray(total * draw.shares if feature == SHARE else total)
