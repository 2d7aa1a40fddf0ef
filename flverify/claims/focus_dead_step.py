"""Which local models of Algorithm 1 have an effect, and how many moves and evaluations.

A local model is replaced by a foreign symbol, and looked for in what is stored and
pushed. That an earlier one has an effect in any number of steps shows on f_i = h x^2/2:
there what is stored moves with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.focus_any_box import EVERY, lines
from flverify.claims.focus_box import any_state, box_round
from flverify.claims.focus_runs import ETA, FORMAL, Run, formal_rounds
from flverify.claims.scalar_runs import tidied
from flverify.claims.verdict import Finding
from flverify.claims.written import above


def dead_step_of(dead: int, before_last: int) -> Finding:
    """Judge that x_1, ..., x_{tau - dead} have an effect, and x_tau otherwise not.

    And that the gradient stored is that at x_{tau - before_last}, a round having tau
    evaluations and tau - 1 moves with an effect.

    Examples
    --------
    >>> dead_step_of(1, 1).verdict.name, dead_step_of(0, 1).verdict.name
    ('PROVED', 'REFUTED')
    """
    pairs = (p for run in formal_rounds() for p in _used(run, dead, before_last))
    return judge.all_of(
        {
            "listed": judge.identity(pairs, FORMAL),
            "lines 6-10": lines(),
            "counts": judge.identity(_counts(dead, before_last), EVERY),
            "an effect on the next": _passed_on(),
        },
        scope=EVERY,
        argument="Each step evaluates the gradient at x_t, t = 0, ..., tau - 1, and "
        "makes x_{t+1}. The last one stores that gradient and pushes y_tau, which its "
        "x_tau does not enter. Any earlier x_t is a point of evaluation, and what is "
        "stored last moves with it, through every x between, on quadratics.",
    )


def _counts(dead: int, before_last: int) -> list[judge.Pair]:
    """Count what t = 0, ..., tau - 1 stands for, and k = r tau + 2, ..., (r+1) tau."""
    tau, r = sympy.symbols("tau r")
    last = tau - 1  # t of the last step
    return [
        ("models made before the last step", last, tau - dead),
        ("index of the point that is stored", last, tau - before_last),
        ("terms of the sums over k", (r + 1) * tau - (r * tau + 2) + 1, tau - dead),
    ]


def _passed_on() -> Finding:
    """Judge that x_{t+1} grows with x_t on f = h x^2/2, what is stored being s."""
    h, eta, slope = sympy.symbols("h eta slope", positive=True)
    x, s = sympy.symbols("x s", real=True)
    after = x - eta * (h * x - s)  # y_{t+1} telescopes
    grown = sympy.expand(sympy.diff(after, x) * slope)
    inside = above(1, eta * h)
    return judge.implied([inside], above(grown, 0), "f_i = h x^2/2, eta h < 1")


def _used(run: Run, dead: int, before_last: int) -> Iterator[judge.Pair]:
    tau = run.local_steps
    for i in sorted(run.cohorts[0]):
        moves = [_reaches(run, i, t) for t in range(1, tau + 1)]
        used = range(1, tau - dead + 1)
        wanted = [int(t in used) for t in range(1, tau + 1)]
        points, stored, _ = _local(run, i)
        name = f"{run}, client {i + 1}"
        yield f"{name}: which of x_1, ..., x_tau are used", moves, wanted
        yield f"{name}: evaluations", len(points), tau
        yield f"{name}: moves", sum(moves), len(range(tau + 2, 2 * tau + 1))
        at = points[max(tau - before_last, 0)]
        yield f"{name}: stored", tidied(stored - run.gradient(i, at)), 0
        after, _ = box_round(run, run.cohorts[0], any_state(run))
        yield f"{name}: as in the box", stored, after.stored[i]


def _local(run: Run, i: int, replaced: int = 0) -> tuple[list[Any], Any, Any]:
    """Lines 6-10: points of evaluation, the gradient stored, the message pushed.

    x_t is a foreign symbol for t = `replaced`, if that is not 0.
    """
    box, foreign = any_state(run), sympy.Symbol("foreign")
    x, y, old = box.x, sympy.Integer(0), box.stored[i]
    points: list[Any] = []
    for t in range(run.local_steps):
        points.append(x)
        fresh = run.gradient(i, x)
        y, old = tidied(y + fresh - old), fresh
        x = foreign if t + 1 == replaced else tidied(x - ETA * y)
    return points, old, y


def _reaches(run: Run, i: int, t: int) -> int:
    """Whether x_t has an effect on what is stored or pushed."""
    _, stored, message = _local(run, i, replaced=t)
    return int((stored + message).has(sympy.Symbol("foreign")))
