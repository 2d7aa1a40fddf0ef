"""Figure 1 of the agnostic FedAvg paper, drawn again: two rules, two tasks, five seeds.

The pictures are scikit-learn's digits unless others are given. With MNIST's own files:

    from pathlib import Path
    from flverify.problems import mnist
    from flverify.report.figures import load_figure, render

    figure = load_figure("agnostic_fig1")
    table = figure.table(False, mnist("folder of the IDX files", 3000))
    render(figure, table, Path("agnostic_fig1.pdf"), "pdf")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from flverify._core.exact import Array
from flverify.claims import agnostic_race as race
from flverify.problems.softmax import Images, digits
from flverify.report import captions, loss_runs
from flverify.report.curves import thinned
from flverify.report.loss_runs import AGNOSTIC, PRIOR, RULES, Clients, Cohorts, Rule
from flverify.report.rows import RowTable, read_rows
from flverify.report.style import PAGE, look

NAME = "agnostic_fig1"
TITLE = "Loss against rounds of agnostic and weighted FedAvg under skewed participation"
SIZE = (PAGE, 4.7)
CLAIMS = (
    "agnostic.exp.setup",
    "agnostic.exp.weights",
    "agnostic.eq10",
    "agnostic.fig1",
)

SEEDS = {True: 2, False: 5}  # by whether it is quick
ROUNDS = {True: 12, False: 500}
DRAWN = 51  # rounds of a line that the table keeps
MARKED = 6  # every so many of them has a mark
LEVELS = 40  # steps of the distribution of the total weight


@dataclass(frozen=True)
class Point:
    """One point of a curve.

    Parameters
    ----------
    panel : str
        "images", "regression", "excess" (of the regression, above its minimum),
        "weights" or "total".
    data : str
        Name of the data.
    rule, weights : str
        As in `loss_runs.Rule`.
    x : float
        Round, client from 1, or total weight.
    value, lower, upper : float
        Mean, least and largest over the seeds.
    """

    panel: str
    data: str
    rule: str
    weights: str
    x: float
    value: float
    lower: float
    upper: float


def table(quick: bool, images: Images | None = None) -> RowTable[Point]:
    """Compute the table.

    Parameters
    ----------
    quick : bool
        Two seeds and a few rounds.
    images : Images, optional
        Pictures for the left panels; scikit-learn's digits by default.
    """
    pictures = digits() if images is None else images
    seeds, rounds = range(SEEDS[quick]), ROUNDS[quick]
    cohorts = [Cohorts(PRIOR, seed) for seed in seeds]
    dealt = [loss_runs.classification(pictures, seed) for seed in seeds]
    made = [loss_runs.regression(seed) for seed in seeds]
    least = [m.least(c.exact) for m, c in zip(made, cohorts, strict=True)]
    return RowTable(
        (
            *_curves(("images", pictures.name), dealt, cohorts, rounds),
            *_curves(("regression", "synthetic"), made, cohorts, rounds, least),
            *_weights(cohorts),
            *_totals(cohorts, rounds),
        )
    )


def read(path: Path) -> RowTable[Point]:
    """Read the table from its CSV file."""
    return read_rows(path, Point)


def _curves(
    place: tuple[str, str],
    tasks: Iterable[Clients],
    cohorts: list[Cohorts],
    rounds: int,
    least: list[float] | None = None,
) -> Iterator[Point]:
    """Losses of all rules, and what they exceed the least ones by, where given."""
    kept, (panel, data) = thinned(rounds, DRAWN), place
    step = loss_runs.STEP_SIZES[panel]
    pairs = list(zip(tasks, cohorts, strict=True))
    for rule in RULES:
        found = np.array([loss_runs.losses(t, step, rule, c, kept) for t, c in pairs])
        yield from _points(panel, data, rule, kept, found)
        if least is not None and rule.name != "weighted":
            above = found - np.array(least)[:, None]
            yield from _points("excess", data, rule, kept, above)


def _points(
    panel: str, data: str, rule: Rule, xs: Iterable[float], found: Array
) -> Iterator[Point]:
    columns = zip(xs, found.mean(0), found.min(0), found.max(0), strict=True)
    for x, *values in columns:
        numbers = (float(v) for v in values)
        yield Point(panel, data, rule.name, rule.weights, float(x), *numbers)


def _weights(cohorts: list[Cohorts]) -> Iterator[Point]:
    clients = range(1, race.N_CLIENTS + 1)
    exact = np.array([cohorts[0].exact])
    sampled = np.array([one.sampled() for one in cohorts])
    for kind, found in (("exact", exact), ("sampled", sampled)):
        yield from _points("weights", "", Rule("weighted", kind), clients, found)


def _totals(cohorts: list[Cohorts], rounds: int) -> Iterator[Point]:
    """Return the distribution of the total weight of (10) in a round, and its mean."""
    levels = np.linspace(0, 1, LEVELS + 1)
    totals = np.concatenate([loss_runs.total_weights(c, rounds) for c in cohorts])
    for level, total in zip(levels, np.quantile(totals, levels), strict=True):
        share = (float(level),) * 3
        yield Point("total", "", "weighted", "exact", float(total), *share)
    mean = loss_runs.mean_total_weight(cohorts[0])
    yield Point("total", "", "weighted", "mean", mean, 0.0, 0.0, 1.0)


def draw(figure: Figure, table: RowTable[Point]) -> None:
    """Draw the table into an empty figure."""
    axes = figure.subplots(2, 3)
    data = table.where(panel="images").rows[0].data
    tops = (("images", "weighted"), ("regression", "weighted"))
    bottoms = (("images", "normalised"), ("excess", "normalised"))
    for row, panels in zip(axes, (tops, bottoms), strict=True):
        for ax, (panel, rule) in zip(row, panels, strict=False):
            _losses(ax, table.where(panel=panel), rule)
            ax.set_xlabel("communication round $r$")
    name = loss_runs.SHORT.get(data, data)
    for ax, what in ((axes[0, 0], "printed"), (axes[1, 0], "normalised")):
        ax.set_title(f"left: {name}, (10) {what}")
        ax.set_ylabel("cross-entropy $f(x_r)$")
    axes[1, 0].yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5)))
    axes[1, 0].yaxis.set_major_formatter("{x:g}")
    axes[1, 0].yaxis.set_minor_formatter(NullFormatter())
    axes[0, 1].set_title("right: regression, (10) printed")
    axes[0, 1].set_ylabel("mean squared error $f(x_r)$")
    axes[1, 1].set_title("right: regression, (10) normalised")
    axes[1, 1].set_ylabel("excess error $f(x_r)-f^\\star$")
    _draw_weights(axes[0, 2], table.where(panel="weights"))
    _draw_totals(axes[1, 2], table.where(panel="total"))
    figure.legend(handles=_handles(), loc="lower center", ncols=4)
    figure.subplots_adjust(0.075, 0.165, 0.985, 0.95, wspace=0.4, hspace=0.48)


def _losses(ax: Axes, panel: RowTable[Point], rule: str) -> None:
    drawn = {AGNOSTIC: "agnostic_fedavg", Rule(rule, "exact"): "weighted_fedavg"}
    for one, name in drawn.items():
        curve = panel.where(rule=one.name, weights=one.weights)
        xs, style = curve.column("x"), look(name)
        ax.plot(xs, curve.column("value"), **style.line)
        lower, upper = curve.column("lower"), curve.column("upper")
        ax.fill_between(xs, lower, upper, **style.band)
    marks = panel.where(rule=rule, weights="sampled").rows[::MARKED]
    points = look("weighted_fedavg").points
    ax.plot([p.x for p in marks], [p.value for p in marks], **points)
    ax.set_yscale("log")
    ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10], integer=True))
    ax.margins(x=0.02)


def _draw_weights(ax: Axes, panel: RowTable[Point]) -> None:
    exact, sampled = (panel.where(weights=w) for w in ("exact", "sampled"))
    style, seen = look("weighted_fedavg"), [p for p in sampled if p.value > 0]
    small = style.points | {"markersize": 2.2}
    ax.plot([p.x for p in seen], [p.value for p in seen], **small)
    ax.plot(exact.column("x"), exact.column("value"), **style.line, zorder=3)
    ax.set_yscale("log")
    ax.set_xlabel("client $i$")
    ax.set_ylabel("marginal weight $p_i$")
    ax.set_title("weights (2) of the prior")


def _draw_totals(ax: Axes, panel: RowTable[Point]) -> None:
    share, (mean,) = panel.where(weights="exact"), panel.where(weights="mean")
    style = look("weighted_fedavg")
    ax.plot(share.column("x"), share.column("value"), **style.line)
    ax.axvline(mean.x, color=style.colour, linestyle=":")
    ax.axvline(1.0, **look("agnostic_fedavg").line)
    ax.set_xlim(left=0.0)
    ax.set_xlabel("total weight $w$ of a round")
    ax.set_ylabel("share of rounds $\\leq w$")
    ax.set_title("total weight of (10)")


def _handles() -> list[Line2D]:
    agnostic, weighted = look("agnostic_fedavg"), look("weighted_fedavg")
    dots: dict[str, Any] = {"color": weighted.colour, "linestyle": ":"}
    return [
        Line2D([], [], label="agnostic FedAvg", **agnostic.line),
        Line2D([], [], label="weighted FedAvg, exact $p_i$", **weighted.line),
        Line2D([], [], label="weighted FedAvg, sampled $p_i$", **weighted.points),
        Line2D([], [], label="mean total weight", **dots),
    ]


def caption(table: RowTable[Point]) -> str:
    """Say the setting, what was found, what was judged of it, and the scope."""
    data = table.where(panel="images").rows[0].data
    return captions.caption(
        TITLE,
        loss_runs.setting(data),
        _DRAWN,
        _found(table),
        _SCOPE,
        claims=CLAIMS,
    )


_DRAWN = (
    "f = sum_i p_i f_i is objective (3). Lines: mean over the seeds; bands: from the "
    "least to the largest seed; hollow marks: the weighted rule with sampled p_i, and "
    "in the panel of the weights the sampled p_i themselves (mean over the seeds; "
    "clients that were never drawn have none). Upper row: rule (10) as printed, whose "
    "weights (N/M) p_i over the participants do not add up to one; lower right: the "
    "distribution of their sum. The model is multiplied by it in every round and runs "
    "off until the projection of the local models stops it: the height of these curves "
    "is set by the size of C. Lower row: the same weights divided by their sum, as in "
    "the authors' public notebook; for the regression what f exceeds its exact minimum "
    "by."
)

_SCOPE = (
    "Scope: these data sets. The order of the curves says nothing on other data; for "
    "classes that can be separated a longer model can have the smaller loss."
)


def _found(table: RowTable[Point]) -> str:
    """Losses after the last round, read off the table."""
    said = []
    for panel, name in (("images", "cross-entropy"), ("regression", "squared error")):
        rows = table.where(panel=panel)
        last = rows.where(x=max(rows.column("x")))
        each = (
            f"{p.rule}{'' if p.weights == 'none' else ', ' + p.weights + ' p'} "
            f"{p.value:.4g}"
            for p in last
        )
        said.append(f"{name} after {last.rows[0].x:.0f} rounds: {'; '.join(each)}")
    (mean,) = table.where(panel="total", weights="mean")
    return f"Found: {'. '.join(said)}. Mean total weight N sum p_i^2 = {mean.x:.4g}."
