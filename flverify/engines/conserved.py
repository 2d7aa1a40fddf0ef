"""Quantities that a round never changes, found on the forms.

State as printed is often not minimal: y - sum_i g_i in FOCUS and c - mean c_i in
SCAFFOLD keep their value, and put a 1 into every spectrum. The null space of
(new - old) over sums of slots finds them, in rationals.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from flverify._core.exact import Array, Scalar
from flverify._core.rationals import entries, matrix, to_flint, to_fraction
from flverify._core.scaling import PerClient
from flverify.algorithms._algorithm import Algorithm, Server
from flverify.engines.arithmetic import NEAREST
from flverify.engines.forms import ONE, ClientForm, ServerForm
from flverify.engines.trace import Trace, exact_twin, trace

Quantity = dict[str, Fraction]  # slot -> coefficient; a clients slot counts its sum


def conserved(algorithm: Algorithm, n_clients: int) -> list[Quantity]:
    """Return a basis of the conserved sums of slots.

    Examples
    --------
    >>> from flverify.algorithms import Focus
    >>> algorithm = Focus("1/8", 2)
    >>> [describe(q, algorithm) for q in conserved(algorithm, 3)]
    ['tracker - sum(stored)']
    """
    traced = trace(exact_twin(algorithm), n_clients)
    changes = [_change(traced, slot, n_clients) for slot in traced.slots]
    keys = sorted({key for change in changes for key in change}, key=str)
    table = [[change.get(key, Fraction(0)) for key in keys] for change in changes]
    return [
        {slot: value for slot, value in zip(traced.slots, row, strict=True) if value}
        for row in _left_kernel(table)
    ]


def vanishes_at_start(quantity: Quantity, algorithm: Algorithm, n_clients: int) -> bool:
    """Whether a quantity is zero before the first round, whatever the start."""
    traced = trace(exact_twin(algorithm), n_clients)
    total: dict[object, Fraction] = {}
    for slot, value in quantity.items():
        for key, part in _expanded(_summed(traced.start[slot]), n_clients).items():
            total[key] = total.get(key, Fraction(0)) + value * part
    return not any(total.values())


def redundant(algorithm: Algorithm, n_clients: int) -> dict[str, dict[str, Fraction]]:
    """Server slots that a conserved quantity, zero at the start, expresses.

    Returns
    -------
    shares : dict
        For each such slot the clients slots, with the factor of each one's sum.

    Examples
    --------
    >>> from flverify.algorithms import Scaffold
    >>> redundant(Scaffold("1/8"), 2)
    {'control': {'controls': Fraction(1, 2)}}
    """
    slots = algorithm.slots()
    shares: dict[str, dict[str, Fraction]] = {}
    for quantity in conserved(algorithm, n_clients):
        server = [s for s in quantity if slots[s] is Server]
        plain = len(server) == 1 and server[0] != "model"
        if plain and vanishes_at_start(quantity, algorithm, n_clients):
            own = quantity[server[0]]
            rest = {s: -v / own for s, v in quantity.items() if s != server[0]}
            shares[server[0]] = rest
    return shares


def describe(quantity: Quantity, algorithm: Algorithm) -> str:
    """Write a quantity out, scaled so that its first coefficient is 1."""
    first = next(iter(quantity.values()))
    slots = algorithm.slots()
    words: list[str] = []
    for slot, value in quantity.items():
        share = value / first
        name = slot if slots[slot] is Server else f"sum({slot})"
        size = "" if abs(share) == 1 else f"{abs(share)} "
        sign = "" if not words else "- " if share < 0 else "+ "
        words.append(f"{sign}{size}{name}")
    return " ".join(words)


def _summed(form: ServerForm | ClientForm) -> ServerForm:
    return ServerForm({}, form.terms) if isinstance(form, ClientForm) else form


def _change(traced: Trace, slot: str, n_clients: int) -> dict[object, Fraction]:
    """Coefficients of new - old of a slot, a clients slot summed over clients."""
    after = traced.after[slot]
    if isinstance(after, ServerForm):
        old = ServerForm({("server", slot): 1})
    else:
        old = ServerForm({}, {(ONE, ("client", slot)): 1})
    return _expanded(_summed(after) - old, n_clients)


def _number(value: Scalar) -> Fraction:
    return Fraction(NEAREST.number(NEAREST.convert(value)))


def _expanded(form: ServerForm, n_clients: int) -> dict[object, Fraction]:
    """Coefficients client by client; server symbols under feature 1 are added up."""
    out: dict[object, Fraction] = {}
    for symbol, value in form.fixed.items():
        out[symbol] = out.get(symbol, Fraction(0)) + _number(value)
    for (feature, symbol), value in form.summed.items():
        shared = feature == ONE and symbol[0] == "server"
        for client in range(n_clients):
            part = value.values[client] if isinstance(value, PerClient) else value
            key = symbol if shared else (feature, symbol, client)
            out[key] = out.get(key, Fraction(0)) + _number(part)
    return out


def _left_kernel(table: list[list[Fraction]]) -> list[list[Fraction]]:
    """Rational row vectors v with v table = 0."""
    values: Array = np.array(table, dtype=object)
    if not values.size:
        return []
    reduced, rank = matrix(to_flint(values.T)).rref()
    rows = entries(reduced)[:rank]
    pivots = [next(k for k, v in enumerate(row) if v != 0) for row in rows]
    kernel = []
    for free in (k for k in range(len(table)) if k not in pivots):
        vector = [Fraction(0)] * len(table)
        vector[free] = Fraction(1)
        for pivot, row in zip(pivots, rows, strict=True):
            vector[pivot] = -to_fraction(row[free])
        kernel.append(vector)
    return kernel
