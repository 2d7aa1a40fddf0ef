"""A state that no round moves and whose model is x*: in floats, up to rounding.

Where there is one, x_r - x* is a linear function of the distance to it, and the
constant of the homogeneous state is not needed any more. That matters in floats, where
the eigenvalue 1 of the constant leaks into a reduced system: an unbiased method would
look biased. Every equation is judged against its own terms, so units do not matter.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from flverify._core.exact import Array
from flverify.engines.moments._messages import MessageSystem
from flverify.engines.moments._system import System

SETTLED = 1e-9  # of its terms: how far an equation may be off
VANISHED = 1e-13  # the same of the largest number of the state
ROUNDING = 1e-14  # the same for the entries of a map themselves


def common_fixed_state(system: System, optimum: Array) -> Array | None:
    """Return the homogeneous state (z, 1) that every map of every mode keeps.

    A map A, with the last entry a of its last row, keeps it if A z = a z: a is 1 for a
    mean or an outcome and 0 for a deviation.
    """
    maps = list(_maps(system))
    readout = system.readout[0][:-1]
    fixed = np.concatenate([a - a[-1, -1] * np.eye(len(a)) for a in maps])
    rows = np.concatenate([readout, fixed])
    right = np.concatenate([optimum, np.zeros(len(fixed))]) - rows[:, -1]
    weight = np.abs(rows[:, :-1]).sum(axis=1) + np.abs(right)
    used = weight > ROUNDING
    scaled = rows[used, :-1] / weight[used, None]
    found = np.linalg.lstsq(scaled, right[used] / weight[used], rcond=None)[0]
    state = np.append(found, 1.0)
    if np.abs(readout @ state - optimum).max() > SETTLED:
        return None  # the state is measured in units of the problem
    return state if all(_keeps(a, state) for a in maps) else None


def _maps(system: System) -> Iterator[Array]:
    for move in system.moves:
        yield move.mean
        for weight, matrix in move.terms:
            yield np.sqrt(weight) * matrix


def _keeps(matrix: Array, state: Array) -> bool:
    moved = matrix - matrix[-1, -1] * np.eye(len(matrix))
    entries = np.abs(matrix) @ np.abs(state) + np.abs(state)
    allowed = _allowed(moved, state) + ROUNDING * entries
    return bool((np.abs(moved @ state) <= allowed).all())


def _allowed(rows: Array, state: Array) -> Array:
    """How far equations may be off; where all terms vanish, by rounding of others."""
    sizes = np.abs(rows)
    others = sizes.sum(axis=1) * np.abs(state).max()
    return np.asarray(SETTLED * (sizes @ np.abs(state)) + VANISHED * others)


def keeps_still(
    system: MessageSystem, state: Array, optimum: Array, size: float
) -> bool:
    """Whether the fixed state of the mean has the model x*, and sends no noise."""
    model = state[system.layout.places["server", "model", -1]]
    if np.abs(model - optimum).max() > SETTLED * size:
        return False
    columns = system.columns
    return bool((np.abs(columns @ state) <= _allowed(columns, state)).all())
