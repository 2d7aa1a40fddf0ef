"""Figure 2 of the FOCUS paper: FedAvg as pull, local update and push over iterations.

Above the three graphs of a round; below who does what at which iteration, by the
figure's own lines, by (6)-(7) as printed, and by (6)-(7) with the range of D_k that
reproduces FedAvg.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from matplotlib.figure import Figure

from flverify.report import captions
from flverify.report.rows import RowTable, read_rows
from flverify.report.schedules import Act, Mark, Plan, page
from flverify.report.style import PAGE, look

NAME = "fig2"
TITLE = "FedAvg as pull, local update and push: three schedules of the iterations"
SIZE = (PAGE, 6.0)
CLAIMS = ("focus.fig2.schedule", "focus.eq6_7.fedavg_one_index")

N_CLIENTS, LOCAL_STEPS = 4, 4
COHORTS = ((1, 3), (2, 3, 4), (1, 2))  # the last one only if a schedule looks ahead

FIGURE, PRINTED, MENDED = "figure", "equations", "mended"
SCHEDULES = {
    FIGURE: "by the lines of Figure 2",
    PRINTED: r"by (6)-(7): $D_k$ follows $S_r$ for $r\tau\leq k<(r+1)\tau$",
    MENDED: r"mended: $D_k$ follows $S_r$ for $r\tau<k\leq(r+1)\tau$",
}
PULL, LOCAL, PUSH, AVERAGE = "pull", "local update", "push", "average"
MARKS = {
    PULL: Mark("pull the model", "v", -0.25),
    LOCAL: Mark("local update", "o", 0.0, hollow=True),
    PUSH: Mark("push the model", "^", 0.25),
    AVERAGE: Mark("server averages", "s", 0.25),
}
PLAN = Plan(
    titles=SCHEDULES,
    marks=MARKS,
    counted={LOCAL: "local updates"},
    steps=(
        r"pull: $k=r\tau+1$",
        r"local update: $k=r\tau+2,\ldots,(r+1)\tau-1$",
        r"push: $k=(r+1)\tau$",
    ),
    cohorts=COHORTS,
    rounds=2,
    local_steps=LOCAL_STEPS,
    n_clients=N_CLIENTS,
    colour=look("fedavg").colour,
)


def table(quick: bool) -> RowTable[Act]:
    """List who does what at k = 1, ..., 2 tau under each schedule."""
    del quick  # there is nothing to shorten
    acts = [act for k in PLAN.iterations for act in _by_the_figure(k)]
    for name, range_from in ((PRINTED, 0), (MENDED, 1)):
        acts += [a for k in PLAN.iterations for a in _by_equations(name, k, range_from)]
    return RowTable(tuple(acts))


def _by_the_figure(k: int) -> Iterator[Act]:
    """Pull at r tau + 1, update at r tau + 2, ..., (r+1) tau - 1, push at (r+1) tau."""
    r = (k - 1) // LOCAL_STEPS
    first, last = r * LOCAL_STEPS + 1, (r + 1) * LOCAL_STEPS
    for node in COHORTS[r]:
        if k == first:
            yield Act(FIGURE, k, node, PULL)
        elif k < last:
            yield Act(FIGURE, k, node, LOCAL)
        else:
            yield Act(FIGURE, k, node, PUSH)
    if k == last:
        yield Act(FIGURE, k, 0, AVERAGE)


def _by_equations(name: str, k: int, range_from: int) -> Iterator[Act]:
    """Rows of R_k, D_k and A_k that are not those of an iteration without them."""
    if (k - 1) % LOCAL_STEPS == 0:
        for node in COHORTS[(k - 1) // LOCAL_STEPS]:
            yield Act(name, k, node, PULL)
    for node in COHORTS[(k - range_from) // LOCAL_STEPS]:
        yield Act(name, k, node, LOCAL)
    if k % LOCAL_STEPS == 0:
        for node in COHORTS[k // LOCAL_STEPS - 1]:
            yield Act(name, k, node, PUSH)
        yield Act(name, k, 0, AVERAGE)


def read(path: Path) -> RowTable[Act]:
    """Read the table from its CSV file."""
    return read_rows(path, Act)


def draw(figure: Figure, table: RowTable[Act]) -> None:
    """Draw the graphs of round 0 above and the schedules below."""
    page(figure, table, PLAN)


def caption(table: RowTable[Act]) -> str:
    """Say the setting, how often each schedule updates, and what was judged."""
    setting = (
        f"Setting: FedAvg, N = {N_CLIENTS} clients and the server, node 0; tau = "
        f"{LOCAL_STEPS}; {PLAN.sets()}; first iteration k = 1. Above: the graphs of "
        "round 0, with broken lines where nothing is sent. Below: who does what at "
        "which iteration; the participants of a round are shaded. Of a participant in "
        f"its round: {PLAN.all_counts(table)}. In (b) the range of D_k gives the "
        "update at the push to the cohort of the next round; (c) is FedAvg."
    )
    scope = (
        "Scope: the placing of the steps; the verdicts are for every tau and cohort "
        "that a claim names, and depend on what counts as a local update."
    )
    told = captions.verdicts(CLAIMS, readings=True)
    return captions.caption(TITLE, setting, scope, f"Verdicts by reading: {told}.")
