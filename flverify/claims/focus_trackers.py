"""The tracker of Algorithm 1 beside the gradients that it sums, for starts of line 2.

`stores` and `tracks` are 0 or 1: whether line 2 stores grad f_i(x_0) or 0, and whether
the tracker starts at the sum of these or at 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from flverify.claims import judge
from flverify.claims.focus_any_box import EVERY, X, gradient, kept_sum
from flverify.claims.focus_box import Box, any_state, box_round, box_states, closed_form
from flverify.claims.focus_runs import FORMAL, Run, formal_rounds, rational_runs
from flverify.claims.scalar_runs import tidied
from flverify.claims.verdict import Finding

SEARCHED = "scalar quadratics, two rounds of any cohorts"


def box_sum(factor: int, stores: int, tracks: int) -> Finding:
    """Judge y_r = factor times the sum of the stored gradients."""
    cases = (
        judge.Case(
            {
                **run.where(r),
                "g_i": starting_gradients(run, stores),
                "y_0": starting_tracker(run, tracks),
            },
            *_box_sides(run, stores, tracks, factor)[r],
            partial(_box_sides_again, run, stores, tracks, factor, r),
        )
        for run in rational_runs()
        for r in (0, 1, 2)
    )
    search = judge.instances(cases, "==", SEARCHED)
    listed = (p for run in formal_rounds() for p in _kept(run, stores, tracks, factor))
    proof = judge.all_of(
        {
            "listed": judge.identity(listed, FORMAL),
            "a client's part of the start": started_alike(factor * stores, tracks),
            "any round": kept_sum(factor),
        },
        scope=EVERY,
        argument="it holds at the start, client by client, and every round keeps it",
    )
    return judge.proof_or_search(proof, search)


def started_alike(stores: int, tracks: int) -> Finding:
    """Judge that the tracker starts with what is stored, so many times grad f_i(x_0).

    Examples
    --------
    >>> started_alike(1, 1).verdict.name, started_alike(2, 1).verdict.name
    ('PROVED', 'REFUTED')
    """
    slope = gradient(1, X)
    return judge.identity([("a client", tracks * slope, stores * slope)], EVERY)


def starting_gradients(run: Run, stores: int) -> list[Any]:
    """Return what line 2 stores of every client."""
    return [stores * run.gradient(i, run.start) for i in range(run.n_clients)]


def starting_tracker(run: Run, tracks: int) -> Any:
    """Return what the tracker starts at."""
    return tidied(sum(starting_gradients(run, tracks)))


def _box_sides(
    run: Run, stores: int, tracks: int, factor: int
) -> list[tuple[Any, Any]]:
    g, n = tuple(starting_gradients(run, stores)), run.n_clients
    start = Box(run.start, Fraction(starting_tracker(run, tracks)), g, (run.start,) * n)
    states = box_states(run, start)
    return [(s.y, factor * sum(s.stored, Fraction(0))) for s in states]


def _box_sides_again(
    run: Run, stores: int, tracks: int, factor: int, r: int
) -> tuple[Any, Any]:
    start = int(starting_tracker(run, tracks))
    _, trackers, tables = closed_form(
        run, starting_gradients(run, stores), tracker=start
    )
    return trackers[r], factor * sum(tables[r], Fraction(0))


def _kept(run: Run, stores: int, tracks: int, factor: int) -> Iterator[judge.Pair]:
    g = starting_gradients(run, stores)
    yield f"{run}: start", starting_tracker(run, tracks), tidied(factor * sum(g))
    box = any_state(run)
    box = replace(box, y=factor * sum(box.stored))
    after, _ = box_round(run, run.cohorts[0], box)
    yield f"{run}: kept", tidied(after.y), tidied(factor * sum(after.stored))


def at_start(factor: int) -> Finding:
    """Judge `box_sum` with gradients at x_0 where a client has not come yet.

    Line 2 stores 0 and the tracker starts at 0.
    """

    def sides(run: Run, r: int, trackers: Any, tables: Any) -> tuple[Any, Any]:
        came = frozenset[int]().union(*run.cohorts[:r])
        latest = (
            tables[r][i] if i in came else run.gradient(i, run.start)
            for i in range(run.n_clients)
        )
        return trackers[r], factor * sum(latest, Fraction(0))

    def by_box(run: Run, r: int) -> tuple[Any, Any]:
        n = run.n_clients
        nothing = Box(run.start, Fraction(0), (Fraction(0),) * n, (run.start,) * n)
        states = box_states(run, nothing)
        return sides(run, r, [s.y for s in states], [s.stored for s in states])

    def again(run: Run, r: int) -> tuple[Any, Any]:
        _, trackers, tables = closed_form(run, [0] * run.n_clients)
        return sides(run, r, trackers, tables)

    cases = (
        judge.Case({**run.where(r), "g_i": 0}, *by_box(run, r), partial(again, run, r))
        for run in sorted(rational_runs(), key=lambda run: not all(run.cohorts[:-1]))
        for r in (1, 2)
    )
    return judge.instances(cases, "==", SEARCHED)
