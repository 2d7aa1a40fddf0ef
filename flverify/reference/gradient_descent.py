"""Gradient descent on the sum of the client functions: x+ = x - eta sum_i g_i(x).

Convention: the sum, not the mean, so that one step is FOCUS with full participation
and one local step (box 16 of the baselines, step N eta on F).
"""

from __future__ import annotations

from ._vectors import Cohorts, Gradient, Number, Vector, minus, times, total


def run(
    gradient: Gradient,
    n_clients: int,
    x0: Vector,
    cohorts: Cohorts,
    *,
    step_size: Number,
) -> list[Vector]:
    """Return the iterates of x+ = x - step_size * sum_i g_i(x).

    The cohorts only count the rounds: every client is always used.

    Parameters
    ----------
    gradient : callable
        ``gradient(i, point)``: gradient of client i (0-based) as d numbers.
    n_clients : int
        Number of clients N.
    x0 : list
        Server model before the first round, d numbers.
    cohorts : iterable of sets
        Participating clients, one set per round.
    step_size : number
        Client step size eta.

    Returns
    -------
    list of list
        The server model before the first round and after each one.
    """
    x = list(x0)
    models = [x]
    for _ in cohorts:
        full = total([gradient(i, x) for i in range(n_clients)], len(x0))
        x = minus(x, times(step_size, full))
        models.append(x)
    return [list(model) for model in models]
