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
        self.plan, self.step_of_row = plan, step_of_row
        # copies: two slots may begin as one array
        self.slots = {slot: values.copy() for slot, values in slots.items()}
        self.next = {slot: values.copy() for slot, values in slots.items()}
        self.term = np.empty_like(next(iter(slots.values())))

    def advance(self, tables: Tables, draw: Draw, sums: Sums) -> None:
        """Combine the old slots with the sums of messages."""
        rows = self.step_of_row if tables.count > 1 else ONLY
        new = self.next
        for slot, into in new.items():
            self._own(tables.fixed[slot], rows, into)
        for held, coefficient in zip(self.plan.held, tables.held, strict=True):
            weights = feature_weights(draw, held.feature, coefficient[rows])
            np.multiply(weights[:, None], self.slots[held.of], out=self.term)
            new[held.slot] += self.term
        for use, ratio in zip(self.plan.uses, tables.ratios, strict=True):
            new[use.slot] += self._scaled(ratio, rows, sums[use.message, use.feature])
        self.slots, self.next = new, self.slots

    def _own(self, terms: Mapping[str, Array], rows: Array, out: Array) -> None:
        """Write the combination of old slots."""
        begun = False
        for slot, factor in terms.items():
            part = self._scaled(factor, rows, self.slots[slot])
            if begun:
                out += part
            else:
                np.copyto(out, part)
            begun = True
        if not begun:
            out[...] = 0.0

    def _scaled(self, factor: Array, rows: Array, values: Array) -> Array:
        """Values times a factor, in scratch memory unless the factor is 1."""
        if len(factor) > 1:
            return np.asarray(np.multiply(factor[rows, None], values, out=self.term))
        if factor[0] == 1.0:
            return values
        return np.asarray(np.multiply(factor[0], values, out=self.term))
