"""Figure 4 of the FOCUS paper, drawn again: five algorithms, three scenarios.

First row: the printed parameters. Second row: the settings of the authors' public
notebook. Lines are means over sampled runs, hollow marks the exact moment curve where
the algorithm is linear. What the paper prints and what is chosen here stands in
flverify/claims/figure4.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from flverify import moments, simulate
from flverify._core.exact import Array, parse_number
from flverify.algorithms._algorithm import Algorithm
from flverify.claims import figure4
from flverify.participation._law import Participation
from flverify.problems import Quadratics, synthetic_ridge
from flverify.report import captions
from flverify.report.curves import Curve, CurveTable, read_csv, thinned
from flverify.report.style import PAGE, look

NAME = "fig4"
TITLE = "Error against rounds under full, uniform and arbitrary participation"
SIZE = (PAGE, 5.3)
CLAIMS = ("focus.fig4.setup", "focus.fig4.claims")

SEED = 4  # of the participation draws
DRAWN = 61  # rounds of a line that the table keeps
MARKED = 16  # rounds that the table keeps of an exact curve of full length
SPREAD = ("0.1", "0.9")  # quantiles over the runs that bound the band
LOWEST, HIGHEST = 1e-16, 1e3  # a curve ends where it leaves this range
ROUNDING = 1e-14  # exact curves end here: second moments in floats say no more

ERROR = r"$\|x_r-x^\star\|^2\,/\,\|x_0-x^\star\|^2$"


@dataclass(frozen=True)
class Row:
    """One row of panels: the data, and what all its algorithms share.

    Parameters
    ----------
    heading : str
        Text above the row.
    notebook : bool
        Whether data and variants are the notebook's.
    sizes : mapping
        n_clients, dim and samples of the data.
    step_sizes : mapping
        Decimal text of the step size, by scenario.
    local_steps, cohort, runs : int
    rounds : mapping
        Rounds drawn, by scenario.
    exact : mapping
        For how many rounds exact second moments are affordable, by algorithm;
        those that are not named are followed to the end.
    """

    heading: str
    notebook: bool
    sizes: Mapping[str, int]
    step_sizes: Mapping[str, str]
    local_steps: int
    cohort: int
    runs: int
    rounds: Mapping[str, int]
    exact: Mapping[str, int]

    def problem(self) -> Quadratics:
        """Generate the data."""
        if self.notebook:
            return figure4.notebook_problem(**self.sizes)
        return synthetic_ridge(**self.sizes)


_SMALL = {"n_clients": 6, "dim": 4, "samples": 60}

ROWS = {
    "printed": Row(
        r"printed parameters: ridge regression, $N=16$, $d=100$, $K=100$, $\tau=5$",
        notebook=False,
        sizes={"n_clients": 16, "dim": 100, "samples": 100},
        step_sizes=dict.fromkeys(figure4.SCENARIOS, "2e-4"),
        local_steps=5,
        cohort=4,
        runs=200,
        rounds={"full": 300, "uniform": 300, "arbitrary": 300},
        exact={"focus": 200, "scaffold": 16, "proxskip": 6},
    ),
    "notebook": Row(
        r"authors' notebook: least squares, $N=16$, $d=50$, 500 rows each, $\tau=3$",
        notebook=True,
        sizes={"n_clients": 16, "dim": 50, "samples": 500},
        step_sizes=figure4.NOTEBOOK_STEP_SIZES,
        local_steps=3,
        cohort=4,
        runs=200,
        rounds={"full": 60, "uniform": 240, "arbitrary": 500},
        exact={"scaffold": 60, "proxskip": 12},
    ),
    "printed-small": Row(
        r"small problem in the place of the printed one, $\tau=5$",
        notebook=False,
        sizes=_SMALL,
        step_sizes=dict.fromkeys(figure4.SCENARIOS, "4e-4"),
        local_steps=5,
        cohort=2,
        runs=20,
        rounds=dict.fromkeys(figure4.SCENARIOS, 60),
        exact={},
    ),
    "notebook-small": Row(
        r"small problem in the place of the notebook's, $\tau=3$",
        notebook=True,
        sizes=_SMALL,
        step_sizes={"full": "4e-3", "uniform": "1e-3", "arbitrary": "1e-3"},
        local_steps=3,
        cohort=2,
        runs=20,
        rounds=dict.fromkeys(figure4.SCENARIOS, 60),
        exact={},
    ),
}


@dataclass(frozen=True)
class Panel:
    """One panel while it is computed."""

    row: str
    scenario: str
    problem: Quadratics
    law: Participation

    @property
    def setting(self) -> Row:
        """The panel's row."""
        return ROWS[self.row]


