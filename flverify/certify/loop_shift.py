"""Coordinates in which an inequality is well scaled although mu is close to L.

Loop shifting: f = (mu/2) |x|^2 + h with a convex (L - mu)-smooth h, so a gradient is
g = mu x + sqrt(L - mu) s with an s that is not larger than sqrt(L - mu) |x|. In s the
matrices of multipliers are of size 1, in g of size L/(L - mu). What is positive
semidefinite in one is so in the other, and the unknowns are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np

from flverify._core.exact import Array
from flverify.certify.coordinates import Coordinates


def shifted(
    space: Coordinates, mu: float, sizes: Mapping[str, int]
) -> dict[str, Array]:
    """Return B of every block, with (vectors as they are) = B @ (vectors with s).

    Parameters
    ----------
    space : Coordinates
        In floats, at smoothness 1.
    mu : float
    sizes : mapping
        The blocks of the ansatz, and how many coordinates each has.
    """
    ghosts = range(len(space.structure.ghosts))
    known = [(f"ghost:{j}.gradient", space.ghost(j)[0]) for j in ghosts]
    calls = range(len(space.reading.points))
    known += [(f"call:{k}", space.point(k)) for k in calls]
    own, mean = np.eye(len(space.own)), np.eye(len(space.z))
    for name, x in known:  # a point needs gradients that stand before it
        _shift(own, space.own.index(name), x.own, mu)
        for r in space.classes:
            place = space.z.index(("client", r, name))
            _shift(mean, place, space.settled(x, r).z, mu)
    whole = {block: mean if block.endswith("/mean") else own for block in sizes}
    return {block: whole[block][:size, :size] for block, size in sizes.items()}


def _shift(basis: Array, gradient: int, x: Array, mu: float) -> None:
    row = mu * (x @ basis)
    row[gradient] += sqrt(1 - mu)
    basis[gradient] = row
