"""ProxSkip / Scaffnew (Mishchenko et al. 2022): box 3 of the baselines.

Conventions: variant "paper" plays one iteration per cohort and reads the cohort as
the coin: everybody is theta = 1, nobody is theta = 0 (the local step is still taken).
Any other cohort averages among its members.  Variant "notebook" is variant (i) of the
box, the naive partial participation of the FOCUS notebook, one round per cohort.  Its
clients start with last_i = x0, so the first pull already corrects when x has moved.
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
    quotient,
    require,
    times,
    trajectory,
    zeros,
)


def start(_gradient: Gradient, n_clients: int, x0: Vector) -> State:
    """Return the state before the first cohort: reported model, x_i or last_i, h_i."""
    return {
        "model": list(x0),
        "models": [list(x0) for _ in everyone(n_clients)],
        "shifts": [zeros(len(x0)) for _ in everyone(n_clients)],
    }


def play(
    state: State,
    gradient: Gradient,
    n_clients: int,
    cohort: Cohort,
    *,
    step_size: Number,
    local_steps: int = 1,
    probability: Number | None = None,
    variant: str = "paper",
) -> State:
    """Return the state after one cohort of either variant."""
    _check(variant, probability, local_steps)
    if variant == "notebook":
        return _notebook(
            state,
            gradient,
            n_clients,
            cohort,
            step_size=step_size,
            local_steps=local_steps,
        )
    return _paper(
        state,
        gradient,
        n_clients,
        cohort,
        step_size=step_size,
        probability=probability,
    )


def run(
    gradient: Gradient,
    n_clients: int,
    x0: Vector,
    cohorts: Cohorts,
    *,
    step_size: Number,
    local_steps: int = 1,
    probability: Number | None = None,
    variant: str = "paper",
) -> list[Vector]:
    """Return the server models of ProxSkip.

    "paper", every client: xh_i = x_i - eta (g_i(x_i) - h_i); x_i+ = mean_S xh_j for
    i in S, else xh_i; h_i+ = h_i + (p/eta)(x_i+ - xh_i).  Reported: mean of all x_i.
    Needs the probability p; local_steps must be 1.

    "notebook", i in S: h_i <- h_i + (x - last_i)/(eta local_steps), then local_steps
    times x_i <- x_i - eta (g_i(x_i) - h_i), last_i = x_i; x+ = mean_S x_i.  An empty
    round keeps x; the probability is not used.

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
        Local steps per round of the notebook variant.
    probability : number or None
        Communication probability p of the paper variant.
    variant : {"paper", "notebook"}
        Which of the two recursions.

    Returns
    -------
    list of list
        The server model before the first cohort and after each one.
    """
    _check(variant, probability, local_steps)
    return trajectory(
        start(gradient, n_clients, x0),
        lambda state, cohort: play(
            state,
            gradient,
            n_clients,
            cohort,
            step_size=step_size,
            local_steps=local_steps,
            probability=probability,
            variant=variant,
        ),
        cohorts,
    )


def _check(variant: str, probability: Number | None, local_steps: int) -> None:
    """Raise ValueError unless the settings suit the variant."""
    require("variant", variant, ("paper", "notebook"))
    if variant == "notebook":
        if probability is not None:
            raise ValueError("the notebook variant has no probability")
        return
    if probability is None:
        raise ValueError("the paper variant needs the probability")
    if not 0 < probability <= 1:
        raise ValueError("the probability must lie in (0, 1]")
    if local_steps != 1:
        raise ValueError("the paper variant takes one local step per iteration")


def _paper(
    state: State,
    gradient: Gradient,
    n_clients: int,
    cohort: Cohort,
    *,
    step_size: Number,
    probability: Number,
) -> State:
    x, h = state["models"], list(state["shifts"])
    d = len(state["model"])
    clients, communicating = everyone(n_clients), members(cohort, n_clients)
    x_hat = []
    for i in clients:
        direction = minus(gradient(i, x[i]), h[i])
        x_hat.append(minus(x[i], times(step_size, direction)))
    x = list(x_hat)
    if communicating:
        sent = [x_hat[j] for j in communicating]
        average = divided(communicating.total(sent, d), communicating.size)
        for i in communicating:
            x[i] = average
    for i in clients:
        scale = quotient(probability, step_size)
        h[i] = plus(h[i], times(scale, minus(x[i], x_hat[i])))
    mean = divided(clients.total(x, d), n_clients)
    return {"model": mean, "models": x, "shifts": h}


def _notebook(
    state: State,
    gradient: Gradient,
    n_clients: int,
    cohort: Cohort,
    *,
    step_size: Number,
    local_steps: int,
) -> State:
    x, last, h = state["model"], list(state["models"]), list(state["shifts"])
    participants = members(cohort, n_clients)
    outputs = []
    for i in participants:
        gap = divided(minus(x, last[i]), step_size * local_steps)
        h[i] = plus(h[i], gap)  # the correction at the pull
        x_i = x
        for _ in range(local_steps):
            x_i = minus(x_i, times(step_size, minus(gradient(i, x_i), h[i])))
        last[i] = x_i
        outputs.append(x_i)
    if participants:
        x = divided(participants.total(outputs, len(x)), participants.size)
    return {"model": x, "models": last, "shifts": h}
