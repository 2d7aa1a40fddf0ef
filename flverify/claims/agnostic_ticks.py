"""Histories of Algorithm 1 tick by tick, and the law of the next model given them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

from flverify.claims.nonsmooth import Nonsmooth
from flverify.claims.nonsmooth_losses import SILENT, Absolute, Client, two_points

ONE = Fraction(1)
ALONE = {frozenset({1}): ONE}


Tick: TypeAlias = tuple[Any, Any, Any]  # models, noise, cohort of a tick


Histories: TypeAlias = dict[tuple[Tick, ...], Fraction]


def listed_of(tick: Tick, client: int | None) -> Any:
    """Return what the paper lists of a tick: models, noise and S."""
    models, noise, members = tick
    if client is None:
        return models, noise, members
    return models[client], noise and noise[client], members


def model_of(tick: Tick, client: int | None) -> Any:
    """Return the models, or that of one client."""
    return tick[0] if client is None else tick[0][client]


def chances(
    paths: Histories, t: int, history: Any, short: Any, outcome: Any, client: int | None
) -> tuple[Fraction, Fraction]:
    """P(outcome | history) and P(outcome | listed arguments), both by listing paths."""

    def share(condition: Any) -> Fraction:
        kept = {path: p for path, p in paths.items() if condition(path)}
        hits = sum(
            p for path, p in kept.items() if model_of(path[t], client) == outcome
        )
        return Fraction(hits) / sum(kept.values())

    return (
        share(lambda path: path[:t] == history),
        share(lambda path: listed_of(path[t - 1], client) == short),
    )


def histories(stay: Fraction, *, by_loop: bool) -> Histories:
    """Return every path of four ticks, with its probability.

    Odd ticks are local, with noise of client 2 that may bring both models together;
    even ones average the clients of S, one client, the same as before with probability
    `stay`.
    """
    clients = (
        Client(Absolute(Fraction(2)), SILENT),
        Client(Absolute(Fraction(-1)), two_points(2 * ONE, 2 * ONE)),
    )
    box = ("box", Fraction(-3), Fraction(3))
    one = Nonsmooth(clients, ALONE, box, ONE / 2, 2, "literal")
    found: Histories = {}
    for noise in product((2 * ONE, -2 * ONE), repeat=2):
        for first, second in product((1, 2), repeat=2):
            chance = ONE / 8 * (stay if first == second else 1 - stay)
            path = ticks(one, noise, (first, second), by_loop=by_loop)
            found[path] = found.get(path, Fraction(0)) + chance
    return found


def ticks(
    one: Nonsmooth, noise: Any, chosen: tuple[int, int], *, by_loop: bool
) -> tuple[Tick, ...]:
    """Return models, noise and cohort of every tick of one path, the start first."""
    server = one.start
    out: list[Tick] = [((one.start[0],) * 2, None, None)]
    for turn, member in enumerate(chosen):
        draws = ((Fraction(0),), (noise[turn],))
        if by_loop:
            local = tuple(one.plain_local(i, 1, server, draws)[0] for i in (0, 1))
            server = one.plain_models([{member - 1}], server, draws)[-1]
        else:
            local = tuple(one.track(i, server, draws[i])[-1][0] for i in (0, 1))
            server = one.aggregate(frozenset({member}), [(x,) for x in local])
        out.append((local, (0, noise[turn]), None))
        out.append(((server[0],) * 2, None, member))
    return tuple(out)
