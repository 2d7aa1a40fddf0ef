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
from flverify._core.rationals import entries, matrix, to_flint, to_fraction
from flverify.certify.coordinates import Coordinates, Memory, Structure
from flverify.certify.expect import (
    Vectors,
    class_mean,
    next_state,
    second_moments,
    server_vectors,
    stacked,
)
from flverify.certify.forms import Branch, Reading
from flverify.engines.forms import ONE, TAKES_PART, ClientForm, ServerForm

Equilibrium = dict[str, tuple[Fraction, Fraction]]


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
    equilibrium = _equilibrium(reading, with_star=True)
    if equilibrium is not None:
        return Structure(eliminated, equilibrium, _memories(reading))
    plain = _equilibrium(reading, with_star=False)
    if plain is None:
        raise RefusedError(
            "a certificate needs a round that stays at x* when all clients agree on "
            "it; got a round that moves away; use rate for this setting."
        )
    return Structure(eliminated, plain, (), neighbourhood=True)


def _kernel(table: Array) -> list[list[Fraction]]:
    """Rational vectors v with table @ v = 0, one per free column."""
    if table.shape[0] == 0:
        return np.eye(table.shape[1], dtype=int).astype(object).tolist()
    reduced, rank = matrix(to_flint(table)).rref()
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
    forms = second_moments(space, vectors)
    total = np.trace(forms.mean, axis1=2, axis2=3)
    for part in forms.classes:
        total = total + np.trace(part, axis1=2, axis2=3)
    return np.asarray(total)


def _changes(space: Coordinates, branch: Branch) -> Vectors:
    """New less old of every server slot and every overall mean of a clients slot."""
    server = server_vectors(space, branch)
    parts = [
        Vectors(server.sure - _old(space, len(space.server)), server.drawn),
    ]
    rows = {
        r: [space.after_client(branch, c, r) for c in space.client]
        for r in space.classes
    }
    if space.client:
        parts.append(_overall(space, rows))
    return stacked(space, parts)


def _old(space: Coordinates, count: int) -> Array:
    out = space.zeros(count, len(space.z))
    for k in range(count):
        out[k, k] = space.number(1)
    return out


def _overall(space, rows):  # type: ignore[no-untyped-def]
    """Change of the means over all clients."""
    sure = space.zeros(len(space.client), len(space.z))
    drawn = {}
    for r in space.classes:
        share = space.number(Fraction(space.sizes[r], space.n_clients))
        mean = class_mean(space, rows[r], r)
        sure = sure + share * mean.sure
        for key, (z, own) in mean.drawn.items():
            drawn[key] = (share * z, share * own)
    for k, name in enumerate(space.client):
        sure[k] = sure[k] - space.mean(("client", name)).z
    return Vectors(sure, drawn)


