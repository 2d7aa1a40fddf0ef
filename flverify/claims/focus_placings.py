"""The recursions of FOCUS with matrices placed as the tables of Appendix D.1 have them.

Every placing is an offset: of the pull, the push, the server's entry of D_k and the
iterations in which D_k follows a cohort. A recursion is run with matrices, and node by
node for rechecks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from flverify._core.exact import Array
from flverify.claims.focus_recursions import Stack, initial
from flverify.claims.focus_runs import Run
from flverify.claims.scalar_runs import Cohort, column, tidy
from flverify.mixing import pull_matrix, push_matrix

NOBODY: Cohort = frozenset()


@dataclass(frozen=True)
class Placing:
    """Where the matrices of a recursion stand; rounds count from 0.

    Parameters
    ----------
    form : {"plain", "switched"}
        (63)-(64), or (65)-(66) with the y-update first.
    pull, server : int
        R(S_r) stands, and D_k[0, 0] is 1, at k = r tau + these.
    push : int or None
        C(S_r) stands at k = (r+1) tau + this; None for C_k = R_k' at the same k.
    range_from : int
        D_k follows S_r for r tau + c <= k < (r+1) tau + c.
    first : int
        Index of the first iteration.
    collects : {"cohort", "all"}
        C(S_r), or C_{k,all} of (69) in its place.
    at_start : bool
        Whether C_0 collects every client's y.
    weight : int
        First row of C_{k,all}; 1 in print.
    """

    form: str
    pull: int
    push: int | None
    server: int
    range_from: int
    first: int
    collects: str = "cohort"
    at_start: bool = False
    weight: int = 1

    def pulled(self, run: Run, k: int) -> Cohort | None:
        """S_r if R(S_r) stands at k."""
        r = _round(run, k - self.pull)
        return None if r is None else run.cohort(r)

    def pushed(self, run: Run, k: int) -> Cohort | None:
        """Clients whose y the server collects at k."""
        everybody = frozenset(range(run.n_clients))
        if k == 0 and self.at_start:
            return everybody
        if self.push is None:
            return self.pulled(run, k)
        ended = _round(run, k - self.push)
        if not ended:
            return None
        return everybody if self.collects == "all" else run.cohort(ended - 1)

    def serves(self, run: Run, k: int) -> bool:
        """Whether the server moves at k."""
        return _round(run, k - self.server) is not None

    def active(self, run: Run, k: int) -> Cohort:
        """Clients that D_k lets move at k."""
        return run.cohort((k - self.range_from) // run.local_steps)

    def schedule(self, run: Run, ks: range, shift: int = 0) -> list[Any]:
        """List what stands at k + shift for each k, in words and numbers."""
        return [
            value
            for k in ks
            for value in (
                _code(self.pulled(run, k + shift)),
                _code(self.pushed(run, k + shift)),
                int(self.serves(run, k + shift)),
                _code(self.active(run, k + shift)),
            )
        ]


def _round(run: Run, since: int) -> int | None:
    whole = since >= 0 and since % run.local_steps == 0
    return since // run.local_steps if whole else None


def _code(cohort: Cohort | None) -> int:
    """Return a number for a cohort: -1 for no matrix, 0 for {}."""
    return -1 if cohort is None else sum(2**i for i in cohort)


def step(run: Run, placing: Placing, k: int, old: Stack) -> Stack:
    """Return the stack after iteration k."""
    n, slope = run.n_clients, run.stacked_gradient
    R = pull_matrix(placing.pulled(run, k) or NOBODY, n)
    C = _push(run, placing, k)
    active = placing.active(run, k)
    D = column([int(placing.serves(run, k)), *(int(i in active) for i in range(n))])
    if placing.form == "plain":
        x = tidy(R @ (old.x - run.step_size * D * old.y))
        y = tidy(C @ (old.y + slope(x) - slope(old.x)))
    else:
        y = tidy(C @ (old.y + slope(old.x) - slope(old.before)))
        x = tidy(R @ (old.x - run.step_size * D * y))
    return Stack(x, y, old.x)


def _push(run: Run, placing: Placing, k: int) -> Array:
    cohort = placing.pushed(run, k)
    if cohort is None:
        return push_matrix(NOBODY, run.n_clients)
    if placing.collects == "cohort":
        return push_matrix(cohort, run.n_clients)
    out: Array = np.zeros((run.n_clients + 1,) * 2, dtype=object)
    out[0, :] = placing.weight
    return out


def models(run: Run, placing: Placing) -> list[Any]:
    """Return row 0 after each move of the server.

    Examples
    --------
    >>> from flverify.claims.focus_runs import rational_runs
    >>> run, left = next(rational_runs()), Placing("plain", 1, 0, 1, 1, 1)
    >>> models(run, left) == run.box == models_again(run, left)
    True
    >>> models(run, Placing("plain", 0, -1, 1, 0, 0)) == run.box
    False
    """
    now, out = initial(run), list[Any]()
    for k in _iterations(run, placing):
        now = step(run, placing, k, now)
        if placing.serves(run, k) and len(out) <= run.rounds:
            out.append(now.x[0])
    return out


def _iterations(run: Run, placing: Placing) -> range:
    return range(placing.first, (run.rounds + 1) * run.local_steps + 2)


def models_again(run: Run, placing: Placing) -> list[Any]:
    """Compute `models` node by node, without matrices: for rechecks."""
    x = [run.start, *run.client_starts]
    before, y = list(x), [0, *(run.gradient(i, z) for i, z in enumerate(x[1:]))]
    out: list[Any] = []
    for k in _iterations(run, placing):
        if placing.form == "plain":
            x, before = _moved(run, placing, k, x, y), x
        for i in range(run.n_clients):
            fresh = run.gradient(i, x[i + 1]) - run.gradient(i, before[i + 1])
            y[i + 1] = y[i + 1] + fresh
        _collect(placing, y, placing.pushed(run, k))
        if placing.form == "switched":
            x, before = _moved(run, placing, k, x, y), x
        if placing.serves(run, k) and len(out) <= run.rounds:
            out.append(x[0])
    return out


def _collect(placing: Placing, y: list[Any], cohort: Cohort | None) -> None:
    for i in cohort or ():
        y[0], y[i + 1] = y[0] + y[i + 1], 0
    if cohort is not None and placing.collects == "all":
        y[0] = placing.weight * y[0]


def _moved(run: Run, placing: Placing, k: int, x: list[Any], y: list[Any]) -> list[Any]:
    out = list(x)
    for i in placing.active(run, k):
        out[i + 1] = x[i + 1] - run.step_size * y[i + 1]
    if placing.serves(run, k):
        out[0] = x[0] - run.step_size * y[0]
    for i in placing.pulled(run, k) or ():
        out[i + 1] = out[0]
    return out