def table(quick: bool) -> CurveTable:
    """Compute all curves: |x_r - x*|^2/|x_0 - x*|^2 from x_0 = 0."""
    curves: list[Curve] = []
    chosen = [name for name in ROWS if name.endswith("-small") == quick]
    for name in chosen:
        row, problem = ROWS[name], ROWS[name].problem()
        for scenario in figure4.SCENARIOS:
            law = figure4.participation(scenario, problem.n_clients, row.cohort)
            panel = Panel(name, scenario, problem, law)
            step = float(parse_number(row.step_sizes[scenario]))
            five = figure4.algorithms(step, row.local_steps, row.notebook)
            for algorithm, settings in five.items():
                curves.append(_sampled(panel, algorithm, settings))
                curves.extend(_exact(panel, algorithm, settings))
    return CurveTable(tuple(curves))


def read(path: Path) -> CurveTable:
    """Read the table from its CSV file."""
    return read_csv(path)


def _sampled(panel: Panel, name: str, algorithm: Algorithm) -> Curve:
    rounds = panel.setting.rounds[panel.scenario]
    runs = 1 if panel.scenario == "full" else panel.setting.runs
    trajectories = simulate(
        panel.problem, algorithm, panel.law, rounds=rounds, runs=runs, seed=SEED
    )
    mean = trajectories.mean()
    lower, upper = trajectories.quantiles(SPREAD)
    return _curve(panel, name, "sampled", DRAWN, (mean, lower, upper))


