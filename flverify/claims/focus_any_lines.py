"""From (13)-(14) to lines 6-13 of Algorithm 1 in a round of any N and tau."""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.any_cohort import OF_TWO, THIS
from flverify.claims.focus_any_box import (
    EVERY,
    INSIDE,
    POINTS,
    STORED,
    X,
    Y,
    begun,
    finished,
    gone_on,
    gradients,
    lines,
)
from flverify.claims.focus_any_round import (
    BEGINS,
    ENDS,
    KINDS,
    an_iteration,
    iterate,
    placing_of,
    scheduled,
    standing,
)
from flverify.claims.focus_box import Box
from flverify.claims.focus_recursions import PLAIN, Reading, Stack
from flverify.claims.focus_runs import ETA
from flverify.claims.scalar_runs import column, tidied
from flverify.claims.verdict import Finding


@cache
def rows_by_nodes(reset: int) -> Finding:
    """Judge (15)-(21) as rows of (13)-(14); a push multiplies a client's y by `reset`.

    Examples
    --------
    >>> rows_by_nodes(0).verdict.name, rows_by_nodes(1).verdict.name
    ('PROVED', 'REFUTED')
    """
    pairs = [pair for kind in KINDS for pair in _by_nodes(kind, reset)]
    return judge.all_of(
        {
            "where the matrices stand": scheduled(placing_of(PLAIN)),
            "rows": judge.identity(pairs, EVERY),
        }
    )


def _by_nodes(kind: str, reset: int) -> list[judge.Pair]:
    """Write an iteration from any x and y node by node, without matrices."""
    old_x, old_y = sympy.symbols("x0:9"), sympy.symbols("y0:9")
    begins, ends = kind in BEGINS, kind in ENDS
    server = old_x[0] - ETA * old_y[0] if begins else old_x[0]  # (15)
    x: list[Any] = [server]
    for i in OF_TWO:
        step = server if begins else old_x[i] - ETA * old_y[i]  # (16), (20)
        x.append(step if i in THIS else old_x[i])
    changes = zip(gradients(x[1:]), gradients(old_x[1:]), strict=True)
    fresh = [y + new - old for y, (new, old) in zip(old_y[1:], changes, strict=True)]
    sent = [y for i, y in zip(OF_TWO, fresh, strict=True) if ends and i in THIS]
    kept = [  # (19), (21)
        reset * y if ends and i in THIS else y
        for i, y in zip(OF_TWO, fresh, strict=True)
    ]
    y = [old_y[0] + sum(sent), *kept]  # (18)
    rows = column(old_x)
    now = iterate(
        "plain", standing(placing_of(PLAIN), kind), Stack(rows, column(old_y), rows)
    )
    return [
        (f"{kind}: x", list(now.x), [tidied(v) for v in x]),
        (f"{kind}: y", list(now.y), [tidied(v) for v in y]),
    ]


@cache
def renamed(reading: Reading, shift: int) -> Finding:
    """Judge lines 6-13 and (22) for the rows renamed x_{k+shift} -> x_t, k = r tau + t.

    Examples
    --------
    >>> renamed(PLAIN, 2).verdict.name, renamed(PLAIN, 1).verdict.name
    ('PROVED', 'REFUTED')
    """
    placing, slopes = placing_of(reading), tuple(gradients(POINTS))
    idle = Box(X, Y, slopes, POINTS)  # (22): y_0 = 0, what is stored is at x_{-1}
    each = {k: judge.identity(an_iteration(placing, k, idle), EVERY) for k in KINDS}
    t = sympy.Symbol("t")
    # rows after k = r tau + j are x_{k+1} and y_{k+1}: y_j, and x_{j-1} or, in the
    # switched form, x_j; y_{t+1} is looked for beside x_t, or one index later
    j_of_x = t + 1 if reading.form == "plain" else t
    later = 0 if reading.form == "plain" else 1
    index = [
        ("x_t", t + shift, j_of_x + 1),
        ("y_{t+1}", t + shift + later, (t + 1) + 1),
    ]
    return judge.all_of(
        {
            "where the matrices stand": scheduled(placing),
            "lines 6-10": lines(),
            "index": judge.identity(index, EVERY),
            **each,
        },
        scope=EVERY,
        argument="after k = r tau + j a participant's rows are those of the box after "
        "j local steps, from idle clients with any rows; what is left is their index",
    )


@cache
def messages(down: int, up: int) -> Finding:
    """Judge how many vectors a participant and the server have of each other's.

    Examples
    --------
    >>> messages(1, 1).verdict.name, messages(1, 2).verdict.name
    ('PROVED', 'REFUTED')
    """
    server, own = {X, Y}, {POINTS[0], STORED[0], INSIDE[0][0], INSIDE[1][0]}
    clients = {*POINTS, *STORED, *INSIDE[0], *INSIDE[1]}
    received, foreign = set[Any](), set[Any]()
    for points, pushed in (begun(), gone_on()):
        read = points[0].free_symbols | pushed[0].free_symbols
        received |= read & server
        foreign |= read & (clients - own)
    after = finished(INSIDE)
    used = (after.x.free_symbols | after.y.free_symbols) & clients
    return judge.all_of(
        {
            "lines 6-10": lines(),
            "what crosses": judge.identity(
                [
                    ("vectors down to a participant", len(received), down),
                    ("vectors up from all of THIS", len(used), up * len(THIS)),
                    ("messages among what is used", len(used - {*INSIDE[1]}), 0),
                    ("vectors of other clients", len(foreign), 0),
                ],
                EVERY,
            ),
        },
        scope=EVERY,
        argument="What a local step reads of the server is what goes down, and what "
        "lines 12 and 13 read of clients is what comes up.",
    )
