"""Runs of Algorithm 1 in which clients who do not take part do nothing."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy

from flverify.claims import cohorts, judge
from flverify.claims.nonsmooth import Nonsmooth
from flverify.claims.verdict import Finding
from flverify.reference import agnostic_fedavg


def any_maps(n: int, k: int, sequence: Sequence[Any], receives: str) -> tuple[Any, Any]:
    """Return the last server models of both runs, every step being any map of x."""
    x = sympy.Symbol("x")
    calls = [0] * n

    def gradient(i: int, point: list[Any]) -> list[Any]:
        calls[i] += 1
        return [point[0] - step(i, calls[i] - 1, point[0])]

    def step(i: int, turn: int, point: Any) -> Any:
        return sympy.Function(f"M_{i + 1}_{turn}")(point)

    chosen = [cohorts.zero_based(s) for s in sequence]
    full = agnostic_fedavg.run(gradient, n, [x], chosen, step_size=1, period=k + 1)

    def local(i: int, turn: int, point: Any) -> Any:
        for j in range(k):
            point = step(i, k * turn + j, point)
        return point

    return full[-1][0], lazily(local, n, x, chosen, receives)[-1]


def lazily(
    local: Any, n: int, start: Any, chosen: Sequence[Any], receives: str
) -> list[Any]:
    """Server models if only participants train and receive anything."""
    server, kept, models = start, [start] * n, [start]
    for turn, members in enumerate(chosen):
        begun = [server] * n if receives == "before training" else kept
        ends = [local(i, turn, begun[i]) for i in sorted(members)]
        server = sum(ends[1:], ends[0]) / len(ends)
        kept = [server if i in members else kept[i] for i in range(n)]
        models.append(server)
    return models


def any_rounds(pairs: list[judge.Pair], receives: str) -> Finding:
    """Judge listed runs of any maps, and one round more after equal server models."""
    server, kept = sympy.symbols("server kept")
    begun = server if receives == "before training" else kept
    few = "N = 2, 3, two rounds, every S, any local steps with any mini-batches"
    scope = "every N, S and number of rounds, any local steps with any mini-batches"
    return judge.all_of(
        {
            "listed": judge.identity(pairs, few),
            "a participant starts at": judge.identity(
                [("one round more", begun, server)], scope
            ),
        },
        scope=scope,
        argument="Both runs start alike. If the server models of both are the same "
        "before a round, its participants start at them, take the same steps and have "
        "the same mean; what the others did since is not read, in either run.",
    )


def listed(one: Nonsmooth) -> Any:
    """Local steps of a client, as listed."""
    return lambda i, _turn, x: one.track(i, (x,), [Fraction(0)] * 2)[-1][0]


def plainly(one: Nonsmooth, draws: Any) -> Any:
    """Local steps of a client, by the plain loop."""
    return lambda i, _turn, x: one.plain_local(i, 2, (x,), draws)[0]


def by_the_box(one: Nonsmooth, sequence: Sequence[Any]) -> Fraction:
    """Server model of Algorithm 1 by the listed steps, everybody training."""
    server = one.start
    for members in sequence:
        still = [Fraction(0)] * one.local_steps
        ends = [one.track(i, server, still)[-1] for i in range(one.n_clients)]
        server = one.aggregate(members, ends)
    return server[0]
