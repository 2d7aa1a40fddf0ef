"""Dense thin factors of a message system on its reachable, observed coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from flverify._core.exact import Array
from flverify.engines.lower import Layout
from flverify.engines.moments._messages import MessageSystem
from flverify.engines.moments._reduce import LEVELS, float_rows
from flverify.engines.moments._units import units_beside

ROUNDING = 1e-15  # of their sizes: what a product leaves of terms that cancel


@dataclass(frozen=True)
class Thin:
    """Mean map, message factors E and C, and the blown-up covariance."""

    mean: Array
    rows: Array
    columns: Array
    weight: Array  # covariance of the features of any two message coordinates
    pattern: Array  # 1 where two message coordinates can meet, else 0
    owner: Array  # which feature a message coordinate belongs to
    retention: Array  # per message coordinate, share of its memory kept on average
    factor: Array  # columns spanning the directions in which features vary
    start: Array  # columns: what a start moves
    seen: Array  # rows of the server model
    kept: Array  # orthonormal rows: sums that no round changes, zero at the start
    lost: float = 0.0  # largest part of an image, beside its map, that was left out

    def restricted(self, seeds: Array) -> tuple[Thin, Array]:
        """Restrict to the smallest invariant subspace that holds the seeds."""
        touched = _touched(seeds, self)
        picked = np.eye(len(self.mean))[:, touched]
        if not touched.all():
            kept = float_rows(self.kept[:, touched], self.kept[:0, touched], LEVELS[-1])
            part = replace(self._within(picked), kept=kept)
            inner, basis = part.restricted(seeds[touched])
            return inner, picked @ basis
        if _spans_all(seeds, self):
            return self, picked
        basis = _closure(seeds, self)
        lost = max(self.lost, _left_out(basis, self))
        return replace(self._within(basis), lost=lost), basis

    def _within(self, basis: Array) -> Thin:
        """Take coordinates in the orthonormal columns of a basis."""
        mean = _product(basis.T, self.mean, basis)
        rows, columns = _product(basis.T, self.rows), _product(self.columns, basis)
        moved: dict[str, Any] = {
            "start": basis.T @ self.start,
            "seen": self.seen @ basis,
        }
        none = np.zeros((0, len(mean)))
        return replace(self, mean=mean, rows=rows, columns=columns, kept=none, **moved)

    def scaled(self, scales: Array) -> Thin:
        """Measure each coordinate in its own unit."""
        mean = self.mean * scales / scales[:, None]
        rows, columns = self.rows / scales[:, None], self.columns * scales
        moved: dict[str, Any] = {
            "start": self.start / scales[:, None],
            "seen": self.seen * scales,
        }
        return replace(self, mean=mean, rows=rows, columns=columns, **moved)

    def transposed(self) -> Thin:
        """Return the dual system, which observes what this one reaches."""
        rows, columns = self.columns.T, self.rows.T
        moved: dict[str, Any] = {"start": self.seen.T, "seen": self.start.T}
        return replace(self, mean=self.mean.T, rows=rows, columns=columns, **moved)

    def apply(self, second: Array) -> Array:
        """T(P) on dense matrices."""
        heard = self.columns @ second @ self.columns.T
        spoken = self.rows @ (self.weight * heard) @ self.rows.T
        out = self.mean @ second @ self.mean.T + spoken
        return np.asarray((out + out.T) / 2)

    def sizes(self) -> Array:
        """Size by which each coordinate moves each, in the mean and by messages.

        What mean maps do not lead back to the model, as controls, messages may.
        """
        deviations = np.sqrt(np.diag(self.weight))
        spoken = (np.abs(self.rows) * deviations) @ np.abs(self.columns)
        return np.asarray(np.abs(self.mean) + spoken)

    def terms(self, second: Array) -> Array:
        """Sizes of what T(P) is made of; the mean map is rounded beside 1."""
        mean = np.abs(self.mean) + np.eye(len(self.mean))
        rows, columns, weight = map(np.abs, (self.rows, self.columns, self.weight))
        moved = replace(self, mean=mean, rows=rows, columns=columns, weight=weight)
        return moved.apply(np.abs(second))


def entire(system: MessageSystem) -> Thin:
    """Return the linear part of the whole system."""
    widths = [message.width for message in system.messages]
    owner = np.repeat(np.arange(len(widths)), widths)
    weight = system.covariance[np.ix_(owner, owner)] if widths else np.zeros((0, 0))
    pattern = (weight != 0).astype(np.float64)
    mean, rows = system.mean[:-1, :-1], system.rows[:-1]
    columns, kept = system.columns[:, :-1], system.retention[owner]
    factor = _factor(system.covariance)
    none = np.zeros((0, len(mean)))
    start = system.start[:-1, :-1]
    seen = np.eye(len(mean))[system.layout.places["server", "model", -1]]
    made = mean, rows, columns, weight, pattern, owner, kept, factor
    return Thin(*made, start, seen, none)


def _factor(covariance: Array) -> Array:
    """Factor a covariance; features with a fixed sum, say, span fewer directions."""
    if not covariance.size:
        return covariance
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-12 * values.max()
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def thin(system: MessageSystem, within: Array | None = None) -> Thin:
    """Differences of two runs, on what is reachable and seen by the server.

    `within` has orthonormal columns, server slots first, that span states among which
    differences stay.
    """
    return _reduced(system, system.start[:-1, :-1], within)


def apart(system: MessageSystem) -> Thin:
    """Differences of any two states: constants of `init` may move more than starts.

    Its start has one column more: what they move in the mean.
    """
    begun = system.start[:, -1]
    moved = (system.mean @ begun - begun)[:-1, None]
    said = system.rows[:-1] * (system.columns @ begun)
    widths = [message.width for message in system.messages]
    owner = np.repeat(np.arange(len(widths)), widths)
    each = said @ (owner[:, None] == np.arange(len(widths)))
    seeds = [system.start[:-1, :-1], moved, each @ _factor(system.covariance)]
    first = seeds[0].shape[1] + 1
    return _reduced(system, np.concatenate(seeds, axis=1), first=first)


def _reduced(
    system: MessageSystem,
    seeds: Array,
    within: Array | None = None,
    first: int | None = None,
) -> Thin:
    """Reduce to what seeds reach; the first so many of them are the start."""
    whole = entire(system)
    if within is not None:
        whole, seeds = whole._within(within), within.T @ seeds
    # balanced coordinates, else a small step size hides what the server sees
    units = units_beside(whole.sizes(), whole.start, whole.seen)
    whole = whole.scaled(units)
    seeds = seeds / units[:, None]
    kept = _kept(system, whole, seeds, units, within)
    whole = replace(whole, start=seeds[:, :first], kept=kept)
    inner, reach = whole.restricted(seeds)
    place = system.layout.places["server", "model", -1]
    outer, _ = inner.transposed().restricted(reach.T[:, place])
    return outer.transposed()


def _kept(
    system: MessageSystem,
    whole: Thin,
    seeds: Array,
    scales: Array,
    within: Array | None,
) -> Array:
    """Find sums of slots that are zero at the start and stay so, for each coordinate.

    The sums are combinations of server slots and of clients slots summed over clients.
    """
    layout, found = system.layout, []
    for k in range(layout.dim):
        rows = list(_sums(layout, k))
        rows = rows if within is None else [row @ within for row in rows]
        sums = np.array([row * scales for row in rows])
        # a slot that is never read may have any unit, beside which others look 0
        sums = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        changes = [sums @ whole.mean - sums, sums @ whole.rows, sums @ seeds]
        tall = np.concatenate(changes, axis=1).T  # its long factor is not needed
        _, sizes, left = np.linalg.svd(tall, full_matrices=False)
        rank = int((sizes > 1e-12 * max(float(sizes.max()), 1.0)).sum())
        found.append(left[rank:] @ sums)
    kept = np.concatenate(found)
    return np.asarray(np.linalg.qr(kept.T)[0].T) if len(kept) else kept


def _sums(layout: Layout, k: int) -> Iterator[Array]:
    """Rows that pick coordinate k of a server slot, or add it up over the clients."""
    clients = range(layout.n_clients)
    groups = [[("server", slot, -1)] for slot in layout.server_slots]
    groups += [[("client", slot, i) for i in clients] for slot in layout.client_slots]
    for blocks in groups:
        row = np.zeros(layout.size - 1)
        for block in blocks:
            row[layout.places[block].start + k] = 1.0
        yield row


def _touched(seeds: Array, system: Thin) -> Array:
    """Say which coordinates some entries that are not 0 lead to from the seeds.

    Others stay 0, as those of a client that never takes part. In a turned basis they
    would have some rounding, which long chains of weak directions amplify.
    """
    mean, rows, columns = system.mean != 0, system.rows != 0, system.columns != 0
    touched, more = np.zeros(len(mean), dtype=bool), seeds.any(axis=1)
    while (more & ~touched).any():
        touched = touched | more
        heard = columns[:, touched].any(axis=1)
        more = mean[:, touched].any(axis=1) | rows[:, heard].any(axis=1)
    return touched


def _spans_all(seeds: Array, system: Thin) -> bool:
    """Whether one round of images already reaches everything, as it mostly does.

    Nothing is rescaled in between, so rounding stays far below what counts.
    """
    start = float_rows(seeds.T, np.zeros((0, len(system.mean))), LEVELS[-1])
    images = _images(start, system, np.random.default_rng(0))
    reached = float_rows(images, start, LEVELS[-1])
    return len(reached) == len(system.mean)


def _product(*factors: Array) -> Array:
    """Multiply matrices; what is rounding beside the terms of an entry is 0."""
    found = reduce(np.matmul, factors)
    terms = reduce(np.matmul, map(np.abs, factors))
    return np.where(np.abs(found) > ROUNDING * terms, found, 0.0)


def _closure(seeds: Array, system: Thin) -> Array:
    """Orthonormal columns of the smallest invariant subspace that holds the seeds.

    Images under random combinations of the features' maps span, with probability
    one, what all of them span; the combinations are drawn from a fixed seed.
    """
    draws = np.random.default_rng(0)
    basis = float_rows(seeds.T, np.zeros((0, len(system.mean))), LEVELS[-1])
    for level in LEVELS:
        still = 0
        while still < 3 and len(basis) < len(system.mean):
            images = _images(basis, system, draws)
            # nothing damps the rounding of a kept sum: it must not look reachable
            images = images - (images @ system.kept.T) @ system.kept
            grown = float_rows(images, basis, level)
            still = 0 if len(grown) > len(basis) else still + 1
            basis = grown
    return basis.T


def _left_out(basis: Array, system: Thin) -> float:
    """Return the largest part of images by which they leave a subspace."""
    images = _images(basis.T, system, np.random.default_rng(1))
    images = images - (images @ system.kept.T) @ system.kept
    return float(np.abs(images - (images @ basis) @ basis.T).max(initial=0.0))


def _images(basis: Array, system: Thin, draws: np.random.Generator) -> Array:
    """Rows under the mean map and under random combinations of messages."""
    mean = basis @ system.mean.T / max(np.linalg.norm(system.mean), 1e-300)
    if not system.owner.size:
        return np.asarray(mean)
    heard = basis @ system.columns.T
    size = max(np.linalg.norm(system.rows) * np.linalg.norm(system.columns), 1e-300)
    # a thin basis meets many combinations at once, a thick one few
    count = max(1, len(system.mean) // max(len(basis), 1))
    drawn = draws.standard_normal((count, system.factor.shape[1]))
    mixed = drawn @ system.factor.T
    mixed = mixed[:, system.owner] / np.abs(mixed).max(axis=1, keepdims=True)
    heard = (mixed[:, None] * heard).reshape(-1, len(system.owner))
    return np.concatenate([mean, heard @ system.rows.T / size])
