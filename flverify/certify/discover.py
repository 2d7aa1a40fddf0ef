"""What a round keeps, found in rationals before any inequality is written.

Sums of slots that never change are eliminated, since the state as printed carries them
as an eigenvalue 1; an equilibrium is a value of every slot that the round leaves alone
when all gradients are taken at x*; a memory is a clients slot that participation
overwrites by a combination of this round's gradients.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from flverify._core.errors import RefusedError
from flverify._core.exact import Array
from flverify._core.rationals import entries, matrix, rational, to_flint, to_fraction
from flverify.certify.coordinates import Coordinates, Memory, Structure
from flverify.certify.equilibrium import equilibrium
from flverify.certify.expect import (
    Vectors,
    class_mean,
    inner,
    next_state,
    second_moments,
    server_vectors,
    stacked,
)
from flverify.certify.forms import Branch, Reading
from flverify.engines.forms import ONE, TAKES_PART, ClientForm, Feature


def discover(reading: Reading) -> Structure:
    """Find what is eliminated, the equilibrium, and (if there is one) the memories.

    Raises
    ------
    RefusedError
        If a conserved quantity does not vanish at the start, or clients of several
        classes share one that cannot be eliminated.

    Examples
    --------
    >>> from flverify.algorithms import Focus
    >>> from flverify.certify.classes import classes
    >>> from flverify.certify.forms import read
    >>> from flverify.participation import UniformCohort
    >>> found = discover(read(Focus("1/8", 2), classes(UniformCohort(3, 1))))
    >>> found.eliminated, found.memories[0].calls
    ({'tracker': {'stored': Fraction(3, 1)}}, (1,))
    """
    eliminated = _eliminated(reading)
    kept = equilibrium(reading, with_star=True)
    if kept is not None:
        return Structure(eliminated, kept, _memories(reading))
    plain = equilibrium(reading, with_star=False)
    if plain is None:
        raise RefusedError(
            "a certificate needs a round that stays at x* when all clients agree on "
            "it; got a round that moves away; use rate for this setting."
        )
    # a table of a biased method is near what it would be if all models were x*
    zero = Fraction(0)
    near = {m.slot: (zero, sum(m.weights, zero)) for m in _memories(reading)}
    rest = {slot: near.get(slot, at) for slot, at in plain.items()}
    return Structure(eliminated, rest, (), neighbourhood=True)


def _kernel(table: Array) -> list[list[Fraction]]:
    """Rational vectors v with table @ v = 0, one per free column."""
    if table.shape[0] == 0:
        return np.eye(table.shape[1], dtype=int).astype(object).tolist()
    reduced, rank = matrix(table).rref()
    rows = entries(reduced)[:rank]
    pivots = [next(k for k, v in enumerate(row) if v != 0) for row in rows]
    kernel = []
    for free in (k for k in range(table.shape[1]) if k not in pivots):
        vector = [Fraction(0)] * table.shape[1]
        vector[free] = Fraction(1)
        for pivot, row in zip(pivots, rows, strict=True):
            vector[pivot] = -to_fraction(row[free])
        kernel.append(vector)
    return kernel


def _gram(space: Coordinates, vectors: Vectors) -> Array:
    """E X_a . X_b added up over all coordinates: zero only if X is almost surely 0."""
    forms = second_moments(space, vectors, inner)
    return np.asarray(sum(forms.classes, forms.mean))


def _changes(space: Coordinates, branch: Branch) -> Vectors:
    """Take new less old of every server slot and every mean over all clients."""
    server = server_vectors(space, branch)
    parts = [
        Vectors(server.sure - _old(space, len(space.server)), server.drawn),
    ]
    if space.client:
        parts.append(_overall(space, branch))
    return stacked(space, parts)


def _old(space: Coordinates, count: int) -> Array:
    out = space.zeros(count, len(space.z))
    for k in range(count):
        out[k, k] = space.number(1)
    return out


def _overall(space: Coordinates, branch: Branch) -> Vectors:
    """Take the change of the means over all clients of every clients slot."""
    rows = [space.after_client(branch, c) for c in space.client]
    sure = space.zeros(len(rows), len(space.z))
    drawn: dict[tuple[int, Feature], tuple[Array, Array]] = {}
    for r in space.classes:
        share = space.number(Fraction(space.sizes[r], space.n_clients))
        mean = class_mean(space, rows, r)
        sure = sure + share * mean.sure
        for key, (z, own) in mean.drawn.items():
            drawn[key] = (share * z, share * own)
    for k, name in enumerate(space.client):
        sure[k] = sure[k] - space.mean(("client", name)).z
    return Vectors(sure, drawn)


def _eliminated(reading: Reading) -> dict[str, dict[str, Fraction]]:
    space = Coordinates(reading, Structure(), rational)
    gram = sum(
        space.number(branch.chance) * _gram(space, _changes(space, branch))
        for branch in reading.branches
    )
    names = [*space.server, *space.client]
    # the last slots of this order are solved for: trackers first, then the model
    order = sorted(
        range(len(names)),
        key=lambda k: (
            names[k] in space.server,
            names[k] != "model",
        ),
    )
    kept = _kernel(np.asarray(gram)[:, order] if names else np.zeros((0, 0)))
    quantities = _echelon(kept)
    out: dict[str, dict[str, Fraction]] = {}
    for quantity in quantities:
        parts = {names[order[k]]: v for k, v in enumerate(quantity) if v}
        _require_zero_start(reading, parts)
        slot = list(parts)[-1]
        if slot in space.client and len(space.sizes) > 1:
            raise RefusedError(
                f"the mean of {slot} is conserved and must be eliminated; got clients "
                "of several classes; give all clients the same probability."
            )
        own = parts.pop(slot)
        out[slot] = {name: -value / own for name, value in parts.items()}
    return out


def _echelon(vectors: list[list[Fraction]]) -> list[list[Fraction]]:
    """Reduce so that every vector's last nonzero entry occurs in no other."""
    if not vectors:
        return []
    flipped = np.array([v[::-1] for v in vectors], dtype=object)
    reduced, rank = matrix(to_flint(flipped)).rref()
    rows = entries(reduced)[:rank]
    return [[to_fraction(v) for v in row][::-1] for row in rows]


