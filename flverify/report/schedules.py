"""Schedules: which node does what at which iteration, as rows and as a time line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpecFromSubplotSpec
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from flverify.report import graphs
from flverify.report.rows import RowTable


@dataclass(frozen=True)
class Act:
    """One thing that one node does at one iteration of one schedule."""

    schedule: str
    k: int
    node: int
    action: str


@dataclass(frozen=True)
class Mark:
    """How an action is drawn.

    Parameters
    ----------
    label : str
        In the legend.
    marker : str
        Marker of matplotlib.
    shift : float
        Place within an iteration, from -1/2 to 1/2: actions come from left to right.
    hollow : bool
        Whether the marker is white inside.
    """

    label: str
    marker: str
    shift: float
    hollow: bool = False


@dataclass(frozen=True)
class Plan:
    """What a page of schedules shows.

    Parameters
    ----------
    titles : mapping
        Title of every schedule, in the order of drawing.
    marks : mapping
        How each action is drawn.
    counted : mapping
        Actions whose number is told beside a title, with the word for them.
    steps : tuple of str
        Titles of the three graphs: pull, local update, push.
    cohorts : tuple of tuples of int
        S_0, S_1, ..., clients counted from 1.
    rounds : int
        How many of them are drawn.
    local_steps, n_clients : int
    colour : str
    """

    titles: Mapping[str, str]
    marks: Mapping[str, Mark]
    counted: Mapping[str, str]
    steps: tuple[str, str, str]
    cohorts: tuple[tuple[int, ...], ...]
    rounds: int
    local_steps: int
    n_clients: int
    colour: str

    @property
    def iterations(self) -> range:
        """The drawn iterations, from 1."""
        return range(1, self.rounds * self.local_steps + 1)

    def of_round(self, r: int) -> range:
        """Return the iterations r tau + 1, ..., (r+1) tau."""
        return range(r * self.local_steps + 1, (r + 1) * self.local_steps + 1)

    def sets(self) -> str:
        """Name the cohorts in a caption."""
        listed = (", ".join(map(str, cohort)) for cohort in self.cohorts)
        return "; ".join(f"S_{r} = {{{one}}}" for r, one in enumerate(listed))

    def counts(self, acts: RowTable[Act]) -> str:
        """Say how often participants do the counted actions in a round of theirs."""
        told = []
        for action, word in self.counted.items():
            found = {
                times(acts, client, action, self.of_round(r))
                for r in range(self.rounds)
                for client in self.cohorts[r]
            }
            told.append(f"{word} {' or '.join(map(str, sorted(found)))}")
        return ", ".join(told)

    def all_counts(self, table: RowTable[Act]) -> str:
        """Say so of every schedule, by its letter."""
        named = zip("abcdef", self.titles, strict=False)
        return "; ".join(
            f"({letter}) {self.counts(table.where(schedule=name))}"
            for letter, name in named
        )


def times(acts: RowTable[Act], node: int, action: str, iterations: range) -> int:
    """Count how often a node does something in some iterations.

    Examples
    --------
    >>> acts = RowTable((Act("s", 1, 1, "pull"), Act("s", 3, 1, "pull")))
    >>> times(acts, 1, "pull", range(1, 3))
    1
    """
    return sum(
        k in iterations for k in acts.where(node=node, action=action).column("k")
    )


def page(figure: Figure, table: RowTable[Act], plan: Plan) -> None:
    """Draw the graphs of round 0 above and the schedules below."""
    rows = figure.add_gridspec(4, 1, height_ratios=(1.15, 1, 1, 1))
    rows.update(left=0.11, right=0.985, top=0.95, bottom=0.125, hspace=0.42)
    _graphs(figure, GridSpecFromSubplotSpec(1, 3, rows[0], wspace=0.1), plan)
    shared = None
    for place, (name, title) in enumerate(plan.titles.items(), start=1):
        ax = shared = figure.add_subplot(rows[place], sharex=shared)
        acts = table.where(schedule=name)
        timeline(ax, acts, plan)
        ax.set_title(f"({'abc'[place - 1]}) {title}", loc="left")
        told = rf"of a participant: {plan.counts(acts)}; $\tau={plan.local_steps}$"
        ax.set_title(told, loc="right", color="0.3")
        ax.set_ylabel("node $i$")
        ax.set_xlabel(r"iteration $k=r\tau+t$" if place == len(plan.titles) else "")
    handles = [
        Line2D([], [], label=mark.label, **_points(mark, plan.colour))
        for mark in plan.marks.values()
    ]
    figure.legend(handles=handles, loc="lower center", ncols=len(handles))


def _graphs(figure: Figure, places: GridSpecFromSubplotSpec, plan: Plan) -> None:
    star, cohort = graphs.star(plan.n_clients), plan.cohorts[0]
    for place, title in enumerate(plan.steps):
        ax = figure.add_subplot(places[place])
        graphs.blank(ax, star.values())
        for client in cohort:
            ends = (star[0], star[client]) if place == 0 else (star[client], star[0])
            graphs.arrow(ax, *ends, dashed=place == 1, colour=plan.colour)
        graphs.nodes(ax, star, cohort if place == 1 else (0, *cohort))
        ax.set_title(title)


def timeline(ax: Axes, acts: RowTable[Act], plan: Plan) -> None:
    """Draw nodes against iterations; participants of a round on a shaded ground."""
    for r in range(plan.rounds):
        _ground(ax, r, plan)
    for action, mark in plan.marks.items():
        chosen = acts.where(action=action)
        where = [k + mark.shift for k in chosen.column("k")]
        ax.plot(where, chosen.column("node"), **_points(mark, plan.colour))
    clients = [str(client) for client in range(1, plan.n_clients + 1)]
    ax.set_xlim(0.5, plan.iterations[-1] + 0.5)
    ax.set_ylim(plan.n_clients + 0.5, -0.5)
    ax.set_xticks(plan.iterations)
    ax.set_yticks(range(plan.n_clients + 1), ["server 0", *clients])
    ax.tick_params(length=0)
    ax.grid(visible=False)


def _ground(ax: Axes, r: int, plan: Plan) -> None:
    start, cohort = r * plan.local_steps + 0.5, plan.cohorts[r]
    for node in cohort:
        ground: dict[str, Any] = {"color": plan.colour, "alpha": 0.16, "linewidth": 0}
        ax.add_patch(Rectangle((start, node - 0.5), plan.local_steps, 1, **ground))
    ax.axvline(start, color="0.4", linewidth=0.8)
    name = rf"round {r}: $S_{r}=\{{{','.join(map(str, cohort))}\}}$"
    middle = start + plan.local_steps / 2
    ax.text(middle, 0, name, color="0.35", ha="center", va="center")


def _points(mark: Mark, colour: str) -> dict[str, Any]:
    return {
        "color": colour,
        "linestyle": "none",
        "marker": mark.marker,
        "markersize": 4.5,
        "markerfacecolor": "white" if mark.hollow else colour,
    }
