"""Figure 3 of the FOCUS paper: pull of x, local updates, push of y over iterations.

Above the three graphs of a round; below who does what at which iteration, by the
figure's own lines, by (13)-(14) as printed, and by (13)-(14) with the placing that
reproduces Algorithm 1. The last two are read off a run of the recursion.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from flverify.claims.focus_recursions import PLAIN, Reading, Stack, initial, iterate
from flverify.claims.focus_runs import Run
from flverify.report import captions
from flverify.report.rows import RowTable, read_rows
from flverify.report.schedules import Act, Mark, Plan, page
from flverify.report.style import PAGE, look

NAME = "fig3"
TITLE = "FOCUS as pull, local update and push: three schedules of the iterations"
SIZE = (PAGE, 6.0)
CLAIMS = ("focus.fig3.schedule", "focus.eq13_14.matrixform")

N_CLIENTS, LOCAL_STEPS = 4, 4
COHORTS = ((1, 3), (2, 3, 4), (1, 2))  # the last one only if a schedule looks ahead

FIGURE, PRINTED, MENDED = "figure", "equations", "mended"
SCHEDULES = {
    FIGURE: "by the lines of Figure 3",
    PRINTED: r"by (13)-(14): $C_k=R_k^\mathsf{T}$, $r\tau\leq k<(r+1)\tau$ for $D_k$",
    MENDED: r"mended: $C(S_r)$ at $k=(r+1)\tau$, $r\tau<k\leq(r+1)\tau$ for $D_k$",
}
READINGS = {PRINTED: Reading("plain", "same", range_from=0, first=1), MENDED: PLAIN}
PULL, MOVE, GRADIENT, PUSH, COLLECT = "pull x", "move x", "update y", "push y", "add y"
MARKS = {
    PULL: Mark("pull $x$", "v", -0.3),
    MOVE: Mark(r"move $x$ by $-\eta y$", ">", -0.12),
    GRADIENT: Mark("gradient into $y$", "o", 0.06, hollow=True),
    PUSH: Mark("push $y$", "^", 0.26),
    COLLECT: Mark("server adds up $y$", "s", 0.26),
}
PLAN = Plan(
    titles=SCHEDULES,
    marks=MARKS,
    counted={MOVE: "moves", GRADIENT: "gradients"},
    steps=(
        r"pull $x$: $k=r\tau+1$",
        r"local update: $k=r\tau+2,\ldots,(r+1)\tau-1$",
        r"push $y$: $k=(r+1)\tau$",
    ),
    cohorts=COHORTS,
    rounds=2,
    local_steps=LOCAL_STEPS,
    n_clients=N_CLIENTS,
    colour=look("focus").colour,
)


def table(quick: bool) -> RowTable[Act]:
    """List who does what at k = 1, ..., 2 tau under each schedule."""
    del quick  # there is nothing to shorten
    acts = [act for k in PLAN.iterations for act in _by_the_figure(k)]
    for name, reading in READINGS.items():
        acts += _by_running(name, reading)
    return RowTable(tuple(acts))


def _by_the_figure(k: int) -> Iterator[Act]:
    """Pull at r tau + 1, pairs at r tau + 2, ..., (r+1) tau - 1, push at (r+1) tau."""
    r = (k - 1) // LOCAL_STEPS
    first, last = r * LOCAL_STEPS + 1, (r + 1) * LOCAL_STEPS
    for node in COHORTS[r]:
        does = [PULL] if k == first else [MOVE, GRADIENT] if k < last else [PUSH]
        yield from (Act(FIGURE, k, node, action) for action in does)
    if k == last:
        yield Act(FIGURE, k, 0, COLLECT)


def _by_running(name: str, reading: Reading) -> Iterator[Act]:
    """Run the recursion on numbers without coincidences, and see what changes."""
    starts = tuple(Fraction(7 + i) for i in range(N_CLIENTS))
    cohorts = tuple(frozenset(client - 1 for client in cohort) for cohort in COHORTS)
    step, start = Fraction(1, 97), Fraction(4)
    run = Run(_slope, cohorts, N_CLIENTS, LOCAL_STEPS, step, start, starts)
    now = initial(run)
    for k in PLAN.iterations:
        old, now = now, iterate(run, reading, k, now)
        for node, action in _seen(run, reading, k, old, now):
            yield Act(name, k, node, action)


def _slope(client: int, model: Any) -> Any:
    """Gradient of (client + 2) (x + client^2 + 1)^2 / 2."""
    return (client + 2) * (model + client * client + 1)


def _seen(
    run: Run, reading: Reading, k: int, old: Stack, now: Stack
) -> Iterator[tuple[int, str]]:
    pulled, pushed = reading.pulls(run, k), reading.pushes(run, k)
    pulling = () if pulled is None else run.cohort(pulled)
    pushing = () if pushed is None else run.cohort(pushed)
    for node in range(N_CLIENTS + 1):
        changed = now.x[node] != old.x[node]
        if node and node - 1 in pulling:
            yield node, PULL
        elif changed:
            yield node, MOVE
        if node and changed:  # (14) then takes a gradient at a new point
            yield node, GRADIENT
        if node and node - 1 in pushing:
            yield node, PUSH
    if pushing:
        yield 0, COLLECT


def read(path: Path) -> RowTable[Act]:
    """Read the table from its CSV file."""
    return read_rows(path, Act)


def draw(figure: Figure, table: RowTable[Act]) -> None:
    """Draw the graphs of round 0 above and the schedules below."""
    page(figure, table, PLAN)


def caption(table: RowTable[Act]) -> str:
    """Say the setting, how often each schedule updates, and what was judged."""
    setting = (
        f"Setting: FOCUS, N = {N_CLIENTS} clients and the server, node 0; tau = "
        f"{LOCAL_STEPS}; {PLAN.sets()}; first iteration k = 1; rows of x at the start "
        "differ. Above: the graphs of round 0, with broken lines where nothing is "
        "sent. Below: who does what at which iteration; the participants of a round "
        "are shaded. A pull takes the server's x, which moves at the same iteration, "
        "but not at k = 1, where its y is 0; a gradient enters y wherever x has "
        "changed, also by the pull. Of a participant in its round: "
        f"{PLAN.all_counts(table)}. In (b) the push empties y, so that participants "
        "do not move, and clients outside the cohort do where D_k already follows the "
        "next one; (c) is Algorithm 1."
    )
    scope = (
        "Scope: the placing of the steps; the verdicts are for every tau and cohort "
        "that a claim names, and depend on what counts as a local update."
    )
    told = captions.verdicts(CLAIMS, readings=True)
    return captions.caption(TITLE, setting, scope, f"Verdicts by reading: {told}.")
