"""Weighted FedAvg: equation (10) of the agnostic FedAvg paper (arXiv 2507.10325).

Conventions: the weights p_i are used as given.  The factors N p_i / |S| of a cohort
need not sum to one, so the server model is not an average in general.
"""

from __future__ import annotations

from collections.abc import Sequence

from ._vectors import (
    Cohort,
    Cohorts,
    Gradient,
    Number,
    State,
    Vector,
    divided,
    members,
    minus,
    times,
    total,
    trajectory,
)


def start(_gradient: Gradient, _n_clients: int, x0: Vector) -> State:
    """Return the state before the first round: the server model."""
    return {"model": list(x0)}


def play(
    state: State,
    gradient: Gradient,
    n_clients: int,
    cohort: Cohort,
    *,
    weights: Sequence[Number],
    step_size: Number,
    local_steps: int = 1,
) -> State:
    """Return the state after one round of (10)."""
    _check(weights, n_clients)
    x = state["model"]
    participants = members(cohort, n_clients)
    weighted = []
    for i in participants:
        theta_i = x
        for _ in range(local_steps):
            theta_i = minus(theta_i, times(step_size, gradient(i, theta_i)))
        weighted.append(times(weights[i], theta_i))
    if participants:  # (10)
        x = divided(times(n_clients, total(weighted, len(x))), len(participants))
    return {"model": x}


def run(
    gradient: Gradient,
    n_clients: int,
    x0: Vector,
    cohorts: Cohorts,
    *,
    weights: Sequence[Number],
    step_size: Number,
    local_steps: int = 1,
) -> list[Vector]:
    """Return the server models of weighted FedAvg.

    x+ = (N/|S|) sum_S p_i theta_i, with theta_i the result of local_steps gradient
    steps from x.  An empty round keeps x.

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
    weights : sequence
        The N numbers p_i.
    step_size : number
        Client step size eta.
    local_steps : int
        Gradient steps tau of a participant per round.

    Returns
    -------
    list of list
        The server model before the first round and after each one.
    """
    _check(weights, n_clients)
    return trajectory(
        start(gradient, n_clients, x0),
        lambda state, cohort: play(
            state,
            gradient,
            n_clients,
            cohort,
            weights=weights,
            step_size=step_size,
            local_steps=local_steps,
        ),
        cohorts,
    )


def _check(weights: Sequence[Number], n_clients: int) -> None:
    """Raise ValueError unless there is one weight per client."""
    if len(weights) != n_clients:
        raise ValueError(f"{len(weights)} weights for {n_clients} clients")
