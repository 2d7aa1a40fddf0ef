"""Sampling without replacement by weight, in floats of full relative accuracy.

The same race of exponential clocks as in `_clocks`, by quadrature over time. The
number of others that have rung is built up client by client, forwards and backwards,
and cut off at the cohort size: sums and products of positive numbers only, so rare
clients are as accurate as frequent ones.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

from flverify._core.exact import Array
from flverify.participation._half_line import COARSE, nodes

LARGEST_WORK = 1 << 24  # entries of the largest array held at a time
MOST_NODES = 16  # per sweep over the clients
SHARPNESS = 0.55  # step times sqrt(m): the cohort fills up within 1/sqrt(m) of log t
NEGLIGIBLE = 1e-18


def inclusion(rates: Array, m: int) -> Array:
    """P(i in the cohort) for every i; m < N."""
    size = len(rates)

    def density(stay: Array, ring: Array) -> Array:
        before = np.empty((size, m, stay.shape[1]))
        before[0] = _nobody(m, stay.shape[1])
        for i in range(size - 1):
            before[i + 1] = _with(before[i], stay[i], ring[i])
        out, room = np.empty_like(stay), np.ones_like(before[0])
        for i in reversed(range(size)):
            out[i] = np.einsum("ct,ct->t", before[i], room)
            room = _with_later(room, stay[i], ring[i])
        return rates[:, None] * stay * out

    return _integrate(density, rates, m, size * m)


def joint(rates: Array, m: int) -> Array:
    """P(i and j in the cohort) for i != j, 0 on the diagonal; 2 <= m < N."""
    size, depth = len(rates), m - 1

    def density(stay: Array, ring: Array) -> Array:
        rooms = np.ones((size, depth, stay.shape[1]))
        for i in reversed(range(1, size)):
            rooms[i - 1] = _with_later(rooms[i], stay[i], ring[i])
        arrive = rates[:, None] * stay
        out = np.zeros((size, size, stay.shape[1]))
        holes = np.zeros_like(rooms)  # everybody before j but the one of that row
        before = _nobody(depth, stay.shape[1])
        for j in range(size):
            rest = np.einsum("ict,ct->it", holes[:j], rooms[j])
            out[:j, j] = rest * (arrive[:j] * ring[j] + ring[:j] * arrive[j])
            holes[:j] = _with(holes[:j], stay[j], ring[j])
            holes[j] = before
            before = _with(before, stay[j], ring[j])
        return out

    upper = _integrate(density, rates, m, size * max(m, size))
    return upper + upper.T


def chance(rates: Array, m: int, chosen: list[int]) -> float:
    """P(the chosen clients are in the cohort); 1 <= len(chosen) <= m < N."""
    others = np.delete(np.arange(len(rates)), chosen)
    depth = m - len(chosen) + 1

    def density(stay: Array, ring: Array) -> Array:
        rung = _nobody(depth, stay.shape[1])
        for i in others:
            rung = _with(rung, stay[i], ring[i])
        last = sum(
            rates[i] * stay[i] * np.prod([ring[j] for j in chosen if j != i], axis=0)
            for i in chosen
        )
        return np.asarray(last * rung.sum(axis=0))

    return float(_integrate(density, rates, m, depth))


def _integrate(
    density: Callable[[Array, Array], Array], rates: Array, m: int, work: int
) -> Array:
    """Integrate over time, sweep by sweep, until what follows is negligible.

    `density` gets the probabilities not to have rung and to have rung, (N, nodes).
    """
    filling = min(1.0 / rates.max(), m / rates.sum())
    scale, step = filling / 4.0, min(COARSE, SHARPNESS / sqrt(m))
    sweep = min(max(LARGEST_WORK // work, 1), MOST_NODES)
    first = 0
    total: Array = np.zeros(())
    while True:
        t, weights = nodes(scale, step, first, sweep)
        times = -rates[:, None] * t
        parts = weights * density(np.exp(times), -np.expm1(times))
        total = np.asarray(total + parts.sum(axis=-1))
        first += sweep
        if t[-1] > filling and (parts[..., -1] <= NEGLIGIBLE * total).all():
            return total


def _nobody(depth: int, n_nodes: int) -> Array:
    """Nobody has rung: counts 0, ..., depth - 1 by nodes."""
    out = np.zeros((depth, n_nodes))
    out[0] = 1.0
    return out


def _with(chances: Array, stay: Array, ring: Array) -> Array:
    """Distribution of the count, (..., counts, nodes), with one more client."""
    out = np.asarray(chances * stay)
    out[..., 1:, :] += chances[..., :-1, :] * ring
    return out


def _with_later(room: Array, stay: Array, ring: Array) -> Array:
    """P(no overflow later | count so far), (counts, nodes), with one client before."""
    out = room * stay
    out[:-1] += room[1:] * ring
    return out
