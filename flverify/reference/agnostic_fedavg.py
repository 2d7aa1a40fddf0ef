"""Agnostic FedAvg: Algorithm 1 of arXiv 2507.10325, tick by tick.

Conventions: one cohort per communication.  Schedule "literal" is the box as printed:
a tick t divisible by H is a communication and takes no local step, so a round has H-1
local steps.  Schedule "separate" gives H local steps, then a communication that
consumes no tick (the reading of the prose, "for H consecutive rounds").  The model
starts at x0 instead of 0 and x0 is not projected.  On an empty cohort the server
keeps its model and broadcasts it as in line 6, so local progress is discarded.  The
running average of line 12 is left to the caller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

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


def project(point: Sequence[Number], projection: tuple[Any, ...] | None) -> Vector:
    """Return the Euclidean projection of point onto the set C of line 9.

    None is the whole space, ("ball", radius) the ball about 0, ("box", lower, upper)
    the cube of points with every coordinate in [lower, upper].  A point inside is
    returned unchanged; only a point outside the ball needs a square root (a float).
    """
    if projection is None:
        return list(point)
    require("projection", projection[0], ("ball", "box"))
    if projection[0] == "box":
        _, lower, upper = projection
        return [min(max(v, lower), upper) for v in point]
    _, radius = projection
    squared = sum(v * v for v in point)
    if squared <= radius * radius:
        return list(point)
    return times(quotient(radius, math.sqrt(squared)), point)


def run(
    gradient: Gradient,
    n_clients: int,
    x0: Vector,
    cohorts: Cohorts,
    *,
    step_size: Number,
    period: int,
    schedule: str = "literal",
    projection: tuple[Any, ...] | None = None,
) -> list[Vector]:
    """Return the server models of agnostic FedAvg, one per communication.

    Local tick, every client: theta_i <- P_C(theta_i - eta g_i(theta_i)).
    Communication: theta = (1/|S|) sum_S theta_i, then theta_i <- theta for all i.

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
    period : int
        The period H of the box.
    schedule : {"literal", "separate"}
        Whether a communication consumes a tick.
    projection : tuple or None
        None, ("ball", radius) or ("box", lower, upper).

    Returns
    -------
    list of list
        The server model before the first communication and after each one.
    """
    require("schedule", schedule, ("literal", "separate"))
    if period < 1:
        raise ValueError("period must be at least 1")
    everyone = range(n_clients)
    server = list(x0)
    theta = [server for _ in everyone]  # line 1
    models = [server]
    t = 0
    for cohort in cohorts:
        communicated = False
        while not communicated:
            t += 1  # line 2
            last_of_period = t % period == 0  # line 3
            if not last_of_period or schedule == "separate":
                theta = [  # line 9
                    project(
                        minus(theta[i], times(step_size, gradient(i, theta[i]))),
                        projection,
                    )
                    for i in everyone
                ]
            if last_of_period:
                participants = members(cohort, n_clients)  # line 4
                if participants:
                    received = [theta[i] for i in participants]
                    server = divided(total(received, len(x0)), len(participants))  # 5
                theta = [server for _ in everyone]  # line 6
                communicated = True
        models.append(server)
    return [list(model) for model in models]
