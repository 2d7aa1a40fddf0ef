"""A round of FedAvg by matrices, for every number of clients and of local steps.

In (30)-(32) and in (33)-(35) of the FOCUS paper a node reads its own row, and another's
only where a matrix has an entry; entries are defined by cases, so that two participants
and two absent clients show all of them (`flverify.claims.any_cohort`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.any_cohort import SIZE
from flverify.claims.mixing_cases import SOME
from flverify.claims.printed_mixing import average, pull, virtual
from flverify.claims.scalar_runs import column
from flverify.claims.verdict import Finding
from flverify.claims.written import at_least, at_most, both

eta = sympy.Symbol("eta", positive=True)
tau, j, r = sympy.symbols("tau j r", real=True)
SERVER, FIRST, SECOND, *AWAY = sympy.symbols("x_0 x_1 x_2 x_3 x_4")
ROWS = (SERVER, FIRST, SECOND, *AWAY)
SCOPE = (
    "every N and tau, any number of rounds of nonempty cohorts, every differentiable "
    "f_i, step size and start; {} client models at the start"
)


@cache
def pulled_and_averaged(behind: int, late: int, *, everybody: bool) -> Finding:
    """Judge (30)-(32) with 1/|S| in the server's row, round by round.

    Parameters
    ----------
    behind : int
        1 if V at k = (r+1) tau is that of S_r, 0 if that of S_{r+1}.
    late : int
        Round of (2) whose cohort is S_0.
    everybody : bool
        Whether D_k lets everybody work, or the cohort that pulled.

    Examples
    --------
    >>> pulled_and_averaged(1, 0, everybody=True).verdict
    <Verdict.PROVED: 'PROVED'>
    >>> pulled_and_averaged(0, 0, everybody=True).verdict
    <Verdict.REFUTED: 'REFUTED'>
    """
    scope = SCOPE.format("any")
    pulls, means = SOME.matrix(pull), SOME.matrix(average("j"))
    after = [mean_of_participants(), *ROWS[1:]]
    cohorts = [("of V and of R", r + 1 - behind, r), ("of (2) and of R", r + late, r)]
    matrices = [
        ("R", list(pulls @ column(ROWS)), [SERVER] * 3 + AWAY),
        ("V", list(means @ column(ROWS)), after),
    ]
    return judge.all_of(
        {
            "matrices": judge.identity(matrices, scope),
            "cohorts": judge.identity(cohorts, scope),
            "a local step": local_step(scope, everybody=everybody),
            "iterations of a round": one_pull_and_one_mean(scope),
        },
        scope=scope,
        argument="At k = r tau + 1 the participants take the server's model, whatever "
        "they had. Then each row of theirs is a local model of (2b), one step further "
        "in each of the tau iterations, the server's row stays, and no row depends on "
        "an absent client's. At k = (r+1) tau the server's row becomes the average of "
        "(2c). So it does in the next round, from any client models.",
    )


@cache
def all_rows_averaged(averaged: int, late: int = 0) -> Finding:
    """Judge (8), or (33)-(35), from k = 1 and consensus, against (2), round by round.

    Parameters
    ----------
    averaged : int
        (2c) averages the local models of index tau + averaged.
    late : int
        W in round r is that of S_{r + late}.

    Examples
    --------
    >>> all_rows_averaged(0).verdict, all_rows_averaged(1).verdict
    (<Verdict.PROVED: 'PROVED'>, <Verdict.REFUTED: 'REFUTED'>)
    """
    scope = SCOPE.format("equal")
    rows = list(SOME.matrix(virtual()) @ column(ROWS))
    steps = (r + 1) * tau - r * tau
    return judge.all_of(
        {
            "W": judge.identity([("rows", rows, [mean_of_participants()] * 5)], scope),
            "cohorts": judge.identity([("of (2) and of W", r + late, r)], scope),
            "steps": judge.identity([("of a round", tau + averaged, steps)], scope),
            "a local step": local_step(scope, everybody=True),
            "iterations of a round": one_pull_and_one_mean(scope),
        },
        scope=scope,
        argument="From consensus each row of a client is a local model of (2b), one "
        "step further in each iteration of the round, k = r tau + 1, ..., (r+1) tau. "
        "At the last W makes all rows the average of (2c), and there is consensus "
        "again.",
    )


def mean_of_participants() -> Any:
    """Return the average of |S| models, of which two show."""
    return (FIRST + SECOND) / SIZE


def local_step(scope: str, *, everybody: bool) -> Finding:
    """Judge that x - eta D grad f is (2b) for participants and keeps the server."""
    names = sympy.symbols("g_1:5", cls=sympy.Function)
    slopes = [0, *(g(x) for g, x in zip(names, ROWS[1:], strict=True))]
    works = [0, 1, 1, int(everybody), int(everybody)]
    moved = [x - eta * on * g for x, on, g in zip(ROWS, works, slopes, strict=True)]
    local = [FIRST - eta * names[0](FIRST), SECOND - eta * names[1](SECOND)]
    return judge.identity([("rows", moved[:3], [SERVER, *local])], scope)


def one_pull_and_one_mean(scope: str) -> Finding:
    """Judge that of k = r tau + 1, ..., (r+1) tau the last alone is a multiple of tau.

    And so that the first alone is one more than a multiple.
    """
    k, first, end = r * tau + j, r * tau + 1, (r + 1) * tau
    between = both(at_least(k, first), at_most(k, end - 1))
    return judge.all_of(
        {
            "before the last": judge.implied([j >= 1, j <= tau - 1], between, scope),
            "the last": judge.identity([("k", k.subs(j, tau), end)], scope),
        }
    )
