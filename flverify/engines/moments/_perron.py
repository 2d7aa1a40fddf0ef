"""The rate of a message system: the c at which F(c) has spectral radius 1.

F(c): Phi -> C X C' with c X - Mbar X Mbar' = E (K o Phi) E'. A few two-sided steps
find c roughly; then Arnoldi finds the Perron value of F(c) and a secant moves c.
Clients that remember crowd the spectrum of F near 1, so the two-sided steps leave
out the part of F that only repeats a message's own memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from flverify._core.errors import RefusedError
from flverify._core.exact import Array
from flverify.engines.moments._spectrum import Parts, Spectrum, gather, spread
from flverify.engines.moments._thin import Thin

ROUGH_STEPS = 6  # two-sided steps before Arnoldi
KRYLOV = 60  # largest Krylov space
RESIDUAL = 1e-10  # relative residual of a Ritz pair
SETTLED = 1e-9  # relative error of a step that ends the search; it is still taken
BENT = 0.01  # least share of a step that a secant is taken to be off by
NEARER = 8  # times, to the floor of the rates, where a secant step passes it
OUTER = 40  # secant steps before giving up
NEAR = 1e-6  # relative, to the floor: where F(c) may be rounding alone


class MessageMap:
    """F(c) on packed block-diagonal message covariances, and its adjoint.

    Blocks of one size are stacked: clients that do not correlate are many small ones.
    """

    def __init__(self, spectrum: Spectrum, system: Thin) -> None:
        self.spectrum, self.system = spectrum, system
        self.cells = _cells(system)
        self.weights = self._diagonal(system.weight)
        self.floor = spectrum.radius**2
        # what a client remembers decays no faster than its absence
        kept = system.retention
        held = (kept**2 + np.diag(system.weight))[kept > 0]
        self.held = float(held.max(initial=0.0))

    def _diagonal(self, message: Array) -> list[Array]:
        return [message[_block(cell)] for cell in self.cells]

    @cached_property
    def _halves(self) -> list[tuple[Array, Array, Array]]:
        """Places of upper triangles, and what they weigh there.

        In full a covariance has every number twice, and Krylov spaces hold many.
        """
        places = [np.triu_indices(cell.shape[1]) for cell in self.cells]
        return [(i, j, np.where(i == j, 1.0, np.sqrt(2.0))) for i, j in places]

    def pack(self, message: Array) -> Array:
        """Flatten the diagonal blocks of a message covariance, keeping products."""
        return self._flat(self._diagonal(message))

    def _flat(self, blocks: list[Array]) -> Array:
        parts = zip(blocks, self._halves, strict=True)
        return np.concatenate([(b[:, i, j] * w).ravel() for b, (i, j, w) in parts])

    def blocks(self, vector: Array) -> list[Array]:
        """Diagonal blocks of a packed covariance, stacked by their size."""
        out, first = [], 0
        for cell, (rows, columns, weights) in zip(
            self.cells, self._halves, strict=True
        ):
            last = first + len(cell) * len(weights)
            part = vector[first:last].reshape(len(cell), -1) / weights
            block = np.empty((*cell.shape, cell.shape[1]))
            block[:, rows, columns] = block[:, columns, rows] = part
            out.append(block)
            first = last
        return out

    def unpack(self, vector: Array) -> Array:
        """Rebuild the message covariance, zero off the blocks."""
        out = np.zeros_like(self.system.weight)
        for cell, blocks in zip(self.cells, self.blocks(vector), strict=True):
            out[_block(cell)] = blocks
        return out

    def _weighted(self, blocks: list[Array]) -> list[Array]:
        return [w * b for w, b in zip(self.weights, blocks, strict=True)]

    def forced(self, right: Array) -> Parts:
        """E (K o Phi) E' in eigenvectors of the mean map."""
        middles = self._weighted(self.blocks(right))
        return spread(self.spectrum.said, middles, self.cells)

    def asked(self, left: Array) -> Parts:
        """C' Psi C in the dual eigenvectors."""
        return spread(self.spectrum.heard, self.blocks(left), self.cells)

    def right(self, forced: Parts, rate: float) -> Array:
        """F(c) Phi from the forced parts."""
        gaps = self.spectrum.gaps(rate)
        solved = [f / g for f, g in zip(forced, gaps, strict=True)]
        return self._flat(gather(self.spectrum.heard, solved, self.cells))

    def left(self, asked: Parts, rate: float) -> Array:
        """Adjoint F(c)* Psi from the asked parts."""
        gaps = self.spectrum.gaps(rate)
        solved = [a / g.conj() for a, g in zip(asked, gaps, strict=True)]
        back = gather(self.spectrum.said, solved, self.cells)
        return self._flat(self._weighted(back))

    def step(self, vector: Array, rate: float) -> Array:
        """F(c) on a packed covariance."""
        return self.right(self.forced(vector), rate)

    def memory(self, rate: float) -> Array:
        """Part of F(c) that repeats a message's own memory, a factor each."""
        kept = self.system.retention
        held = np.multiply.outer(kept, kept)
        repeated = np.where(held > 0, self.system.weight / (rate - held), 0.0)
        parts = zip(self._diagonal(repeated), self._halves, strict=True)
        return np.concatenate([b[:, i, j].ravel() for b, (i, j, _) in parts])

    def quotient(self, forced: Parts, asked: Parts, target: float) -> float | None:
        """Rate c at which Psi F(c) Phi = Psi Phi; None if there is none."""

        def excess(rate: float) -> float:
            gaps = self.spectrum.gaps(rate)
            terms = zip((1, 4, 2, 2), forced, asked, gaps, strict=True)
            total = sum(w * np.sum(f * a.conj() / g).real for w, f, a, g in terms)
            return float(total) - target

        return _root(excess, self.floor)


