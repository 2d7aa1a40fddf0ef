"""Which instances are tried, and a local ascent among their neighbours.

Everything is deterministic. Instances are listed per class of the law: how many of
its clients have the first of two curvatures, and which two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from flverify._core.exact import Array
from flverify.certify.quadratics.rows import Batch

ALL_COUNTS = 64  # clients up to which every corner of one class is tried
CLOSE = 1e-6  # relative gap between two curvatures that are nearly equal
SEED = 20250  # of the three-group samples
SAMPLES = 192
FINEST = 1e-8  # smallest relative move of a curvature in the ascent

Rate = Callable[[Batch], Array]


@dataclass(frozen=True)
class Range:
    """The curvatures of the function class, mu <= h <= L."""

    least: float
    most: float

    @property
    def width(self) -> float:
        """L - mu."""
        return self.most - self.least

    def clip(self, curvatures: Array) -> Array:
        """Bring curvatures into the range."""
        return np.clip(curvatures, self.least, self.most)

    def levels(self) -> list[float]:
        """Curvatures that the inside search starts from."""
        mu, L, gap = self.least, self.most, CLOSE * self.width
        return [mu, mu + gap, float(np.sqrt(mu * L)), *self.spread()[1:-1], L - gap, L]

    def spread(self) -> list[float]:
        """Return six curvatures over the range, denser near L."""
        parts = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
        return [self.least + self.width * part for part in parts[:-1]] + [self.most]


def counts(n: int, many: int = ALL_COUNTS) -> list[int]:
    """Numbers of clients out of n: all of them, or a geometric selection.

    Examples
    --------
    >>> counts(3), counts(100)
    ([0, 1, 2, 3], [0, 1, 2, 4, 8, 16, 32, 50, 68, 84, 92, 96, 98, 99, 100])
    """
    if n <= many:
        return list(range(n + 1))
    powers = [1 << k for k in range(n.bit_length()) if 1 << k <= n // 2]
    mirrored = [n - k for k in powers]
    return sorted({0, n, n // 2, *powers, *mirrored})


def corners(sizes: Sequence[int], limits: Range) -> Batch:
    """Every class at (L, mu) with each of its counts at L."""
    choices = _choices(sizes)
    pairs = np.array([[limits.most, limits.least] * len(sizes)])
    return two_groups(sizes, choices, np.repeat(pairs, len(choices), axis=0))


def _choices(sizes: Sequence[int]) -> Array:
    """Combine counts at the first curvature, class by class, (B, classes)."""
    several = len(sizes) > 1
    listed = [sorted({0, 1, n // 2, n - 1, n}) if several else counts(n) for n in sizes]
    return np.array(list(product(*listed)), dtype=int).reshape(-1, len(sizes))


def inside(sizes: Sequence[int], limits: Range) -> Batch:
    """Pairs of levels with a few counts, and one level for all clients of a class."""
    levels, spread = limits.levels(), limits.spread()
    pairs = [(a, b) for a in levels for b in levels if a > b]
    halves = tuple(max(n // 2, 1) for n in sizes)
    tried = [(halves, pair * len(sizes)) for pair in pairs]
    if len(sizes) == 1:
        ends = {1, max(sizes[0] - 1, 1)} - {*halves}
        tried += [((k,), pair) for k in sorted(ends) for pair in pairs]
        spread = levels
    elif len(sizes) > 2:
        spread = spread[::2] + spread[-1:]
    for chosen in product(spread, repeat=len(sizes)):
        values = tuple(v for level in chosen for v in (level, limits.least))
        tried.append((tuple(sizes), values))
    first = np.array([c for c, _ in tried], dtype=int)
    return two_groups(sizes, first, np.array([values for _, values in tried]))


def two_groups(sizes: Sequence[int], first: Array, curvatures: Array) -> Batch:
    """Split every class in two; group 0 of all is never empty."""
    rest = np.array(sizes) - first
    clients = np.stack([first, rest], axis=2).reshape(len(first), -1)
    swap = clients[:, 0] == 0
    clients, curvatures = clients.copy(), np.array(curvatures, dtype=np.float64)
    clients[swap, :2] = clients[swap, 1::-1]
    curvatures[swap, :2] = curvatures[swap, 1::-1]
    law = tuple(r for r in range(len(sizes)) for _ in range(2))
    return Batch(law, clients, curvatures)


def three_groups(n: int, limits: Range) -> Batch:
    """Sample instances of one class with three curvatures, some of them extreme."""
    random = np.random.default_rng(SEED)
    cuts = np.sort(random.integers(1, n + 1, (SAMPLES, 2)), axis=1)
    ends = np.column_stack([0 * cuts[:, 0], cuts, np.full(SAMPLES, n)])
    values = random.uniform(limits.least, limits.most, (SAMPLES, 3))
    extreme = random.choice([limits.least, limits.most], (SAMPLES, 3))
    values = np.where(random.random((SAMPLES, 3)) < 0.5, extreme, values)
    return Batch((0, 0, 0), np.diff(ends, axis=1), values)


def pick(batch: Batch, places: Array) -> Batch:
    """Take some instances of a batch."""
    return Batch(batch.law_classes, batch.clients[places], batch.curvatures[places])


def joined(parts: Sequence[Batch]) -> Batch:
    """Instances of several batches with the same groups."""
    clients = np.concatenate([p.clients for p in parts])
    values = np.concatenate([p.curvatures for p in parts])
    return Batch(parts[0].law_classes, clients, values)


def ascend(rate: Rate, start: Batch, limits: Range) -> tuple[float, Batch]:
    """Climb from one instance: move a curvature, or clients between two groups.

    All moves of a size are tried at once and the best is taken; without a better one
    the sizes shrink, down to `FINEST` of L - mu and one client.
    """
    here, height = start, float(rate(start)[0])
    reach, block = 0.25, max(int(start.clients.max()) // 4, 1)
    while reach > FINEST:
        moves = neighbours(here, reach * limits.width, block, limits)
        if not len(moves.clients):
            break
        heights = rate(moves)
        best = int(np.argmax(heights))
        if heights[best] > height * (1 + 1e-13):
            here, height = pick(moves, np.array([best])), float(heights[best])
        else:
            reach, block = reach / 4, max(block // 4, 1)
    return height, here


def neighbours(here: Batch, reach: float, block: int, limits: Range) -> Batch:
    """Instances one move away from a batch of one."""
    clients, values = here.clients[0], here.curvatures[0]
    found = [(clients, h) for h in _bent(clients, values, reach, limits)]
    for a, b in product(range(len(clients)), repeat=2):
        same = a != b and here.law_classes[a] == here.law_classes[b]
        for size in {block, 1} if same else ():
            left = clients[a] - size
            if left >= (a == 0):  # group 0 is never empty
                moved = clients.copy()
                moved[a], moved[b] = left, clients[b] + size
                found.append((moved, values))
    counts_, curvatures = ([f[k] for f in found] for k in range(2))
    shape = (-1, len(clients))
    return Batch(
        here.law_classes,
        np.array(counts_, dtype=int).reshape(shape),
        np.array(curvatures, dtype=np.float64).reshape(shape),
    )


def _bent(clients: Array, values: Array, reach: float, limits: Range) -> list[Array]:
    out = []
    for g in np.flatnonzero(clients):
        for sign in (1, -1):
            bent = values.copy()
            bent[g] = limits.clip(values[g] + sign * reach)
            if bent[g] != values[g]:
                out.append(bent)
    return out
