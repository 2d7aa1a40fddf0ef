"""Judge that a matrix recursion of FOCUS and a reading of its box agree.

A search runs both on rational quadratics. The proof is an induction on formal
gradients: the start satisfies an invariant, and a round of either keeps it. Rounds of
few clients are listed; those of every N and tau are in `focus_any_round`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import sympy

from flverify._core.exact import Array
from flverify.claims import judge
from flverify.claims.focus_any_box import EVERY, first_stored, lines
from flverify.claims.focus_any_round import any_round
from flverify.claims.focus_box import (
    AS_READ,
    Box,
    Variant,
    any_state,
    box_round,
    box_states,
    closed_form,
    line_by_line,
    started,
)
from flverify.claims.focus_recursions import (
    SWITCHED,
    Reading,
    Stack,
    again,
    initial,
    iterate,
    server_models,
)
from flverify.claims.focus_runs import ETA, FORMAL, Run, formal_rounds, rational_runs
from flverify.claims.scalar_runs import Cohort, column, tidied
from flverify.claims.verdict import Finding

SEARCHED = "scalar quadratics, two rounds of any cohorts, any rows at the start"
ALIKE = SEARCHED.replace("any rows", "equal rows")
ROUND_BY_ROUND = (
    "the start is one of the box, and whatever holds from any state of a round of any "
    "N and tau holds in every round; the listed rounds are a second computation"
)


@cache
def recursion_is_box(reading: Reading) -> Finding:
    """Judge that a recursion runs through the server models of Algorithm 1.

    The box starts with stored gradients and tracker 0.
    """

    def checked(run: Run, r: int) -> tuple[Any, Any]:
        zero = [0] * run.n_clients
        return again(run, reading)[r], closed_form(run, zero)[0][r]

    cases = (
        judge.Case(
            run.where(r),
            server_models(run, reading)[r],
            run.box[r],
            partial(checked, run, r),
        )
        for run in map(reading.begun, rational_runs())
        for r in (1, 2)
    )
    search = judge.instances(cases, "==", ALIKE if reading.alike else SEARCHED)
    pairs = plain_round if reading.form == "plain" else switched_round
    runs = map(reading.begun, formal_rounds())
    steps = (pair for run in runs for pair in pairs(run, reading))
    proof = {"listed": judge.identity(steps, FORMAL), "any round": any_round(reading)}
    return judge.proof_or_search(
        judge.all_of(proof, scope=EVERY, argument=ROUND_BY_ROUND), search
    )


@cache
def box_is_recursion(variant: Variant, stored: str) -> Finding:
    """Judge that a reading of the box runs through the server models of (65)-(66)."""

    def checked(run: Run, r: int) -> tuple[Any, Any]:
        models, _, _ = line_by_line(run, started(run, stored), variant)
        return models[r], again(run, SWITCHED)[r]

    cases = (
        judge.Case(
            {**run.where(r), "stored at the start": list(started(run, stored).stored)},
            box_states(run, started(run, stored), variant)[r].x,
            server_models(run, SWITCHED)[r],
            partial(checked, run, r),
        )
        for run in rational_runs()
        for r in (1, 2)
    )
    search = judge.instances(cases, "==", SEARCHED)
    pairs = (p for run in formal_rounds() for p in _box_round(run, variant, stored))
    given = first_stored(stored)
    proof = {
        "listed": judge.identity(pairs, FORMAL),
        "line 2": judge.identity([("stored", given, [0] * len(given))], EVERY),
        "lines 6-10": lines(variant),
        "any round": any_round(SWITCHED),
    }
    return judge.proof_or_search(
        judge.all_of(proof, scope=EVERY, argument=ROUND_BY_ROUND), search
    )


def plain_round(run: Run, reading: Reading) -> Iterator[judge.Pair]:
    """Keep, before k = r tau + 1: x_r = row 0 of x - eta y, y_r = row 0 of y.

    For the clients y_i = grad f_i(x_i) - g_i with the stored gradient g_i of the box.
    """
    now, nothing = initial(run), (0,) * run.n_clients
    if reading.first == 0:
        now = iterate(run, reading, 0, now)
    yield f"{run}: start", now.x[0] - ETA * now.y[0], run.start
    yield f"{run}: start of y", list(now.y), [0, *pending(run, now.x, nothing)]
    box = any_state(run)
    rows = column([tidied(box.x + ETA * box.y), *box.points])
    y = column([box.y, *pending(run, rows, box.stored)])
    now = _round_one(run, reading, Stack(rows, y, rows))
    after, _ = box_round(run, run.cohorts[0], box)
    yield f"{run}: x_r", tidied(now.x[0] - ETA * now.y[0]), after.x
    yield f"{run}: points", list(now.x[1:]), list(after.points)
    yield f"{run}: y", list(now.y), [after.y, *pending(run, now.x, after.stored)]


def switched_round(run: Run, reading: Reading) -> Iterator[judge.Pair]:
    """Keep, after k = r tau: x_r, y_r are rows 0, and S_r has pulled x_r.

    For the clients y_i = grad f_i(x_{k,i}) - g_i, with their rows before the pull.
    """
    now, nothing = initial(run), (0,) * run.n_clients
    if reading.first == 0:
        now = iterate(run, reading, 0, now)
    pulled = _pulled(run, run.cohorts[0], run.start, now.before)
    yield f"{run}: start", list(now.x), pulled
    yield f"{run}: start of y", list(now.y), [0, *pending(run, now.before, nothing)]
    box = any_state(run)
    rows = column([sympy.Symbol("W"), *box.points])
    x = column(_pulled(run, run.cohorts[0], box.x, rows))
    y = column([box.y, *pending(run, rows, box.stored)])
    now = _round_one(run, reading, Stack(x, y, rows))
    after, _ = box_round(run, run.cohorts[0], box)
    yield f"{run}: points", list(now.before[1:]), list(after.points)
    yield f"{run}: y", list(now.y), [after.y, *pending(run, now.before, after.stored)]
    pulled = _pulled(run, run.cohorts[1], after.x, now.before)
    yield f"{run}: x", list(now.x), pulled


def _box_round(run: Run, variant: Variant, stored: str) -> Iterator[judge.Pair]:
    """Compare the start and a round of the reading with those of the plain box."""
    start = started(run, stored)
    yield f"{run}: line 2", [start.y, *start.stored], [0] * (run.n_clients + 1)
    yield from switched_round(run, SWITCHED)
    box = any_state(run)
    one, _ = box_round(run, run.cohorts[0], box, AS_READ)
    other, _ = box_round(run, run.cohorts[0], box, variant)
    yield f"{run}: round", _listed(one), _listed(other)


def _listed(box: Box) -> list[Any]:
    return [box.x, box.y, *box.stored, *box.points]


def _round_one(run: Run, reading: Reading, now: Stack) -> Stack:
    """Return the stack after k = tau + 1, ..., 2 tau, the cohort being S_1."""
    moved = run.later()
    for k in range(run.local_steps + 1, 2 * run.local_steps + 1):
        now = iterate(moved, reading, k, now)
    return now


def pending(run: Run, rows: Array, stored: tuple[Any, ...]) -> list[Any]:
    """Return grad f_i at the clients' rows less the stored gradients."""
    slopes = run.stacked_gradient(rows)[1:]
    return [tidied(s - g) for s, g in zip(slopes, stored, strict=True)]


def _pulled(run: Run, cohort: Cohort, model: Any, rows: Array) -> list[Any]:
    kept = [model if i in cohort else rows[i + 1] for i in range(run.n_clients)]
    return [model, *kept]
