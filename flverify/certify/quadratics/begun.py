"""Second moments of an instance before the first round, and what the model sees.

E|x_r|^2 from x_0 = 1 is `of_model` @ T^r @ `begun`, with T the map of second moments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flverify._core.exact import Array
from flverify._core.rationals import rational
from flverify.certify.coordinates import Structure
from flverify.certify.forms import Form, Reading
from flverify.certify.quadratics._map import pairs
from flverify.certify.quadratics.rows import Batch, Rows
from flverify.engines.forms import ClientForm


def ends(
    reading: Reading, structure: Structure, batch: Batch, size: int
) -> tuple[Array, Array]:
    """Return `of_model` and `begun` of one instance, each of the size of its map.

    Both are in the arithmetic of the batch.
    """
    rows = Rows(reading, structure, batch)
    model = rows.symbol(("server", "model"), 0)[0][: rows.size]
    first = _started(rows, batch)
    of_model, begun = (batch.zeros(size)[0] for _ in range(2))
    for k, (i, j) in enumerate(pairs(rows.size)):
        of_model[k] = model[i] * model[j] * (1 if i == j else 2)
        begun[k] = first[i] * first[j]
    return of_model, begun


def _started(rows: Rows, batch: Batch) -> Array:
    """Coordinates at the start from x_0 = 1: group means, in order."""
    at = _Start(rows.reading, batch)
    out: Array = batch.zeros(rows.size)[0]
    for k, (where, slot) in enumerate(rows.coordinates):
        form = rows.reading.start[slot]
        slope = None if where == "server" else batch.curvatures[0, where]
        out[k] = at.server(form) if slope is None else at.client(form, slope)
    return out


class _Start:
    """Values of the forms of a start from x_0 = 1."""

    def __init__(self, reading: Reading, batch: Batch) -> None:
        self.points = reading.start_points
        self.slopes, self.clients = batch.curvatures[0], batch.clients[0].tolist()
        self.number: Callable[[Any], Any] = rational if batch.exact else float

    def client(self, form: Form, slope: Any) -> Any:
        """Value at a client of the curvature `slope`."""
        if not isinstance(form, ClientForm):
            raise TypeError(form)
        terms = [
            self.number(value) * self._symbol(symbol, slope)
            for (_, symbol), value in form.terms.items()
        ]
        return sum(terms, self.number(0))

    def server(self, form: Form) -> Any:
        """Value at the server."""
        if isinstance(form, ClientForm):
            raise TypeError(form)
        total = sum(map(self.number, form.fixed.values()), self.number(0))
        for (_, symbol), value in form.summed.items():
            for count, slope in zip(self.clients, self.slopes, strict=True):
                part = self.number(count) * self._symbol(symbol, slope)
                total = total + self.number(value) * part
        return total

    def _symbol(self, symbol: tuple[str, object], slope: Any) -> Any:
        kind, name = symbol
        if kind != "gradient":
            return self.number(1)  # the start itself
        return slope * self.client(self.points[int(str(name))], slope)