def _eliminated(reading: Reading) -> dict[str, dict[str, Fraction]]:
    space = Coordinates(reading, Structure(), Fraction)
    gram = sum(
        branch.chance * _gram(space, _changes(space, branch))
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
    kept = _kernel(np.asarray(gram)[:, order] if len(names) else np.zeros((0, 0)))
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
    n = reading.classes.n_clients
    total: dict[object, Fraction] = {}
    for slot, value in quantity.items():
        form = reading.start[slot]
        if isinstance(form, ServerForm):
            fixed = {("", s): c for s, c in form.fixed.items()}
            summed = {("mean", s): n * c for (_, s), c in form.summed.items()}
            terms = {**fixed, **summed}
        else:
            terms = {("mean", s): c for (_, s), c in form.terms.items()}
        for (kind, symbol), part in terms.items():
            key = ("", symbol) if symbol[0] == "server" else (kind, symbol)
            weight = Fraction(1, 1) if key[0] or not kind else Fraction(1)
            total[key] = total.get(key, Fraction(0)) + weight * value * part
    if any(total.values()):
        words = " + ".join(f"{v} {slot}" for slot, v in quantity.items())
        raise RefusedError(
            f"a quantity that never changes must vanish at the start; got {words}, "
            "which need not; start from zero."
        )


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


def _equilibrium(reading: Reading, with_star: bool) -> Equilibrium | None:
    """Solve for alpha (and beta) of every slot; None if there is no solution."""
    unknowns: list[tuple[str, str]] = [("x", s) for s in reading.slots]
    if with_star:
        unknowns += [("g", s) for s in reading.client_slots]
    index = {u: k for k, u in enumerate(unknowns)}
    rows: list[list[Fraction]] = []

    def require(terms: Mapping[tuple[str, str], Fraction], value: Fraction) -> None:
        row = [Fraction(0)] * (len(unknowns) + 1)
        for key, coefficient in terms.items():
            if key in index:
                row[index[key]] += coefficient
        row[-1] = value
        rows.append(row)

    require({("x", "model"): Fraction(1)}, Fraction(1))
    for point in reading.points:
        _require_form(require, point.terms, None, Fraction(1), with_star)
    for branch in reading.branches:
        for slot, form in branch.after.items():
            _require_kept(require, slot, form, reading.classes.n_clients, with_star)
    return _solved(rows, unknowns, reading)


def _require_form(require, terms, slot, target, with_star):  # type: ignore[no-untyped-def]
    """A client form equals target x* (or slot), feature by feature, in x* and g*."""
    for feature in {ONE, *(f for f, _ in terms)}:
        x: dict[tuple[str, str], Fraction] = {}
        g: dict[tuple[str, str], Fraction] = {}
        moved = Fraction(0)
        for (own, symbol), value in terms.items():
            if own != feature:
                continue
            moved += _collect(x, g, symbol, Fraction(value))
        if slot is not None and feature == ONE:
            _add(x, ("x", slot), Fraction(-1))
            _add(g, ("g", slot), Fraction(-1))
        require(x, target if feature == ONE else Fraction(0))
        if with_star:
            require(g, -moved)


def _collect(x, g, symbol, value):  # type: ignore[no-untyped-def]
    """Add a symbol's x* and g* parts; return the g* of a gradient."""
    kind, name = symbol
    if kind == "gradient":
        return value
    if kind == "mean":  # means of g* vanish
        if name[0] == "client":
            _add(x, ("x", name[1]), value)
        return Fraction(0)
    _add(x, ("x", name), value)
    if kind == "client":
        _add(g, ("g", name), value)
    return Fraction(0)


def _add(into, key, value):  # type: ignore[no-untyped-def]
    into[key] = into.get(key, Fraction(0)) + value


def _require_kept(require, slot, form, n_clients, with_star):  # type: ignore[no-untyped-def]
    if isinstance(form, ClientForm):
        _require_form(require, form.terms, slot, Fraction(0), with_star)
        return
    x: dict[tuple[str, str], Fraction] = {("x", slot): Fraction(-1)}
    for symbol, value in form.fixed.items():
        _collect(x, {}, symbol, Fraction(value))
    for (feature, symbol), value in form.summed.items():
        if feature == ONE:  # a sum over all clients: its g* part vanishes
            _collect(x, {}, symbol, n_clients * Fraction(value))
    require(x, Fraction(0))
    features = {f for f, _ in form.summed} - {ONE}
    drawn = {f: {k: v for k, v in form.summed.items() if k[0] == f} for f in features}
    for terms in drawn.values():
        alone = {(ONE, symbol): value for (_, symbol), value in terms.items()}
        _require_form(require, alone, None, Fraction(0), with_star)


def _solved(
    rows: list[list[Fraction]], unknowns: list[tuple[str, str]], reading: Reading
) -> Equilibrium | None:
    reduced, rank = matrix(to_flint(np.array(rows, dtype=object))).rref()
    values = dict.fromkeys(unknowns, Fraction(0))
    for row in entries(reduced)[:rank]:
        pivot = next(k for k, v in enumerate(row) if v != 0)
        if pivot == len(unknowns):
            return None
        values[unknowns[pivot]] = to_fraction(row[-1])
    return {
        slot: (values["x", slot], values.get(("g", slot), Fraction(0)))
        for slot in reading.slots
    }


def previous_point(space: Coordinates) -> dict[str, Fraction] | None:
    """Combination of the new state that always equals the old server model.

    Such a combination remembers where the server was one round ago; a certificate may
    use the function's value there.

    Returns
    -------
    point : dict or None
        Coefficients of server slots and of means over all clients.
    """
    if "model" not in space.server:
        return None
    names = [*space.server, *_kept(space)]
    gram: Array = space.zeros(len(names) + 1, len(names) + 1)
    for branch in space.reading.branches:
        gram = gram + branch.chance * _gram(space, _with_old_model(space, branch))
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
    """New server slots, new overall means, and the old model."""
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
