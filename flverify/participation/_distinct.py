"""The set of distinct draws of m independent draws with weights.

By Poissonisation or by counting, the draws used up by a group of clients and the
number of distinct clients among them are built up client by client: entry (d, u) of
a state says how likely, or in how many weighted ways, u draws hit exactly d distinct
clients of the group. All terms are positive.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce

import numpy as np

from flverify._core.errors import RefusedError
from flverify._core.exact import Array, Scalar
from flverify.participation._law import inverse_power
from flverify.participation._leave_out import without_one, without_two

LARGEST_RATE = 700.0  # exp(-700) is still a normal float
MOST_DRAWS = 1000  # beyond, float states would underflow


@dataclass(frozen=True)
class ExactDraws:
    """Counting: a state holds whole numbers of weighted sequences of draws."""

    weights: list[int]
    m: int

    def jumps(self, client: int) -> tuple[Scalar, Array]:
        """Factor for no draw, and matrix from draws used before to draws after."""
        weight, size = self.weights[client], self.m + 1
        out = np.zeros((size, size), dtype=object)
        for used in range(size):
            for more in range(1, size - used):
                out[used, used + more] = math.comb(used + more, more) * weight**more
        return 1, out

    @property
    def start(self) -> Array:
        """Nobody, no draw."""
        rows = min(self.m, len(self.weights)) + 1
        out = np.zeros((rows, self.m + 1), dtype=object)
        out[0, 0] = 1
        return out

    def mean(self, state: Array, power: int) -> Scalar:
        """E of 1/distinct^power on the sequences counted."""
        ways = state[:, self.m].tolist()
        terms = (count * inverse_power(d, power) for d, count in enumerate(ways))
        return sum(terms, Fraction(0)) / sum(self.weights) ** self.m


@dataclass(frozen=True)
class FloatDraws:
    """Poissonisation: clients are hit by independent Poisson numbers of draws.

    Given that the total is m these are m draws with the weights, so dividing by the
    probability of that total answers for m draws; a state holds probabilities.
    """

    weights: Array
    m: int

    @cached_property
    def rates(self) -> Array:
        """Mean number of draws of every client."""
        rate = min(float(self.m), LARGEST_RATE)
        return rate * self.weights / math.fsum(self.weights)

    @cached_property
    def chance(self) -> float:
        """P(the total is m)."""
        rate = min(float(self.m), LARGEST_RATE)
        logs = [math.log(rate / k) for k in range(1, self.m + 1)]
        return math.exp(math.fsum([*logs, -rate]))

    def jumps(self, client: int) -> tuple[Scalar, Array]:
        """Probability of no draw, and matrix from draws before to draws after."""
        rate, size = self.rates[client], self.m + 1
        steps = np.concatenate([[math.exp(-rate)], rate / np.arange(1.0, size)])
        chances = np.cumprod(steps)
        more = np.arange(size) - np.arange(size)[:, None]
        return chances[0], np.where(more > 0, chances[np.maximum(more, 0)], 0.0)

    @property
    def start(self) -> Array:
        """Nobody, no draw."""
        if self.m > MOST_DRAWS:
            raise RefusedError(
                f"1/|S| of more than {MOST_DRAWS} draws needs rational weights; got "
                f"m = {self.m}; write the weights as fractions."
            )
        out = np.zeros((min(self.m, len(self.weights)) + 1, self.m + 1))
        out[0, 0] = 1.0
        return out

    def mean(self, state: Array, power: int) -> Scalar:
        """E of 1/distinct^power."""
        terms = [
            chance * float(inverse_power(d, power))
            for d, chance in enumerate(state[:, self.m].tolist())
        ]
        return math.fsum(terms) / self.chance


Draws = ExactDraws | FloatDraws


def _may(draws: Draws, state: Array, client: int) -> Array:
    """Add a client that may be drawn or not."""
    none, jump = draws.jumps(client)
    out = np.asarray(none * state)
    out[1:] += state[:-1] @ jump
    return out


def _must(draws: Draws, state: Array, client: int) -> Array:
    """Add a client that is drawn at least once."""
    out = np.zeros_like(state)
    out[1:] = state[:-1] @ draws.jumps(client)[1]
    return out


def _mean(draws: Draws, state: Array, chosen: Iterable[int], power: int) -> Scalar:
    for client in chosen:
        state = _must(draws, state, client)
    return draws.mean(state, power)


def moment(draws: Draws, chosen: frozenset[int], power: int) -> Scalar:
    """E[1{chosen in S} / |S|^power]."""
    others = (i for i in range(len(draws.weights)) if i not in chosen)
    state = reduce(lambda s, i: _may(draws, s, i), others, draws.start)
    return _mean(draws, state, sorted(chosen), power)


def single_moments(draws: Draws, power: int) -> list[Scalar]:
    """E[I_i / |S|^power] for every i."""
    clients = range(len(draws.weights))
    states = without_one(clients, draws.start, lambda s, i: _may(draws, s, i))
    return [_mean(draws, s, (i,), power) for i, s in zip(clients, states, strict=True)]


def pair_moments(draws: Draws, power: int) -> Iterator[tuple[int, int, Scalar]]:
    """(i, j, E[I_i I_j / |S|^power]) for every i < j."""
    clients = range(len(draws.weights))
    states = without_two(clients, draws.start, lambda s, i: _may(draws, s, i))
    for i, j, state in states:
        yield i, j, _mean(draws, state, (i, j), power)
