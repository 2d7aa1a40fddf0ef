"""Algorithm 1 beside (67)-(69) from rows where grad f_i is what line 2 stores.

`stores` and `tracks` are as in `flverify.claims.focus_trackers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from flverify.claims import judge
from flverify.claims.focus_any_box import EVERY
from flverify.claims.focus_any_rows import box_follows
from flverify.claims.focus_box import (
    AS_READ,
    Box,
    Variant,
    box_round,
    box_states,
    closed_form,
)
from flverify.claims.focus_lemma3 import traced
from flverify.claims.focus_placings import Placing, step
from flverify.claims.focus_recursions import Stack
from flverify.claims.focus_runs import FORMAL, Run, formal_rounds, rational_runs
from flverify.claims.focus_trackers import (
    started_alike,
    starting_gradients,
    starting_tracker,
)
from flverify.claims.scalar_runs import CURVATURES, MINIMISERS, column, tidied
from flverify.claims.verdict import Finding

SEARCHED = "scalar quadratics, two rounds of any cohorts"


def followed(
    factor: int, stores: int, tracks: int, variant: Variant = AS_READ
) -> Finding:
    """Judge that the box, pushing `factor` times its messages, follows (67)-(69)."""
    cases = (
        judge.Case(
            {
                **run.where(r),
                "g_i": starting_gradients(run, stores),
                "y_0": starting_tracker(run, tracks),
            },
            *_both(run, stores, tracks, factor, variant)[r],
            partial(_both_again, run, stores, tracks, factor, variant, r),
        )
        for run in sorted(rational_runs(), key=lambda run: run.local_steps)
        for r in (1, 2)
    )
    search = judge.instances(cases, "==", SEARCHED)
    if variant != AS_READ:
        return judge.proof_or_search(judge.inconclusive("no proof is tried"), search)
    pairs = (p for one in traced() for p in _round_pairs(one, factor))
    start = (
        (
            f"{run}: y_0 is the sum of g_i",
            starting_tracker(run, tracks),
            sum(starting_gradients(run, stores)),
        )
        for run in formal_rounds()
    )
    proof = judge.all_of(
        {
            "start": judge.identity(start, FORMAL),
            "round": judge.identity(pairs, FORMAL),
            "a client's part of the start": started_alike(stores, tracks),
            "any round": box_follows(factor),
        },
        scope=EVERY,
        argument="the start is such a state, and any round leads from one to the next",
    )
    return judge.proof_or_search(proof, search)


def _both(
    run: Run, stores: int, tracks: int, factor: int, variant: Variant
) -> list[tuple[Any, Any]]:
    """x_r of the box and xbar_{r tau+1} of (67)-(69), r = 0, 1, 2."""
    g = starting_gradients(run, stores)
    box = Box(
        run.start, starting_tracker(run, tracks), tuple(g), (run.start,) * run.n_clients
    )
    models_of_box = [state.x for state in _doubled(run, box, factor, variant)]
    rows = [MINIMISERS[i] + g[i] / CURVATURES[i] for i in range(run.n_clients)]
    placing = Placing("switched", 0, 0, 0, 0, 1, "all")
    pulled = [run.start if i in run.cohorts[0] else z for i, z in enumerate(rows)]
    now = Stack(
        column([run.start, *pulled]),
        column([sum(g), *([0] * run.n_clients)]),
        column([run.start, *rows]),
    )
    servers = [run.start]
    for k in range(1, run.rounds * run.local_steps + 1):
        now = step(run, placing, k, now)
        if k % run.local_steps == 0:
            servers.append(now.x[0])
    return list(zip(models_of_box, servers, strict=True))


def _doubled(
    run: Run, start: Box, factor: int, variant: Variant = AS_READ
) -> list[Box]:
    """Return the states of the box when line 12 adds the messages `factor` times."""
    if factor == 1:
        return box_states(run, start, variant)
    states = [start]
    for cohort in run.cohorts[:-1]:
        after, traces = box_round(run, cohort, states[-1], variant)
        extra = (factor - 1) * sum(trace[-1] for trace in traces.values())
        x, y = after.x - run.step_size * extra, after.y + extra
        states.append(Box(x, y, after.stored, after.points))
    return states


def _both_again(
    run: Run, stores: int, tracks: int, factor: int, variant: Variant, r: int
) -> tuple[Any, Any]:
    """Take both from the closed form of local steps, if line 9 is read with t."""
    g = starting_gradients(run, stores)
    recursion = closed_form(run, g, tracker=sum(g))[0][r]
    x, y = run.start, Fraction(starting_tracker(run, tracks))
    if variant != AS_READ:
        return _from_one_before(run, g, y, factor, r), recursion
    for cohort in run.cohorts[:r]:
        for i in cohort:
            h, rest = CURVATURES[i], MINIMISERS[i] + g[i] / CURVATURES[i]
            kept = (1 - run.step_size * h) ** (run.local_steps - 1)
            fresh = h * (rest + kept * (x - rest) - MINIMISERS[i])
            y, g[i] = y + factor * (fresh - g[i]), fresh
        x = x - run.step_size * y
    return x, recursion


def _from_one_before(
    run: Run, stored: list[Any], y: Fraction, factor: int, r: int
) -> Fraction:
    """Return x_r where line 9 goes on from x_{t-1,i}, all local models listed."""
    x, g = Fraction(run.start), [Fraction(v) for v in stored]
    earlier = [x] * run.n_clients  # x_{-1,i}
    for cohort in run.cohorts[:r]:
        for i in cohort:
            h, b, points = CURVATURES[i], MINIMISERS[i], [earlier[i], x]
            for _ in range(run.local_steps):
                step = h * (points[-1] - b) - g[i]  # y telescopes
                points.append(points[-2] - run.step_size * step)
            y, earlier[i] = y + factor * step, points[-2]
            g[i] += step
        x -= run.step_size * y
    return x


def _round_pairs(one: Any, factor: int) -> Iterator[judge.Pair]:
    """Compare rounds of (67)-(69) and of the box, from rows whose gradients it has."""
    run, last = one.run, one.last
    g = tuple(one.gradients(0))
    start = Box(one.server(1), one.y[1][0], g, tuple(one.x[0][1:]))
    after = _doubled(run, start, factor)[1]
    yield f"{run}: sum of g_i", one.y[1][0], tidied(sum(g))
    yield f"{run}: server", one.server(last + 1), tidied(after.x)
    yield f"{run}: tracker", one.y[last + 1][0], tidied(after.y)
    yield f"{run}: rows", list(one.x[last][1:]), list(after.points)
    yield f"{run}: stored", list(one.gradients(last)), list(after.stored)
