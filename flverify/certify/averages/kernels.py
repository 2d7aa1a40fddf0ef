"""Directions along which forms of an inequality vanish whatever its unknowns are.

With mu <= 0 nothing changes if all points move together and no gradient does: V at a
rate of 1 is the same before and after. Where the f_i need not be convex, no point is
compared with x*; then linear functions that add up to zero may also be added to the
f_i. A positive semidefinite form with a direction n where it is 0 has Q n = 0: these
are equalities, and one coordinate of the form is superfluous.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from flverify._core.exact import Array
from flverify._core.rationals import entries, matrix, to_flint
from flverify.certify.averages.joint import Joint
from flverify.certify.inequality import Unknown

ZERO, ONE = Fraction(0), Fraction(1)


class Moved(NamedTuple):
    """How far a coordinate goes when points move, and when gradients do."""

    q: int | None  # the class of its clients, None for the server
    point: Fraction
    gradient: Fraction
    star: bool = False


def kernel(joint: Joint, block: str) -> list[Array]:
    """Return directions along which a block vanishes."""
    stage, part = block.split("/")
    if joint.mu > 0 or (joint.mu == 0 and block != "decrease/mean"):
        return _stars(joint, stage, part) if stage == "start" else []
    names = _names(joint, stage, part == "mean")
    moved = [_moved(joint, name) for name in names]
    if part == "mean":
        found = [[m.point for m in moved]]
        found += _tilts(joint, moved) if joint.mu < 0 else []
    else:
        found = [[m.gradient for m in moved]]
    known = [np.array(v) for v in found if any(v)]
    return known + (_stars(joint, stage, part) if stage == "start" else [])


def _stars(joint: Joint, stage: str, part: str) -> list[Array]:
    """Return the coordinates g* of a start, which do not occur without C2."""
    if ("C2",) in joint.free:
        return []
    names = _names(joint, stage, part == "mean")
    stars = [k for k, name in enumerate(names) if _moved(joint, name).star]
    return [np.array(_alone(k, len(names))) for k in stars]


def _names(joint: Joint, stage: str, mean: bool) -> list[Any]:
    space = joint.space
    if stage == "start":
        return joint.start.z if mean else list(joint.start.own)
    if stage == "decrease":
        return space.z if mean else list(space.own)
    return space.state if mean else list(space.client)


def _moved(joint: Joint, name: Any) -> Moved:
    rest = joint.space.structure.equilibrium
    if name == "start":
        return Moved(None, ONE, ZERO)
    if isinstance(name, tuple) and name[0] == "server":
        return Moved(None, rest[name[1]][0], ZERO)
    q, own = (name[1], name[2]) if isinstance(name, tuple) else (None, name)
    if own == "star":
        return Moved(q, ZERO, ZERO, star=True)
    if own.startswith("call:"):
        return Moved(q, ZERO, ONE)
    if own.startswith("ghost:"):
        point = own.endswith(".point")
        return Moved(q, Fraction(point), Fraction(not point))
    return Moved(q, *rest[own])


def _tilts(joint: Joint, moved: list[Moved]) -> list[list[Fraction]]:
    """Move the gradients of one class against those of the last."""
    sizes, last = joint.space.sizes, joint.space.classes[-1]
    out = []
    for r in joint.space.classes[:-1]:
        times = {r: Fraction(1, sizes[r]), last: -Fraction(1, sizes[last])}
        shares = [ZERO if m.q is None else times.get(m.q, ZERO) for m in moved]
        pairs = zip(shares, moved, strict=True)
        out.append([share * m.gradient for share, m in pairs])
    return out


def _alone(place: int, size: int) -> list[Fraction]:
    return [Fraction(k == place) for k in range(size)]


def reduced(joint: Joint) -> dict[str, list[int]]:
    """Add the equalities Q n = 0; return which coordinates of every block are kept."""
    kept = {}
    for block, constant in joint.constants.items():
        directions = kernel(joint, block)
        for i, direction in enumerate(directions):
            _require_zero(joint, block, direction, f"kernel/{block}/{i}")
        gone = _pivots(directions)
        kept[block] = [k for k in range(len(constant)) if k not in gone]
    _drop_zeros(joint)
    return kept


def _require_zero(joint: Joint, block: str, n: Array, name: str) -> None:
    there = np.flatnonzero(n)  # few, and products of Fractions are slow
    images = joint.coefficients[block][:, :, there] @ n[there]
    fixed = joint.constants[block][:, there] @ n[there]
    for k in range(len(n)):
        joint.rows[f"{name}/{k}"] = _row(joint, images[:, k])
        joint.right[f"{name}/{k}"] = -fixed[k]
    joint.rows[f"{name}/twice"] = _row(joint, images @ n)
    twice: Fraction = np.dot(-fixed, n)
    joint.right[f"{name}/twice"] = twice


def _row(joint: Joint, values: Array) -> dict[Unknown, Fraction]:
    return {u: v for u, v in zip(joint.unknowns, values, strict=True) if v}


def _pivots(directions: list[Array]) -> set[int]:
    if not directions:
        return set()
    found, rank = matrix(to_flint(np.array(directions))).rref()
    rows = entries(found)[:rank]
    return {next(k for k, v in enumerate(row) if v != 0) for row in rows}


def _drop_zeros(joint: Joint) -> None:
    """Drop unknowns that rows keep at zero: one alone, or signed ones of one sign."""
    before = None
    while before != len(joint.free):
        before = len(joint.free)
        for name, row in joint.rows.items():
            live = {u: v for u, v in row.items() if u in joint.free and v}
            signs = {v > 0 for v in live.values()}
            alike = len(signs) == 1 and all(joint.signed[u] for u in live)
            if joint.right.get(name, ZERO) == 0 and (alike or len(live) == 1):
                joint.drop(live)
