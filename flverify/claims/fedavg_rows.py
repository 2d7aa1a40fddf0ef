"""Judge that a recursion of the FOCUS paper runs through the server models of (2).

A search over rational quadratics comes first, with the closed form of local steps as
the recheck; what agrees there is then run on formal gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from flverify.claims import judge
from flverify.claims.fedavg_recursions import Run, formal_runs, rational_runs
from flverify.claims.scalar_runs import CURVATURES, MINIMISERS, STEP
from flverify.claims.verdict import Finding

Recursion = Callable[[Run], list[Any]]
FORMAL = (
    "tau = 1..3, two rounds of any nonempty cohorts, every differentiable "
    "f_i, step size and start"
)


def runs_through(
    recursion: Recursion,
    again: Recursion,
    *,
    own_starts: bool = False,
    late: int = 0,
    clients: int = 3,
) -> Finding:
    """Judge a recursion against the server models of (2), round by round.

    Parameters
    ----------
    recursion, again : callable
        The recursion, and a second transcription for rational runs.
    own_starts : bool
        Whether clients start from models of their own.
    late : int
        Round of (2) whose cohort stands first in the recursion.
    clients : int
        Largest N of the runs on formal gradients, 3 at most.
    """
    cases = (
        judge.Case(
            _where(run, own_starts, r),
            recursion(run)[r],
            expected(run, late)[r],
            partial(_checked, run, again, late, r),
        )
        for run in rational_runs()
        for r in (0, 1)
        if r + late < len(run.cohorts)
    )
    models = "any" if own_starts else "equal"
    search = judge.instances(cases, "==", f"quadratics, {models} models at the start")
    if not search.passes():
        return search
    pairs = (
        (str(run), left, right)
        for run in formal_runs()
        if run.n_clients <= clients
        for left, right in zip(recursion(run), expected(run, late), strict=True)
    )
    scope = f"N = 1..{clients}, {FORMAL}; {models} client models at the start"
    return judge.proof_or_search(judge.identity(pairs, scope), search)


def expected(run: Run, late: int = 0) -> list[Any]:
    """Server models of (2) when its rounds take the cohorts from `late` on."""
    if not late:
        return run.box
    moved = Run(
        run.gradient,
        (*run.cohorts[late:], *run.cohorts[:late]),
        run.n_clients,
        run.local_steps,
        run.step_size,
        run.start,
        run.client_starts,
    )
    return moved.box


def _checked(run: Run, again: Recursion, late: int, r: int) -> tuple[Any, Any]:
    return again(run)[r], closed_form(run, late)[r]


def _where(run: Run, own_starts: bool, r: int) -> dict[str, Any]:
    own = {"client models": list(run.client_starts)} if own_starts else {}
    return {
        "N": run.n_clients,
        "tau": run.local_steps,
        "cohorts": [[i + 1 for i in sorted(s)] for s in run.cohorts],
        "h": list(CURVATURES[: run.n_clients]),
        "b": list(MINIMISERS[: run.n_clients]),
        "step size": run.step_size,
        "x_0": run.start,
        **own,
        "round": r + 1,
    }


def closed_form(run: Run, late: int = 0) -> list[Fraction]:
    """Server models of (2): x' = mean over S of b_i + (1 - eta h_i)^tau (x - b_i)."""
    x, models = run.start, []
    for cohort in run.cohorts[late : late + run.rounds]:
        ends = [
            MINIMISERS[i]
            + (1 - STEP * CURVATURES[i]) ** run.local_steps * (x - MINIMISERS[i])
            for i in sorted(cohort)
        ]
        x = sum(ends, Fraction(0)) / len(ends)
        models.append(x)
    return models


def stepped(i: int, model: Fraction) -> Fraction:
    """Return one gradient step of client i, from 0, on a rational run."""
    return model - STEP * CURVATURES[i] * (model - MINIMISERS[i])


def by_counting(run: Run, first_steps: int, late: int = 0) -> list[Fraction]:
    """FedAvg with another number of local steps in the first round, by counting them.

    Parameters
    ----------
    run : Run
    first_steps : int
        Local steps of the first round; tau in the others.
    late : int
        Round whose cohort is averaged first.
    """
    x, models = run.start, []
    cohorts = (*run.cohorts, *run.cohorts)[late : late + run.rounds]
    for r, cohort in enumerate(cohorts):
        ends = []
        for i in sorted(cohort):
            end = x
            for _ in range(run.local_steps if r else first_steps):
                end = stepped(i, end)
            ends.append(end)
        x = sum(ends, Fraction(0)) / len(ends)
        models.append(x)
    return models
