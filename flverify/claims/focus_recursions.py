"""FOCUS as matrix recursions and as its box, row by row as printed.

The recursions are (13)-(14) of the FOCUS paper and their switched form (65)-(66). As
for FedAvg they run on rational quadratics, where a difference is a counterexample,
and on formal gradients, names without a formula, where agreement holds for every
differentiable f_i in any dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
import sympy

from flverify._core.exact import Array
from flverify.mixing import pull_matrix, push_matrix
from flverify.reference import focus

Cohort = frozenset[int]

CURVATURES = tuple(map(Fraction, (1, 3, 2)))
MINIMISERS = tuple(map(Fraction, (2, -1, 5)))
STEP = Fraction(1, 8)
START = Fraction(4)


@dataclass(frozen=True)
class Run:
    """Data of one run with scalar models.

    Parameters
    ----------
    gradient : callable
        `gradient(i, model)` of client i, counted from 0.
    cohorts : tuple of frozenset
        One more than there are rounds: a recursion may look ahead.
    n_clients, local_steps : int
        N and tau.
    step_size, start : number or symbol
        eta, and the server model at the start.
    client_starts : tuple
        Client rows of x at the start, "which can be any values".
    """

    gradient: Callable[[int, Any], Any]
    cohorts: tuple[Cohort, ...]
    n_clients: int
    local_steps: int
    step_size: Any
    start: Any
    client_starts: tuple[Any, ...]

    @property
    def rounds(self) -> int:
        """Number of rounds that are compared."""
        return len(self.cohorts) - 1

    @cached_property
    def box(self) -> list[Any]:
        """Server models x_0, x_1, ... of Algorithm 1, by the plain loop."""
        models = focus.run(
            lambda i, point: [self.gradient(i, point[0])],
            self.n_clients,
            [self.start],
            self.cohorts[:-1],
            step_size=self.step_size,
            local_steps=self.local_steps,
        )
        return [tidied(model[0]) for model in models]

    def cohort(self, r: int) -> Cohort:
        """S_r, empty outside the listed rounds."""
        return self.cohorts[r] if 0 <= r < len(self.cohorts) else frozenset()

    def stacked_gradient(self, models: Array) -> Array:
        """Return [0; grad f_1(x_1); ...; grad f_N(x_N)] for the rows x_0, ..., x_N."""
        rows = [self.gradient(i, model) for i, model in enumerate(models[1:])]
        return column([0, *rows])

    def __str__(self) -> str:
        sets = [sorted(i + 1 for i in s) for s in self.cohorts[:-1]]
        return f"N = {self.n_clients}, tau = {self.local_steps}, cohorts {sets}"


@dataclass(frozen=True)
class Reading:
    """How the matrices of a recursion are placed.

    Parameters
    ----------
    form : {"plain", "switched"}
        (13)-(14), or (65)-(66) with the y-update first.
    push : {"end", "same"}
        C(S_r) when round r ends, or C_k = R_k' at the same k.
    range_from : int
        c in the range r tau + c <= k < (r+1) tau + c in which D_k follows S_r.
    first : int
        Index of the first iteration.
    """

    form: str = "plain"
    push: str = "end"
    range_from: int = 0
    first: int = 0

    def pulls(self, run: Run, k: int) -> int | None:
        """Round whose pull stands at iteration k; the server moves there too."""
        since = k - 1 if self.form == "plain" else k
        return since // run.local_steps if _divides(run.local_steps, since) else None

    def pushes(self, run: Run, k: int) -> int | None:
        """Round whose push stands at iteration k."""
        if self.push == "same":
            return self.pulls(run, k)
        ended = k > 0 and _divides(run.local_steps, k)
        return k // run.local_steps - 1 if ended else None

    def moving(self, run: Run, k: int) -> Cohort:
        """Clients that D_k lets move at iteration k."""
        return run.cohort((k - self.range_from) // run.local_steps)


@dataclass(frozen=True)
class Stack:
    """x_k, y_k and the x of the iteration before, rows 0 (server) to N."""

    x: Array
    y: Array
    before: Array


def initial(run: Run) -> Stack:
    """x_0 with any rows, x_{-1} = x_0 and y_0 = grad f(x_0)."""
    x = column([run.start, *run.client_starts])
    return Stack(x, run.stacked_gradient(x), x)


def iterate(run: Run, reading: Reading, k: int, old: Stack) -> Stack:
    """One iteration of (13)-(14) or of (65)-(66), with the matrices of (4)."""
    n = run.n_clients
    pulled, pushed = reading.pulls(run, k), reading.pushes(run, k)
    none: Cohort = frozenset()
    R = pull_matrix(none if pulled is None else run.cohort(pulled), n)
    C = push_matrix(none if pushed is None else run.cohort(pushed), n)
    on = [i in reading.moving(run, k) for i in range(n)]
    D = column([int(pulled is not None), *map(int, on)])
    slope = run.stacked_gradient
    if reading.form == "plain":
        x = tidy(R @ (old.x - run.step_size * D * old.y))
        y = tidy(C @ (old.y + slope(x) - slope(old.x)))
    else:
        y = tidy(C @ (old.y + slope(old.x) - slope(old.before)))
        x = tidy(R @ (old.x - run.step_size * D * y))
    return Stack(x, y, old.x)


def server_models(run: Run, reading: Reading) -> list[Any]:
    """Server models x_0, x_1, ... of a recursion: its row 0 after each server step.

    Examples
    --------
    >>> run = next(rational_runs())
    >>> server_models(run, Reading("switched")) == run.box
    True
    """
    now, models = initial(run), _unmoved(run, reading)
    for k in range(reading.first, run.rounds * run.local_steps + 2):
        now = iterate(run, reading, k, now)
        if reading.pulls(run, k) is not None and len(models) <= run.rounds:
            models.append(now.x[0])
    return models


def again(run: Run, reading: Reading) -> list[Any]:
    """Compute `server_models` node by node, without matrices: for rechecks."""
    nodes = range(run.n_clients)
    x, before = [run.start, *run.client_starts], [run.start, *run.client_starts]
    y: list[Any] = [0, *(run.gradient(i, x[i + 1]) for i in nodes)]
    models = _unmoved(run, reading)
    for k in range(reading.first, run.rounds * run.local_steps + 2):
        if reading.form == "plain":
            x, before = _moved(run, reading, k, x, y), x
        change = [
            run.gradient(i, x[i + 1]) - run.gradient(i, before[i + 1]) for i in nodes
        ]
        y = [y[0], *(y[i + 1] + change[i] for i in nodes)]
        pushed = reading.pushes(run, k)
        for i in sorted(run.cohort(pushed)) if pushed is not None else []:
            y[0], y[i + 1] = y[0] + y[i + 1], 0
        if reading.form != "plain":
            x, before = _moved(run, reading, k, x, y), x
        if reading.pulls(run, k) is not None and len(models) <= run.rounds:
            models.append(x[0])
    return models


def _unmoved(run: Run, reading: Reading) -> list[Any]:
    """x_0, where the iteration k = 0 that would give it is not executed."""
    return [run.start] if reading.form == "switched" and reading.first else []


def _moved(
    run: Run, reading: Reading, k: int, x: list[Any], y: list[Any]
) -> list[Any]:
    out, pulled = list(x), reading.pulls(run, k)
    for i in reading.moving(run, k):
        if i < run.n_clients:
            out[i + 1] = x[i + 1] - run.step_size * y[i + 1]
    if pulled is not None:
        out[0] = x[0] - run.step_size * y[0]
        for i in run.cohort(pulled):
            out[i + 1] = out[0]
    return out


@dataclass(frozen=True)
class Box:
    """State of Algorithm 1: x_r, y_r, the stored gradients, the last client points."""

    x: Any
    y: Any
    stored: tuple[Any, ...]
    points: tuple[Any, ...]


@dataclass(frozen=True)
class Variant:
    """Readings of the lines of Algorithm 1.

    Parameters
    ----------
    line_9 : {"t", "k"}
        x_{k,i} as x_{t,i}, or as row k of the recursion, k = r tau + t, which the
        dictionary x_{k+1,i} -> x_{t,i} makes x_{t-1,i}.
    stored_at : {"tau - 1", "tau"}
        Point of the gradient that is stored at the end of a round.
    """

    line_9: str = "t"
    stored_at: str = "tau - 1"


def box_round(
    run: Run, cohort: Cohort, old: Box, variant: Variant | None = None
) -> tuple[Box, dict[int, list[Any]]]:
    """Lines 4-13 of Algorithm 1 from any state; also y_{0,i}, ..., y_{tau,i}."""
    lines = variant or Variant()
    stored, points, traces = list(old.stored), list(old.points), {}
    for i in sorted(cohort):
        x, before, y = old.x, old.points[i], [0]
        memory = old.stored[i]
        for _ in range(run.local_steps):
            fresh = run.gradient(i, x)
            y.append(tidied(y[-1] + fresh - memory))
            base = x if lines.line_9 == "t" else before
            memory, points[i] = fresh, x
            x, before = tidied(base - run.step_size * y[-1]), x
        last = lines.stored_at == "tau - 1"
        stored[i] = memory if last else run.gradient(i, x)
        traces[i] = y
    y_new = tidied(old.y + sum(trace[-1] for trace in traces.values()))
    x_new = tidied(old.x - run.step_size * y_new)
    return Box(x_new, y_new, tuple(stored), tuple(points)), traces


def box_states(run: Run, start: Box, variant: Variant | None = None) -> list[Box]:
    """States of Algorithm 1 before the first round and after each.

    Examples
    --------
    >>> run = next(rational_runs())
    >>> nothing = Box(run.start, 0, (0,) * run.n_clients, run.client_starts)
    >>> [state.x for state in box_states(run, nothing)] == run.box
    True
    """
    states = [start]
    for cohort in run.cohorts[:-1]:
        states.append(box_round(run, cohort, states[-1], variant)[0])
    return states


def closed_form(
    run: Run, stored: Sequence[Fraction], tracker: Fraction
) -> tuple[list[Fraction], list[Fraction], list[list[Fraction]]]:
    """x_r, y_r and stored gradients of Algorithm 1 on `rational_runs`: for rechecks.

    With stored gradient g the local steps x <- x - eta (h (x - b) - g) contract to
    b + g/h, so the last evaluation is at b + g/h + (1 - eta h)^(tau-1) (x_r - b - g/h).
    """
    x, y, g = run.start, tracker, list(stored)
    models, trackers, tables = [x], [y], [list(g)]
    for cohort in run.cohorts[:-1]:
        for i in cohort:
            h = CURVATURES[i]
            rest = MINIMISERS[i] + g[i] / h
            kept = (1 - run.step_size * h) ** (run.local_steps - 1)
            fresh = h * (rest + kept * (x - rest) - MINIMISERS[i])
            y, g[i] = y + fresh - g[i], fresh
        x = x - run.step_size * y
        models.append(x)
        trackers.append(y)
        tables.append(list(g))
    return models, trackers, tables


def rational_runs() -> Iterator[Run]:
    """List runs on f_i = h_i (x - b_i)^2 / 2 with N <= 2, small ones first."""

    def gradient(i: int, model: Fraction) -> Fraction:
        return CURVATURES[i] * (model - MINIMISERS[i])

    for n, tau in product((1, 2), (2, 1, 3, 5)):
        starts = tuple(Fraction(7 + i) for i in range(n))
        for cohorts in _sequences(n):
            yield Run(gradient, cohorts, n, tau, STEP, START, starts)


def formal_rounds() -> Iterator[Run]:
    """List runs of one round, N and tau <= 3, every cohort, on formal gradients.

    Their first cohort is the round's, the second the next one's. Whatever holds from
    any state of such a round holds, by induction, in every round.
    """
    step, start, *starts = sympy.symbols("eta x0 z1:4")
    names = [sympy.Function(f"g{i}") for i in (1, 2, 3)]

    def gradient(i: int, model: Any) -> Any:
        return names[i](sympy.expand(model))

    for n, tau in product((1, 2, 3), (1, 2, 3)):
        for cohort in subsets(n):
            after = (cohort, frozenset(range(n)) - cohort)
            yield Run(gradient, after, n, tau, step, start, tuple(starts[:n]))


def later(run: Run) -> Run:
    """The same round as round 1, after a round 0 of nobody."""
    return replace(run, cohorts=(frozenset(), *run.cohorts))


def subsets(n: int) -> list[Cohort]:
    """Every cohort of n clients, the empty one too."""
    return [frozenset(s) for m in range(n + 1) for s in combinations(range(n), m)]


def _sequences(n: int) -> Iterator[tuple[Cohort, ...]]:
    """Two rounds of any cohorts, and a third cohort unlike the second."""
    sets = subsets(n)
    for first, second in product(reversed(sets), repeat=2):
        yield first, second, sets[(sets.index(second) + 1) % len(sets)]


def _divides(tau: int, k: int) -> bool:
    return k >= 0 and k % tau == 0


def column(values: Sequence[Any]) -> Array:
    """Stack scalars of any kind."""
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    return out


def tidy(values: Array) -> Array:
    """Expand every row, so that equal formulas are equal objects."""
    return column([tidied(v) for v in values])


def tidied(value: Any) -> Any:
    """Expand a formula; numbers stay as they are."""
    return sympy.expand(value) if isinstance(value, sympy.Expr) else value
