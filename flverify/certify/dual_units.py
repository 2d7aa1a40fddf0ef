"""Duals, measured in units of the weight that rounds move them by."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flverify._core.exact import Array
from flverify.certify.coordinates import Coordinates


def dual_units(space: Coordinates) -> dict[str, float]:
    """Return the unit of each slot that a weight moves along with the model.

    Rounds move duals by that weight times moves of the model. Where it is far from 1,
    floats see no margin beside the model's, in one of the two units or in the other.
    """
    algorithm, structure = space.reading.algorithm, space.structure
    weights = [float(getattr(algorithm, k)) for k in algorithm.curvature_settings]
    if weights in ([], [1.0]):
        return {}
    remembered = {memory.slot for memory in structure.memories}
    at_gradient = [slot for slot, (_, beta) in structure.equilibrium.items() if beta]
    return {slot: weights[0] for slot in at_gradient if slot not in remembered}


def measured(
    space: Coordinates,
    sizes: Mapping[str, int],
    bases: Mapping[str, Array],
    units: Mapping[str, float],
) -> dict[str, Array]:
    """Return the bases of blocks with slots in units of their own."""
    own = np.array([units.get(name, 1.0) for name in space.own])
    mean = np.array([units.get(name[-1], 1.0) for name in space.z])
    out = {}
    for block, size in sizes.items():
        scale = mean if block.endswith("/mean") else own
        out[block] = bases.get(block, np.eye(size)) * scale[:size]
    return out
