"""Runs of push-pull, (11)-(12) of the FOCUS paper, on quadratics (x - b_i)^2/2.

One node descends, and goes away from its minimiser where eta > 2. Two nodes that hear
each other and not themselves turn a difference d of models, with the difference s of
trackers, into -d + eta s and 2 d - (1 + eta) s; so 1 + lambda = mu solves mu^2 + eta mu
= 2 eta, and for every eta > 0 there is a lambda below -1. With loops, and eta small,
the listed graphs take every start to the minimiser: some power of the step, on trackers
that add up to the gradients, is shorter than 1/2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from flverify._core.exact import Array
from flverify.claims import judge

Rows = list[list[Fraction]]
ONE_NODE, TURNED = [[1]], [[0, 1], [1, 0]]
GRAPHS = {
    "one node": [["1"]],
    "two nodes with loops": [["1/2", "1/2"], ["1/3", "2/3"]],
    "ring of three with loops": [
        ["1/2", "1/2", "0"],
        ["0", "1/3", "2/3"],
        ["1/4", "0", "3/4"],
    ],
}
DOUBLINGS = 8  # 256 iterations
# of every mu < 0, so that eta is any positive number
ANY_STEP = "eta = mu^2/(2 - mu), b = [1 - mu/eta, mu/eta - 1], ratio 1 - mu, mu < 0"


def every_step() -> Iterator[judge.Case]:
    """Yield how much faster one node moves in each iteration, against 1."""
    for eta in (Fraction(3), Fraction(5, 2)):
        yield _case(ONE_NODE, eta, [Fraction(1)], [Fraction(0)], eta - 1)


def small_steps() -> Iterator[judge.Case]:
    """Yield the same for two nodes without loops, at steps as small as one likes."""
    for mu in (Fraction(-1, 10), Fraction(-1, 1000)):
        eta = mu**2 / (2 - mu)
        far = 1 - mu / eta  # b, for which the first trackers belong to lambda
        start = [Fraction(1), Fraction(-1)]
        yield _case(TURNED, eta, start, [far, -far], 1 - mu, {"other eta": ANY_STEP})


def _case(
    matrix: list[list[int]],
    eta: Fraction,
    start: list[Fraction],
    minimisers: list[Fraction],
    grown: Fraction,
    others: Mapping[str, str] = MappingProxyType({}),
) -> judge.Case:
    where: dict[str, Any] = {"R": matrix, "C": matrix, "f_i": "(x - b_i)^2/2"}
    where |= {"b": minimisers}
    where |= {"x_0": start, "eta": eta, "value": "|x_{k+1} - x_k| over the one before"}
    rows = [[Fraction(v) for v in row] for row in matrix]
    again = partial(_ratio, rows, eta, start, minimisers)
    return judge.Case({**where, **others}, grown, 1, again)


def _ratio(
    matrix: Rows, eta: Fraction, start: list[Fraction], minimisers: list[Fraction]
) -> tuple[Fraction, Fraction]:
    """Run (11)-(12); the ratio counts if it is the same in every iteration."""
    x, y = start, [a - b for a, b in zip(start, minimisers, strict=True)]
    models = [x]
    for _ in range(6):
        ahead = _times(matrix, [a - eta * v for a, v in zip(x, y, strict=True)])
        gains = [a - b for a, b in zip(ahead, x, strict=True)]
        y = _times(matrix, [a + b for a, b in zip(y, gains, strict=True)])
        x = ahead
        models.append(x)
    moves = [b[0] - a[0] for a, b in pairwise(models)]
    ratios = {abs(b / a) for a, b in pairwise(moves)}
    return (ratios.pop() if len(ratios) == 1 else Fraction(0)), Fraction(1)


def _times(matrix: Rows, values: list[Fraction]) -> list[Fraction]:
    return [
        sum((a * b for a, b in zip(row, values, strict=True)), Fraction(0))
        for row in matrix
    ]


def with_loops(step: Fraction) -> Iterator[judge.Case]:
    """Yield the squared length of 256 iterations, on every start, against 1/4."""
    for name, listed in GRAPHS.items():
        rows = [[Fraction(v) for v in row] for row in listed]
        one = _step(rows, step)
        for _ in range(DOUBLINGS):
            one = one @ one
        left = Fraction((one * one).sum())
        where = {"graph": name, "R": listed, "C": "the transpose", "eta": step}
        again = partial(_played, rows, step)
        yield judge.Case(
            {**where, "f_i": "x^2/2", "iterations": 2**DOUBLINGS},
            left,
            Fraction(1, 4),
            again,
        )


def _step(R: Rows, eta: Fraction) -> Array:
    """Return one iteration on x and all trackers but the last, y adding up to x."""
    n = len(R)
    columns = []
    for k in range(2 * n - 1):
        unit = [Fraction(int(j == k)) for j in range(2 * n - 1)]
        columns.append(_iterated(R, eta, unit[:n], unit[n:]))
    return np.array(columns, dtype=object).T


def _iterated(
    R: Rows, eta: Fraction, x: list[Fraction], free: list[Fraction]
) -> list[Fraction]:
    C = [list(column) for column in zip(*R, strict=True)]
    y = [*free, sum(x, Fraction(0)) - sum(free, Fraction(0))]
    ahead = _times(R, [a - eta * v for a, v in zip(x, y, strict=True)])
    moved = [v + a - b for v, a, b in zip(y, ahead, x, strict=True)]
    return [*ahead, *_times(C, moved)[:-1]]


def _played(R: Rows, eta: Fraction) -> tuple[Fraction, Fraction]:
    """Run every unit start, iteration by iteration."""
    n, total = len(R), Fraction(0)
    for k in range(2 * n - 1):
        state = [Fraction(int(j == k)) for j in range(2 * n - 1)]
        for _ in range(2**DOUBLINGS):
            state = _iterated(R, eta, state[:n], state[n:])
        total += sum((v**2 for v in state), Fraction(0))
    return total, Fraction(1, 4)
