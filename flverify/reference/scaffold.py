"""SCAFFOLD (Karimireddy et al. 2020): box 2 of the baselines, options I and II.

Conventions: all controls start at 0; every client of a round uses the old server
control c; the server control moves by (1/N) times the sum over the participants.
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
    """Return the state before the first round: model, server and client controls."""
    d = len(x0)
    return {
        "model": list(x0),
        "control": zeros(d),
        "controls": [zeros(d) for _ in everyone(n_clients)],
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
    option: str = "II",
) -> State:
    """Return the state after one round."""
    require("option", option, ("I", "II"))
    x, c, controls = state["model"], state["control"], list(state["controls"])
    d = len(x)
    participants = members(cohort, n_clients)
    model_changes, control_changes = [], []
    for i in participants:
        c_i = controls[i]
        x_i = x
        for _ in range(local_steps):
            direction = plus(minus(gradient(i, x_i), c_i), c)
            x_i = minus(x_i, times(step_size, direction))
        if option == "I":
            new_c_i = list(gradient(i, x))  # at the received model
        else:
            slope = divided(minus(x, x_i), local_steps * step_size)
            new_c_i = plus(minus(c_i, c), slope)
        model_changes.append(minus(x_i, x))
        control_changes.append(minus(new_c_i, c_i))
        controls[i] = new_c_i
    if participants:
        change = divided(participants.total(model_changes, d), participants.size)
        x = plus(x, times(server_step_size, change))
        c = plus(c, divided(participants.total(control_changes, d), n_clients))
    return {"model": x, "control": c, "controls": controls}


def run(
    gradient: Gradient,
    n_clients: int,
    x0: Vector,
    cohorts: Cohorts,
    *,
    step_size: Number,
    local_steps: int = 1,
    server_step_size: Number = 1,
    option: str = "II",
) -> list[Vector]:
    """Return the server models of SCAFFOLD.

    For i in S: x_i = x, then tau = local_steps times
    x_i <- x_i - eta (g_i(x_i) - c_i + c); then
    c_i+ = g_i(x) ("I") or c_i - c + (x - x_i)/(tau eta) ("II").
    Server: x+ = x + (eta_s/|S|) sum_S (x_i - x), c+ = c + (1/N) sum_S (c_i+ - c_i).
    An empty round changes nothing.

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
    option : {"I", "II"}
        Rule for the new client control.

    Returns
    -------
    list of list
        The server model before the first round and after each one.
    """
    require("option", option, ("I", "II"))
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
            option=option,
        ),
        cohorts,
    )
