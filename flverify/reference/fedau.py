"""FedAU (Wang & Ji 2024): box 4 of the baselines, the paper's rule and variant (b).

Conventions: per client the running weight w_i (1 at the start), the number m_i of
closed intervals and the length s_i of the open one.  Step (3) of the box is the same
in both variants, for every client and every round, empty ones included; "paper" does
it after the aggregation, "notebook" before.
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
    quotient,
    require,
    times,
    total,
)


class _Interval:
    """The three scalars a client keeps: w_i, m_i and s_i."""

    def __init__(self) -> None:
        self.weight: Number = 1
        self.closed = 0
        self.length = 0

    def advance(self, participated: bool, cutoff: int | None) -> None:
        """Step (3): lengthen the interval, and close it into the mean."""
        self.length += 1
        if participated or self.length == cutoff:
            lengths = self.closed * self.weight + self.length
            self.weight = quotient(lengths, self.closed + 1)  # = s_i when m_i = 0
            self.closed += 1
            self.length = 0


def run(
    gradient: Gradient,
    n_clients: int,
    x0: Vector,
    cohorts: Cohorts,
    *,
    step_size: Number,
    local_steps: int = 1,
    server_step_size: Number = 1,
    cutoff: int | None = None,
    variant: str = "paper",
) -> list[Vector]:
    """Return the server models of FedAU.

    With D_i = x - T_i(x), T_i being local_steps gradient steps:
    "paper": x+ = x - eta_s (1/N) sum_S w_i D_i, then the weights advance;
    "notebook": the weights advance, then x+ = x - eta_s sum_S w_i D_i / sum_S w_i.
    An interval closes at participation or when its length reaches the cutoff (None:
    never).  An empty round keeps x while the intervals advance.

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
    cutoff : int or None
        Interval length K at which an interval closes anyway.
    variant : {"paper", "notebook"}
        Aggregation rule and order.

    Returns
    -------
    list of list
        The server model before the first round and after each one.
    """
    require("variant", variant, ("paper", "notebook"))
    d = len(x0)
    x = list(x0)
    intervals = [_Interval() for _ in range(n_clients)]
    models = [x]
    for cohort in cohorts:
        participants = members(cohort, n_clients)
        changes = {}
        for i in participants:  # step (1)
            x_i = x
            for _ in range(local_steps):
                x_i = minus(x_i, times(step_size, gradient(i, x_i)))
            changes[i] = minus(x, x_i)

        if variant == "notebook":  # step (3) moved up
            for i in range(n_clients):
                intervals[i].advance(i in changes, cutoff)

        if participants:  # step (2)
            weighted = [times(intervals[i].weight, changes[i]) for i in participants]
            divisor: Number = n_clients
            if variant == "notebook":
                divisor = sum(intervals[i].weight for i in participants)
            change = divided(total(weighted, d), divisor)
            x = minus(x, times(server_step_size, change))

        if variant == "paper":  # step (3)
            for i in range(n_clients):
                intervals[i].advance(i in changes, cutoff)
        models.append(x)
    return [list(model) for model in models]
