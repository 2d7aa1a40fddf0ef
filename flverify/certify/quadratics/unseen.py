"""Which slots the server's model never sees, whatever the quadratics are.

ProxSkip with everybody in every round averages the models, so that its shifts, which
add up to zero, never reach the model: how fast they settle is no rate of it.
"""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np

from flverify._core.exact import Array
from flverify.certify.coordinates import Structure
from flverify.certify.forms import Reading
from flverify.certify.quadratics._map import moment_matrix, pairs
from flverify.certify.quadratics.rows import Batch, Rows


def unseen(reading: Reading, structure: Structure) -> frozenset[str]:
    """Slots whose second moments do not reach those of the model in any later round.

    Looked at in rationals, on curvatures that are equal to nothing: what cancels there
    cancels on all of them.

    Examples
    --------
    >>> from flverify.algorithms import ProxSkip
    >>> from flverify.certify.classes import classes
    >>> from flverify.certify.discover import discover
    >>> from flverify.certify.forms import read
    >>> from flverify.participation import AllOrNothing, Full
    >>> def unseen_by(law):
    ...     round_ = read(ProxSkip("1/2", probability="1/5"), classes(law))
    ...     return sorted(unseen(round_, discover(round_)))
    >>> unseen_by(Full(3)), unseen_by(AllOrNothing(3, "1/5"))
    (['shifts'], [])
    """
    batch = _generic(reading.classes.sizes)
    rows = Rows(reading, structure, batch)
    names = [slot for _, slot in rows.coordinates]
    means, own = pairs(rows.size), pairs(len(rows.slots))
    labels = [{names[i], names[j]} for i, j in means]
    labels += [{rows.slots[a], rows.slots[b]} for a, b in own] * len(rows.groups)
    model = np.asarray(rows.symbol(("server", "model"), 0)[0] != 0, dtype=bool)
    first = np.array([model[i] and model[j] for i, j in means])
    reached = np.zeros(len(labels), dtype=bool)
    reached[: len(first)] = first
    reached = _closed(reached, moment_matrix(reading, structure, batch)[0] != 0)
    seen = set().union(*(x for x, there in zip(labels, reached, strict=True) if there))
    return frozenset({*names, *rows.slots} - seen)


def _closed(reached: Array, leads: Array) -> Array:
    """Add what leads to what is reached, until nothing does."""
    while True:
        more = reached | leads[reached].any(axis=0)
        if (more == reached).all():
            return np.asarray(more)
        reached = more.astype(bool)


def _generic(sizes: tuple[int, ...]) -> Batch:
    """One instance: a curvature for each class, and two for the largest one."""
    groups = list(enumerate(sizes))
    split = max(range(len(sizes)), key=lambda r: sizes[r])
    half = sizes[split] // 2
    if half:
        groups[split : split + 1] = [(split, sizes[split] - half), (split, half)]
    values = [Fraction(97 + 64 * k, 1009 + 3 * k) for k in range(len(groups))]
    table = np.array([flint.fmpq(v.numerator, v.denominator) for v in values], object)
    counts = np.array([[n for _, n in groups]])
    return Batch(tuple(r for r, _ in groups), counts, table[None])
