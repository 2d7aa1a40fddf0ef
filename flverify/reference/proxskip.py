"""ProxSkip / Scaffnew (Mishchenko et al. 2022): box 3 of the baselines.

Conventions: variant "paper" plays one iteration per cohort and reads the cohort as
the coin: everybody is theta = 1, nobody is theta = 0 (the local step is still taken).
Any other cohort averages among its members.  Variant "notebook" is variant (i) of the
box, the naive partial participation of the FOCUS notebook, one round per cohort.  Its
clients start with last_i = x0, so the first pull already corrects when x has moved.
"""

from __future__ import annotations

from ._vectors import (
    Cohorts,
    Gradient,
    Number,
    Vector,
    divided,
    members,
    minus,
    plus,
    quotient,
    require,
    times,
    total,
    zeros,
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
    require("variant", variant, ("paper", "notebook"))
    if variant == "notebook":
        return _notebook(
            gradient,
            n_clients,
            x0,
            cohorts,
            step_size=step_size,
            local_steps=local_steps,
        )
    if probability is None:
        raise ValueError("the paper variant needs the probability")
    if local_steps != 1:
        raise ValueError("the paper variant takes one local step per iteration")
    return _paper(
        gradient, n_clients, x0, cohorts, step_size=step_size, probability=probability
    )


def _paper(
    gradient: Gradient,
    n_clients: int,
    x0: Vector,
    cohorts: Cohorts,
    *,
    step_size: Number,
    probability: Number,
) -> list[Vector]:
    d = len(x0)
    x = [list(x0) for _ in range(n_clients)]
    h = [zeros(d) for _ in range(n_clients)]
    models = [list(x0)]
    for cohort in cohorts:
        communicating = members(cohort, n_clients)
        x_hat = []
        for i in range(n_clients):
            direction = minus(gradient(i, x[i]), h[i])
            x_hat.append(minus(x[i], times(step_size, direction)))
        x = list(x_hat)
        if communicating:
            sent = [x_hat[j] for j in communicating]
            average = divided(total(sent, d), len(communicating))
            for i in communicating:
                x[i] = average
        for i in range(n_clients):
            scale = quotient(probability, step_size)
            h[i] = plus(h[i], times(scale, minus(x[i], x_hat[i])))
        models.append(divided(total(x, d), n_clients))
    return models


def _notebook(
    gradient: Gradient,
    n_clients: int,
    x0: Vector,
    cohorts: Cohorts,
    *,
    step_size: Number,
    local_steps: int,
) -> list[Vector]:
    d = len(x0)
    x = list(x0)
    h = [zeros(d) for _ in range(n_clients)]
    last = [list(x0) for _ in range(n_clients)]
    models = [x]
    for cohort in cohorts:
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
            x = divided(total(outputs, d), len(participants))
        models.append(x)
    return [list(model) for model in models]
