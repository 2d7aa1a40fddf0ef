"""From the joint inequality to a programme in floats, and from floats to rationals.

Unknowns that the equalities keep at zero are left out first, since nothing is strictly
positive there; what the solver finds is rounded, and brought back exactly to where all
equalities hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from flverify._core.exact import Array
from flverify._core.rationals import entries, matrix, to_flint, to_fraction
from flverify.certify.averages.joint import Joint
from flverify.certify.averages.kernels import reduced
from flverify.certify.inequality import Unknown
from flverify.certify.solve import Block, Programme

ZERO = Fraction(0)


@dataclass(frozen=True)
class Reduced:
    """A programme, its unknowns, and its equalities as (A, b) in rationals."""

    joint: Joint
    unknowns: list[Unknown]
    programme: Programme
    equalities: Array

    def exact(self, found: Array, digits: int) -> dict[Unknown, Fraction]:
        """Round to multiples of 10^-digits, and solve the equalities for the rest.

        Solved for are unknowns that have no sign, then the largest ones.
        """
        signed = self.joint.signed
        order = sorted(
            range(len(self.unknowns)),
            key=lambda k: (signed[self.unknowns[k]], -abs(found[k])),
        )
        rows, rank = matrix(to_flint(self.equalities[:, [*order, len(order)]])).rref()
        values = [_rounded(found[k], digits, signed[self.unknowns[k]]) for k in order]
        solved = [[to_fraction(v) for v in row] for row in entries(rows)[:rank]]
        pivots = [next(k for k, v in enumerate(row) if v) for row in solved]
        rest = [k for k in range(len(order)) if k not in set(pivots)]
        for pivot, row in zip(pivots, solved, strict=True):
            values[pivot] = row[-1] - sum((row[k] * values[k] for k in rest), ZERO)
        point = dict.fromkeys(self.joint.unknowns, ZERO)
        return point | {self.unknowns[k]: v for k, v in zip(order, values, strict=True)}


def _rounded(value: float, digits: int, signed: bool) -> Fraction:
    found = Fraction(round(float(value) * 10**digits), 10**digits)
    return max(found, ZERO) if signed else found


def reduce(joint: Joint) -> Reduced | None:
    """Lay out the programme; None if the equalities alone cannot be met."""
    kept = reduced(joint)
    if not _drop_forced(joint):
        return None
    unknowns = [u for u in joint.unknowns if u in joint.free]
    places = [joint.place[u] for u in unknowns]
    equalities = _equalities(joint, unknowns)
    if equalities is None:
        return None
    blocks = []
    normal = np.array([float(joint.signed[u]) for u in unknowns])
    for name, keep in kept.items():
        if not keep:
            continue
        constant = joint.constants[name][np.ix_(keep, keep)].astype(float)
        parts = joint.coefficients[name][np.ix_(places, keep, keep)].astype(float)
        blocks.append(Block(constant, parts))
        if name.startswith("positivity"):
            normal = normal + np.trace(parts, axis1=1, axis2=2)
    table = equalities.astype(float)
    table = table / np.abs(table[:, :-1]).max(axis=1, keepdims=True)
    signs = np.array([joint.signed[u] for u in unknowns])
    programme = Programme(tuple(blocks), signs, table[:, :-1], table[:, -1], normal)
    return Reduced(joint, unknowns, programme, equalities)


def _equalities(joint: Joint, unknowns: list[Unknown]) -> Array | None:
    """Return independent rows (a, b) of a @ y = b; None if they contradict."""
    rows = []
    for name, row in joint.rows.items():
        right = joint.right.get(name, ZERO)
        rows.append([*(row.get(u, ZERO) for u in unknowns), right])
    found, rank = matrix(to_flint(np.array(rows))).rref()
    table = np.array([[to_fraction(v) for v in row] for row in entries(found)[:rank]])
    if rank and not any(table[-1][:-1]):
        return None
    return table


def _drop_forced(joint: Joint) -> bool:
    """Drop signed unknowns that no solution of the equalities has above zero.

    Maximised is the number of unknowns that can be positive together, each counted up
    to 1, over all multiples of solutions. To drop too many is never wrong.
    """
    names = [u for u in joint.unknowns if u in joint.free]
    place = {u: k for k, u in enumerate(names)}
    signed = [k for k, u in enumerate(names) if joint.signed[u]]
    n, m = len(names), len(signed)
    rows = []
    for name, row in joint.rows.items():
        values = np.zeros(n + m + 1)
        for u, x in row.items():
            if u in place:
                values[place[u]] = float(x)
        values[-1] = -float(joint.right.get(name, ZERO))
        if values.any():
            rows.append(values / np.abs(values).max())
    below = np.zeros((m, n + m + 1))
    below[range(m), signed], below[range(m), range(n, n + m)] = -1.0, 1.0
    free = [(0.0 if joint.signed[u] else None, None) for u in names]
    found = linprog(
        np.concatenate([np.zeros(n), -np.ones(m), [0.0]]),
        A_ub=below,
        b_ub=np.zeros(m),
        A_eq=np.array(rows).reshape(len(rows), n + m + 1),
        b_eq=np.zeros(len(rows)),
        bounds=[*free, *[(0.0, 1.0)] * m, (1.0, None)],
    )
    if found.status != 0:
        return False
    joint.drop(names[k] for j, k in enumerate(signed) if found.x[n + j] < 0.5)
    return True
