"""The linear map of second moments of a round on quadratics.

M = E u u' over the kept coordinates and D_r = (1/n_r) sum_{i in r} E d_i d_i' are all
that second moments of exchangeable clients can be, since within a group E d_i d_j' =
-D_r/(n_r - 1). The next ones are linear in them; averaging over exchangeable clients
keeps the cone, so the map's spectral radius is that of all second moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from flverify._core.exact import Array
from flverify.certify.classes import Classes
from flverify.certify.coordinates import Structure
from flverify.certify.forms import Branch, Reading
from flverify.certify.quadratics.rows import Batch, Rows
from flverify.engines.forms import ONE, Feature

NEGLIGIBLE = 1e-26  # relative: below, a float coupling is none; it is a square


@dataclass(frozen=True)
class Parts:
    """A round's map between M (k x k) and the D_r (c x c), on upper triangles.

    `mean` is M to M, `seen[r]` D_r to M, `excited[r]` M to D_r, `kept[r]` D_r to D_r.
    """

    mean: Array
    seen: list[Array]
    excited: list[Array]
    kept: list[Array]

    def __add__(self, other: Parts) -> Parts:
        return Parts(
            self.mean + other.mean,
            [a + b for a, b in zip(self.seen, other.seen, strict=True)],
            [a + b for a, b in zip(self.excited, other.excited, strict=True)],
            [a + b for a, b in zip(self.kept, other.kept, strict=True)],
        )


def moment_matrix(
    reading: Reading,
    structure: Structure,
    batch: Batch,
    unseen: frozenset[str] = frozenset(),
) -> Array:
    """Matrices of the maps on (M, D_0, ..., D_{R-1}), shape (B, n, n).

    What cannot be is left out as zero rows and columns: means of empty groups, and
    deviations in groups of one, or that no draw makes, or that no server vector sees;
    and slots that are `unseen` by the model.
    """
    rows = Rows(reading, structure, batch)
    # whoever asks for a rate beyond the range of floats looks at what comes out
    with np.errstate(over="ignore", invalid="ignore"):
        parts = [_branch(rows, branch) for branch in reading.branches]
        total = sum(parts[1:], start=parts[0])
    alive = [_alive(total, batch, r) for r in rows.groups]
    state, own = pairs(rows.size), pairs(len(rows.slots))
    kept = [slot not in unseen for _, slot in rows.coordinates]
    masks = [_nonempty(rows, state) & _both(kept, state)]
    kept = [slot not in unseen for slot in rows.slots]
    masks += [a[:, None] & _both(kept, own) for a in alive]
    mask = np.concatenate(masks, axis=1)
    size, first = mask.shape[1], len(state)
    out = batch.zeros(size, size)
    out[:, :first, :first] = total.mean
    for r in rows.groups:
        place = slice(first + r * len(own), first + (r + 1) * len(own))
        out[:, :first, place] = total.seen[r]
        out[:, place, :first] = total.excited[r]
        out[:, place, place] = total.kept[r]
    out[~(mask[:, :, None] & mask[:, None, :])] = batch.number(0)
    return out


def pairs(size: int) -> list[tuple[int, int]]:
    """Places of an upper triangle, in the order of the maps."""
    return [(i, j) for i in range(size) for j in range(i, size)]


def _both(kept: list[bool], places: list[tuple[int, int]]) -> Array:
    """Which entries meet kept coordinates alone."""
    return np.array([kept[i] and kept[j] for i, j in places], dtype=bool)


def _nonempty(rows: Rows, places: list[tuple[int, int]]) -> Array:
    """Which entries of M do not meet an empty group's mean."""
    there = np.ones((len(rows.batch.clients), rows.size), dtype=bool)
    for k, (where, _) in enumerate(rows.coordinates):
        if where != "server":
            there[:, k] = rows.batch.clients[:, where] > 0
    first, second = np.array(places, dtype=int).reshape(-1, 2).T
    return np.asarray(there[:, first] & there[:, second])


def _alive(parts: Parts, batch: Batch, r: int) -> Array:
    def couples(table: Array) -> Array:
        if batch.exact:
            return np.asarray((table != 0).any(axis=(1, 2)), dtype=bool)
        scale = np.abs(parts.mean).max(axis=(1, 2), initial=0.0)
        largest = np.abs(table).max(axis=(1, 2), initial=0.0)
        return np.asarray(largest > NEGLIGIBLE * scale)

    several = batch.clients[:, r] > 1
    return several & couples(parts.seen[r]) & couples(parts.excited[r])


