"""Exact expectations of quadratic forms after one round, in mean and deviations.

A vector after the round is X = F z + sum_i phi_i (Z z + O d_i) over clients i and
features phi. E[X' T X] then splits into a form in z and one in the deviations of each
class, and needs the second moments of the features alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from flverify._core.exact import Array
from flverify.certify.classes import Classes
from flverify.certify.coordinates import Coordinates, Row
from flverify.certify.forms import Branch
from flverify.engines.forms import ONE, TAKES_PART, Feature


@dataclass(frozen=True)
class Vectors:
    """k vectors F z + sum_{r, phi} sum_{i in r} phi_i (Z z + O d_i).

    `sure` is F, (k, n_z); `drawn` has (Z, O), (k, n_z) and (k, n_own), per class and
    feature.
    """

    sure: Array
    drawn: Mapping[tuple[int, Feature], tuple[Array, Array]]


@dataclass(frozen=True)
class Forms:
    """Tensors G with E[X_a X_b'] acting as G[a, b] on z and on every class's d."""

    mean: Array
    classes: tuple[Array, ...]

    def __add__(self, other: Forms) -> Forms:
        pairs = zip(self.classes, other.classes, strict=True)
        return Forms(self.mean + other.mean, tuple(a + b for a, b in pairs))

    def __rmul__(self, factor: object) -> Forms:
        return Forms(factor * self.mean, tuple(factor * c for c in self.classes))

    def at(self, a: int, b: int) -> tuple[Array, tuple[Array, ...]]:
        """Blocks of X_a . X_b + X_b . X_a, or of |X_a|^2 when a = b."""
        if a == b:
            return self.mean[a, a], tuple(c[a, a] for c in self.classes)
        both = tuple(c[a, b] + c[b, a] for c in self.classes)
        return self.mean[a, b] + self.mean[b, a], both


def _outer(weight: object, left: Array, right: Array) -> Array:
    """Return weight * left[a, :] right[b, :]' for all a, b."""
    product = left[:, None, :, None] * right[None, :, None, :]
    out: Array = weight * product
    return out


def inner(weight: object, left: Array, right: Array) -> Array:
    """Return weight * left[a, :] . right[b, :] for all a, b: the trace of `_outer`."""
    out: Array = weight * (left @ right.T)
    return out


def expectation(space: Coordinates, vectors: Vectors) -> Array:
    """E X as a matrix on z."""
    total = vectors.sure
    law = space.reading.classes
    for (r, feature), (z, _) in vectors.drawn.items():
        total = total + space.number(space.sizes[r] * law.first(feature, r)) * z
    return total


def second_moments(
    space: Coordinates, vectors: Vectors, times: Callable[..., Array] = _outer
) -> Forms:
    """E X X' as forms in z and in the deviations, the latter per (1/N) sum_i.

    With `inner` for `times` there are their traces alone, at less cost.
    """
    law, sizes, number = space.reading.classes, space.sizes, space.number
    n_own, k = len(space.own), len(vectors.sure)
    total = times(number(1), vectors.sure, vectors.sure)
    nothing = space.zeros(k, n_own)
    parts = [times(number(0), nothing, nothing) for _ in sizes]
    drawn = list(vectors.drawn.items())
    for (r, phi), (z, own) in drawn:
        first = number(sizes[r] * law.first(phi, r))
        total = total + times(first, vectors.sure, z) + times(first, z, vectors.sure)
        for (other, psi), (z2, own2) in drawn:
            apart = law.different(phi, psi, r, other)
            weight = sizes[r] * sizes[other] * apart
            if r == other:
                alone = law.same(phi, psi, r) - apart
                weight += sizes[r] * alone
                share = number(space.n_clients * alone)
                parts[r] = parts[r] + times(share, own, own2)
            total = total + times(number(weight), z, z2)
    return Forms(total, tuple(parts))


def own_moments(space: Coordinates, rows: list[dict[Feature, Row]], r: int) -> Forms:
    """(1/N) sum_{i in r} E c_i c_i' of client vectors, as forms in z and deviations."""
    law, number = space.reading.classes, space.number
    features = sorted({f for row in rows for f in row})
    stacked = {f: _stack(space, [row.get(f) for row in rows], r) for f in features}
    k, n_own = len(rows), len(space.own)
    mean = space.zeros(k, k, len(space.z), len(space.z))
    parts = [space.zeros(k, k, n_own, n_own) for _ in space.sizes]
    for phi, (z, own) in stacked.items():
        for psi, (z2, own2) in stacked.items():
            weight = _same(law, phi, psi, r)
            share = number(weight * Fraction(space.sizes[r], space.n_clients))
            mean = mean + _outer(share, z, z2)
            parts[r] = parts[r] + _outer(number(weight), own, own2)
    return Forms(mean, tuple(parts))


def _same(law: Classes, phi: Feature, psi: Feature, r: int) -> Fraction:
    """E phi_i psi_i, where a feature may also be the constant 1."""
    if phi == ONE and psi == ONE:
        return Fraction(1)
    if ONE in (phi, psi):
        return law.first(psi if phi == ONE else phi, r)
    return law.same(phi, psi, r)


def _stack(space: Coordinates, rows: list[Row | None], r: int) -> tuple[Array, Array]:
    """Stack rows into (Z, O): Z acts on z through the class mean too."""
    found = [row if row is not None else space.nothing() for row in rows]
    own = np.array([row.own for row in found]).reshape(len(found), len(space.own))
    z = np.array([row.z for row in found]).reshape(len(found), len(space.z))
    return z + own @ space.embedding[r], own


def class_mean(space: Coordinates, rows: list[dict[Feature, Row]], r: int) -> Vectors:
    """Take the mean over class r of client vectors after the round."""
    share = space.number(Fraction(1, space.sizes[r]))
    features = sorted({f for row in rows for f in row} - {ONE})
    sure, _ = _stack(space, [row.get(ONE) for row in rows], r)
    drawn: dict[tuple[int, Feature], tuple[Array, Array]] = {}
    for feature in features:
        z, own = _stack(space, [row.get(feature) for row in rows], r)
        drawn[r, feature] = (share * z, share * own)
    return Vectors(sure, drawn)


def server_vectors(space: Coordinates, branch: Branch) -> Vectors:
    """Take the kept server slots after the round."""
    rows = [space.after_server(branch.after[s]) for s in space.server]
    keys = sorted({key for _, drawn in rows for key in drawn})
    sure = np.array([s for s, _ in rows]).reshape(len(rows), len(space.z))
    drawn = {
        (r, feature): _stack(space, [d.get((r, feature)) for _, d in rows], r)
        for r, feature in keys
    }
    return Vectors(sure, drawn)


def stacked(space: Coordinates, parts: list[Vectors]) -> Vectors:
    """One family of vectors after another."""
    keys = sorted({key for part in parts for key in part.drawn})
    drawn = {}
    for key in keys:
        pieces = [
            part.drawn.get(
                key,
                (
                    space.zeros(len(part.sure), len(space.z)),
                    space.zeros(len(part.sure), len(space.own)),
                ),
            )
            for part in parts
        ]
        drawn[key] = (
            np.concatenate([z for z, _ in pieces]),
            np.concatenate([own for _, own in pieces]),
        )
    return Vectors(np.concatenate([part.sure for part in parts]), drawn)


@dataclass(frozen=True)
class Round:
    """Expectations after one round that an ansatz is made of.

    `state` and `first` are E u+ u+' and E u+ over the state coordinates; `spread[r]`
    is (1/N) sum_{i in r} E d_i+ d_i+' over class r's client coordinates.
    """

    state: Forms
    first: Array
    spread: tuple[Forms, ...]
    renewed: tuple[Fraction, ...]


def expected_round(space: Coordinates) -> Round:
    """Take the expectations of one round, branch by branch."""
    branches = space.reading.branches
    parts = [_branch(space, branch) for branch in branches]
    weights = [space.number(branch.chance) for branch in branches]
    terms = list(zip(weights, parts, strict=True))
    state = _total([w * state for w, (state, _, _) in terms])
    first = sum((w * first for w, (_, first, _) in terms[1:]), weights[0] * parts[0][1])
    spread = tuple(
        _total([w * spread[r] for w, (_, _, spread) in terms]) for r in space.classes
    )
    renewed = tuple(_chance_of_renewal(space, r) for r in space.classes)
    return Round(state, first, spread, renewed)


def _total(forms: list[Forms]) -> Forms:
    total = forms[0]
    for more in forms[1:]:
        total = total + more
    return total


def _chance_of_renewal(space: Coordinates, r: int) -> Fraction:
    """Probability that a client of class r takes part."""
    branches, law = space.reading.branches, space.reading.classes
    return sum(
        (
            b.chance
            * (law.first(TAKES_PART, r) if b.everybody is None else b.everybody)
            for b in branches
        ),
        Fraction(0),
    )


def next_state(space: Coordinates, branch: Branch) -> Vectors:
    """Take the state coordinates after the round: server slots, then class means."""
    kept = [c for c in space.client if c not in space.structure.eliminated]
    parts = [server_vectors(space, branch)]
    for r in space.classes:
        rows = [space.after_client(branch, c) for c in kept]
        parts.append(class_mean(space, rows, r))
    return stacked(space, parts)


def _branch(space: Coordinates, branch: Branch) -> tuple[Forms, Array, list[Forms]]:
    after = next_state(space, branch)
    spread = []
    for r in space.classes:
        rows = [space.after_client(branch, c) for c in space.client]
        share = space.number(-Fraction(space.sizes[r], space.n_clients))
        means = second_moments(space, class_mean(space, rows, r))
        spread.append(own_moments(space, rows, r) + share * means)
    return second_moments(space, after), expectation(space, after), spread
