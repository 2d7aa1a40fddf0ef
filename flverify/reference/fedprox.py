"""FedProx (Li et al. 2020): box 10 of the baselines, gradient form.

Conventions: the gamma-inexact minimiser of f_i(z) + (mu/2)|z - x|^2 is the result of
tau gradient steps from x on it, mu being the proximal weight.  The mean over the
participants is uniform.  A server step size other than 1 is not in the box.
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
    members,
    minus,
    plus,
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
    proximal_weight: Number,
    server_step_size: Number = 1,
) -> State:
    """Return the state after one round."""
    _check(proximal_weight)
    x = state["model"]
    participants = members(cohort, n_clients)
    changes = []
    for i in participants:
        z = x
        for _ in range(local_steps):
            pull = times(proximal_weight, minus(z, x))
            z = minus(z, times(step_size, plus(gradient(i, z), pull)))
        changes.append(minus(z, x))
    if participants:
        change = divided(participants.total(changes, len(x)), participants.size)
        x = plus(x, times(server_step_size, change))
    return {"model": x}


def run(
    gradient: Gradient,
    n_clients: int,
    x0: Vector,
    cohorts: Cohorts,
    *,
    step_size: Number,
    local_steps: int = 1,
    proximal_weight: Number,
    server_step_size: Number = 1,
) -> list[Vector]:
    """Return the server models of FedProx.

    For i in S: z_i = x, then tau = local_steps times
    z_i <- z_i - eta (g_i(z_i) + mu (z_i - x)).
    Server: x+ = x + (eta_s/|S|) sum_S (z_i - x).  An empty round keeps x.

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
        Weight mu of the pull to x, at least 0.
    server_step_size : number
        Server step size eta_s.

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
            server_step_size=server_step_size,
        ),
        cohorts,
    )


def _check(proximal_weight: Number) -> None:
    """Raise ValueError for a number below 0; a symbol has no sign to look at."""
    a_number = isinstance(proximal_weight, Real)
    if a_number and not proximal_weight >= 0:
        raise ValueError(
            f"proximal_weight must be at least 0, not {proximal_weight}; give 0 or more"
        )