def perron(mapped: MessageMap) -> tuple[float, Array | None]:
    """Find c with rho(F(c)) = 1, and Phi; the mean map alone may set the rate.

    rho(F(c)) falls with c, so the root is bracketed while a secant closes in on it.
    Where it stays below 1 down to rho(Mbar)^2, that is the rate, and Phi is None.

    Raises
    ------
    RefusedError
        If the secant does not settle.
    """
    if not mapped.cells:
        return mapped.floor, None
    identity = mapped.pack(np.eye(len(mapped.system.weight)))
    identity /= np.linalg.norm(identity)
    rate, right, slope = _two_sided(mapped)
    low, high, most = mapped.floor, np.inf, np.inf
    known: tuple[float, float] | None = None
    for _ in range(OUTER):
        # the identity meets the Perron vector of a positive map; an old vector may not
        begin = right / np.linalg.norm(right) + 1e-4 * identity
        value, right = _arnoldi(mapped, begin, rate)
        # F(c) (c - floor) grows with c, so a root below is no farther from the floor;
        # where modes repeat it may seem to grow towards the floor, by rounding
        far = value * (rate - mapped.floor)
        rounded = far > 2 * most and most <= NEAR * mapped.floor
        if rounded or (value < 1 and far <= SETTLED * mapped.floor):
            return mapped.floor, None
        most = far if value < 1 else most
        low, high = (rate, high) if value > 1 else (low, rate)
        bend = 1.0  # share of a step that it may be off by
        if known is not None and (value - known[1]) * (rate - known[0]) < 0:
            before, slope = slope, (value - known[1]) / (rate - known[0])
            bend = min(max(abs(before / slope - 1), BENT), 1.0)
        known = (rate, value)
        step = (value - 1) / slope
        if bend * abs(step) <= SETTLED * rate or high - low <= SETTLED * rate:
            found = max(rate - step, mapped.floor)
            return found, mapped.unpack(right) if found > mapped.floor else None
        rate = _inside(rate - step, low, high, mapped.floor)
    raise RefusedError(
        f"the mean-square rate must settle within {OUTER} steps; it did not; the "
        "setting is too close to a repeated rate."
    )


def _inside(rate: float, low: float, high: float, floor: float) -> float:
    """Take a secant step if it stays in the bracket, else its middle.

    Where nothing above 1 was seen, it is nearer to the floor, a pole of F(c) perhaps.
    """
    if np.isinf(high):
        return min(rate, 4 * low)
    if low < rate < high:
        return rate
    return low + (high - low) / (NEARER if low == floor else 2)


