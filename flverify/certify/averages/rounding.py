"""From the least bound of one ansatz to a certificate that the checker accepts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from flverify._core.exact import Array
from flverify.certify.averages.reduction import Reduced
from flverify.certify.certificate import Proof
from flverify.certify.check import Rejected
from flverify.certify.rates import Status
from flverify.certify.search import NO_CERTIFICATE, Problem, written
from flverify.certify.solve import is_infeasible, least, widest_margin

SLACK = (1e-5, 1e-4, 1e-3, 1e-2)  # how far above the least bound to round
DIGITS = (9, 12)


class Rounded(NamedTuple):
    """A certificate, or why there is none."""

    status: Status
    reason: str
    certificate: dict[str, Any] | None = None


def least_certificate(found: Reduced, setting: Problem, rounds: int) -> Rounded:
    """Make C0 + C1 + C2 + c K small, centre a little above that, and round."""
    wanted = objective(found, rounds)
    solution = least(found.programme, wanted)
    if solution.status == "failed":
        if is_infeasible(solution.detail):
            return Rounded("not_certified", NO_CERTIFICATE)
        return Rounded("inconclusive", f"the solver stopped with {solution.detail}")
    smallest = float(wanted @ solution.values)
    room = 2.0 * float(found.programme.normal @ solution.values) + 1.0
    word = "the solver's points were not centred"
    for slack in SLACK:
        bound = smallest * (1 + slack) + slack / 100
        point = _centred(found, wanted, bound, room)
        if point is None:
            continue
        for digits in DIGITS:
            proof = _proof(found, found.exact(point, digits))
            try:
                return Rounded("certified", "", written(proof, setting))
            except Rejected as error:
                word = f"the checker rejects the rounded point: {error}"
    return Rounded("inconclusive", word)


def objective(found: Reduced, rounds: int) -> Array:
    """Return what is made small: V_0, and what every round adds."""
    weights = {("C0",): 1.0, ("C1",): 1.0, ("C2",): 1.0, ("c",): float(rounds)}
    return np.array([weights.get(u, 0.0) for u in found.unknowns])


def _centred(found: Reduced, wanted: Array, bound: float, room: float) -> Array | None:
    programme, size = found.programme, np.abs(wanted).max()
    programme = replace(programme, normal=programme.normal / room)
    pinned = np.concatenate([programme.equalities, wanted[None] / size])
    if np.linalg.matrix_rank(pinned) == len(pinned):  # else the bound is settled
        right = np.append(programme.values, bound / size)
        programme = replace(programme, equalities=pinned, values=right)
    solution = widest_margin(programme)
    if solution.status == "failed" or not solution.margin > 0:
        return None
    return solution.values


def _proof(found: Reduced, values: dict[Any, Fraction]) -> Proof:
    joint = found.joint
    of = joint.of if joint.beta is None else None
    shared = joint.space, joint.level, values, values, joint.rho
    return Proof(*shared, of=of, beta=joint.beta)
