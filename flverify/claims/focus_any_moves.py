"""How far a row of (67)-(69) moves in a round of any N and tau: for Lemmas 3 and 4."""

from __future__ import annotations

from functools import cache

import sympy

from flverify.claims import judge
from flverify.claims.any_cohort import OF_TWO
from flverify.claims.focus_any_round import (
    BETWEEN,
    FIRST,
    iterate,
    j,
    scheduled,
    standing,
    tau,
)
from flverify.claims.focus_any_rows import COLLECTED, FORM, MASK, follows_71
from flverify.claims.focus_recursions import Stack
from flverify.claims.focus_runs import ETA
from flverify.claims.scalar_runs import column, tidied
from flverify.claims.verdict import Finding
from flverify.claims.written import both

ANY_ROWS = "every N, tau, cohort, differentiable f_i, any rows and step size"


@cache
def unrolled(sign: int) -> Finding:
    """Judge x_{k,i} = x_{r tau+1,i} - `sign` eta times the sum of i's y, masked.

    The sum is over r tau + 2, ..., k, for every k up to (r+1) tau.

    Examples
    --------
    >>> unrolled(1).verdict.name, unrolled(-1).verdict.name
    ('PROVED', 'REFUTED')
    """
    rows, y, before = (column(sympy.symbols(f"{name}0:9")) for name in "xyz")
    pairs = []
    for kind in (FIRST, BETWEEN):
        now = iterate(FORM, standing(COLLECTED, kind), Stack(rows, y, before))
        at = zip(MASK, OF_TWO, strict=True)
        moved = [tidied(rows[i] - ETA * on * now.y[i]) for on, i in at]
        pairs.append((kind, list(now.x[1:]), moved))
    x, total, more = sympy.symbols("x total more")
    step = (x - sign * ETA * total) - ETA * more, x - sign * ETA * (total + more)
    inside = both(j + 1 >= 2, j + 1 <= tau)  # the index of what k = r tau + j makes
    return judge.all_of(
        {
            "where the matrices stand": scheduled(COLLECTED),
            "an iteration": judge.identity(pairs, ANY_ROWS),
            "one more term": judge.identity([("a row", *step)], ANY_ROWS),
            "which terms": judge.implied([j >= 1, j <= tau - 1], inside, ANY_ROWS),
        },
        scope=ANY_ROWS,
        argument="at k = r tau + 1 the sum has no term, and each iteration before the "
        "last moves a row by -eta times its y_{k+1}, or not at all, whatever y is",
    )


@cache
def server_and_row(server: int, moves: int) -> Finding:
    """Judge a row of (90): of 1 wbar less x, from one round to the next.

    Examples
    --------
    >>> server_and_row(-1, 1).verdict.name, server_and_row(1, 1).verdict.name
    ('PROVED', 'REFUTED')
    """
    w, x, y, total = sympy.symbols("w x y total")
    left = (w - ETA * y) - (x - ETA * total)
    right = w + server * ETA * y - x + moves * ETA * total
    return judge.all_of(
        {
            "(71)": follows_71(1),
            "a client's row": unrolled(1),
            "put together": judge.identity([("a row", left, right)], ANY_ROWS),
        },
        scope=ANY_ROWS,
        argument="the server moves once, by -eta ybar, and a row by -eta its sum of y",
    )
