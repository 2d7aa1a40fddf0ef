"""Reduce a system to what is reachable from the start and seen by the server.

Stored copies, conserved trackers and never-touched slots put spurious eigenvalues
into the spectrum; on the reachable subspace, modulo what the server model never
feels, rates do not depend on how the state is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import qr

from flverify._core.exact import Array
from flverify._core.rationals import row_basis, solve
from flverify.engines.arithmetic import FLOAT, RATIONAL, Arithmetic
from flverify.engines.moments._system import Move, System
from flverify.engines.moments._units import units_beside

# Float directions are taken strongest first, so that weak ones are not made of the
# rounding of others; below the last level a direction does not count.
LEVELS = (1e-2, 1e-4, 1e-6, 1e-8)
ROUNDING = 1e-13  # of their terms: what is left where they cancel
LEFT = 5e-15  # of an image beside its map, off what is followed: less is rounding

Step: TypeAlias = tuple[int, int, list[Array]]  # from mode, to mode, maps of rows


@dataclass(frozen=True)
class _Basis:
    """Rows spanning a subspace, and coordinates of columns that lie in it."""

    rows: Array
    coordinates: Callable[[Array], Array]


def balancing(system: System) -> Array:
    """Units of the coordinates of a float system, powers of 2; the constant's is 1.

    Without them a small step size, or a large unit of f, hides what starts reach.
    """
    start, readout = system.start[0][:-1, :-1], system.readout[0][:-1, :-1]
    return np.append(units_beside(sizes(system)[:-1, :-1], start, readout), 1.0)


def sizes(system: System) -> Array:
    """Sizes of the entries of all maps of a float system, added up.

    Constants of the start count with those that rounds add; a mode that only starts,
    of fewer numbers than others, does not.
    """
    most = max(system.sizes)
    total = np.zeros((most, most))
    for move in system.moves:
        if move.mean.shape == total.shape:
            terms = (np.sqrt(w) * np.abs(a) for w, a in move.terms)
            total += np.abs(move.mean) + sum(terms)
    for start in system.start:
        if len(start) == most:
            total[:, -1] += np.abs(start[:, -1])
    return total


def measured(system: System, units: Array) -> System:
    """Measure every coordinate in its unit, in all modes."""
    own = system.arithmetic.array(units)

    def change(move: Move, values: Array) -> Array:
        del move
        return np.asarray(values * own / own[:, None])

    start = [part / own[:, None] for part in system.start]
    return _changed(system, change, start, [r * own for r in system.readout])


def rescaled(system: System, unit: float) -> System:
    """Measure the state in a unit, a power of 2, so that its constant is of its size.

    Two runs stay as they are: what starts move is measured in the same unit.
    """
    size = system.arithmetic.array(np.array(unit))[()]

    def scaled(values: Array) -> Array:
        out = values.copy()
        out[:-1, -1] = out[:-1, -1] / size
        return out

    return replace(_mapped(system, scaled), start=tuple(map(scaled, system.start)))


def moved(system: System, origin: Array) -> System:
    """Measure states from an origin, and start there; what cancels in floats is 0."""
    exact = system.arithmetic.exact

    def shifted(values: Array) -> Array:
        out, parts = values.copy(), (values[:-1, :-1], values[:-1, -1:], origin)
        kept = values[-1, -1]  # 1 of a mean or an outcome, 0 of a deviation
        left = parts[0] @ origin + values[:-1, -1] - kept * origin
        if exact:
            out[:-1, -1] = left
            return out
        turned, added, whole = map(np.abs, parts)
        terms = turned @ whole + added[:, 0] + kept * whole
        out[:-1, -1] = np.where(np.abs(left) > ROUNDING * terms, left, 0.0)
        return out

    start = [part.copy() for part in system.start]
    for part in start:
        part[:-1, -1] = system.arithmetic.convert(0)
    return replace(_mapped(system, shifted), start=tuple(start))


def _mapped(system: System, change: Callable[[Array], Array]) -> System:
    moves = tuple(
        replace(
            move,
            mean=change(move.mean),
            terms=tuple((w, change(a)) for w, a in move.terms),
        )
        for move in system.moves
    )
    return replace(system, moves=moves)


def differences(system: System) -> System:
    """Follow the difference of two runs: the constant cancels."""

    def change(move: Move, values: Array) -> Array:
        del move
        out = values.copy()  # beside constants that are large all else looks weak
        out[:-1, -1] = 0 * out[:-1, -1]
        return out

    start = [part[:, :-1] for part in system.start]
    return _changed(system, change, start, [r[:-1] for r in system.readout])


def apart(system: System) -> System:
    """Follow how far states lie apart, whatever moved them: the constant is 0.

    What starts move are differences; constants of `init` may move more. Asked of a
    reduced system with constants.
    """
    reads = [readout[-1] for readout in system.readout]
    pivots = [_largest(read) for read in reads]
    kept = [
        np.array([k for k in range(len(read)) if k != pivot], dtype=int)
        for read, pivot in zip(reads, pivots, strict=True)
    ]

    def change(move: Move, values: Array) -> Array:
        read, pivot, rest = reads[move.source], pivots[move.source], kept[move.source]
        if not len(read):  # a mode that is never reached
            return np.asarray(values[kept[move.target]])
        away = np.multiply.outer(values[:, pivot], read[rest] / read[pivot])
        return np.asarray((values[:, rest] - away)[kept[move.target]])

    start = [part[rest, :0] for part, rest in zip(system.start, kept, strict=True)]
    readout = [part[:, rest] for part, rest in zip(system.readout, kept, strict=True)]
    return _changed(system, change, start, readout)


def _largest(values: Array) -> int:
    return max(range(len(values)), key=lambda k: abs(float(values[k])), default=0)


def means(system: System) -> System:
    """Follow the mean alone, with all modes in one vector.

    A start fills the modes in fixed shares, and only the sum over them is seen: apart
    they would reach, and show, what their mean never does.
    """
    arithmetic = system.arithmetic
    places = np.cumsum([0, *system.sizes])
    kind = object if arithmetic.exact else np.float64
    lifted = np.full((places[-1], places[-1]), arithmetic.convert(0), dtype=kind)
    for move in system.moves:
        rows = slice(places[move.target], places[move.target + 1])
        columns = slice(places[move.source], places[move.source + 1])
        lifted[rows, columns] += move.probability * move.mean
    shares = zip(system.initial, system.start, strict=True)
    start = np.concatenate([share * part for share, part in shares])
    readout = np.concatenate(system.readout, axis=1)
    one = arithmetic.convert(1)
    move = Move(0, 0, one, lifted, ((one, lifted),))
    return System(arithmetic, (move,), (start,), (readout,), (one,))


def reduced(system: System, even: bool = False) -> System:
    """Restrict to the reachable subspace, then divide out what is never seen.

    `even` coordinates of a system in rationals lose nothing when they are rounded.
    """
    return _divided(_restricted(system, even), even)


def leaves_out(system: System) -> bool:
    """Whether directions of a float system are left out that are more than rounding."""
    return _leaves(*_reaching(system)) or _leaves(*_seeing(_restricted(system, False)))


def _leaves(seeds: list[Array], steps: list[Step]) -> bool:
    """Whether images of a closure lie off it by more than rounding."""
    rows = [basis.rows for basis in closure(seeds, steps, FLOAT)]
    images = [
        (rows[source] @ a, rows[target])
        for source, target, maps in steps
        for a in _unit_maps(maps, FLOAT)
    ]
    rests = (image - (image @ known.T) @ known for image, known in images)
    return any(np.abs(rest).max(initial=0.0) > LEFT for rest in rests)


def in_floats(
    system: System,
    rounded: Callable[[Array], Array] = FLOAT.array,
    number: Callable[[Any], float] = float,
) -> System:
    """Round a system in rationals; what is reachable was decided before."""
    moves = tuple(
        replace(
            move,
            probability=number(move.probability),
            mean=rounded(move.mean),
            terms=tuple((number(w), rounded(a)) for w, a in move.terms),
        )
        for move in system.moves
    )
    return System(
        FLOAT,
        moves,
        tuple(map(rounded, system.start)),
        tuple(map(rounded, system.readout)),
        tuple(map(number, system.initial)),
    )


def _reaching(system: System) -> tuple[list[Array], list[Step]]:
    """Seeds and steps of what starts reach."""
    weighted = zip(system.start, system.initial, strict=True)
    seeds = [s.T if weight != 0 else s.T[:0] for s, weight in weighted]
    steps = [(m.source, m.target, [a.T for _, a in m.terms]) for m in system.moves]
    return seeds, steps


def _seeing(system: System) -> tuple[list[Array], list[Step]]:
    """Seeds and steps of what the server sees."""
    steps = [(m.target, m.source, [a for _, a in m.terms]) for m in system.moves]
    return list(system.readout), steps


def _restricted(system: System, even: bool) -> System:
    seeds, steps = _reaching(system)
    bases = closure(seeds, steps, system.arithmetic, even)

    def change(move: Move, matrix: Array) -> Array:
        return bases[move.target].coordinates(matrix @ bases[move.source].rows.T)

    start = [
        b.coordinates(s) if len(seed) else b.coordinates(0 * s)
        for b, s, seed in zip(bases, system.start, seeds, strict=True)
    ]
    pairs = zip(system.readout, bases, strict=True)
    readout = [r @ b.rows.T for r, b in pairs]
    return _changed(system, change, start, readout)


def _divided(system: System, even: bool) -> System:
    bases = closure(*_seeing(system), system.arithmetic, even)

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


def _basis(rows: Array, arithmetic: Arithmetic, even: bool) -> _Basis:
    if not arithmetic.exact:
        return _Basis(rows, lambda columns: rows @ columns)
    pivots = [next(k for k, v in enumerate(row) if v != 0) for row in rows]
    if not (even and pivots):
        return _Basis(rows, lambda columns: columns[pivots])
    upper = _upper(rows)
    turned = solve(upper.T, rows)
    return _Basis(turned, lambda columns: upper @ columns[pivots])


def _upper(rows: Array) -> Array:
    """Triangle that makes rational rows orthonormal, nearly; it is exact itself.

    Echelon rows may be nearly parallel, and a map in their coordinates may lose all
    digits of its spectrum when it is rounded.
    """
    sizes = np.abs(rows).max(axis=1)
    _, triangle = np.linalg.qr(FLOAT.array((rows / sizes[:, None]).T))
    places = np.diag_indices(len(triangle))
    triangle[places] = np.where(triangle[places] == 0, 1.0, triangle[places])
    return np.asarray(RATIONAL.array(triangle) * sizes)


def closure(
    seeds: list[Array],
    steps: list[Step],
    arithmetic: Arithmetic,
    even: bool = False,
) -> list[_Basis]:
    """Smallest subspaces that hold the seeds and that the steps respect."""
    grow = _exact_rows if arithmetic.exact else float_rows
    levels = (0.0,) if arithmetic.exact else LEVELS
    scaled = [(m, n, _unit_maps(maps, arithmetic)) for m, n, maps in steps]
    rows = [grow(seed, seed[:0], levels[-1]) for seed in seeds]
    for level in levels:
        while True:
            grown = list(rows)
            for source, target, matrices in scaled:
                if len(rows[source]) and matrices:  # maps that are 0 reach nothing
                    images = np.concatenate([rows[source] @ a for a in matrices])
                    grown[target] = grow(images, grown[target], level)
            still = all(len(g) == len(r) for g, r in zip(grown, rows, strict=True))
            rows = grown
            if still:
                break
    return [_basis(part, arithmetic, even) for part in rows]


def _unit_maps(maps: list[Array], arithmetic: Arithmetic) -> list[Array]:
    """Scale float maps to norm 1, so that levels are relative to the map."""
    if arithmetic.exact:
        return maps
    # a norm may overflow where its entries do not
    most = [float(np.abs(a).max(initial=0.0)) for a in maps]
    near = [a / size for a, size in zip(maps, most, strict=True) if size > 0]
    return [a / float(np.linalg.norm(a)) for a in near]


def _exact_rows(rows: Array, known: Array, level: float) -> Array:
    del level
    return row_basis(np.concatenate([known, rows]))


def float_rows(rows: Array, known: Array, level: float) -> Array:
    """Extend orthonormal rows by directions of at least a given size."""
    for _ in range(2):  # twice is enough for orthogonality
        rows = rows - (rows @ known.T) @ known
    if not rows.size or not np.abs(rows).max() > 0:
        return known
    vectors, sizes, _ = qr(rows.T, mode="economic", pivoting=True)
    strong = np.abs(np.diag(sizes)) > level
    return np.concatenate([known, vectors[:, : len(strong)][:, strong].T])
