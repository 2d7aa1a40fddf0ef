"""Figure 2 of the agnostic FedAvg paper, drawn again: loss difference against skew.

The pictures are scikit-learn's digits unless others are given. With MNIST's own files:

    from pathlib import Path
    from flverify.problems import mnist
    from flverify.report.figures import load_figure, render

    figure = load_figure("agnostic_fig2")
    table = figure.table(False, mnist("folder of the IDX files", 3000))
    render(figure, table, Path("agnostic_fig2.pdf"), "pdf")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from flverify.claims import agnostic_race as race
from flverify.problems.softmax import Images, digits
from flverify.report import captions, loss_runs
from flverify.report.loss_runs import AGNOSTIC, PRIOR, RULES, Clients, Cohorts
from flverify.report.rows import RowTable, read_rows
from flverify.report.style import PAGE, look

NAME = "agnostic_fig2"
TITLE = "Loss difference of weighted and agnostic FedAvg against participation skew"
SIZE = (PAGE, 4.7)
CLAIMS = (
    "agnostic.exp.weights",
    "agnostic.fig2",
    "agnostic.fig2.x",
    "agnostic.fig2.tv",
)

SEEDS = {True: 2, False: 5}  # by whether it is quick
ROUNDS = {True: 44, False: 500}
TEMPERATURES = {
    True: (PRIOR, "uniform", "40"),
    False: ("5", PRIOR, "20", "40", "80", "uniform", "160"),
}
DRAWS = {True: (10, 100), False: (10, 30, 100, 300, 1000, 3000, 10000)}
LINEAR = 0.1  # the axis of signed decades is linear up to here
SKEW = "skew $\\|p-1/N\\|_1$"
GREY: dict[str, Any] = {"color": "0.35", "linestyle": ":", "linewidth": 1.0}


@dataclass(frozen=True)
class Dot:
    """One dot: a seed under a prior.

    Parameters
    ----------
    panel : str
        "images", "regression", "abscissa" (skew against the draws it is counted in)
        or "total" (mean total weight of (10)).
    data : str
        Name of the data.
    rule, weights : str
        As in `loss_runs.Rule`; the skew is that of the same p_i.
    temperature : str
        Of the prior exp(-i/temperature).
    seed : int
    x, y : float
        Skew and loss difference; draws and skew; skew and total weight.
    """

    panel: str
    data: str
    rule: str
    weights: str
    temperature: str
    seed: int
    x: float
    y: float


def table(quick: bool, images: Images | None = None) -> RowTable[Dot]:
    """Compute the table.

    Parameters
    ----------
    quick : bool
        Two seeds, three priors and a few rounds.
    images : Images, optional
        Pictures for the left panels; scikit-learn's digits by default.
    """
    pictures = digits() if images is None else images
    dots: list[Dot] = []
    for seed in range(SEEDS[quick]):
        dealt = loss_runs.classification(pictures, seed)
        made = loss_runs.regression(seed)
        for temperature in TEMPERATURES[quick]:
            cohorts = Cohorts(temperature, seed)
            dots += _gaps(("images", pictures.name), dealt, cohorts, ROUNDS[quick])
            dots += _gaps(("regression", "synthetic"), made, cohorts, ROUNDS[quick])
        dots += _abscissas(Cohorts(PRIOR, seed), DRAWS[quick])
    dots += _totals(TEMPERATURES[quick])
    return RowTable(tuple(dots))


def read(path: Path) -> RowTable[Dot]:
    """Read the table from its CSV file."""
    return read_rows(path, Dot)


def _gaps(
    place: tuple[str, str], clients: Clients, cohorts: Cohorts, rounds: int
) -> Iterator[Dot]:
    """Mean losses of the last rounds, less those of the agnostic rule."""
    kept = sorted(rounds - look for look in race.LOOKS)
    panel, data = place
    step = loss_runs.STEP_SIZES[panel]
    final = {
        rule: loss_runs.losses(clients, step, rule, cohorts, kept).mean()
        for rule in RULES
    }
    for rule in RULES[1:]:
        p = cohorts.exact if rule.weights == "exact" else cohorts.sampled()
        gap = float(final[rule] - final[AGNOSTIC])
        who = (cohorts.temperature, cohorts.seed)
        yield Dot(panel, data, rule.name, rule.weights, *who, race.skew(p), gap)


def _abscissas(cohorts: Cohorts, draws: Sequence[int]) -> Iterator[Dot]:
    """Skew of the printed prior, exactly and counted."""
    who = (cohorts.temperature, cohorts.seed)
    yield Dot("abscissa", "", "", "exact", *who, 0.0, race.skew(cohorts.exact))
    for count in draws:
        skew = race.skew(cohorts.sampled(count))
        yield Dot("abscissa", "", "", "sampled", *who, float(count), skew)


def _totals(temperatures: Sequence[str]) -> Iterator[Dot]:
    for temperature in temperatures:
        one = Cohorts(temperature, 0)
        place = (race.skew(one.exact), loss_runs.mean_total_weight(one))
        yield Dot("total", "", "weighted", "exact", temperature, 0, *place)


def draw(figure: Figure, table: RowTable[Dot]) -> None:
    """Draw the table into an empty figure."""
    axes = figure.subplots(2, 3)
    (data,) = {dot.data for dot in table.where(panel="images")}
    names = {"images": f"left: {loss_runs.SHORT.get(data, data)}"}
    names["regression"] = "right: regression"
    printed = table.where(panel="abscissa", weights="exact").rows[0].y
    rules = {"weighted": "(10) printed", "normalised": "(10) normalised"}
    for row, (rule, what) in zip(axes, rules.items(), strict=True):
        for ax, (panel, name) in zip(row, names.items(), strict=False):
            _draw_gaps(ax, table.where(panel=panel, rule=rule))
            ax.axvline(printed, **GREY)
            ax.set_title(f"{name}, {what}")
            ax.set_xlabel(SKEW)
            ax.set_ylabel("loss difference $\\Delta f$")
            if rule == "weighted":
                _signed_decades(ax)
    _draw_abscissa(axes[0, 2], table.where(panel="abscissa"))
    _draw_totals(axes[1, 2], table.where(panel="total"), printed)
    figure.legend(handles=_handles(), loc="lower center", ncols=3)
    figure.subplots_adjust(0.1, 0.165, 0.985, 0.95, wspace=0.5, hspace=0.48)


def _draw_gaps(ax: Axes, dots: RowTable[Dot]) -> None:
    for kind, style in _kinds().items():
        some = dots.where(weights=kind)
        ax.plot(some.column("x"), some.column("y"), **style)


def _signed_decades(ax: Axes) -> None:
    """Decades above and below a linear part, with room for the outermost dots."""
    low, high = ax.dataLim.intervaly
    ax.set_yscale("symlog", linthresh=LINEAR)
    ax.set_ylim(min(3 * low, -3 * LINEAR), 5 * high)


def _draw_abscissa(ax: Axes, dots: RowTable[Dot]) -> None:
    sampled = dots.where(weights="sampled")
    ax.plot(sampled.column("x"), sampled.column("y"), **_kinds()["sampled"])
    ax.axhline(dots.where(weights="exact").rows[0].y, **GREY)
    ax.set_xscale("log")
    ax.set_xlabel("draws $k$ that $p$ is counted in")
    ax.set_ylabel(SKEW)
    ax.set_title("abscissa of the prior")


def _draw_totals(ax: Axes, dots: RowTable[Dot], printed: float) -> None:
    style = look("weighted_fedavg")
    ordered = sorted(dots, key=lambda dot: dot.x)
    ax.plot([dot.x for dot in ordered], [dot.y for dot in ordered], **style.line)
    ax.plot(dots.column("x"), dots.column("y"), **_kinds()["exact"])
    ax.axvline(printed, **GREY)
    ax.set_xlabel(SKEW)
    ax.set_ylabel("mean total weight $N\\,\\|p\\|^2$")
    ax.set_title("total weight of (10)")


def _kinds() -> dict[str, dict[str, Any]]:
    """Return filled marks for exact p, hollow ones for sampled p."""
    hollow = look("weighted_fedavg").points | {"markeredgewidth": 0.6}
    return {
        "sampled": hollow | {"markersize": 4.5},
        "exact": hollow | {"markerfacecolor": hollow["color"], "markersize": 2.5},
    }


def _handles() -> list[Line2D]:
    kinds = _kinds()
    return [
        Line2D([], [], label="weighted FedAvg, exact $p_i$", **kinds["exact"]),
        Line2D([], [], label="weighted FedAvg, sampled $p_i$", **kinds["sampled"]),
        Line2D([], [], label="exact skew of the printed prior", **GREY),
    ]


def caption(table: RowTable[Dot]) -> str:
    """Say the setting, what was found, what was judged of it, and the scope."""
    (data,) = {dot.data for dot in table.where(panel="images")}
    others = {dot.temperature for dot in table} - {PRIOR, "uniform"}
    told = ", ".join(sorted(others, key=float))
    return captions.caption(
        TITLE,
        loss_runs.setting(data),
        f"{_DRAWN} Priors: temp = {PRIOR}, and chosen here {told} and uniform.",
        _found(table),
        "Readings: " + captions.verdicts(["agnostic.fig2.tv"], readings=True) + ".",
        _SCOPE,
        claims=CLAIMS,
    )


_DRAWN = (
    "Each dot is one seed under one prior: the loss f of the weighted rule less that "
    f"of the agnostic one, each the mean over {len(race.LOOKS)} of the last "
    f"{max(race.LOOKS) + 1} rounds, against the skew |p - 1/N|_1 of the p_i that the "
    "rule uses: exact, or sampled, as the paper estimates them. The paper prints one "
    "prior and five dots. With exact p its five dots have one abscissa, the dotted "
    "line; with sampled p they differ by the error of the estimate alone (upper "
    "right). The other priors are what a trend needs. Upper row: rule (10) as printed, "
    "whose model runs off to the edge of C once its total weight (lower right) exceeds "
    "what local steps contract; the height of such a dot is set by the size of C. The "
    f"axis is linear up to {LINEAR:g}. Lower row: the weights divided by their sum."
)

_SCOPE = (
    "Scope: these data sets and priors; a trend on them says nothing on other data. "
    "The printed prior alone has no trend: its exact skew is one number."
)


def _found(table: RowTable[Dot]) -> str:
    """Skews of the printed prior and rank correlations, read off the table."""
    stated = table.where(panel="regression", rule="weighted", temperature=PRIOR)
    exact, sampled = (stated.where(weights=w).column("x") for w in ("exact", "sampled"))
    said = [
        f"skew of the printed prior {exact[0]:.4f}, by {loss_runs.ESTIMATED_BY} draws "
        f"{min(sampled):.4f} to {max(sampled):.4f}"
    ]
    for panel, rule in (
        (panel, rule)
        for panel in ("images", "regression")
        for rule in ("weighted", "normalised")
    ):
        dots = table.where(panel=panel, rule=rule, weights="exact")
        seeds = sorted(set(dots.column("seed")))
        columns = (dots.where(seed=seed) for seed in seeds)
        ranks = [
            race.concordance(list(c.column("x")), list(c.column("y"))) for c in columns
        ]
        data = dots.rows[0].data
        said.append(f"{data}, {rule}: {min(ranks):.2f} to {max(ranks):.2f}")
    return (
        f"Found: {said[0]}. Rank correlation (Kendall) of difference and exact skew, "
        f"least and largest over the seeds: {'; '.join(said[1:])}."
    )
