"""Both sides of (6) to (9) of the agnostic paper on listed nonsmooth instances.

Expectations list every noise and every cohort in rationals; rechecks run the plain
loop on each path. `count` says what stands for H in a bound: the period, or the number
of local steps that a period has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from flverify.claims import cohorts
from flverify.claims.cohorts import Listed
from flverify.claims.judge import Case
from flverify.claims.nonsmooth import Nonsmooth, family, gradient_bound
from flverify.claims.nonsmooth_losses import (
    SILENT,
    Absolute,
    Client,
    Point,
    Region,
    squared_distance,
    two_points,
)

SEARCHED = (
    "absolute values, hinges and lines of one or two clients, with and without noise, "
    "on boxes and balls, H = 1..3, step sizes 1/2 to 1/100"
)
LONGEST = 100  # paths that are listed for one instance
WIDE: Region = ("box", Fraction(-50), Fraction(50))
ALONE: Listed = {frozenset({1}): Fraction(1)}


def slow(schedule: str, period: int, step: Fraction) -> Nonsmooth:
    """One client with |x - 1|, from 0, in small steps: Assumptions 1 to 3, G = 1."""
    client = Client(Absolute(Fraction(1)), SILENT)
    return Nonsmooth((client,), ALONE, WIDE, step, period, schedule)


def restless(schedule: str, period: int) -> Nonsmooth:
    """One client with |x - 1/3| whose steps of 1/2 pass over the minimiser."""
    client = Client(Absolute(Fraction(1, 3)), SILENT)
    return Nonsmooth((client,), ALONE, WIDE, Fraction(1, 2), period, schedule)


def tugged(schedule: str) -> Nonsmooth:
    """Two absolute values, one with noise, far apart, on a box, H = 2."""
    clients = (
        Client(Absolute(Fraction(1)), two_points(Fraction(1), Fraction(1))),
        Client(Absolute(Fraction(-1)), SILENT),
    )
    law = {frozenset({1}): Fraction(1, 2), frozenset({1, 2}): Fraction(1, 2)}
    box = ("box", Fraction(-2), Fraction(2))
    return Nonsmooth(clients, law, box, Fraction(1, 10), 2, schedule)


def branches(one: Nonsmooth) -> int:
    """Count the paths of one period: every noise of every client, every cohort."""
    noise = 1
    for client in one.clients:
        noise *= len(client.noise) ** one.local_steps
    return noise * len(one.law)


@cache
def listed(schedule: str) -> tuple[Nonsmooth, ...]:
    """Instances for one period: small steps first, then the common family."""
    first = [slow(schedule, h, Fraction(1, 100)) for h in (2, 3, 1)]
    first += [restless(schedule, h) for h in (2, 3, 1)] + [tugged(schedule)]
    rest = [one for one in family(schedule, (2, 3, 1)) if len(one.start) == 1]
    return tuple(one for one in (*first, *rest) if branches(one) <= LONGEST)


# -- one period: (6) to (8) ---------------------------------------------------------


def models(one: Nonsmooth, draws: Any) -> tuple[list[Point], Callable[..., Point]]:
    """Return the local models before a communication, and line 5 for a cohort."""
    last = [track[-1] for track in one.tracks(one.start, draws)]
    return last, lambda members: one.aggregate(members, last)


def plain_models(
    one: Nonsmooth, draws: Any
) -> tuple[list[Point], Callable[..., Point]]:
    """Return the same by the plain loop, a run for every client and every cohort."""
    people = range(one.n_clients)
    last = [one.plain_local(i, one.local_steps, one.start, draws) for i in people]

    def server(members: Any) -> Point:
        return one.plain_models([cohorts.zero_based(members)], one.start, draws)[-1]

    return last, server


@cache
def period(index: int, schedule: str, *, plain: bool) -> dict[str, Any]:
    """Exact expectations at the first communication of a listed instance.

    Squared distances to theta* of the server model and of each client's before it,
    f and f_i of the server model less their values at theta*.
    """
    one, run = listed(schedule)[index], plain_models if plain else models
    best, zero = one.minimiser(), Fraction(0)
    found: dict[Any, Fraction] = {"server": zero, "f": zero}
    for i in range(one.n_clients):
        found |= {("client", i): zero, ("f", i): zero}
    for chance, draws in one.draws():
        last, server = run(one, draws)
        for i, model in enumerate(last):
            found["client", i] += chance * squared_distance(model, best)
        for members, p in one.law.items():
            model = server(members)
            found["server"] += chance * p * squared_distance(model, best)
            found["f"] += chance * p * (one.objective(model) - one.objective(best))
            for i, client in enumerate(one.clients):
                rise = client.value(model) - client.value(best)
                found["f", i] += chance * p * rise
    return found


def room_of(one: Nonsmooth, terms: Mapping[str, Any], h: int) -> Fraction:
    """Add up sigma^2, G^2 and ell G H with the coefficients of these names."""
    rows = zip(one.weights(), one.clients, strict=True)
    sigma_squared = sum((p * client.variance for p, client in rows), Fraction(0))
    bound = gradient_bound(one.clients)
    ell = max(client.lipschitz for client in one.clients)
    parts = {"sigma^2": sigma_squared, "G^2": bound**2, "ell G H": ell * bound * h}
    return sum((Fraction(terms[k]) * v for k, v in parts.items()), Fraction(0))


def counted(one: Nonsmooth, count: str) -> int:
    """Return H, or the number of local steps."""
    return {"H": one.period, "local steps": one.local_steps}[count]


def _case(
    schedule: str, index: int, sides: Callable[[Any], tuple[Any, Any]], **more: Any
) -> Case:
    one = listed(schedule)[index]
    left, right = sides(period(index, schedule, plain=False))
    at = {**one.where, "T": 1, "theta*": one.minimiser(), **more}
    at |= {"G": gradient_bound(one.clients)}
    return Case(at, left, right, lambda: sides(period(index, schedule, plain=True)))


def round_cases(
    schedule: str, count: str, terms: Mapping[str, Any], *, each: bool
) -> Iterator[Case]:
    """(8) at T = 1, or (7) for every client if `each`."""
    for index, one in enumerate(listed(schedule)):
        h = counted(one, count)
        room = h * one.step**2 * room_of(one, terms, h)
        whom = [("client", "f", i) for i in range(one.n_clients)]
        for key, value, i in whom if each else [("server", "f", None)]:

            def sides(
                found: Any,
                keys: Any = (key, value, i),
                room: Any = room,
                h: int = h,
                one: Nonsmooth = one,
            ) -> tuple[Any, Any]:
                key, value, i = keys
                left = found[key] if i is None else found[key, i]
                gap = found[value] if i is None else found[value, i]
                begin = squared_distance(one.start, one.minimiser())
                return left, begin - 2 * one.step * h * gap + room

            named = {} if i is None else {"i": i + 1}
            yield _case(schedule, index, sides, **named)


def aggregate_cases(schedule: str, factor: Any) -> Iterator[Case]:
    """(6) at T = 1, the right side times a factor."""
    for index, one in enumerate(listed(schedule)):

        def sides(found: Any, one: Nonsmooth = one) -> tuple[Any, Any]:
            rows = enumerate(one.weights())
            total = sum(w * found["client", i] for i, w in rows)
            return found["server"], factor * total

        yield _case(schedule, index, sides)


# -- several rounds: (9) and Theorem 4 ----------------------------------------------


@cache
def several(schedule: str) -> tuple[tuple[Nonsmooth, int], ...]:
    """Instances with their numbers of rounds T: long ones of one client, short ones."""
    long = [(slow(schedule, h, Fraction(1, 80)), 40 * 4 ** (h - 2)) for h in (2, 3)]
    long += [(slow(schedule, 1, Fraction(1, 24)), 48)]
    long += [(restless(schedule, h), 20) for h in (2, 1, 3)] + [(tugged(schedule), 2)]
    rest = [one for one in family(schedule, (2, 3, 1)) if len(one.start) == 1]
    few = [(one, t) for one in rest for t in (1, 2) if branches(one) ** t <= LONGEST]
    return (*long, *few)


@cache
def mean_value(index: int, schedule: str, *, plain: bool) -> Fraction:
    """E f(average of the server models) - f(theta*)."""
    one, rounds = several(schedule)[index]
    paths = one.plain_paths(rounds) if plain else one.paths(rounds)
    total = Fraction(0)
    for chance, servers in paths:
        columns: Sequence[Any] = list(zip(*servers[1:], strict=True))
        mean = tuple(sum(c, Fraction(0)) / rounds for c in columns)
        total += chance * one.objective(mean)
    return total - one.objective(one.minimiser())


def rate_cases(
    schedule: str,
    count: str,
    terms: Mapping[str, Any],
    factor: Any = 1,
    least_period: int = 1,
) -> Iterator[Case]:
    """(9) on instances of several rounds, the right side times a factor."""
    for index, (one, rounds) in enumerate(several(schedule)):
        h = counted(one, count)
        if one.period < least_period or h == 0:
            continue
        begin = squared_distance(one.start, one.minimiser())
        right = begin / (2 * one.step * h * rounds) + one.step * room_of(one, terms, h)
        left = mean_value(index, schedule, plain=False)
        at = {**one.where, "T": rounds, "theta*": one.minimiser()}
        at |= {"G": gradient_bound(one.clients)}

        def again(index: int = index, right: Any = right) -> tuple[Any, Any]:
            return mean_value(index, schedule, plain=True), factor * right

        yield Case(at, left, factor * right, again)