def _require_zero_start(reading: Reading, quantity: Mapping[str, Fraction]) -> None:
    total: dict[object, Fraction] = {}
    for slot, value in quantity.items():
        for symbol, part in _mean_start(reading, slot).items():
            total[symbol] = total.get(symbol, Fraction(0)) + value * part
    if any(total.values()):
        words = " + ".join(f"{v} {slot}" for slot, v in quantity.items())
        raise RefusedError(
            f"a quantity that never changes must vanish at the start; got {words}, "
            "which need not; start from zero."
        )


def _mean_start(reading: Reading, slot: str) -> dict[object, Fraction]:
    """Start of a server slot, or of the mean of a clients slot."""
    form = reading.start[slot]
    if isinstance(form, ClientForm):
        return {symbol: Fraction(value) for (_, symbol), value in form.terms.items()}
    out: dict[object, Fraction] = {s: Fraction(v) for s, v in form.fixed.items()}
    for (_, symbol), value in form.summed.items():
        whole = reading.classes.n_clients * Fraction(value)
        out[symbol] = out.get(symbol, Fraction(0)) + whole
    return out


def _memories(reading: Reading) -> tuple[Memory, ...]:
    found = []
    for slot in reading.client_slots:
        memories = {_memory(slot, branch) for branch in reading.branches}
        memories -= {None} if len(memories) > 1 else set()
        memory = memories.pop() if len(memories) == 1 else None
        if isinstance(memory, Memory):
            found.append(memory)
    return tuple(found)


def _memory(slot: str, branch: Branch) -> Memory | str | None:
    """Return the memory a branch shows, None for one that keeps, "" for neither."""
    form = branch.after[slot]
    if not isinstance(form, ClientForm):
        raise TypeError(form)
    own = (ONE, ("client", slot))
    terms = dict(form.terms)
    if branch.everybody is False:
        return None if terms == {own: 1} else ""
    feature = ONE if branch.everybody else TAKES_PART
    if branch.everybody is None:
        keeps = terms.pop(own, 0) == 1 and terms.pop((TAKES_PART, own[1]), 0) == -1
        if not keeps:
            return ""
    plain = all(key[0] == feature and key[1][0] == "gradient" for key in terms)
    if not plain or not terms:
        return ""
    pairs = sorted((symbol[1], Fraction(value)) for (_, symbol), value in terms.items())
    return Memory(slot, tuple(k for k, _ in pairs), tuple(w for _, w in pairs))


def previous_point(
    reading: Reading, structure: Structure
) -> dict[str, Fraction] | None:
    """Find the combination of the new state that always equals the old server model.

    Such a combination remembers where the server was one round ago; a certificate may
    use the function's value there.

    Returns
    -------
    point : dict or None
        Coefficients of server slots and of means over all clients.
    """
    space = Coordinates(reading, structure, rational)
    if "model" not in space.server:
        return None
    names = [*space.server, *_kept(space)]
    gram: Array = space.zeros(len(names) + 1, len(names) + 1)
    for branch in reading.branches:
        both = _gram(space, _with_old_model(space, branch))
        gram = gram + space.number(branch.chance) * both
    for vector in _kernel(gram[:, [*range(1, len(names) + 1), 0]]):
        # ordered: other coordinates..., old model, new model last and free
        values = dict(zip([*names[1:], "old", names[0]], vector, strict=True))
        if values["old"] == -1 and values[names[0]] == 1:
            point = {n: v for n, v in values.items() if n != "old" and v}
            return point if len(point) > 1 else None
    return None


def _kept(space: Coordinates) -> list[str]:
    return [c for c in space.client if c not in space.structure.eliminated]


def _with_old_model(space: Coordinates, branch: Branch) -> Vectors:
    """Stack new server slots, new overall means, and the old model."""
    after = next_state(space, branch)
    kept, servers = _kept(space), len(space.server)
    pick = space.zeros(servers + len(kept), len(space.state))
    for k in range(servers):
        pick[k, k] = space.number(1)
    for k in range(len(kept)):
        for r in space.classes:
            share = space.number(Fraction(space.sizes[r], space.n_clients))
            pick[servers + k, servers + r * len(kept) + k] = share
    drawn = {key: (pick @ z, pick @ own) for key, (z, own) in after.drawn.items()}
    old = Vectors(space.zeros(1, len(space.z)), {})
    old.sure[0, space.server.index("model")] = space.number(1)
    return stacked(space, [Vectors(pick @ after.sure, drawn), old])
