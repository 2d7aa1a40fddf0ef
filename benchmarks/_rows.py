"""A benchmark's result, how time is taken, and the machine's own dgemm."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

SIDE = 512  # of the square product that gives the machine's dgemm speed


@dataclass(frozen=True)
class Row:
    """One line of the table.

    `seconds` is the least of several repeats; `ratio` is what the target bounds (to
    dgemm time, or how many times faster than a peer) and `target` its bound: an upper
    one, or with `at_least` a lower one. Without a ratio the target bounds `seconds`.
    """

    name: str
    seconds: float | None = None
    ratio: float | None = None
    target: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one, or when skipped."""
        reached = self.seconds if self.ratio is None else self.ratio
        if reached is None or self.target is None:
            return None
        return reached >= self.target if self.at_least else reached <= self.target


def skipped(name: str, reason: str) -> Row:
    """Return a row that could not be measured here."""
    return Row(name, note=f"skipped: {reason}")


def seconds(
    work: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> float:
    """Time of one call, by the wall clock unless another one is given."""
    begun = clock()
    work()
    return clock() - begun


def least(work: Callable[[], object], repeats: int) -> float:
    """Least wall time of several calls, BLAS on one thread."""
    with threadpool_limits(1, user_api="blas"):
        return min(seconds(work) for _ in range(repeats))


class Dgemm:
    """The machine's one-thread dgemm, measured again and again beside the others."""

    def __init__(self) -> None:
        draw = np.random.default_rng(0)
        self.left, self.right = draw.random((2, SIDE, SIDE))
        self.out = np.empty((SIDE, SIDE))
        self.per_flop = np.inf
        self.measure()

    def measure(self) -> None:
        """Take the time of a few products and keep the best rate seen."""
        with threadpool_limits(1, user_api="blas"):
            for _ in range(5):
                taken = seconds(self._product, time.thread_time)
                self.per_flop = min(self.per_flop, taken / (2 * SIDE**3))

    def _product(self) -> None:
        np.matmul(self.left, self.right, out=self.out)


DGEMM = Dgemm()


def beside_dgemm(work: Callable[[], object], repeats: int) -> float:
    """Least processor time of several calls on one thread, dgemm measured between.

    Both are taken by the clock of the thread, so that a busy neighbour on the machine
    disturbs the ratio less.
    """
    best = np.inf
    for _ in range(repeats):
        DGEMM.measure()
        best = min(best, seconds(work, time.thread_time))
    DGEMM.measure()
    return float(best)