def _branch(rows: Rows, branch: Branch) -> Parts:
    """Second moments after one branch, times its chance."""
    state, clients = rows.after(branch)
    used = {f for _, drawn in state for _, f in drawn}
    used |= {f for group in clients for row in group for f in row}
    features = sorted(used - {ONE})
    law = _Law(rows.reading.classes, rows.batch, [ONE, *features])
    chance, k = rows.batch.number(branch.chance), rows.size
    keys = [(r, f) for r in rows.groups for f in features]
    empty = rows.batch.zeros(rows.width)
    vectors = [_stack([sure for sure, _ in state], rows)]
    vectors += [_stack([d.get(key, empty) for _, d in state], rows) for key in keys]
    stacked = np.stack(vectors, axis=1)  # (B, 1 + R f, k, width)
    mean = _on_triangles(stacked[..., :k], chance * law.together())
    seen, excited, kept = [], [], []
    for r in rows.groups:
        drawn = [stacked[:, 1 + keys.index((r, f)), :, k:] for f in features]
        alone, between, within = (chance * w for w in law.of_group(r))
        seen.append(_on_triangles(_several(drawn, rows, k), alone))
        own = [
            _stack([row.get(f, empty) for row in clients[r]], rows)
            for f in (ONE, *features)
        ]
        table = np.stack(own, axis=1)  # (B, 1 + f, c, width)
        excited.append(_on_triangles(table[..., :k], between))
        kept.append(_on_triangles(table[..., k:], within))
    return Parts(mean, seen, excited, kept)


def _stack(found: list[Array], rows: Rows) -> Array:
    return np.stack(found, axis=1) if found else rows.batch.zeros(0, rows.width)


def _several(found: list[Array], rows: Rows, k: int) -> Array:
    if found:
        return np.stack(found, axis=1)
    return rows.batch.zeros(0, k, rows.width - k)


def _on_triangles(vectors: Array, weights: Array) -> Array:
    """Matrix of M -> sum_ab w_ab X_a M X_b' on upper triangles.

    `vectors` X has shape (B, A, p, q) and `weights` (B, A, A).
    """
    count, many, p, q = vectors.shape
    flat = vectors.reshape(count, many, p * q)
    table = np.matmul(flat.transpose(0, 2, 1), np.matmul(weights, flat))
    table = table.reshape(count, p, q, p, q).transpose(0, 1, 3, 2, 4)
    if not many:  # an empty sum of rationals would come back as the integer 0
        table = table + weights.sum(axis=(1, 2)).reshape(-1, 1, 1, 1, 1)
    above, beside, _ = _triangle(p)
    upper = table[:, above, beside]
    low, high, equal = _triangle(q)
    flipped = upper[:, :, high, low]
    flipped[:, :, equal] = 0  # the diagonal counts once
    return np.asarray(upper[:, :, low, high] + flipped)


@cache  # a search asks for thousands of maps of one size
def _triangle(size: int) -> tuple[Array, Array, Array]:
    """Rows and columns of an upper triangle, and which places are on the diagonal."""
    rows, columns = np.triu_indices(size)
    return rows, columns, np.flatnonzero(rows == columns)


class _Law:
    """Second moments of (1, sum over a group of phi_i), and what groups need."""

    def __init__(self, classes: Classes, batch: Batch, features: list[Feature]) -> None:
        self.classes, self.batch, self.features = classes, batch, features
        self.drawn = features[1:]

    def together(self) -> Array:
        """E psi psi' of (1, sum_{i in r} phi_i for every group and feature)."""
        groups = range(len(self.batch.law_classes))
        keys = [(r, f) for r in groups for f in self.drawn]
        out = self.batch.zeros(1 + len(keys), 1 + len(keys))
        out[:, 0, 0] = self.batch.number(1)
        counts = self.batch.number(self.batch.clients)
        for a, (r, phi) in enumerate(keys, 1):
            first = self.classes.first(phi, self.batch.law_classes[r])
            out[:, 0, a] = out[:, a, 0] = counts[:, r] * self.batch.number(first)
            for b, (other, psi) in enumerate(keys, 1):
                apart = self.batch.number(self._apart(phi, psi, r, other))
                out[:, a, b] = counts[:, r] * counts[:, other] * apart
                if r == other:
                    alone = self.batch.number(self._alone(phi, psi, r))
                    out[:, a, b] = out[:, a, b] + counts[:, r] * alone
        return out

    def of_group(self, r: int) -> tuple[Array, Array, Array]:
        """Weights of O_phi D O_psi' in M; of Z_phi M Z_psi' and of O D O' in D_r."""
        batch, f = self.batch, len(self.features)
        count = batch.number(np.maximum(batch.clients[:, r], 1))[:, None, None]
        same, alone = (batch.zeros(f, f) for _ in range(2))
        for a, phi in enumerate(self.features):
            for b, psi in enumerate(self.features):
                same[:, a, b] = batch.number(self._same(phi, psi, r))
                alone[:, a, b] = batch.number(self._alone(phi, psi, r))
        one = batch.number(1)
        return (
            (count * alone)[:, 1:, 1:],
            (one - one / count) * alone,
            same - alone / count,
        )

    def _same(self, phi: Feature, psi: Feature, r: int) -> Fraction:
        where = self.batch.law_classes[r]
        if ONE in (phi, psi):
            other = psi if phi == ONE else phi
            return Fraction(1) if other == ONE else self.classes.first(other, where)
        return self.classes.same(phi, psi, where)

    def _apart(self, phi: Feature, psi: Feature, r: int, other: int) -> Fraction:
        a, b = self.batch.law_classes[r], self.batch.law_classes[other]
        return self.classes.different(phi, psi, a, b)

    def _alone(self, phi: Feature, psi: Feature, r: int) -> Fraction:
        """E phi_i psi_i - E phi_i psi_j of two clients of one class."""
        if ONE in (phi, psi):
            return Fraction(0)
        return self._same(phi, psi, r) - self._apart(phi, psi, r, r)
