"""Reduce a system to what is reachable from the start and seen by the server.

Stored copies, conserved trackers and never-touched slots put spurious eigenvalues
into the spectrum; on the reachable subspace, modulo what the server model never
feels, rates do not depend on how the state is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from flverify._core.exact import Array
from flverify._core.rationals import row_basis
from flverify.engines.arithmetic import Arithmetic
from flverify.engines.moments._system import Move, System

TOLERANCE = 1e-10  # relative size below which a float direction does not count


@dataclass(frozen=True)
class _Basis:
    """Rows spanning a subspace, and coordinates of columns that lie in it."""

    rows: Array
    coordinates: Callable[[Array], Array]


def differences(system: System) -> System:
    """Follow the difference of two runs: the constant cancels."""
    start = tuple(part[:, :-1] for part in system.start)
    return replace(system, start=start, readout=tuple(r[:-1] for r in system.readout))


def means(system: System) -> System:
    """Follow the mean alone: one term per move."""
    one = system.arithmetic.convert(1)
    moves = tuple(replace(m, terms=((one, m.mean),)) for m in system.moves)
    return replace(system, moves=moves)


def reduced(system: System) -> System:
    """Restrict to the reachable subspace, then divide out what is never seen."""
    return _divided(_restricted(system))


def _restricted(system: System) -> System:
    weighted = zip(system.start, system.initial, strict=True)
    seeds = [s.T if weight != 0 else s.T[:0] for s, weight in weighted]
    steps = [(m.source, m.target, [a.T for _, a in m.terms]) for m in system.moves]
    bases = _closure(seeds, steps, system.arithmetic)

    def change(move: Move, matrix: Array) -> Array:
        return bases[move.target].coordinates(matrix @ bases[move.source].rows.T)

    start = [
        b.coordinates(s) if len(seed) else b.coordinates(0 * s)
        for b, s, seed in zip(bases, system.start, seeds, strict=True)
    ]
    pairs = zip(system.readout, bases, strict=True)
    readout = [r @ b.rows.T for r, b in pairs]
    return _changed(system, change, start, readout)


def _divided(system: System) -> System:
    steps = [(m.target, m.source, [a for _, a in m.terms]) for m in system.moves]
    bases = _closure(list(system.readout), steps, system.arithmetic)

    def change(move: Move, matrix: Array) -> Array:
        rows = bases[move.target].rows @ matrix
        return bases[move.source].coordinates(rows.T).T

    start = [b.rows @ s for b, s in zip(bases, system.start, strict=True)]
    pairs = zip(system.readout, bases, strict=True)
    readout = [b.coordinates(r.T).T for r, b in pairs]
    return _changed(system, change, start, readout)


def _changed(
    system: System,
    change: Callable[[Move, Array], Array],
    start: list[Array],
    readout: list[Array],
) -> System:
    moves = tuple(
        replace(
            move,
            mean=change(move, move.mean),
            terms=tuple((w, change(move, a)) for w, a in move.terms),
        )
        for move in system.moves
    )
    return replace(system, moves=moves, start=tuple(start), readout=tuple(readout))


def _basis(rows: Array, arithmetic: Arithmetic) -> _Basis:
    if not arithmetic.exact:
        return _Basis(rows, lambda columns: rows @ columns)
    pivots = [next(k for k, v in enumerate(row) if v != 0) for row in rows]
    return _Basis(rows, lambda columns: columns[pivots])


def _closure(
    seeds: list[Array],
    steps: list[tuple[int, int, list[Array]]],
    arithmetic: Arithmetic,
) -> list[_Basis]:
    """Smallest subspaces that hold the seeds and that the steps respect."""
    rows = [_span(seed, seed[:0], arithmetic) for seed in seeds]
    fresh = list(rows)
    while any(len(part) for part in fresh):
        grown = list(rows)
        for source, target, matrices in steps:
            if len(fresh[source]):
                images = np.concatenate([fresh[source] @ a for a in matrices])
                grown[target] = _span(images, grown[target], arithmetic)
        fresh = [_new(g, r, arithmetic) for g, r in zip(grown, rows, strict=True)]
        rows = grown
    return [_basis(part, arithmetic) for part in rows]


def _new(grown: Array, rows: Array, arithmetic: Arithmetic) -> Array:
    # an echelon basis is rewritten when it grows, an orthonormal one is extended
    whole = arithmetic.exact and len(grown) > len(rows)
    return grown if whole else grown[len(rows) :]


def _span(rows: Array, known: Array, arithmetic: Arithmetic) -> Array:
    if arithmetic.exact:
        return row_basis(np.concatenate([known, rows]))
    lengths = np.linalg.norm(rows, axis=1)
    unit = rows[lengths > 0] / lengths[lengths > 0, None]
    for _ in range(2):  # twice is enough for orthogonality
        unit = unit - (unit @ known.T) @ known
    if not unit.size:
        return known
    _, sizes, vectors = np.linalg.svd(unit, full_matrices=False)
    return np.concatenate([known, vectors[sizes > TOLERANCE]])
