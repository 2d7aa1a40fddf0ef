"""Dense thin factors of a message system on its reachable, observed coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from flverify._core.exact import Array
from flverify.engines.moments._messages import MessageSystem

TOLERANCE = 1e-10  # relative size below which a direction does not count


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

    def restricted(self, seeds: Array) -> tuple[Thin, Array]:
        """Restrict to the smallest invariant subspace that holds the seeds."""
        basis = _closure(seeds, self)
        if basis.shape[1] == len(self.mean):
            return self, np.eye(len(self.mean))
        mean = basis.T @ self.mean @ basis
        rows, columns = basis.T @ self.rows, self.columns @ basis
        return replace(self, mean=mean, rows=rows, columns=columns), basis

    def transposed(self) -> Thin:
        """Return the dual system, which observes what this one reaches."""
        rows, columns = self.columns.T, self.rows.T
        return replace(self, mean=self.mean.T, rows=rows, columns=columns)

    def apply(self, second: Array) -> Array:
        """T(P) on dense matrices."""
        heard = self.columns @ second @ self.columns.T
        spoken = self.rows @ (self.weight * heard) @ self.rows.T
        out = self.mean @ second @ self.mean.T + spoken
        return np.asarray((out + out.T) / 2)


def entire(system: MessageSystem) -> Thin:
    """Return the linear part of the whole system."""
    widths = [message.width for message in system.messages]
    owner = np.repeat(np.arange(len(widths)), widths)
    weight = system.covariance[np.ix_(owner, owner)] if widths else np.zeros((0, 0))
    pattern = (weight != 0).astype(np.float64)
    mean, rows = system.mean[:-1, :-1], system.rows[:-1]
    columns, kept = system.columns[:, :-1], system.retention[owner]
    return Thin(mean, rows, columns, weight, pattern, owner, kept)


def thin(system: MessageSystem) -> Thin:
    """Differences of two runs, on what is reachable and seen by the server."""
    whole = entire(system)
    inner, reach = whole.restricted(system.start[:-1, :-1])
    place = system.layout.places["server", "model", -1]
    outer, _ = inner.transposed().restricted(reach.T[:, place])
    return outer.transposed()


def _closure(seeds: Array, system: Thin) -> Array:
    """Orthonormal columns of the smallest invariant subspace that holds the seeds.

    Images under random combinations of the features' maps span, with probability
    one, what all of them span; the combinations are drawn from a fixed seed.
    """
    draws = np.random.default_rng(0)
    count = int(system.owner.max(initial=-1)) + 1
    basis = _extend(np.zeros((len(system.mean), 0)), seeds)
    fresh, still = basis, 0
    while still < 3 and basis.shape[1] < len(system.mean):
        mixed = draws.standard_normal(count)[system.owner]
        probe = fresh if fresh.size else basis
        images = draws.standard_normal() * (system.mean @ probe)
        heard = mixed[:, None] * (system.columns @ probe)
        images = images + system.rows @ heard
        grown = _extend(basis, images)
        fresh = grown[:, basis.shape[1] :]
        still = 0 if fresh.size else still + 1
        basis = grown
    return basis


def _extend(basis: Array, vectors: Array) -> Array:
    lengths = np.linalg.norm(vectors, axis=0)
    unit = vectors[:, lengths > 0] / lengths[lengths > 0]
    for _ in range(2):
        unit = unit - basis @ (basis.T @ unit)
    if not unit.size:
        return basis
    left, sizes, _ = np.linalg.svd(unit, full_matrices=False)
    return np.concatenate([basis, left[:, sizes > TOLERANCE]], axis=1)
