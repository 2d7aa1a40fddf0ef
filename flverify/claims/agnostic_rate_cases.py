"""Instances of what Theorem 4 of the agnostic paper leaves open.

Expectations list every noise and every cohort in rationals; rechecks run the plain
loop on each path.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

from flverify.claims import agnostic_runs as runs
from flverify.claims import cohorts
from flverify.claims.agnostic_terms import RATE
from flverify.claims.cohorts import people
from flverify.claims.judge import Case
from flverify.claims.nonsmooth import gradient_bound
from flverify.claims.nonsmooth_losses import SILENT, Absolute, Client, squared_distance
from flverify.reference import agnostic_fedavg

ONE = Fraction(1)


def doubled(schedule: str, factor: Any) -> Iterator[Case]:
    """Gaps against the bound over sqrt(T), for c_1, c_2 of eta/2 and 2 eta."""
    for index, (one, count) in enumerate(runs.several(schedule)):
        k = one.local_steps
        if k == 0:
            continue
        begin = squared_distance(one.start, one.minimiser())
        right = begin / (one.step * k * count) + 2 * one.step * runs.room_of(
            one, RATE, k
        )
        left = runs.mean_value(index, schedule, plain=False)
        at = {**one.where, "T": count, "theta*": one.minimiser()}
        at |= {"G": gradient_bound(one.clients)}

        def again(index: int = index, right: Any = right) -> tuple[Any, Any]:
            return runs.mean_value(index, schedule, plain=True), factor * right

        yield Case(at, left, factor * right, again)


def restless(largest: int, factor: Fraction) -> Iterator[Case]:
    """Squares of both sides for |x - 1/3| and one step of 1/2, from 0 to 1/2 and back.

    The average of an even number of models is 1/4, 1/12 from the minimiser.
    """
    count = 144 * (largest + 1) ** 2
    one = runs.restless("literal", 2)
    ((_, models),) = one.paths(2)
    back = models[2] == models[0]  # then the run has period 2
    mean = (models[1][0] + models[2][0]) / 2
    gap = one.objective((mean,)) - one.objective(one.minimiser()) if back else 0

    def again() -> tuple[Fraction, Fraction]:
        found = agnostic_fedavg.run(
            lambda _i, x: [Fraction(1 if 3 * x[0] > 1 else -1)],
            1,
            [Fraction(0)],
            [{0}] * count,
            step_size=one.step,
            period=2,
        )
        average = sum((m[0] for m in found[1:]), Fraction(0)) / count
        square = (average - ONE / 3) ** 2
        return count * square, (factor * largest) ** 2

    at = {**one.where, "T": count, "K": largest, "theta*": one.minimiser(), "G": 1}
    at |= {"other K": "the same at T = 144 (K + 1)^2"}
    yield Case(at, count * gap**2, (factor * largest) ** 2, again)


def valued(schedule: str, value: Any, factor: Fraction) -> Iterator[Case]:
    """Compare what is made of the T expected gaps with (9), times a factor."""
    for index, (one, count) in enumerate(runs.several(schedule)):
        k = one.local_steps
        if k == 0:
            continue
        begin = squared_distance(one.start, one.minimiser())
        right = begin / (2 * one.step * k * count)
        right = factor * (right + one.step * runs.room_of(one, RATE, k))
        at = {**one.where, "T": count, "theta*": one.minimiser()}
        at |= {"G": gradient_bound(one.clients)}

        def again(index: int = index, right: Any = right) -> Any:
            return value(gaps(index, schedule, plain=True)), right

        yield Case(at, value(gaps(index, schedule, plain=False)), right, again)


@cache
def gaps(index: int, schedule: str, *, plain: bool) -> list[Fraction]:
    """E f(server) - f(theta*) after each round of an instance."""
    one, count = runs.several(schedule)[index]
    paths = one.plain_paths(count) if plain else one.paths(count)
    found = [-one.objective(one.minimiser())] * count
    for chance, models in paths:
        for r, model in enumerate(models[1:]):
            found[r] += chance * one.objective(model)
    return found


def alike(divisor: str) -> Iterator[Case]:
    """Model after two rounds of the plain loop, whoever comes, against one client's."""
    for period in (2, 3):
        one = runs.slow("literal", period, Fraction(1, 4))
        ((_, models),) = one.paths(2)
        for members in cohorts.subsets(3, least=1):
            loop = agnostic_fedavg.run(
                lambda _i, x: [Fraction(1 if x[0] > 1 else -1)],
                3,
                [Fraction(0)],
                [cohorts.zero_based(members)] * 2,
                step_size=one.step,
                period=period,
            )[-1][0]
            loop *= {"|S|": ONE, "N": Fraction(len(members), 3)}[divisor]
            by_hand = min(ONE, one.step * (period - 1) * 2)
            at = {"S": cohorts.shown(members), "H": period, "eta": one.step}
            yield Case(at, loop, models[2][0], cohorts.sides(loop, by_hand))


def by_size(power: int) -> Iterator[Case]:
    """Gap of the average against (9) over M^power, for cohorts of M of four."""
    base = runs.slow("separate", 1, Fraction(1, 40))
    loss = Client(Absolute(ONE), SILENT)
    for m in people(4):
        law = dict.fromkeys([frozenset(range(1, m + 1))], ONE)
        one = replace(base, clients=(loss,) * 4, law=law)
        count = 20
        right = ONE / (2 * one.step * count) + one.step * runs.room_of(one, RATE, 1)
        right /= m**power

        def gap(paths: Any, one: Any = one, count: int = count) -> Fraction:
            ((_, models),) = paths
            mean = sum((x[0] for x in models[1:]), Fraction(0)) / count
            return Fraction(one.objective((mean,)))

        left = gap(one.paths(count))
        at = {**one.where, "M": m, "T": count, "theta*": 1, "G": 1}

        def again(one: Any = one, right: Any = right, gap: Any = gap) -> Any:
            return gap(one.plain_paths(20)), right

        yield Case(at, left, right, again)
