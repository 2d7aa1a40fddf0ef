"""Windows of local steps of the agnostic paper: how far apart models and values get.

A window is what happens between two communications, the second included. All pairs of
models in it are compared in the mean over the listed noise and cohorts; rechecks take
every model from the plain loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from typing import Any, TypeAlias

from flverify.claims import cohorts
from flverify.claims.cohorts import Cohort, people
from flverify.claims.nonsmooth import FAMILY, Nonsmooth, family, moved
from flverify.claims.nonsmooth_losses import (
    SILENT,
    Absolute,
    Client,
    Line,
    Point,
    length,
    minus,
)

WIDE = ("box", Fraction(-50), Fraction(50))


WINDOWS = FAMILY + "; two opposite lines, H = 201"

FIRST = "two clients |x - a|, a in C, started at 0 outside of C, H = 2, 3"


Reach: TypeAlias = tuple[
    Nonsmooth, Any, Fraction
]  # an instance, a pair of models, their gap


def windows(schedule: str) -> Iterator[Nonsmooth]:
    """Instances of a window, short ones and one that is long."""
    for one in family(schedule):
        if one.step == Fraction(1, 2):
            yield one
        elif len(one.start) == 1:
            yield moved(one, (one.ends()[0],))
    yield lines(schedule, 201)


def first_windows() -> Iterator[Nonsmooth]:
    """Instances of the window from theta^0 = 0, with C elsewhere in Theta = R."""
    for low, high in ((1, 2), (-3, -2)):
        clients = tuple(Client(Absolute(Fraction(a)), SILENT) for a in (low, high))
        law = {frozenset({1}): Fraction(1, 4), frozenset({1, 2}): Fraction(3, 4)}
        box = ("box", Fraction(low), Fraction(high))
        for period in (2, 3):
            yield Nonsmooth(clients, law, box, Fraction(1, 20), period, "literal")


def lines(schedule: str, period: int) -> Nonsmooth:
    """Two opposite lines that never meet the boundary."""
    clients = tuple(Client(Line(Fraction(rise)), SILENT) for rise in (1, -1))
    law = {frozenset({1, 2}): Fraction(1)}
    step = Fraction(1, 10)
    return Nonsmooth(clients, law, WIDE, step, period, schedule)


@cache
def distances(schedule: str) -> list[Reach]:
    """Return the farthest pair of models of every window, in the mean."""
    return [(one, *farthest(one, distance)) for one in windows(schedule)]


def distance(_client: Any, x: Point, y: Point) -> Fraction:
    """|x - y|."""
    return length(minus(x, y))


Model: TypeAlias = tuple[
    Any, int
]  # a client and its steps; "all" and -1 after the communication


def farthest(one: Nonsmooth, gap: Callable[..., Fraction]) -> tuple[Any, Fraction]:
    """Return the pair of models whose gap has the largest mean, and that mean."""
    names = list(models_of(one))
    if one.local_steps > 10:  # nobody comes back here: only the last models count
        names = [name for name in names if name[1] in (-1, 0, one.local_steps)]
    pairs = list(combinations_with_replacement(names, 2))
    totals = dict.fromkeys(pairs, Fraction(0))
    local = [pair for pair in pairs if pair[1][0] != "all"]
    joint = [pair for pair in pairs if pair[1][0] == "all"]
    for chance, draws in one.draws():
        tracks = one.tracks(one.start, draws)
        for x, y in local:
            far = gap(x[0], tracks[x[0] - 1][x[1]], tracks[y[0] - 1][y[1]])
            totals[x, y] += chance * far
        for members, p in one.law.items():
            last = one.aggregate(members, [track[-1] for track in tracks])
            for x, y in joint:
                model = last if x[0] == "all" else tracks[x[0] - 1][x[1]]
                totals[x, y] += chance * p * gap(x[0], model, last)
    pair = max(totals, key=lambda name: totals[name])
    return pair, totals[pair]


def models_of(one: Nonsmooth) -> Iterator[Model]:
    """Name every model of the window."""
    for i in people(one.n_clients):
        for k in range(one.local_steps + 1):
            yield i, k
    yield "all", -1


def plain_mean(one: Nonsmooth, pair: Any, gap: Callable[..., Fraction]) -> Fraction:
    """E of the gap of two named models, each from the plain loop."""
    total = Fraction(0)
    for chance, draws in one.draws():
        for members, p in one.law.items():
            x, y = (plain_model(one, name, members, draws) for name in pair)
            total += chance * p * gap(pair[0][0], x, y)
    return total


def plain_model(one: Nonsmooth, name: Model, members: Cohort, draws: Any) -> Point:
    """Find a model of the window by the plain loop."""
    if name[0] != "all":
        return one.plain_local(name[0] - 1, name[1], one.start, draws)
    return one.plain_models([cohorts.zero_based(members)], one.start, draws)[-1]


@cache
def value_gaps(schedule: str) -> list[Reach]:
    """Return the pair of models with the farthest values of every window."""
    return [(one, *farthest(one, value_gap(one))) for one in windows(schedule)]


def value_gap(one: Nonsmooth) -> Callable[..., Fraction]:
    """|f_i(x) - f_i(y)| for the client of x, or for client 1 after a communication."""

    def gap(i: Any, x: Point, y: Point) -> Fraction:
        f = one.clients[0 if i == "all" else i - 1]
        return abs(f.value(x) - f.value(y))

    return gap
