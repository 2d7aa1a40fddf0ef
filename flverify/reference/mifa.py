"""MIFA (Gu et al. 2021): box 5 of the baselines.

Conventions: the table entry G_i is (x - T_i(x))/eta at the client's last round, so it
is positive for descent; the sum is over all clients, absent ones included, after the
participants' entries are replaced.  An entry is divided by the step size it was made
with and multiplied by the step size of the round that uses it.  A full initial table
is filled at x0 without a move; the first round replaces entries by themselves.
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
    require,
    times,
    trajectory,
    zeros,
)


def start(
    gradient: Gradient,
    n_clients: int,
    x0: Vector,
    *,
    step_size: Number,
    local_steps: int = 1,
    initial_table: str = "full",
) -> State:
    """Return the state before the first round: model and table."""
    require("initial_table", initial_table, ("full", "zero"))
    x = list(x0)
    clients = everyone(n_clients)
    if initial_table == "full":
        table = [_entry(gradient, i, x, step_size, local_steps) for i in clients]
    else:
        table = [zeros(len(x)) for _ in clients]
    return {"model": x, "table": table}


def play(
    state: State,
    gradient: Gradient,
    n_clients: int,
    cohort: Cohort,
    *,
    step_size: Number,
    local_steps: int = 1,
    server_step_size: Number = 1,
    empty_round: str = "step",
) -> State:
    """Return the state after one round."""
    require("empty_round", empty_round, ("step", "skip"))
    x, table = state["model"], list(state["table"])
    participants = members(cohort, n_clients)
    for i in participants:
        table[i] = _entry(gradient, i, x, step_size, local_steps)
    if participants or empty_round == "step":
        mean = divided(everyone(n_clients).total(table, len(x)), n_clients)
        x = minus(x, times(server_step_size, times(step_size, mean)))
    return {"model": x, "table": table}


def _entry(
    gradient: Gradient, i: int, x: Vector, step_size: Number, local_steps: int
) -> Vector:
    """Return (x - T_i(x))/eta."""
    x_i = x
    for _ in range(local_steps):
        x_i = minus(x_i, times(step_size, gradient(i, x_i)))
    return divided(minus(x, x_i), step_size)


def run(
    gradient: Gradient,
    n_clients: int,
    x0: Vector,
    cohorts: Cohorts,
    *,
    step_size: Number,
    local_steps: int = 1,
    server_step_size: Number = 1,
    initial_table: str = "full",
    empty_round: str = "step",
) -> list[Vector]:
    """Return the server models of MIFA.

    For i in S: G_i <- (x - T_i(x))/eta, T_i being local_steps gradient steps.
    Server: x+ = x - eta_s eta (1/N) sum_i G_i over all clients, with the new table.

    initial_table "full" fills the table by one local round of every client at x0,
    "zero" starts from G_i = 0.  empty_round "step" executes the server line with the
    unchanged table, "skip" moves nothing.

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
        Step size eta of the clients and of the server line.
    local_steps : int
        Gradient steps tau of a participant per round.
    server_step_size : number
        Factor eta_s of the server's step.
    initial_table : {"full", "zero"}
        Table before the first round.
    empty_round : {"step", "skip"}
        What a round without participants does.

    Returns
    -------
    list of list
        The server model before the first round and after each one.
    """
    require("empty_round", empty_round, ("step", "skip"))
    return trajectory(
        start(
            gradient,
            n_clients,
            x0,
            step_size=step_size,
            local_steps=local_steps,
            initial_table=initial_table,
        ),
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
