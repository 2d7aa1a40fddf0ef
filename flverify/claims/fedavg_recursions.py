"""FedAvg as matrix recursions, row by row as printed, beside the plain loop.

The recursions are those of (6)-(7) and of (8) with (35) in the FOCUS paper. They run
on rational quadratics, where a difference is a counterexample, and on formal
gradients, names without a formula, where agreement holds for every differentiable
f_i in any dimension.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations, product
from typing import Any

import sympy

from flverify.claims.scalar_runs import (
    START,
    STEP,
    Cohort,
    ScalarRun,
    column,
    quadratic,
    tidied,
    tidy,
)
from flverify.mixing import aggregation_matrix, pull_matrix, virtual_matrix
from flverify.reference import fedavg

Cohorts = tuple[Cohort, ...]


class Run(ScalarRun):
    """A run of FedAvg; its cohorts are not empty."""

    @cached_property
    def box(self) -> list[Any]:
        """Server models of (2a)-(2c), one after each round, by the plain loop."""
        models = fedavg.run(
            lambda i, point: [self.gradient(i, point[0])],
            self.n_clients,
            [self.start],
            self.cohorts[:-1],
            step_size=self.step_size,
            local_steps=self.local_steps,
        )
        return [tidied(model[0]) for model in models[1:]]


def one_index(run: Run, first: int, weights_at: str, range_from: int) -> list[Any]:
    """Server models of (6a)-(6c) with (7), one after each round.

    Parameters
    ----------
    run : Run
    first : int
        Index of the first iteration.
    weights_at : {"[i, 0]", "[0, i]"}
        Where A(S) has 1/|S| for i in S: as printed in (4), or as in Figure 1.
    range_from : int
        c in the range r tau + c <= k < (r+1) tau + c in which D_k follows S_r; it is
        0 before any round.

    Examples
    --------
    >>> run = next(rational_runs())
    >>> one_index(run, 1, "[0, i]", 1) == run.box, one_index(run, 1, "[i, 0]", 1)
    (True, [Fraction(0, 1), Fraction(0, 1)])
    """
    n, tau = run.n_clients, run.local_steps
    reading = "figure1" if weights_at == "[0, i]" else "printed"
    x = column([run.start, *run.client_starts])
    models: list[Any] = []
    for k in range(first, run.rounds * tau + 1):
        begun, ended = k >= 1 and (k - 1) % tau == 0, k >= tau and k % tau == 0
        y = pull_matrix(run.cohorts[(k - 1) // tau], n) @ x if begun else x
        now = (k - range_from) // tau
        active = run.cohorts[now] if now >= 0 else frozenset[int]()
        switch = column([int(i - 1 in active) for i in range(n + 1)])
        x = tidy(y - run.step_size * switch * run.stacked_gradient(y))
        if ended:
            cohort = run.cohorts[k // tau - 1]
            x = tidy(aggregation_matrix(cohort, n, reading=reading) @ x)
            models.append(x[0])
    return models


def single_line(run: Run, first: int, communication: int) -> list[Any]:
    """Server models of (8) with W(S_r) of (35) at k = r tau + `communication`.

    Parameters
    ----------
    run : Run
        Its server start is the start of every row.
    first : int
        Index of the first iteration.
    communication : int
        0 as printed, with r = 1, 2, ...

    Examples
    --------
    >>> run = next(rational_runs())
    >>> single_line(run, 1, 0) == run.box, single_line(run, 0, 0) == run.box
    (True, False)
    """
    n, tau = run.n_clients, run.local_steps
    x, k = column([run.start] * (n + 1)), first
    models: list[Any] = []
    while len(models) < run.rounds:
        x = tidy(x - run.step_size * run.stacked_gradient(x))
        since = k - communication
        if since >= tau and since % tau == 0:
            x = tidy(virtual_matrix(run.cohorts[len(models)], n) @ x)
            models.append(x[0])
        k += 1
    return models


def rational_runs() -> Iterator[Run]:
    """List runs on f_i = h_i (x - b_i)^2 / 2 with N <= 3, small ones first."""
    for n, tau in product((1, 2, 3), (1, 2, 3, 5)):
        starts = tuple(Fraction(7 + i) for i in range(n))
        for cohorts in _sequences(n):
            yield Run(quadratic, cohorts, n, tau, STEP, START, starts)


@cache
def formal_runs() -> tuple[Run, ...]:
    """List runs with N, tau <= 3 on gradients that are nothing but names."""
    step, start, *starts = sympy.symbols("eta x0 z1:4")
    names = [sympy.Function(f"g{i}") for i in (1, 2, 3)]

    def gradient(i: int, model: Any) -> Any:
        return names[i](sympy.expand(model))

    return tuple(
        Run(gradient, cohorts, n, tau, step, start, tuple(starts[:n]))
        for n, tau in product((1, 2, 3), (1, 2, 3))
        for cohorts in _sequences(n)
    )


def _sequences(n: int) -> Iterator[Cohorts]:
    """Two rounds of any nonempty cohorts, and a third cohort unlike the second."""
    sets = [frozenset(s) for m in range(1, n + 1) for s in combinations(range(n), m)]
    for first, second in product(sets, repeat=2):
        yield first, second, sets[(sets.index(second) + 1) % len(sets)]
