"""Gradient descent on the sum of the client functions: x+ = x - eta sum_i g_i(x).

Convention: the sum, not the mean, so that one step is FOCUS with full participation
and one local step (box 16 of the baselines, step N eta on F).
"""

from __future__ import annotations

from ._vectors import (
    Cohort,
    Cohorts,
    Gradient,
    Number,
    State,
    Vector,
    everyone,
    minus,
    times,
    trajectory,
)


def start(_gradient: Gradient, _n_clients: int, x0: Vector) -> State:
    """Return the state before the first round: the server model."""
    return {"model": list(x0)}


def play(
    state: State,
    gradient: Gradient,
    n_clients: int,
    _cohort: Cohort,
    *,
    step_size: Number,
) -> State:
    """Return the state after one step, whoever is in the cohort."""
    x = state["model"]
    clients = everyone(n_clients)
    full = clients.total([gradient(i, x) for i in clients], len(x))
    return {"model": minus(x, times(step_size, full))}


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
    return trajectory(
        start(gradient, n_clients, x0),
        lambda state, cohort: play(
            state, gradient, n_clients, cohort, step_size=step_size
        ),
        cohorts,
    )
