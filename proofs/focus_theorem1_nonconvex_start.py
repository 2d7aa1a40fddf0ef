r"""Appendix D.7 of the FOCUS paper: C_0 = 0, on which the sums over rounds rest.

C_0 compares the server model of round 0 with the clients' rows of x_0. It vanishes if
all rows are equal and the server has not moved, as in Algorithm 1 read that way. In
the matrix form the iteration k = 0 moves the server by the sum of all gradients, and
rows that "can be any values" need not be equal.

Conventions: (67)-(69) with x_{-1} = x_0 and y_0 = grad f(x_{-1}); at k = 0 the table of
Appendix D.1 has R(S_1), D_0[0, 0] = 1 and, by (69), C_{0,all}. For the reading of line
2 with stored gradients 0 the rows are the clients' minimisers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.focus_runs import Run, formal_rounds
from flverify.claims.scalar_runs import MINIMISERS, column, tidy
from flverify.claims.verdict import Finding
from flverify.mixing import pull_matrix


@claim(
    "focus.thm1.nc.C0",
    source=Source("focus", "Appendix D.7, text after (119)"),
    statement=r"C_0=0,\qquad C_0=\mathbb{E}\|\mathbb{1}\bar x_1-\boldsymbol x_0\|^2",
    proposition="The server model that round 0 pulls is that of every row of x_0.",
    constants={"rows": "equal"},
    twin={"rows": "any"},
    no_control="the text fixes neither the rows of x_0 nor whether the server moves at "
    "k = 0; the twin, any rows, fails in every setting",
)
def start(c: SimpleNamespace) -> Finding:
    """Evaluate C_0 on formal gradients in each setting, and a term of it."""
    settings = {
        "(i) (67)-(69) with the iteration k = 0, y_0 = grad f(x_{-1}), models equal": (
            True,
            c.rows,
        ),
        "(ii) Algorithm 1 with y_0 = 0, rows at x_0": (False, c.rows),
        "(ii) Algorithm 1 with y_0 = 0, rows where grad f_i is 0": (False, "stored"),
        "(iii) y_0 the sum of grad f_i(x_0), no move at k = 0": (False, c.rows),
        "(iv) any rows x_0": (False, "any"),
    }
    return judge.readings(
        {name: _vanishes(moved, rows) for name, (moved, rows) in settings.items()}
    )


def _vanishes(moved: bool, rows: str) -> Finding:
    """Judge C_0 = 0 in listed rounds; without k = 0, each client's term of it too."""
    scope = "N, tau = 1, 2, 3, every cohort, differentiable f_i, step size and start"
    listed = judge.identity(_errors(moved, rows), scope)
    if moved or not listed.passes():
        return listed
    x_0, stored, anything = sympy.symbols("x_0 b z")
    row = {"equal": x_0, "stored": stored, "any": anything}[rows]
    return judge.all_of(
        {
            "listed": listed,
            "a client": judge.identity([("its term", (x_0 - row) ** 2, 0)], "a client"),
        },
        scope="every N, tau, cohort, differentiable f_i, step size and start",
        argument="C_0 is a sum over clients, and without k = 0 the server is at x_0",
    )


def _errors(moved: bool, rows: str) -> Iterator[judge.Pair]:
    """C_0 of every formal round, where `moved` executes k = 0."""
    for run in formal_rounds():
        n = run.n_clients
        placed = {
            "equal": (run.start,) * n,
            "stored": tuple(map(sympy.Rational, MINIMISERS[:n])),
            "any": run.client_starts,
        }
        begun = replace(run, client_starts=placed[rows])
        server = _after_first(begun) if moved else begun.start
        gaps = ((server - row) ** 2 for row in begun.client_starts)
        yield f"{run}: C_0", sympy.expand(sum(gaps)), 0


def _after_first(run: Run) -> Any:
    """Return xbar_1 of (67)-(69): C_{0,all}, D_0[0, 0] = 1 and R(S_0) at k = 0."""
    n, x = run.n_clients, column([run.start, *run.client_starts])
    gather = np.zeros((n + 1, n + 1), dtype=object)
    gather[0, :] = 1
    y = tidy(gather @ run.stacked_gradient(x))  # of y_0, as x_{-1} = x_0
    move = column([1, *[0] * n])
    return tidy(pull_matrix(run.cohort(0), n) @ (x - run.step_size * move * y))[0]
