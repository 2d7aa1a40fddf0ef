"""Certificates of FOCUS: one matrix inequality, one certified rate, a whole region."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any
from unittest import mock

from threadpoolctl import threadpool_limits

from benchmarks._rows import Row, seconds
from flverify.algorithms import Focus, Scaffold
from flverify.certify import search
from flverify.certify.check import check
from flverify.certify.check.plain import check_plainly
from flverify.certify.ladder import Ladder
from flverify.certify.rates import Certified, certify
from flverify.certify.region import Row as RegionRow
from flverify.certify.region import region, spaced
from flverify.certify.search import smallest
from flverify.participation import Bernoulli, Full, UniformCohort

MU, L = Fraction(1, 10), Fraction(1)
SIDE = 100  # step sizes and values of the region
WORKERS = 2
FEW, MANY = 2, 1000  # clients
TARGETS = {1: 0.3, 5: 1.0}  # seconds for one certified rate, by local steps
ALIKE = 1.2  # times as long as for few clients


def rows(quick: bool) -> list[Row]:
    """Time inequalities, certified rates and checks; part of a region."""
    out = [*_inequalities(quick), _amortised(quick)]
    for steps, target in TARGETS.items():
        out += _rates(steps, target, quick)
        out += _others(steps, target, quick)
    return [*out, _region(quick)]


def _law(clients: int, chance: Fraction = Fraction(1, 2)) -> Bernoulli:
    return Bernoulli([chance] * clients)


def _seconds(work: Callable[[], object], repeats: int = 1) -> float:
    """Least processor time of the thread, which a busy neighbour disturbs less."""
    with threadpool_limits(1, user_api="blas"):
        return min(seconds(work, time.thread_time) for _ in range(repeats))


def _inequalities(quick: bool) -> list[Row]:
    """Lay out and solve as a region does.

    Where a quadratic is as slow as the class, the poorest ansatz is solved once, and
    elsewhere every ansatz once and the richest a dozen times.
    """
    ladder = Ladder.of(Focus(1), _law(FEW), MU, L)
    sizes = spaced("1/100", "1/2", 5 if quick else 20)
    last = len(ladder.rungs) - 1

    def poorest() -> None:
        for step in sizes:
            next(ladder.searches(step)).margin(0.98)

    def every() -> None:
        for step in sizes:
            for rung, found in enumerate(ladder.searches(step)):
                for k in range(12 if rung == last else 1):
                    found.margin(0.98 + 0.001 * k)

    parts = (
        ("the poorest ansatz once", poorest, 1),
        ("every ansatz", every, 12 + last),
    )
    return [
        Row(
            f"LMI, tau = 1, {name}",
            _seconds(work, 3) / (len(sizes) * solves),
            target=0.005,
            note=f"built and solved, mean of {solves} at {len(sizes)} step sizes",
        )
        for name, work, solves in parts
    ]


def _amortised(quick: bool) -> Row:
    """Time all that some rows of a region lay out and solve, by inequality."""
    spent: dict[str, list[float]] = {"_laid_out": [], "_margin": []}

    def timed(place: Any, name: str) -> Any:
        work = getattr(place, name)

        def run(*given: Any) -> Any:
            start = time.thread_time()
            found = work(*given)
            spent[name].append(time.thread_time() - start)
            return found

        return mock.patch.object(place, name, run)

    with (
        threadpool_limits(1, user_api="blas"),
        timed(search, "_laid_out"),
        timed(search.Search, "_margin"),
    ):
        region("p", spaced("1/1000", 2, SIDE), _some_rows(quick))
    solves = len(spent["_margin"])
    return Row(
        "LMI, tau = 1, all of a region",
        sum(map(sum, spent.values())) / solves,
        target=0.005,
        note=f"built and solved, mean of {solves}",
    )


def _rates(steps: int, target: float, quick: bool) -> list[Row]:
    """Time one certified rate without help, and its parts, for few and many clients."""
    out, searched = [], []
    for clients in (FEW, 100 if quick else MANY):
        step = Fraction(2, 5) / clients
        setting = Focus(step, steps), _law(clients), MU, L
        found: list[Certified] = []
        work = partial(_certify, found, *setting)
        taken = _seconds(work, 3)
        place = f"tau = {steps}, N = {clients}"
        note = f"{found[0].level}, rho = {float(found[0].rate or 1)}"
        out.append(Row(f"certified rate, {place}", taken, target=target, note=note))
        proof = _seconds(partial(check, found[0].certificate or {}))
        wanted = 0.3 if steps == 1 else None
        out.append(Row(f"its check, {place}", proof, target=wanted))
        if clients == FEW:
            both = proof + _seconds(partial(check_plainly, found[0].certificate))
            name = f"its check by both checkers, {place}"
            out.append(Row(name, both, target=wanted))
        bisect = partial(_bisect, Ladder.of(*setting), step)
        searched.append(_seconds(bisect, 3))
        note = "in floats, every ansatz"
        out.append(Row(f"its bisections, {place}", searched[-1], note=note))
    name = f"bisections, tau = {steps}, many clients against few"
    return [*out, Row(name, ratio=searched[1] / searched[0], target=ALIKE)]


def _others(steps: int, target: float, quick: bool) -> list[Row]:
    """Time one certified rate of SCAFFOLD and FOCUS for other laws and many clients."""
    out = []
    for clients in (FEW, 100 if quick else MANY):
        laws = {"full": Full(clients), "uniform:1": UniformCohort(clients, 1)}
        for law_name, law in laws.items():
            for algorithm in (
                Scaffold("2/25", steps),
                Focus(Fraction(2, 25) / clients, steps),
            ):
                found: list[Certified] = []
                taken = _seconds(partial(_certify, found, algorithm, law, MU, L), 2)
                kind = type(algorithm).__name__.lower()
                place = f"{kind}, {law_name}, tau = {steps}, N = {clients}"
                note = f"{found[0].level}, rho = {float(found[0].rate or 1)}"
                row = Row(f"certified rate, {place}", taken, target=target, note=note)
                out.append(row)
    return out


def _certify(found: list[Certified], *setting: Any) -> None:
    found[:] = [certify(*setting)]


def _bisect(ladder: Ladder, step: Fraction) -> None:
    for found in ladder.searches(step):
        smallest(found)


def _region(quick: bool) -> Row:
    """Time some rows of a region over step sizes and p, and extrapolate the rest."""
    asked = _some_rows(quick)
    sizes = spaced("1/1000", 2, SIDE)
    taken = _seconds(lambda: region("p", sizes, asked)) / len(asked)
    note = f"extrapolated from {len(asked)} rows of {taken:.2f} s in one process"
    name = f"region of {SIDE} x {SIDE}, tau = 1, N = 2, {WORKERS} processes"
    return Row(name, taken * SIDE / WORKERS, target=360.0, note=note)


def _some_rows(quick: bool) -> list[RegionRow]:
    chances = [Fraction(k, 20) for k in ((5, 15) if quick else (1, 5, 9, 13, 17))]
    return [RegionRow(p, Focus(1), _law(FEW, p), MU, L) for p in chances]
