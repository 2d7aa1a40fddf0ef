"""FedVARP (Jhunjhunwala et al. 2022): box 6 of the baselines.

Conventions: the table entry y_i is x - T_i(x) at the client's last round, positive for
descent and not divided by the step size; all entries are 0 at the start.  The server
moves with the old table, then the participants' entries are replaced.
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
    plus,
    require,
    times,
    trajectory,
    zeros,
)


def start(_gradient: Gradient, n_clients: int, x0: Vector) -> State:
    """Return the state before the first round: model and table."""
    return {
        "model": list(x0),
        "table": [zeros(len(x0)) for _ in everyone(n_clients)],
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
    empty_round: str = "skip",
) -> State:
    """Return the state after one round."""
    require("empty_round", empty_round, ("skip", "step"))
    x, old = state["model"], state["table"]
    d = len(x)
    new = list(old)
    participants = members(cohort, n_clients)
    for i in participants:
        x_i = x
        for _ in range(local_steps):
            x_i = minus(x_i, times(step_size, gradient(i, x_i)))
        new[i] = minus(x, x_i)
    if participants or empty_round == "step":
        v = divided(everyone(n_clients).total(old, d), n_clients)
        if participants:
            news = [minus(new[i], old[i]) for i in participants]
            v = plus(divided(participants.total(news, d), participants.size), v)
        x = minus(x, times(server_step_size, v))
    return {"model": x, "table": new}


def run(
    gradient: Gradient,
    n_clients: int,
    x0: Vector,
    cohorts: Cohorts,
    *,
    step_size: Number,
    local_steps: int = 1,
    server_step_size: Number = 1,
    empty_round: str = "skip",
) -> list[Vector]:
    """Return the server models of FedVARP.

    With D_i = x - T_i(x), T_i being local_steps gradient steps:
    v = (1/|S|) sum_S (D_i - y_i) + (1/N) sum_j y_j over all clients, x+ = x - eta_s v,
    then y_i <- D_i for i in S.

    empty_round "skip" moves nothing, "step" takes v = (1/N) sum_j y_j.

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
    empty_round : {"skip", "step"}
        What a round without participants does.

    Returns
    -------
    list of list
        The server model before the first round and after each one.
    """
    require("empty_round", empty_round, ("skip", "step"))
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
            empty_round=empty_round,
        ),
        cohorts,
    )
