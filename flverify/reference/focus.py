"""FOCUS: Algorithm 1 of the FOCUS paper (arXiv 2503.20117), line by line.

Conventions: the index k of line 9 is read as t.  local_steps (tau) counts gradient
evaluations; the tau-th local move of line 9 is computed as printed and never used.
The gradient at x_{-1,i} in line 8 is the one the client stored at its last evaluation.
Line 2 is read as "stored gradients zero, tracker zero" unless asked otherwise.
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
    members,
    minus,
    plus,
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
    initial_gradients: str = "zero",
    initial_tracker: str = "zero",
) -> State:
    """Return the state before the first round: model, tracker, stored gradients."""
    require("initial_gradients", initial_gradients, ("zero", "start"))
    require("initial_tracker", initial_tracker, ("zero", "sum"))
    d = len(x0)
    x = list(x0)  # line 2
    clients = everyone(n_clients)
    stored = [zeros(d) for _ in clients]
    if initial_gradients == "start":
        stored = [list(gradient(i, x)) for i in clients]
    y = clients.total(stored, d) if initial_tracker == "sum" else zeros(d)
    return {"model": x, "tracker": y, "stored": stored}


def play(
    state: State,
    gradient: Gradient,
    n_clients: int,
    cohort: Cohort,
    *,
    step_size: Number,
    local_steps: int = 1,
    empty_round: str = "step",
) -> State:
    """Return the state after one round, lines 4 to 13."""
    require("empty_round", empty_round, ("step", "skip"))
    x, y, stored = state["model"], state["tracker"], list(state["stored"])
    d = len(x)
    participants = members(cohort, n_clients)  # line 4
    pushed = []
    for i in participants:  # line 5
        x_i, y_i = x, zeros(d)  # line 6
        for _ in range(local_steps):  # line 7
            fresh = list(gradient(i, x_i))
            y_i = plus(y_i, minus(fresh, stored[i]))  # line 8
            stored[i] = fresh
            x_i = minus(x_i, times(step_size, y_i))  # line 9
        pushed.append(y_i)
    if participants or empty_round == "step":
        y = plus(y, participants.total(pushed, d))  # line 12
        x = minus(x, times(step_size, y))  # line 13
    return {"model": x, "tracker": y, "stored": stored}


def run(
    gradient: Gradient,
    n_clients: int,
    x0: Vector,
    cohorts: Cohorts,
    *,
    step_size: Number,
    local_steps: int = 1,
    empty_round: str = "step",
    initial_gradients: str = "zero",
    initial_tracker: str = "zero",
) -> list[Vector]:
    """Return the server models x_0, x_1, ... of FOCUS.

    For i in S: y_i = 0, x_i = x, then local_steps times
    y_i <- y_i + g_i(x_i) - stored_i, stored_i <- g_i(x_i), x_i <- x_i - eta y_i.
    Server: y <- y + sum_S y_i, x <- x - eta y.

    empty_round "step" executes the server line with the unchanged tracker, "skip"
    moves nothing.  initial_gradients "start" stores g_i(x0) at every client;
    initial_tracker "sum" starts y as the sum of the stored gradients.

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
        Gradient evaluations tau of a participant per round.
    empty_round : {"step", "skip"}
        What a round without participants does.
    initial_gradients : {"zero", "start"}
        Stored gradients before the first round.
    initial_tracker : {"zero", "sum"}
        Server tracker before the first round.

    Returns
    -------
    list of list
        The server model before the first round and after each one.
    """
    require("empty_round", empty_round, ("step", "skip"))
    return trajectory(  # line 3
        start(
            gradient,
            n_clients,
            x0,
            initial_gradients=initial_gradients,
            initial_tracker=initial_tracker,
        ),
        lambda state, cohort: play(
            state,
            gradient,
            n_clients,
            cohort,
            step_size=step_size,
            local_steps=local_steps,
            empty_round=empty_round,
        ),
        cohorts,
    )