def _two_sided(mapped: MessageMap) -> tuple[float, Array, float]:
    """Rough rate, right vector and slope of the Perron value in c."""
    identity = mapped.pack(np.eye(len(mapped.system.weight)))
    right = left = identity
    rate, slope = mapped.floor * (1 + 1e-3) + 1e-300, -1.0
    for _ in range(ROUGH_STEPS):
        forced, asked = mapped.forced(right), mapped.asked(left)
        target = float(left @ right)
        found = mapped.quotient(forced, asked, target) if target > 0 else None
        if found is None:
            return rate, identity, slope
        rate = max(found, mapped.floor * (1 + 1e-9))
        slope = _slope(mapped, forced, asked, rate) / target
        at = max(rate, mapped.held * (1 + 1e-9))
        own = mapped.memory(at)
        right = (mapped.right(forced, at) - own * right) / (1 - own)
        left = (mapped.left(asked, at) - own * left) / (1 - own)
        right, left = right / np.abs(right).max(), left / np.abs(left).max()
    return rate, right, slope


def _slope(mapped: MessageMap, forced: Parts, asked: Parts, rate: float) -> float:
    """Differentiate Psi F(c) Phi in c."""
    gaps = mapped.spectrum.gaps(rate)
    terms = zip((1, 4, 2, 2), forced, asked, gaps, strict=True)
    return -float(sum(w * np.sum(f * a.conj() / g**2).real for w, f, a, g in terms))


def _arnoldi(mapped: MessageMap, start: Array, rate: float) -> tuple[float, Array]:
    """Largest real Ritz value of F(c) and its vector, without restarts."""
    basis = np.empty((KRYLOV, len(start)))
    table = np.zeros((KRYLOV, KRYLOV))
    fresh, size = start, float(np.linalg.norm(start))
    for k in range(KRYLOV):
        basis[k] = fresh / size
        fresh = mapped.step(basis[k], rate)
        for _ in range(2):  # twice is enough for orthogonality
            shares = basis[: k + 1] @ fresh
            table[: k + 1, k] += shares
            fresh = fresh - shares @ basis[: k + 1]
        size = float(np.linalg.norm(fresh))
        value, chosen = _largest(table[: k + 1, : k + 1])
        # while c still moves by a lot, so much accuracy would be wasted
        enough = max(RESIDUAL, 1e-3 * min(abs(value - 1), 1.0)) * value
        if (k > 1 or size <= RESIDUAL) and size * abs(chosen[-1]) <= enough:
            break
        if size == 0 or k == KRYLOV - 1:
            break
        table[k + 1, k] = size
    vector = chosen @ basis[: k + 1]
    trace = sum(float(np.einsum("kii->", block)) for block in mapped.blocks(vector))
    return value, np.asarray(np.sign(trace) * vector)


def _largest(table: Array) -> tuple[float, Array]:
    """Largest real eigenvalue of a small matrix, and its unit eigenvector."""
    if not np.isfinite(table).all():
        raise RefusedError(
            "the float rate must be of a map within the floats; got one beyond them, "
            "as where a rate is 0; use fewer clients, in rationals."
        )
    values, vectors = np.linalg.eig(table)
    best = int(np.argmax(values.real))
    chosen = vectors[:, best].real
    return float(values[best].real), chosen / np.linalg.norm(chosen)


def _cells(system: Thin) -> list[Array]:
    """Cut message coordinates into runs whose features do not correlate.

    Runs of one length are the rows of one array.
    """
    reach = system.weight != 0
    np.fill_diagonal(reach, True)
    # the furthest coordinate that anything up to k meets, or shares a feature with
    last = [int(np.flatnonzero(row)[-1]) for row in reach]
    same = [int(np.flatnonzero(system.owner == o)[-1]) for o in system.owner]
    furthest = np.maximum.accumulate(np.maximum(last, same))
    ends = np.array([k for k, end in enumerate(furthest) if end == k], dtype=int)
    sizes = np.diff(ends, prepend=-1)
    return [
        ends[sizes == size][:, None] + np.arange(1 - size, 1)
        for size in np.unique(sizes)
    ]


def _block(cell: Array) -> tuple[Array, Array]:
    """Index the diagonal blocks of runs of one length."""
    return cell[:, :, None], cell[:, None, :]


def _root(excess: Callable[[float], float], floor: float) -> float | None:
    """Root of a decreasing function above floor; None if there is none to be found."""
    low = floor * (1 + 1e-13) + 1e-300
    if excess(low) < 0:
        return None
    high = max(2 * floor, 1e-6)
    while excess(high) > 0:
        low, high = high, 2 * high
    try:
        return float(brentq(excess, low, high, xtol=1e-300, rtol=1e-12))
    except (RuntimeError, ValueError):  # beside a rate of 0 nothing is seen in floats
        return None
