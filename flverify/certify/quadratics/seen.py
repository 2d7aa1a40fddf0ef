"""Whether runs of an instance have its rate, and not that of its neighbours alone.

Rates count modes that occur on all neighbouring instances; on the instance itself no
start may lead to them, or the model may not see them: where eta h = 1 a client's local
step keeps the gradient that it stores, which is 0 at first.
"""

from __future__ import annotations

import numpy as np

from flverify._core.exact import Array
from flverify.certify.coordinates import Structure
from flverify.certify.forms import Form, Reading
from flverify.certify.quadratics._map import moment_matrix, pairs
from flverify.certify.quadratics.rows import Batch, Rows
from flverify.engines.forms import ClientForm

ALIKE = 1e-11  # relative distance of the largest factors that count as one
FAINT = 1e-9  # share of a mode in E|x|^2 below which it is none


def runs_have_its_rate(
    reading: Reading, structure: Structure, batch: Batch, unseen: frozenset[str]
) -> bool:
    """Whether E|x_r|^2 from x_0 = 1 has a part with the largest factor; by floats.

    Parameters
    ----------
    batch : Batch
        One instance, in floats.
    """
    table = moment_matrix(reading, structure, batch, unseen)[0]
    rows = Rows(reading, structure, batch)
    model = np.asarray(rows.symbol(("server", "model"), 0)[0][: rows.size], dtype=float)
    started = _started(rows, batch)
    of_model, begun = np.zeros(len(table)), np.zeros(len(table))
    for k, (i, j) in enumerate(pairs(rows.size)):
        of_model[k] = model[i] * model[j] * (1 if i == j else 2)
        begun[k] = started[i] * started[j]
    try:
        factors, modes = np.linalg.eig(table)
        parts = (of_model @ modes) * np.linalg.solve(modes, begun.astype(modes.dtype))
    except np.linalg.LinAlgError:  # modes that meet; nothing speaks against it
        return True
    if not factors.any():
        return True
    largest = np.abs(factors) >= np.abs(factors).max(initial=0.0) * (1 - ALIKE)
    return bool(np.abs(parts[largest]).max(initial=0.0) > FAINT * np.abs(parts).max())


def _started(rows: Rows, batch: Batch) -> Array:
    """Coordinates at the start from x_0 = 1: group means, in order."""
    start = rows.reading.start
    slopes, clients = batch.curvatures[0], batch.clients[0]
    out = np.zeros(rows.size)
    for k, (where, slot) in enumerate(rows.coordinates):
        if where == "server":
            out[k] = _server(rows.reading, start[slot], slopes, clients)
        else:
            out[k] = _client(rows.reading, start[slot], slopes[where])
    return out


def _client(reading: Reading, form: Form, slope: float) -> float:
    """Value at a client of the curvature `slope`."""
    if not isinstance(form, ClientForm):
        raise TypeError(form)
    terms = form.terms.items()
    return sum(float(v) * _symbol(reading, s, slope) for (_, s), v in terms)


def _symbol(reading: Reading, symbol: tuple[str, object], slope: float) -> float:
    kind, name = symbol
    if kind != "gradient":
        return 1.0  # the start itself
    return slope * _client(reading, reading.start_points[int(str(name))], slope)


def _server(reading: Reading, form: Form, slopes: Array, clients: Array) -> float:
    if isinstance(form, ClientForm):
        raise TypeError(form)
    total = float(sum(form.fixed.values()))
    for (_, symbol), value in form.summed.items():
        each = [_symbol(reading, symbol, h) for h in slopes.tolist()]
        total += float(value) * float(np.dot(clients, each))
    return total
