"""Which row of (6a)-(6c) of the FOCUS paper is x_{t,i}^{(r)} of (2b), and when.

The participants' rows of x_k, of y_k after the pull, and of y_k^+ after the local
update are compared with the local models, which a plain loop makes from the server
model of the round. A(S) is that of Figure 1, and D_k is on for those who pulled.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.fedavg_any_round import SCOPE, pulled_and_averaged
from flverify.claims.fedavg_recursions import Run, formal_runs, rational_runs
from flverify.claims.fedavg_rows import closed_form, stepped
from flverify.claims.scalar_runs import (
    CURVATURES,
    MINIMISERS,
    column,
    tidied,
    tidy,
)
from flverify.claims.verdict import Finding
from flverify.claims.written import both
from flverify.mixing import aggregation_matrix, pull_matrix

SEARCHED = "scalar quadratics; any client models at the start"
LISTED = (
    "N = 1, 2, tau = 1..3, two rounds of any nonempty cohorts, every differentiable "
    "f_i, step size and start; any client models at the start"
)


def named(row: str, offset: int, first: int) -> Finding:
    """Judge that a row at k = r tau + t + offset is x_{t,i}, i in S_r.

    Parameters
    ----------
    row : {"x", "y", "y+"}
        Of x_k, of y_k after the pull, or of y_k after the local update.
    offset : int
    first : int
        The first t; there are tau of them.

    Examples
    --------
    >>> named("y+", 0, 1).verdict.name, named("y", 0, 0).verdict.name
    ('PROVED', 'REFUTED')
    """
    search = judge.instances(_cases(row, offset, first), "==", SEARCHED)
    if not search.passes():
        return search
    pairs = (
        (f"{run}: round {r}, t = {t}, client {i + 1}", *_sides(run, row, r, t, k, i))
        for run in formal_runs()
        if run.n_clients <= 2
        for r, t, k, i in _compared(run, offset, first)
    )
    listed = judge.identity(pairs, LISTED)
    return judge.proof_or_search(_in_any_round(listed, row, offset, first), search)


# s of the first iteration k = r tau + s at which a participant's row is a local model,
# x_{0,i} of y and x_{1,i} of the others; from there on both indices count local steps
BEGINS = {"x": (2, 1), "y": (1, 0), "y+": (1, 1)}


def _in_any_round(listed: Finding, row: str, offset: int, first: int) -> Finding:
    """Judge the index of a row in a round of any length, and that none is outside."""
    scope = SCOPE.format("any")
    t, tau = sympy.symbols("t tau", real=True)
    begins, made = BEGINS[row]
    steps, asked = t + offset - begins, both(t >= first, t <= first + tau - 1)
    return judge.all_of(
        {
            "listed": listed,
            "rows": pulled_and_averaged(1, 0, everybody=False),
            "index": judge.identity([("local steps made", made + steps, t)], scope),
            "inside": judge.implied([asked], both(steps >= 0, steps < tau), scope),
        },
        scope=scope,
        argument="The server's row of the round is x_r of (2a). A participant's row of "
        "y_k is that after the pull, at k = r tau + 1, and y_k^+ is one step of (2b) "
        "further. Inside the round x_{k+1} and y_{k+1} are y_k^+, and so is a client's "
        "row of x_{k+1} after the average: the index grows by one at every k.",
    )


def _compared(run: Run, offset: int, first: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield r, t, k and the participants."""
    tau = run.local_steps
    for r, t in product(range(run.rounds), range(first, first + tau)):
        for i in sorted(run.cohorts[r]):
            yield r, t, r * tau + t + offset, i


def _sides(run: Run, row: str, r: int, t: int, k: int, i: int) -> tuple[Any, Any]:
    model = [run.start, *run.box][r]
    return _rows(run, max(k, run.rounds * run.local_steps))[k][row][
        i + 1
    ], _local_model(run, i, model, t)


def _sides_again(run: Run, row: str, r: int, t: int, k: int, i: int) -> tuple[Any, Any]:
    model = [run.start, *closed_form(run)][r]
    return _rows_again(run)[k][row][i + 1], _closed_form(run, i, model, t)


def _cases(row: str, offset: int, first: int) -> Iterator[judge.Case]:
    for run in rational_runs():
        for r, t, k, i in _compared(run, offset, first):
            where = {
                "N": run.n_clients,
                "tau": run.local_steps,
                "cohorts": [[j + 1 for j in sorted(s)] for s in run.cohorts],
                "h": list(CURVATURES[: run.n_clients]),
                "b": list(MINIMISERS[: run.n_clients]),
                "step size": run.step_size,
                "x_0": run.start,
                "client models": list(run.client_starts),
                "round": r,
                "t": t,
                "client": i + 1,
            }
            again = partial(_sides_again, run, row, r, t, k, i)
            yield judge.Case(where, *_sides(run, row, r, t, k, i), again)


@lru_cache(maxsize=64)
def _rows(run: Run, last: int) -> dict[int, dict[str, Any]]:
    """Run (6)-(7) from k = 0, with matrices of the package; keep all rows."""
    n, tau = run.n_clients, run.local_steps
    x, out = column([run.start, *run.client_starts]), {}
    for k in range(last + 1):
        r = (k - 1) // tau  # of those who pulled; -1 before any pull
        cohort = run.cohorts[r] if k else frozenset[int]()
        y = pull_matrix(cohort, n) @ x if k and (k - 1) % tau == 0 else x
        switch = column([int(i - 1 in cohort) for i in range(n + 1)])
        after = tidy(y - run.step_size * switch * run.stacked_gradient(y))
        out[k] = {"x": x, "y": y, "y+": after}
        ended = k and k % tau == 0
        average = aggregation_matrix(cohort, n, reading="figure1") if ended else None
        x = after if average is None else tidy(average @ after)
    return out


def _rows_again(run: Run) -> dict[int, dict[str, Any]]:
    """Return the same client by client, without matrices, on rational quadratics."""
    x, out = [run.start, *run.client_starts], {}
    for k in range(run.rounds * run.local_steps + 2):
        r, t = divmod(k - 1, run.local_steps)
        there = {i + 1 for i in run.cohorts[r]} if k else set[int]()
        y = [x[0] if t == 0 and i in there else v for i, v in enumerate(x)]
        after = [stepped(i - 1, v) if i in there else v for i, v in enumerate(y)]
        out[k] = {"x": x, "y": y, "y+": after}
        x = list(after)
        if k and t == run.local_steps - 1:
            x[0] = sum((after[i] for i in there), Fraction(0)) / len(there)
    return out


def _local_model(run: Run, i: int, model: Any, t: int) -> Any:
    """Return x_{t,i} by (2b) from the server's model of (2a)."""
    for _ in range(t):
        model = tidied(model - run.step_size * run.gradient(i, model))
    return model


def _closed_form(run: Run, i: int, model: Any, t: int) -> Fraction:
    h, b = CURVATURES[i], MINIMISERS[i]
    return Fraction(b + (1 - run.step_size * h) ** t * (model - b))
