"""(7), (8) and (9) of the agnostic paper with H = 1, proved, and on listed paths.

For `agnostic.alg1.H1`. In (7) the model before the last average is that of the client
after the local steps of the last round, from the server model before them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import prod
from typing import Any, TypeAlias

from flverify.claims import agnostic_rounds as chain
from flverify.claims import judge
from flverify.claims.agnostic_terms import (
    RATE,
    ROOM,
    coefficients,
    lost,
    proof_beside_search,
)
from flverify.claims.judge import Case
from flverify.claims.nonsmooth import Nonsmooth, family, gradient_bound
from flverify.claims.nonsmooth_losses import (
    SILENT,
    Absolute,
    Client,
    Point,
    squared_distance,
)
from flverify.claims.verdict import Finding

Paths: TypeAlias = Sequence[tuple[Fraction, list[Point]]]
ONE = Fraction(1)
ALONE = {frozenset({1}): ONE}
SEARCHED = "clients of the family and |x - 1|, eta from 1/100, T up to 400, H = 1"


def one_step_rounds(word: str, share: Fraction = ONE) -> Finding:
    """Judge (7), (8), (9) and the rate for one schedule; prove them where H steps are.

    The rate is (9) at one step size. The terms of sigma, G and ell count by a share.
    """
    rows = [(one, ticks) for one in family(word, (1,)) for ticks in (1, 2)]
    rows = [(o, t) for o, t in rows if len(o.start) == 1 and count(o, t) < 70]
    rows = [(absolute(word, Fraction(1, 100)), 2), *rows]
    long = [(absolute(word, ONE / k), k * k) for k in (1, 2, 5, 10, 20)]
    long.append((absolute(word, ONE, Fraction(2)), 1))  # a step beyond theta*
    lists = {"(7)": rows, "(8)": rows, "(9)": [*rows, (rows[0][0], 100)]}
    lists["Theorem 4"] = long
    missing = lost(word, "H")
    found = {}
    for name, rows_of in lists.items():
        cases = (inequality(name, one, ticks, share) for one, ticks in rows_of)
        search = judge.instances(cases, "<=", SEARCHED)
        found[name] = proof_beside_search(any_losses(name, share), search, missing)
    return judge.all_of(found)


def any_losses(name: str, share: Fraction = ONE) -> Callable[[], Finding]:
    """Return the proof for any number of local steps before each communication."""
    room, bound = (
        coefficients({key: share * value for key, value in terms.items()})
        for terms in (ROOM, RATE)
    )
    return {
        "(7)": partial(chain.one_period, room),
        "(8)": partial(chain.one_round, room),
        "(9)": partial(chain.rate, room, bound),
        "Theorem 4": partial(chain.rate, room, bound),
    }[name]


def absolute(word: str, step: Fraction, slope: Fraction = ONE) -> Nonsmooth:
    """Return slope |x - 1| alone on [-2, 2]: G = ell = slope, sigma = 0, theta* = 1."""
    box = ("box", Fraction(-2), Fraction(2))
    client = Client(Absolute(ONE, slope), SILENT)
    return Nonsmooth((client,), ALONE, box, step, 1, word)


def count(one: Nonsmooth, rounds: int) -> int:
    """Return the number of paths of some rounds."""
    noise = prod(len(client.noise) ** one.local_steps for client in one.clients)
    return int((noise * len(one.law)) ** rounds)


def inequality(name: str, one: Nonsmooth, rounds: int, share: Fraction = ONE) -> Case:
    """Return both sides of (7), worst client, of (8), or of (9), after some rounds."""
    sides = {"(7)": seven, "(8)": eight, "(9)": nine, "Theorem 4": nine}[name]
    room = noise_terms(one)
    unit = 1 if sides is not nine else 2 * one.step * one.period

    def judged(paths: Paths, *, plain: bool) -> tuple[Fraction, Fraction]:
        left, right = sides(one, paths, plain=plain)
        return left, right - (1 - share) * room / unit

    return Case(
        {**one.where, "T": rounds, "theta*": one.minimiser(), "in": name},
        *judged(list(one.paths(rounds)), plain=False),
        lambda: judged(list(one.plain_paths(rounds)), plain=True),
    )


def noise_terms(one: Nonsmooth) -> Fraction:
    """H (2 eta^2 sigma^2 + 3 eta^2 G^2 + 8 ell eta^2 G H) of (7) and (8)."""
    rows = zip(one.weights(), one.clients, strict=True)
    sigma = sum((p * client.variance for p, client in rows), Fraction(0))
    bound = gradient_bound(one.clients)
    ell = max(client.lipschitz for client in one.clients)
    rest = 2 * sigma + 3 * bound**2 + 8 * ell * bound * one.period
    return one.period * one.step**2 * rest


def eight(one: Nonsmooth, paths: Paths, *, plain: bool) -> tuple[Fraction, Fraction]:
    """Return both sides of (8) for the last of the rounds."""
    del plain  # the paths come from the plain loop then
    best = one.minimiser()
    left = _mean(paths, lambda models: squared_distance(models[-1], best))
    before = _mean(paths, lambda models: squared_distance(models[-2], best))
    gap = _mean(paths, lambda models: one.objective(models[-1])) - one.objective(best)
    return left, before - 2 * one.step * one.period * gap + noise_terms(one)


def seven(one: Nonsmooth, paths: Paths, *, plain: bool) -> tuple[Fraction, Fraction]:
    """Return both sides of (7) for the client with the least room."""
    best = one.minimiser()
    before = _mean(paths, lambda models: squared_distance(models[-2], best))
    sides = []
    for i, client in enumerate(one.clients):
        left = Fraction(0)
        for chance, models in paths:
            for likely, draws in one.draws():
                if plain:
                    x = one.plain_local(i, one.local_steps, models[-2], draws)
                else:
                    x = one.track(i, models[-2], draws[i])[-1]
                left += chance * likely * squared_distance(x, best)
        gap = _mean(paths, lambda models, f=client.value: f(models[-1]))
        gap -= client.value(best)
        room = noise_terms(one) - 2 * one.step * one.period * gap
        sides.append((left, before + room))
    return max(sides, key=lambda pair: pair[0] - pair[1])


def nine(one: Nonsmooth, paths: Paths, *, plain: bool) -> tuple[Fraction, Fraction]:
    """Return both sides of (9) for the average of all server models after the start."""
    del plain
    best, rounds = one.minimiser(), len(paths[0][1]) - 1

    def value(models: list[Point]) -> Fraction:
        columns = zip(*models[1:], strict=True)
        return one.objective(tuple(sum(c, Fraction(0)) / rounds for c in columns))

    left = _mean(paths, value) - one.objective(best)
    unit = 2 * one.step * one.period
    return left, squared_distance(one.start, best) / (unit * rounds) + noise_terms(
        one
    ) / unit


def _mean(paths: Paths, value: Any) -> Fraction:
    return sum((p * value(models) for p, models in paths), Fraction(0))
