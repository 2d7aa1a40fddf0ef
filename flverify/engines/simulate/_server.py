"""The server's half of a traced round, shared by the numpy and numba halves."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flverify._core.exact import Array
from flverify.engines.forms import Feature
from flverify.engines.simulate._draws import Draw
from flverify.engines.simulate._plan import Plan
from flverify.engines.simulate._tables import Tables, feature_weights

ONLY = np.zeros(1, dtype=np.intp)
Sums = Mapping[tuple[int, Feature], Array]


class ServerHalf:
    """Server slots of a block of rows, each (rows, d)."""

    def __init__(self, plan: Plan, slots: dict[str, Array], step_of_row: Array) -> None:
        self.plan, self.slots, self.step_of_row = plan, slots, step_of_row

    def advance(self, tables: Tables, draw: Draw, sums: Sums) -> None:
        """Combine the old slots with the sums of messages."""
        rows = self.step_of_row if tables.count > 1 else ONLY
        new = {slot: self._own(tables.fixed[slot], rows) for slot in self.slots}
        for held, coefficient in zip(self.plan.held, tables.held, strict=True):
            weights = feature_weights(draw, held.feature, coefficient[rows])
            new[held.slot] += weights[:, None] * self.slots[held.of]
        for use, ratio in zip(self.plan.uses, tables.ratios, strict=True):
            sent = sums[use.message, use.feature]
            new[use.slot] += _scaled(ratio, rows, sent)
        self.slots = new

    def _own(self, terms: Mapping[str, Array], rows: Array) -> Array:
        parts = [_scaled(factor, rows, self.slots[s]) for s, factor in terms.items()]
        if not parts:
            return np.zeros_like(next(iter(self.slots.values())))
        return parts[0].copy() if len(parts) == 1 else np.add.reduce(parts)


def _scaled(factor: Array, rows: Array, values: Array) -> Array:
    if len(factor) > 1:
        return np.asarray(factor[rows, None] * values)
    return values if factor[0] == 1.0 else np.asarray(factor[0] * values)
