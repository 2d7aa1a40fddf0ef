"""FedAvg: equations (2a)-(2c) of the FOCUS paper, box 1 (a) and (b) of the baselines.

Conventions: tau local steps are taken, t = 0..tau-1, so the model sent in (2c) is the
one after the tau-th step.  A server step size other than 1 is that of box 1.
"""

from __future__ import annotations

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
    require,
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
    cohort: Cohort,
    *,
    step_size: Number,
    local_steps: int = 1,
    server_step_size: Number = 1,
    aggregation: str = "mean",
) -> State:
    """Return the state after one round of (2a) to (2c)."""
    require("aggregation", aggregation, ("mean", "all"))
    x = state["model"]
    participants = members(cohort, n_clients)
    changes = []
    for i in participants:
        x_i = x  # (2a)
        for _ in range(local_steps):
            x_i = minus(x_i, times(step_size, gradient(i, x_i)))  # (2b)
        changes.append(minus(x, x_i))
    if participants:
        size = participants.size if aggregation == "mean" else n_clients
        change = divided(participants.total(changes, len(x)), size)  # (2c)
        x = minus(x, times(server_step_size, change))
    return {"model": x}


def run(
    gradient: Gradient,
    n_clients: int,
    x0: Vector,
    cohorts: Cohorts,
    *,
    step_size: Number,
    local_steps: int = 1,
    server_step_size: Number = 1,
    aggregation: str = "mean",
) -> list[Vector]:
    """Return the server models of FedAvg.

    x+ = x - server_step_size * (1/D) * sum_S (x - T_i(x)), with T_i the map of
    local_steps gradient steps and D = |S| ("mean") or D = n_clients ("all", absent
    clients contribute no change).  An empty round keeps x.

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
    local_steps : int
        Gradient steps tau of a participant per round.
    server_step_size : number
        Server step size eta_s.
    aggregation : {"mean", "all"}
        Divide by the participants or by all clients.

    Returns
    -------
    list of list
        The server model before the first round and after each one.
    """
    require("aggregation", aggregation, ("mean", "all"))
    return trajectory(
        start(gradient, n_clients, x0),
        lambda state, cohort: play(
            state,
            gradient,
            n_clients,
            cohort,
            step_size=step_size,
            local_steps=local_steps,
            server_step_size=server_step_size,
            aggregation=aggregation,
        ),
        cohorts,
    )