def _exact(panel: Panel, name: str, algorithm: Algorithm) -> tuple[Curve, ...]:
    """Return the exact moment curve, for the rounds that are affordable, if any."""
    # moments about x* = 0: the squares of errors are then not differences
    optimum = panel.problem.minimiser()
    linear = panel.problem.linear - panel.problem.hessians @ optimum
    shifted = Quadratics(panel.problem.hessians, linear)
    setting = moments(shifted, algorithm, panel.law)
    if not setting:
        return ()
    rounds = panel.setting.rounds[panel.scenario]
    last = min(rounds, panel.setting.exact.get(name, rounds))
    curve = setting.mean_square_error(-optimum, last)
    most = max(3, MARKED * last // rounds)
    return (_curve(panel, name, "exact", most, (curve, curve, curve)),)


def _curve(
    panel: Panel, name: str, kind: str, most: int, columns: tuple[Array, Array, Array]
) -> Curve:
    """Divide by the start, keep some rounds, and end where the range is left."""
    start = columns[0][0]
    kept: list[tuple[int, float, float, float]] = []
    for when in thinned(len(columns[0]) - 1, most):
        error, lower, upper = (float(column[when] / start) for column in columns)
        if kind == "exact" and error < ROUNDING:
            break
        kept.append((when, error, max(lower, LOWEST / 100), upper))
        if not LOWEST <= error <= HIGHEST:
            break  # one point outside, so that the line leaves the panel
    rounds, errors, lowers, uppers = zip(*kept, strict=True)
    place = (panel.row, panel.scenario, name, kind)
    return Curve(*place, rounds, errors, lowers, uppers)


def draw(figure: Figure, table: CurveTable) -> None:
    """Draw the table into an empty figure."""
    names = tuple(dict.fromkeys(curve.row for curve in table.curves))
    axes = figure.subplots(len(names), 3, sharey=True, squeeze=False)
    letters = iter("abcdefghi")
    for name, line in zip(names, axes, strict=True):
        for scenario, ax in zip(figure4.SCENARIOS, line, strict=True):
            _panel(ax, table.of_panel(name, scenario))
            step = _power(ROWS[name].step_sizes[scenario])
            ax.set_title(f"({next(letters)}) {scenario} participation")
            right = {"transform": ax.transAxes, "ha": "right", "va": "top"}
            ax.text(0.97, 0.95, step, **right)
            ax.set_xlabel("communication round $r$")
        line[0].set_ylabel("relative squared error\n" + ERROR)
        above = {"transform": line[1].transAxes, "ha": "center"}
        text = ROWS[name].heading
        line[1].text(0.5, 1.16, text, fontsize=8.5, fontweight="bold", **above)
    _legend(figure, _algorithms(), 0.038)
    _legend(figure, _kinds(), 0.002)
    figure.subplots_adjust(0.11, 0.17, 0.985, 0.905, wspace=0.08, hspace=0.6)


def _power(step: str) -> str:
    factor, exponent = step.split("e")
    return rf"$\eta={factor}\times10^{{{int(exponent)}}}$"


def _legend(figure: Figure, handles: list[Line2D | Patch], height: float) -> Legend:
    place = {"loc": "lower center", "bbox_to_anchor": (0.53, height)}
    return figure.legend(handles=handles, ncols=len(handles), borderpad=0.1, **place)


def _panel(ax: Axes, curves: tuple[Curve, ...]) -> None:
    for curve in curves:
        style = look(curve.algorithm)
        if curve.kind == "exact":
            ax.plot(curve.rounds, curve.error, **style.points, zorder=3)
            continue
        ax.plot(curve.rounds, curve.error, **style.line)
        ax.fill_between(curve.rounds, curve.lower, curve.upper, **style.band)
    ax.set_yscale("log")
    ax.set_ylim(LOWEST, HIGHEST)
    ax.margins(x=0.02)


def _algorithms() -> list[Line2D | Patch]:
    out: list[Line2D | Patch] = []
    for name in figure4.ALGORITHMS:
        style = look(name)
        label = style.label + (" (notebook form)" if name == "proxskip" else "")
        marked = style.points if name != "fedau" else {}  # it has no exact curve
        out.append(Line2D([], [], label=label, **(marked | style.line)))
    return out


def _kinds() -> list[Line2D | Patch]:
    grey = {"color": "0.35"}
    hollow = {"marker": "o", "markerfacecolor": "white", "linestyle": "none"}
    return [
        Line2D([], [], label="line: sampled mean", **grey),
        Patch(label="band: middle 80 % of the runs", alpha=0.3, linewidth=0, **grey),
        Line2D([], [], label="mark: exact moments", **hollow, **grey),
    ]


def caption(table: CurveTable) -> str:
    """Say the setting, what was judged of it, and what the lines cover."""
    names = tuple(dict.fromkeys(curve.row for curve in table.curves))
    settings = [_setting(name) for name in names]
    return captions.caption(TITLE, *settings, _SCOPE, claims=CLAIMS)


_SCOPE = (
    "Lines: mean of the sampled relative squared error |x_r - x*|^2/|x_0 - x*|^2; "
    "bands: from the 10 % to the 90 % quantile of the runs; under full participation "
    "nothing is random and one run is all. Hollow marks: E|x_r - x*|^2 from exact "
    "second moments in floats, for as many rounds as they are affordable, down to "
    "1e-14; FedAU is not linear in its state and has none. Where line and band part, "
    "and where line and marks part, the mean is carried by rare draws in which a "
    "client is absent for long; the sample holds few of them or none. The "
    "horizontal axis counts "
    "rounds for every algorithm; SCAFFOLD and ProxSkip may be charged twice the "
    "vectors per round. ProxSkip has no absent clients in its own paper; what is "
    "drawn is the form in the FOCUS authors' notebook, with a fixed number of local "
    "steps. A curve that leaves the panel is cut there. Scope: one data set per row; "
    "its law is not printed in the paper; the verdicts are from many data sets."
)


def _setting(name: str) -> str:
    row = ROWS[name]
    heading = row.heading.replace("$", "").replace("\\", "")
    steps = ", ".join(f"{step} ({case})" for case, step in row.step_sizes.items())
    data = (
        f"seed {figure4.NOTEBOOK_SEED}" if row.notebook else "synthetic_ridge, seed 0"
    )
    weights = (
        f"the notebook's, cutoff {figure4.NOTEBOOK_CUTOFF}"
        if row.notebook
        else "its paper's, no cutoff"
    )
    return (
        f"Row '{name}': {heading}; data: {data}; one step size for all algorithms: "
        f"{steps}; from x_0 = 0, {row.runs} runs on common draws; form of FedAU: "
        f"{weights}. uniform: {row.cohort} of {row.sizes['n_clients']} clients without "
        f"replacement; arbitrary: {row.cohort} drawn one after the other with the "
        "weights of the authors' notebook."
    )
