"""Rows of (67)-(69) in a round of any N and tau: (71), (76), (78) and the box.

Between two rounds all clients have y_i = 0, and the server the sum of the gradients at
their rows: then C_{k,all} collects nothing but what C(S_r) does.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import sympy

from flverify.claims import judge
from flverify.claims.any_cohort import NEXT, OF_TWO, THIS
from flverify.claims.focus_any_box import (
    EVERY,
    INSIDE,
    POINTS,
    STORED,
    X,
    Y,
    gradients,
    kept_sum,
    lines,
)
from flverify.claims.focus_any_round import (
    BEGINS,
    BETWEEN,
    ENDS,
    FIRST,
    KINDS,
    Standing,
    an_iteration,
    between_rounds,
    inside,
    iterate,
    scheduled,
    standing,
)
from flverify.claims.focus_box import Box
from flverify.claims.focus_placings import Placing
from flverify.claims.focus_recursions import Stack
from flverify.claims.focus_runs import ETA
from flverify.claims.scalar_runs import column, tidied, tidy
from flverify.claims.verdict import Finding

FORM = "switched"
COLLECTED = Placing(FORM, 0, 0, 0, 0, 1, "all")
SLOPES = tuple(gradients(POINTS))
TRACKED = Box(X, sum(SLOPES), SLOPES, POINTS)
MASK = [int(i in THIS) for i in OF_TWO]


@cache
def follows_71(factor: int) -> Finding:
    """Judge (71) with a step of `factor` eta, from any rows whose y add up.

    Examples
    --------
    >>> follows_71(1).verdict.name, follows_71(2).passes()
    ('PROVED', False)
    """
    pairs = [pair for kind in KINDS for pair in _server(kind, factor)]
    return judge.all_of(
        {
            "where the matrices stand": scheduled(COLLECTED),
            "rows": judge.identity(pairs, EVERY),
        },
        scope=EVERY,
        argument="The sum of y_k is that of the gradients at x_{k-1}: every iteration "
        "keeps this, and leaves y_i = 0 at the end of a round. So it moves on to all "
        "rounds.",
    )


def _server(kind: str, factor: int) -> list[judge.Pair]:
    old = between_rounds(FORM, TRACKED, THIS)
    if kind not in BEGINS:
        old = inside(FORM, TRACKED, INSIDE)
        total = sum(gradients([*old.before[1:]])) - sum(old.y[1:])
        old = replace(old, y=column([total, *old.y[1:]]))
    now = iterate(FORM, standing(COLLECTED, kind), old)
    collected, emptied = sum(gradients([*old.x[1:]])), [0] * len(OF_TWO)
    tracked = (f"{kind}: sum of y", tidied(sum(now.y)), tidied(collected))
    if kind not in ENDS:
        return [
            tracked,
            _placed(kind, now),
            (f"{kind}: server's x", now.x[0], old.x[0]),
            (f"{kind}: server's y", now.y[0], tidied(old.y[0])),
        ]
    moved = old.x[0] - factor * ETA * now.y[0]
    return [
        tracked,
        _placed(kind, now),
        (f"{kind}: server's x", now.x[0], tidied(moved)),
        (f"{kind}: server's y", now.y[0], tidied(collected)),
        (f"{kind}: y of clients", list(now.y[1:]), emptied),
    ]


@cache
def telescopes(reference: int) -> Finding:
    """Judge y_{r tau+k'+1} against the gradients at x_{r tau+k'} and at a reference.

    That is x_{r tau + reference}, 0 or 1; k' = 1, ..., tau - 1.

    Examples
    --------
    >>> telescopes(0).verdict.name, telescopes(1).passes()
    ('PROVED', False)
    """
    begun = between_rounds(FORM, TRACKED, THIS)
    since = gradients([*(begun.x if reference else begun.before)[1:]])
    held = [s - g for s, g in zip(gradients(INSIDE[0]), since, strict=True)]
    states = {FIRST: begun, BETWEEN: inside(FORM, TRACKED, (INSIDE[0], held))}
    pairs: list[judge.Pair] = []
    for kind, old in states.items():
        now = iterate(FORM, standing(COLLECTED, kind), old)
        at = zip(MASK, gradients([*old.x[1:]]), since, strict=True)
        gaps = [tidied(on * (slope - g)) for on, slope, g in at]
        pairs += [(kind, list(now.y[1:]), gaps), _placed(kind, now)]
    return judge.all_of(
        {
            "where the matrices stand": scheduled(COLLECTED),
            "rows": judge.identity(pairs, EVERY),
        },
        scope=EVERY,
        argument="It holds after k = r tau + 1, and from there goes on to all k before "
        "(r+1) tau; who is not of S_r has the same row all the while",
    )


def empties(placing: Placing) -> Finding:
    """Judge that the iteration k = r tau leaves y_i = 0, from any rows.

    Examples
    --------
    >>> empties(COLLECTED).verdict.name
    'PROVED'
    >>> empties(replace(COLLECTED, collects="cohort")).verdict.name
    'REFUTED'
    """
    rows, y, before = (column(sympy.symbols(f"{name}0:9")) for name in "xyz")
    old, pairs = Stack(rows, y, before), []
    for kind in ENDS:
        now = iterate(FORM, standing(placing, kind), old)
        pairs.append((kind, list(now.y[1:]), [0] * len(OF_TWO)))
    return judge.all_of(
        {
            "where the matrices stand": scheduled(placing),
            "y of clients": judge.identity(pairs, EVERY),
        }
    )


@cache
def box_follows(factor: int) -> Finding:
    """Judge a round of the box, adding `factor` times each message, against (67)-(69).

    Examples
    --------
    >>> box_follows(1).verdict.name, box_follows(2).passes()
    ('PROVED', False)
    """
    each = {
        kind: judge.identity(an_iteration(COLLECTED, kind, TRACKED, factor), EVERY)
        for kind in KINDS
    }
    return judge.all_of(
        {
            "where the matrices stand": scheduled(COLLECTED),
            "lines 6-10": lines(),
            "y_r stays the sum of g_i": kept_sum(),
            **each,
        },
        scope=EVERY,
        argument="From rows whose gradients are stored, y_r their sum, both do the "
        "same in each iteration, and the rows they leave are such rows again",
    )


def collects_no_more(
    cohort_starts: bool, all_starts: bool, weight: int
) -> dict[str, Finding]:
    """Judge that C_{k,all} and C(S_r) make the same rows, of y_i = 0 between rounds.

    Parameters
    ----------
    cohort_starts, all_starts : bool
        Whether C_0 collects everybody's y, in (65) and in (69).
    weight : int
        First row of C_{k,all}; 1 in print.
    """
    one, other = (
        replace(COLLECTED, collects="cohort"),
        replace(COLLECTED, weight=weight),
    )
    pairs = [pair for kind in KINDS for pair in _both(kind, one, other)]
    start = _first_rows(int(cohort_starts)), _first_rows(weight * all_starts)
    begun = [
        ("rows", [*start[0].x, *start[0].y], [*start[1].x, *start[1].y]),
        ("y of clients", list(start[1].y[1:]), [0] * len(OF_TWO)),
    ]
    return {
        "where the matrices stand": scheduled(one),
        "start": judge.identity(begun, EVERY),
        "rows": judge.identity(pairs, EVERY),
    }


def _both(kind: str, one: Placing, other: Placing) -> list[judge.Pair]:
    """Run an iteration of each from the same rows; who waits has y_i = 0."""
    box, begins = Box(X, Y, SLOPES, POINTS), kind in BEGINS
    old = between_rounds(FORM, box, THIS) if begins else inside(FORM, box, INSIDE)
    now, again = (iterate(FORM, standing(p, kind), old) for p in (one, other))
    at = zip(MASK, again.y[1:], strict=True)
    kept = [y if on and kind not in ENDS else 0 for on, y in at]
    return [
        (f"{kind}: x", list(now.x), list(again.x)),
        (f"{kind}: y", list(now.y), list(again.y)),
        (f"{kind}: y of who waits", list(again.y[1:]), kept),
        _placed(kind, again),
    ]


def _placed(kind: str, now: Stack) -> judge.Pair:
    """Compare clients' rows of x with what the next iteration may find.

    Inside a round participants have moved by -eta y from the rows before; at its end
    those of the next round have pulled, and all others wait where they are.
    """
    wanted = []
    for i in OF_TWO:
        at = now.before[i]
        if kind in ENDS:
            at = now.x[0] if i in NEXT else at
        elif i in THIS:
            at = at - ETA * now.y[i]
        wanted.append(tidied(at))
    return f"{kind}: rows of clients", list(now.x[1:]), wanted


def _first_rows(weight: int) -> Stack:
    """Return rows after k = 0, from x_{-1} = x_0 and y_0 = grad f; C_0 = I for 0."""
    rows = column([X, *STORED])
    slopes = column([0, *gradients(STORED)])
    at = Standing(0, 0 if weight else None, True, 0, weight)
    now = iterate(FORM, at, Stack(rows, slopes, rows))
    return Stack(tidy(now.x), tidy(now.y), now.before)
