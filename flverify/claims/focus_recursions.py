"""FOCUS as a matrix recursion, (13)-(14) and its switched form (65)-(66), literally."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from flverify._core.exact import Array
from flverify.claims.focus_runs import Run
from flverify.claims.scalar_runs import Cohort, column, tidy
from flverify.mixing import pull_matrix, push_matrix


@dataclass(frozen=True)
class Reading:
    """How the matrices of a recursion are placed.

    Parameters
    ----------
    form : {"plain", "switched"}
        (13)-(14), or (65)-(66) with the y-update first.
    push : {"end", "same"}
        C(S_r) when round r ends, or C_k = R_k' at the same k.
    range_from : int
        c in the range r tau + c <= k < (r+1) tau + c in which D_k follows S_r.
    first : int
        Index of the first iteration.
    alike : bool
        Whether all rows of x_0 are equal; any are allowed otherwise.
    """

    form: str = "plain"
    push: str = "end"
    range_from: int = 0
    first: int = 0
    alike: bool = False

    def begun(self, run: Run) -> Run:
        """Return a run whose rows at the start are those of the reading."""
        rows = (run.start,) * run.n_clients
        return replace(run, client_starts=rows) if self.alike else run

    def pulls(self, run: Run, k: int) -> int | None:
        """Round whose pull stands at iteration k; the server moves there too."""
        since = k - 1 if self.form == "plain" else k
        return since // run.local_steps if _divides(run.local_steps, since) else None

    def pushes(self, run: Run, k: int) -> int | None:
        """Round whose push stands at iteration k."""
        if self.push == "same":
            return self.pulls(run, k)
        ended = k > 0 and _divides(run.local_steps, k)
        return k // run.local_steps - 1 if ended else None

    def moving(self, run: Run, k: int) -> Cohort:
        """Clients that D_k lets move at iteration k."""
        return run.cohort((k - self.range_from) // run.local_steps)


PLAIN = Reading("plain", "end", range_from=1, first=1)  # the placings that work,
SWITCHED = Reading("switched", "end", range_from=0, first=0)  # see eq13_14.matrixform


@dataclass(frozen=True)
class Stack:
    """x_k, y_k and the x of the iteration before, rows 0 (server) to N."""

    x: Array
    y: Array
    before: Array


def initial(run: Run) -> Stack:
    """Return x_0 with any rows, x_{-1} = x_0 and y_0 = grad f(x_0)."""
    x = column([run.start, *run.client_starts])
    return Stack(x, run.stacked_gradient(x), x)


def iterate(run: Run, reading: Reading, k: int, old: Stack) -> Stack:
    """Return the stack after iteration k, with R(S) and C(S) as in (4)."""
    n = run.n_clients
    pulled, pushed = reading.pulls(run, k), reading.pushes(run, k)
    none: Cohort = frozenset()
    R = pull_matrix(none if pulled is None else run.cohort(pulled), n)
    C = push_matrix(none if pushed is None else run.cohort(pushed), n)
    on = [i in reading.moving(run, k) for i in range(n)]
    D = column([int(pulled is not None), *map(int, on)])
    slope = run.stacked_gradient
    if reading.form == "plain":
        x = tidy(R @ (old.x - run.step_size * D * old.y))
        y = tidy(C @ (old.y + slope(x) - slope(old.x)))
    else:
        y = tidy(C @ (old.y + slope(old.x) - slope(old.before)))
        x = tidy(R @ (old.x - run.step_size * D * y))
    return Stack(x, y, old.x)


def server_models(run: Run, reading: Reading) -> list[Any]:
    """Return row 0 after each server step: x_0, x_1, ... of the box, if all is well.

    Examples
    --------
    >>> from flverify.claims.focus_runs import rational_runs
    >>> run = next(rational_runs())
    >>> server_models(run, SWITCHED) == run.box == again(run, SWITCHED)
    True
    >>> server_models(run, Reading()) == run.box
    False
    """
    now, models = initial(run), _unmoved(run, reading)
    for k in range(reading.first, run.rounds * run.local_steps + 2):
        now = iterate(run, reading, k, now)
        if reading.pulls(run, k) is not None and len(models) <= run.rounds:
            models.append(now.x[0])
    return models


def again(run: Run, reading: Reading) -> list[Any]:
    """Compute `server_models` node by node, without matrices: for rechecks."""
    nodes = range(run.n_clients)
    x, before = [run.start, *run.client_starts], [run.start, *run.client_starts]
    y: list[Any] = [0, *(run.gradient(i, x[i + 1]) for i in nodes)]
    models = _unmoved(run, reading)
    for k in range(reading.first, run.rounds * run.local_steps + 2):
        if reading.form == "plain":
            x, before = _moved(run, reading, k, x, y), x
        for i in nodes:
            y[i + 1] += run.gradient(i, x[i + 1]) - run.gradient(i, before[i + 1])
        pushed = reading.pushes(run, k)
        for i in run.cohort(pushed) if pushed is not None else ():
            y[0], y[i + 1] = y[0] + y[i + 1], 0
        if reading.form == "switched":
            x, before = _moved(run, reading, k, x, y), x
        if reading.pulls(run, k) is not None and len(models) <= run.rounds:
            models.append(x[0])
    return models


def _unmoved(run: Run, reading: Reading) -> list[Any]:
    """x_0, where the iteration k = 0 that would give it is not executed."""
    return [run.start] if reading.form == "switched" and reading.first else []


def _moved(run: Run, reading: Reading, k: int, x: list[Any], y: list[Any]) -> list[Any]:
    out, pulled = list(x), reading.pulls(run, k)
    for i in reading.moving(run, k):
        out[i + 1] = x[i + 1] - run.step_size * y[i + 1]
    if pulled is not None:
        out[0] = x[0] - run.step_size * y[0]
        for i in run.cohort(pulled):
            out[i + 1] = out[0]
    return out


def _divides(tau: int, k: int) -> bool:
    return k >= 0 and k % tau == 0
