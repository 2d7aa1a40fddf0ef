"""Theorem 4 of the agnostic paper with step sizes that do not know the horizon.

In round r the step size is eta_r, falling, and k local steps are made. Let R^2 be the
largest |theta - theta*|^2 on the compact C, d_r = E|server - theta*|^2 after r rounds
and v_r = E f(server) - f(theta*). By (8), given what came before round r,

    v_r <= (d_{r-1} - d_r)/(2 k eta_r) + eta_r room,

room = sigma^2 + 1.5 G^2 + 4 ell G k. As 1/eta_r grows and d_r <= R^2, the sum of the
first terms is at most R^2/(2 k eta_T); and sum_{r <= T} 1/sqrt(r) <= 2 sqrt(T).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from flverify.claims import agnostic_rounds as rounds
from flverify.claims import agnostic_runs as runs
from flverify.claims import judge
from flverify.claims.agnostic_rounds import ETA, STEPS
from flverify.claims.agnostic_terms import RATE, ROOM, coefficients
from flverify.claims.judge import Case
from flverify.claims.nonsmooth import Nonsmooth, gradient_bound
from flverify.claims.nonsmooth_losses import SILENT, Absolute, Client, squared_distance
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most, put_in

EVERY = f"{rounds.EVERY}; step sizes that do not grow"
LAW = {
    frozenset({1}): Fraction(1, 2),
    frozenset({1, 2}): Fraction(1, 2),
}


@cache
def summed() -> Finding:
    """Prove sum v_r <= R^2/(2 k eta_T) + sum eta_r room, by induction on T."""
    R2, before, after, value = sympy.symbols("R2 d_T d_next v_next", nonnegative=True)
    total = sympy.Symbol("sum_of_v", real=True)
    inverse, later = sympy.symbols("inverse inverse_next", positive=True)
    added, more = sympy.symbols("added more", nonnegative=True)
    done = total + before * inverse <= R2 * inverse + added
    one = value <= (before - after) * later + more
    ended = {before: after, inverse: later}
    begun = put_in(done, {**ended, total: value, added: more})
    longer = put_in(done, {**ended, total: total + value, added: added + more})
    first = judge.implied([one, before <= R2], begun, "T = 1")
    step = judge.implied([done, one, later >= inverse, before <= R2], longer, EVERY)
    return judge.induction(
        first,
        step,
        f"every T; {EVERY}",
        "inverse stands for 1/(2 k eta_T), added for the sum of eta_r room. What is "
        "shown at T is sum v_r + d_T inverse <= R^2 inverse + added; d_T >= 0.",
    )


@cache
def one_round_divided() -> Finding:
    """Divide (8) by 2 k eta: the room of (8) becomes eta times that of (9)."""
    after, before, v = sympy.symbols("after before v", real=True)
    eight = rounds.round_room(coefficients(ROOM), STEPS)
    nine = rounds.round_room(coefficients(RATE), STEPS) / ETA
    room, other = sympy.symbols("room_8 room_9", nonnegative=True)
    held = [
        after <= before - 2 * ETA * STEPS * v + STEPS * room,
        sympy.Eq(room, 2 * ETA * other),
    ]
    half = judge.identity([("room", eight, 2 * ETA * nine)], EVERY)
    divided = judge.implied(
        held, at_most(v, (before - after) / (2 * STEPS * ETA) + other), EVERY
    )
    return judge.all_of({"room": half, "divided": divided})


@cache
def roots() -> Finding:
    """Prove 1/sqrt(1) + ... + 1/sqrt(T) <= 2 sqrt(T), by induction."""
    now, later = sympy.symbols("root root_next", positive=True)
    total = sympy.Symbol("sum", nonnegative=True)
    line = total <= 2 * now
    longer = put_in(line, {now: later, total: total + 1 / later})
    held = [sympy.Eq(later**2, now**2 + 1), line]
    first = judge.implied([], put_in(line, {now: 1, total: 1}), "T = 1")
    step = judge.implied(held, longer, "every T")
    return judge.induction(
        first, step, "every T", "root is sqrt(T), root_next sqrt(T + 1)"
    )


@cache
def added_rounds() -> Finding:
    """Prove that T rounds add up, one round more."""
    now, then, start, total, v = sympy.symbols("now then start sum v", real=True)
    done, per, fixed = sympy.symbols("t per_round room", nonnegative=True)
    line = now <= start - per * total + done * fixed
    longer = put_in(line, {now: then, total: total + v, done: done + 1})
    one = then <= now - per * v + fixed
    return judge.implied([line, one], longer, "every number of rounds")


@cache
def jensen() -> Finding:
    """Prove T f(average) <= sum f, one round more."""
    done, total, v = sympy.symbols("t sum v", real=True)
    now_at, next_at = sympy.symbols("value_now value_next", real=True)
    line = done * now_at <= total
    longer = put_in(line, {done: done + 1, now_at: next_at, total: total + v})
    convex = (done + 1) * next_at <= done * now_at + v
    return judge.implied([convex, line], longer, "every T, f convex")


# -- runs with step sizes that fall --------------------------------------------------


def falling(one: Nonsmooth, steps: Sequence[Fraction], *, plain: bool) -> Any:
    """E of the sum of f(server) - f(theta*) over rounds of these step sizes."""
    best = one.objective(one.minimiser())

    def rest(start: Any, left: Sequence[Fraction]) -> Fraction:
        if not left:
            return Fraction(0)
        here = replace(one, step=left[0], start=start)
        paths = here.plain_paths(1) if plain else here.paths(1)
        total = Fraction(0)
        for chance, (_, model) in paths:
            total += chance * (one.objective(model) - best + rest(model, left[1:]))
        return total

    return rest(one.start, steps)


def sequences() -> Iterator[tuple[Nonsmooth, list[Fraction]]]:
    """One client with many small steps, two with few; steps that do not grow."""
    box = ("box", Fraction(0), Fraction(1))
    alone = replace(runs.slow("separate", 1, Fraction(1)), region=box)
    yield alone, [Fraction(1, 20)] * 20
    yield alone, [Fraction(1, 2 * r) for r in range(1, 9)]
    clients = (
        Client(Absolute(Fraction(1)), SILENT),
        Client(Absolute(Fraction(-1), Fraction(2)), SILENT),
    )
    wide = ("box", Fraction(-2), Fraction(2))
    for period in (1, 2):
        two = Nonsmooth(clients, LAW, wide, Fraction(1), period, "separate")
        for top in (Fraction(1), Fraction(1, 3)):
            yield two, [top / r for r in range(1, 5)]


def summed_cases(factor: Any) -> Iterator[Case]:
    """Sum of the gaps against `factor` times the bound on it."""
    for one, steps in sequences():
        best, k = one.minimiser(), one.local_steps
        low, high = one.ends()
        widest = max(squared_distance((x,), best) for x in (low, high))
        room = runs.room_of(one, RATE, k)
        right = factor * (widest / (2 * k * steps[-1]) + sum(steps) * room)
        at = {**one.where, "eta": steps, "theta*": best}
        at |= {"G": gradient_bound(one.clients)}

        def again(one: Any = one, steps: Any = steps, right: Any = right) -> Any:
            return falling(one, steps, plain=True), right

        yield Case(at, falling(one, steps, plain=False), right, again)
