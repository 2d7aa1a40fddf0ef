"""FedAWE (Xiang et al. 2024): box 7 of the baselines, the paper's version.

Conventions: a participant starts from its own model x_i, not from the server's, and
d_i is x_i - T_i(x_i), so it is positive for descent.  The box's t - l_i is w_i + 1,
w_i being the rounds without client i since its last one; all w_i are 0 at the start.
The mean goes to the participants after it is taken, and to nobody else.
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
    everyone,
    members,
    minus,
    times,
    trajectory,
)


def start(_gradient: Gradient, n_clients: int, x0: Vector) -> State:
    """Return the state before the first round: server and client models, waits."""
    clients = everyone(n_clients)
    return {
        "model": list(x0),
        "models": [list(x0) for _ in clients],
        "waited": [0 for _ in clients],
    }


def play(
    state: State,
    gradient: Gradient,
    n_clients: int,
    cohort: Cohort,
    *,
    step_size: Number,
    local_steps: int = 1,
    server_step_size: Number = 1,
) -> State:
    """Return the state after one round."""
    x, models, waited = state["model"], list(state["models"]), state["waited"]
    participants = members(cohort, n_clients)
    reports = []
    for i in participants:
        x_i = models[i]
        for _ in range(local_steps):
            x_i = minus(x_i, times(step_size, gradient(i, x_i)))
        d_i = minus(models[i], x_i)
        echo = waited[i] + 1
        reports.append(minus(models[i], times(server_step_size * echo, d_i)))
    waited = [w_i + 1 for w_i in waited]
    if participants:
        x = divided(participants.total(reports, len(x)), participants.size)
    for i in participants:
        models[i] = x
        waited[i] = 0
    return {"model": x, "models": models, "waited": waited}


def run(
    gradient: Gradient,
    n_clients: int,
    x0: Vector,
    cohorts: Cohorts,
    *,
    step_size: Number,
    local_steps: int = 1,
    server_step_size: Number = 1,
) -> list[Vector]:
    """Return the server models of FedAWE.

    For i in S: d_i = x_i - T_i(x_i) at the client's own model, T_i being local_steps
    gradient steps, and the report x_i - eta_s (w_i + 1) d_i with the rounds w_i that
    the client has missed since its last one (since the start before its first).
    Server: x+ is the mean of the reports; x_i <- x+ for i in S.

    An empty round keeps x and every x_i, while all w_i grow by 1.

    Parameters
    ----------
    gradient : callable
        ``gradient(i, point)``: gradient of client i (0-based) as d numbers.
    n_clients : int
        Number of clients N.
    x0 : list
        Server model and clients' models before the first round, d numbers.
    cohorts : iterable of sets
        Participating clients, one set per round.
    step_size : number
        Client step size eta.
    local_steps : int
        Gradient steps tau of a participant per round.
    server_step_size : number
        Server step size eta_s.

    Returns
    -------
    list of list
        The server model before the first round and after each one.
    """
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
        ),
        cohorts,
    )
