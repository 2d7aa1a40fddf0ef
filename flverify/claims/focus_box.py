"""Algorithm 1 of the FOCUS paper, its state open, under the readings of its lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy

from flverify.claims.focus_runs import Run
from flverify.claims.scalar_runs import (
    CURVATURES,
    MINIMISERS,
    Cohort,
    quadratic,
    tidied,
)


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


AS_READ = Variant()


def any_state(run: Run) -> Box:
    """Return symbols for x_r, y_r and the stored gradients, at the run's points."""
    x, y, *stored = sympy.symbols(f"X Y s1:{run.n_clients + 1}")
    return Box(x, y, tuple(stored), run.client_starts)


def started(run: Run, stored: str) -> Box:
    """Return the state of line 2 with y_0 = 0 and a reading of the stored gradients.

    Parameters
    ----------
    run : Run
    stored : {"zero", "start", "any"}
        0, grad f_i(x_0), or anything: symbols in formal runs, else 1 and 5.
    """
    n = run.n_clients
    formal = isinstance(run.start, sympy.Expr)
    anything = sympy.symbols(f"e1:{n + 1}") if formal else (Fraction(1), Fraction(5))
    given = {
        "zero": (0,) * n,
        "start": tuple(run.gradient(i, run.start) for i in range(n)),
        "any": tuple(anything[:n]),
    }
    return Box(run.start, 0, given[stored], (run.start,) * n)


def box_round(
    run: Run, cohort: Cohort, old: Box, variant: Variant = AS_READ
) -> tuple[Box, dict[int, list[Any]]]:
    """Lines 4-13 from any state; also y_{0,i}, ..., y_{tau,i} of the participants."""
    stored, points = list(old.stored), list(old.points)
    traces: dict[int, list[Any]] = {}
    for i in sorted(cohort):
        x, before, y = old.x, old.points[i], [0]
        memory = old.stored[i]
        for _ in range(run.local_steps):
            fresh = run.gradient(i, x)
            y.append(tidied(y[-1] + fresh - memory))
            base = x if variant.line_9 == "t" else before
            memory, points[i] = fresh, x
            x, before = tidied(base - run.step_size * y[-1]), x
        last = variant.stored_at == "tau - 1"
        stored[i], traces[i] = memory if last else run.gradient(i, x), y
    tracker = tidied(old.y + sum(trace[-1] for trace in traces.values()))
    model = tidied(old.x - run.step_size * tracker)
    return Box(model, tracker, tuple(stored), tuple(points)), traces


def box_states(run: Run, start: Box, variant: Variant = AS_READ) -> list[Box]:
    """Return the states before the first round and after each.

    Examples
    --------
    >>> from flverify.claims.focus_runs import rational_runs
    >>> run = next(rational_runs())
    >>> [state.x for state in box_states(run, started(run, "zero"))] == run.box
    True
    """
    states = [start]
    for cohort in run.cohorts[:-1]:
        states.append(box_round(run, cohort, states[-1], variant)[0])
    return states


Table = tuple[list[Fraction], list[Fraction], list[list[Fraction]]]


def closed_form(run: Run, stored: Sequence[Any], tracker: int = 0) -> Table:
    """Return x_r, y_r and stored gradients on `rational_runs`: for rechecks.

    With stored gradient g the local steps x <- x - eta (h (x - b) - g) contract to
    b + g/h, so the last evaluation is at b + g/h + (1 - eta h)^(tau-1) (x_r - b - g/h).
    """
    x, y, g = run.start, Fraction(tracker), [Fraction(v) for v in stored]
    models, trackers, tables = [x], [y], [list(g)]
    for cohort in run.cohorts[:-1]:
        for i in cohort:
            h = CURVATURES[i]
            rest = MINIMISERS[i] + g[i] / h
            kept = (1 - run.step_size * h) ** (run.local_steps - 1)
            fresh = quadratic(i, rest + kept * (x - rest))
            y, g[i] = y + fresh - g[i], fresh
        x = x - run.step_size * y
        models.append(x)
        trackers.append(y)
        tables.append(list(g))
    return models, trackers, tables


def line_by_line(run: Run, start: Box, variant: Variant) -> Table:
    """Return what `closed_form` does, with every client point listed: for rechecks."""
    x, y, models = run.start, Fraction(0), [run.start]
    trackers, tables = [y], [list(start.stored)]
    memory, last = list(start.stored), list(start.points)
    for cohort in run.cohorts[:-1]:
        for i in cohort:
            points = [last[i], x]  # x_{-1}, x_0, ..., x_tau
            for t in range(run.local_steps):
                pushed = quadratic(i, points[t + 1]) - memory[i]
                base = points[t + 1 if variant.line_9 == "t" else t]
                points.append(base - run.step_size * pushed)
            ends = {"tau - 1": points[-2], "tau": points[-1]}
            memory[i], last[i] = quadratic(i, ends[variant.stored_at]), points[-2]
            y = y + pushed
        x = x - run.step_size * y
        models.append(x)
        trackers.append(y)
        tables.append(list(memory))
    return models, trackers, tables
