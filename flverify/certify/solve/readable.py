"""The same programmes as one reads them, in cvxpy, for a second solver.

Kept apart from the fast path: cvxpy takes a second to load.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from flverify.certify.solve.direct import Block, Programme, Solution

__all__ = ["Block", "Programme", "widest_margin"]


def widest_margin(programme: Programme) -> Solution:
    """Maximise t as `solve.widest_margin` does, written in cvxpy and given to SCS.

    Examples
    --------
    >>> one = Block(np.zeros((1, 1)), np.ones((1, 1, 1)))
    >>> free, none = np.array([False]), np.zeros((0, 1))
    >>> found = widest_margin(
    ...     Programme((one,), free, none, np.zeros(0), np.ones(1))
    ... )
    >>> round(found.margin, 3)
    1.0
    """
    y, t = cp.Variable(programme.size), cp.Variable()
    rules: list[Any] = [programme.normal @ y <= 1]
    if len(programme.values):
        rules.append(programme.equalities @ y == programme.values)
    if programme.nonnegative.any():
        rules.append(y[np.flatnonzero(programme.nonnegative)] >= t)
    for block in programme.blocks:
        m = len(block.constant)
        terms = [y[j] * block.coefficients[j] for j in range(programme.size)]
        rules.append(block.constant + sum(terms) - t * np.eye(m) >> 0)
    problem = cp.Problem(cp.Maximize(t), rules)
    run: Any = problem.solve
    run(solver=cp.SCS, eps=1e-9, max_iters=100_000)
    good = problem.status == cp.OPTIMAL
    values = np.zeros(programme.size) if y.value is None else np.asarray(y.value)
    margin = float("nan") if t.value is None else float(t.value)
    return Solution("solved" if good else "failed", problem.status, margin, values)
