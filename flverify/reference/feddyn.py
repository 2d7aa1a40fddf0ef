"""FedDyn (Acar et al. 2021): box 11 of the baselines, gradient form.

Conventions: tau gradient steps from x stand for the argmin of the box, as in the
authors' code, without its clipping and with one weight alpha for all clients.  The
dual u_i moves by the weight times the local move, so it is g_i(x_i) only where the
steps end at the argmin.  The server moves with the new h; all duals and h start at 0.
"""

from __future__ import annotations

from numbers import Real

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
    times,
    trajectory,
    zeros,
)


def start(_gradient: Gradient, n_clients: int, x0: Vector) -> State:
    """Return the state before the first round: model, h and the u_i."""
    d = len(x0)
    return {
        "model": list(x0),
        "server_dual": zeros(d),
        "duals": [zeros(d) for _ in everyone(n_clients)],
    }


def play(
    state: State,
    gradient: Gradient,
    n_clients: int,
    cohort: Cohort,
    *,
    step_size: Number,
    local_steps: int = 1,
    proximal_weight: Number,
) -> State:
    """Return the state after one round."""
    _check(proximal_weight)
    x, h, duals = state["model"], state["server_dual"], list(state["duals"])
    d = len(x)
    participants = members(cohort, n_clients)
    outputs, moves = [], []
    for i in participants:
        u_i = duals[i]
        z = x
        for _ in range(local_steps):
            pull = times(proximal_weight, minus(z, x))
            slope = plus(minus(gradient(i, z), u_i), pull)
            z = minus(z, times(step_size, slope))
        duals[i] = minus(u_i, times(proximal_weight, minus(z, x)))
        outputs.append(z)
        moves.append(minus(z, x))
    if participants:
        move = divided(participants.total(moves, d), n_clients)  # by N, not |S|
        h = minus(h, times(proximal_weight, move))
        mean = divided(participants.total(outputs, d), participants.size)
        x = minus(mean, divided(h, proximal_weight))
    return {"model": x, "server_dual": h, "duals": duals}


def run(
    gradient: Gradient,
    n_clients: int,
    x0: Vector,
    cohorts: Cohorts,
    *,
    step_size: Number,
    local_steps: int = 1,
    proximal_weight: Number,
) -> list[Vector]:
    """Return the server models of FedDyn.

    For i in S: z_i = x, then tau = local_steps times
    z_i <- z_i - eta (g_i(z_i) - u_i + alpha (z_i - x)); then
    u_i+ = u_i - alpha (z_i - x).
    Server: h+ = h - (alpha/N) sum_S (z_i - x), x+ = (1/|S|) sum_S z_i - h+/alpha.
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
    proximal_weight : number
        Weight alpha of the pull to x, above 0.

    Returns
    -------
    list of list
        The server model before the first round and after each one.
    """
    _check(proximal_weight)
    return trajectory(
        start(gradient, n_clients, x0),
        lambda state, cohort: play(
            state,
            gradient,
            n_clients,
            cohort,
            step_size=step_size,
            local_steps=local_steps,
            proximal_weight=proximal_weight,
        ),
        cohorts,
    )


def _check(proximal_weight: Number) -> None:
    """Raise ValueError for a number not above 0; a symbol has no sign to look at."""
    a_number = isinstance(proximal_weight, Real)
    if a_number and not proximal_weight > 0:
        raise ValueError(
            f"proximal_weight must be above 0, not {proximal_weight}, for the server "
            "divides by it; give a positive number"
        )
