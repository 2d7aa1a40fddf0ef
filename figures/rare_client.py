"""What one rare client costs: rates against the smallest participation probability."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from flverify import moments
from flverify.algorithms import FedAvg, Focus, Scaffold
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.neighbourhood import contraction
from flverify.certify.printed import printed, root_below
from flverify.certify.quadratics import QuadraticRates
from flverify.certify.rates import certify
from flverify.certify.sandwich import corner_rates, worst_of
from flverify.participation import Bernoulli
from flverify.problems import Quadratics
from flverify.report import captions, theorem_plots
from flverify.report.numbers import bound
from flverify.report.rows import RowTable, read_rows
from flverify.report.style import PAGE, look, number_logarithms

NAME = "rare_client"
TITLE = "Rates of FOCUS, FedAvg and SCAFFOLD against the chance of the rarest client"
SIZE = (PAGE, 5.4)
CLAIMS = ("focus.thm1.sc", "focus.thm2")

ALGORITHMS: dict[str, Any] = {"focus": Focus, "fedavg": FedAvg, "scaffold": Scaffold}
OFTEN = Fraction(1, 2)
N_CLIENTS = {True: 2, False: 4}  # by whether it is quick
CONVEXITY, SMOOTHNESS = Fraction(1, 10), Fraction(1)
LOCAL_STEPS = {True: 1, False: 2}
POWERS = {True: (1, 4), False: (1, 2, 3, 4, 5, 6, 7, 8)}  # chances 2^-k
FIXED = Fraction(1, 50)  # step size of the first panel
GRID = tuple(Fraction(round(1000 * 1.1**k), 10**6) for k in range(80))


@dataclass(frozen=True)
class Value:
    """One number of one panel.

    Parameters
    ----------
    panel : str
        "fixed", "best", "cap" or "error".
    algorithm : str
    kind : str
        "exact", "certified" or "printed".
    chance : float
        Smallest inclusion probability.
    step_size : float, weight x^2/f
    value : float
        1 - rate per round of the squared distance; in "error" the bias.
    """

    panel: str
    algorithm: str
    kind: str
    chance: float
    step_size: float
    value: float


def table(quick: bool) -> RowTable[Value]:
    """Compute rates of the worst quadratics, certified rates, and biases."""
    rows: list[Value] = []
    for power in POWERS[quick]:
        one = Law(N_CLIENTS[quick], Fraction(1, 2**power), LOCAL_STEPS[quick])
        rows += _at_steps(one)
        rows += _at_cap(one)
        rows += _errors(one)
    order = list(TITLES)
    return RowTable(tuple(sorted(rows, key=lambda row: order.index(row.panel))))


@dataclass(frozen=True)
class Law:
    """Independent clients, the last of which is rare, and their local steps."""

    n_clients: int
    chance: Fraction
    local_steps: int

    @property
    def law(self) -> Bernoulli:
        """Return the law of the cohorts."""
        return Bernoulli([OFTEN] * (self.n_clients - 1) + [self.chance])


def _at_steps(one: Law) -> Iterator[Value]:
    """Every algorithm at the fixed step size and at the one of its best rate."""
    for name, kind in ALGORITHMS.items():
        rates = QuadraticRates.of(kind(FIXED, one.local_steps), one.law)
        found = corner_rates(rates, [float(s) for s in GRID], CONVEXITY, SMOOTHNESS)
        best = GRID[int(np.argmin(found))]
        for panel, step in (("fixed", FIXED), ("best", best)):
            yield from _rates(panel, name, kind(step, one.local_steps), one)


def _rates(panel: str, name: str, algorithm: Algorithm, one: Law) -> Iterator[Value]:
    """Worst quadratic of the class, and what is certified for all of it."""
    here, step = (one.law, CONVEXITY, SMOOTHNESS), float(algorithm.step_size)
    worst = worst_of(QuadraticRates.of(algorithm, one.law), CONVEXITY, SMOOTHNESS)
    place, chance = (panel, name), float(one.chance)
    yield Value(*place, "exact", chance, step, 1 - worst.rate)
    if panel == "cap":
        return
    if name == "fedavg":
        found: Any = contraction(algorithm, *here)
    else:
        found = certify(algorithm, *here, lower_bound=worst.lower_bound)
    if found.rate is not None:
        yield Value(*place, "certified", chance, step, float(1 - found.rate))


def _at_cap(one: Law) -> Iterator[Value]:
    """FOCUS at the printed cap: the printed rate beside the others."""
    tau, chance = one.local_steps, float(one.chance)
    theorem = printed(Focus(1, tau), one.law, CONVEXITY, SMOOTHNESS)
    step = root_below(theorem.cap_squared)
    slow = float(step * CONVEXITY * one.n_clients / 2)  # 1 - rate of (23)
    yield Value("cap", "focus", "printed", chance, float(step), slow)
    yield from _rates("cap", "focus", Focus(step, tau), one)


def _errors(one: Law) -> Iterator[Value]:
    """|E x_inf - x*| of equal clients, the rare one with another minimiser."""
    rest = one.n_clients - 1
    linear = [[-1]] * rest + [[rest]]  # x* = 0
    problem = Quadratics([[[1]]] * one.n_clients, linear)
    for name, kind in ALGORITHMS.items():
        found = moments(problem, kind(FIXED, one.local_steps), one.law)
        off = abs(float(found.bias[0]))
        yield Value("error", name, "exact", float(one.chance), float(FIXED), off)


def read(path: Path) -> RowTable[Value]:
    """Read the table from its CSV file."""
    return read_rows(path, Value)


TITLES = {
    "fixed": rf"(a) fixed step size $\eta L={float(FIXED):g}$",
    "best": "(b) step size of the best exact rate",
    "cap": "(c) cap of Theorem 1, (23): {}",
    "error": r"(d) bias, $\eta L={:g}$".replace("{:g}", f"{float(FIXED):g}"),
}


def draw(figure: Figure, table: RowTable[Value]) -> None:
    """Draw the table into an empty figure."""
    axes = figure.subplots(2, 2)
    for panel, ax in zip(TITLES, axes.flat, strict=True):
        for name in ALGORITHMS:
            _curves(ax, table.where(panel=panel, algorithm=name), name)
        said = theorem_plots.verdict(CLAIMS[0])
        ax.set_title(TITLES[panel].format(said) if panel == "cap" else TITLES[panel])
        ax.set_xscale("log", base=2)
        ax.set_xlabel(r"smallest probability $p_{\min}$")
        ax.set_yscale("log")
        ax.set_ylabel(r"decrease per round $1-\rho$")
        ax.yaxis.set_minor_formatter(NullFormatter())
    fixed = table.where(panel="fixed", kind="exact").column("value")
    axes[0, 0].set_ylim(bottom=min(v for v in fixed if v > 0) / 2)
    _linear_below(axes[1, 1])
    for ax in axes.flat:
        number_logarithms(ax)
    figure.legend(handles=_handles(), loc="lower center", ncols=6)
    figure.subplots_adjust(0.085, 0.135, 0.985, 0.95, wspace=0.25, hspace=0.42)


def _linear_below(ax: Axes) -> None:
    """Biases that are 0 are shown too."""
    ax.set_yscale("symlog", linthresh=0.1)
    ax.set_ylim(-0.02, 5)
    ax.set_yticks([0, 0.1, 1], ["0", "0.1", "1"])
    ax.set_ylabel(r"bias $|\mathbb{E}\,x_\infty-x^\star|$")


def _curves(ax: Axes, table: RowTable[Value], name: str) -> None:
    style = look(name)
    turns = {"focus": (0, 2), "scaffold": (1, 2)}  # where their marks coincide
    looks: dict[str, dict[str, Any]] = {
        "exact": style.points | {"linestyle": "-"},
        "certified": theorem_plots.CERTIFIED | {"color": style.colour},
        "printed": theorem_plots.PRINTED,
    }
    for kind, chosen in looks.items():
        rows = table.where(kind=kind)
        if rows.rows:
            every = turns.get(name, 1) if rows.rows[0].panel == "error" else 1
            xs, values = rows.column("chance"), rows.column("value")
            ax.plot(xs, values, markevery=every, **chosen)


def _handles() -> list[Line2D]:
    exact = [
        Line2D([], [], label=look(n).label, **look(n).points | {"linestyle": "-"})
        for n in ALGORITHMS
    ]
    certified = Line2D([], [], label="certified", **theorem_plots.CERTIFIED)
    bound = Line2D([], [], label="printed", **theorem_plots.PRINTED)
    return [*exact, certified, bound]


def caption(table: RowTable[Value]) -> str:
    """Say the setting, the slopes, the scope and the verdicts."""
    parts = (_setting(table), _DRAWN, _found(table), _SCOPE)
    return captions.caption(TITLE, *parts, claims=CLAIMS)


def _setting(table: RowTable[Value]) -> str:
    chances = sorted(set(table.column("chance")))
    quick = len(chances) == len(POWERS[True])
    n = N_CLIENTS[quick]
    return (
        f"Setting: N = {n} clients that come independently, {n - 1} with probability "
        f"{OFTEN} and one with p_min from {chances[-1]:g} to {chances[0]:.4g}; "
        f"mu-strongly convex, L-smooth f_i with L = {SMOOTHNESS} and L/mu = "
        f"{SMOOTHNESS / CONVEXITY}; tau = {LOCAL_STEPS[quick]}."
    )


_DRAWN = (
    "Marks: the rate rho per round of the squared distance on the worst scalar "
    "quadratics found in the class, from exact second moments. Broken: rate certified "
    "for the whole class, accepted by the independent checker; for FedAvg that of the "
    "contraction to its neighbourhood. (b) searches 80 step sizes with a ratio of 1.1. "
    "(c) FOCUS at the largest step size of (23), with the printed rate 1 - eta mu N/2. "
    "(d) f_i = (x - b_i)^2/2 with b_i = -1 and b = N - 1 for the rare client: FedAvg "
    "is fast because it does not wait for that client, and goes elsewhere. Curves "
    "that leave (a) below stop contracting there. Broken lines are not seen where they "
    "lie under the exact ones."
)


def _found(table: RowTable[Value]) -> str:
    told = []
    for panel in ("best", "cap"):
        for name in ALGORITHMS:
            rows = table.where(panel=panel, algorithm=name, kind="exact")
            rare = RowTable(tuple(sorted(rows, key=lambda row: -row.chance)))
            if rare.rows:
                slope = theorem_plots.slope(rare.column("chance"), rare.column("value"))
                told.append(f"{look(name).label} {TITLES[panel][:3]} {slope:.2f}")
    rows = table.where(panel="cap", kind="printed")
    slope = theorem_plots.slope(rows.column("chance"), rows.column("value"))
    exact, certified = (
        {(r.panel, r.algorithm, r.chance): r.value for r in table.where(kind=kind)}
        for kind in ("exact", "certified")
    )
    least = min(value / exact[key] for key, value in certified.items())
    least_text = bound(Fraction(least), 3, up=False)
    return (
        "Found: for the two smallest chances 1 - rho changes as this power of p_min: "
        f"{', '.join(told)}; printed (c) {slope:.2f}. Certified decreases are at least "
        f"{least_text} of the exact ones. {_lacking(exact, certified)}"
    )


def _lacking(exact: dict[Any, float], certified: dict[Any, float]) -> str:
    """Say which rates of (a) and (b) have no certificate, as lines may be hidden."""
    asked = [k for k, v in exact.items() if k[0] in ("fixed", "best") and v > 0]
    lines: dict[str, list[str]] = {}
    for panel, name, chance in asked:
        if (panel, name, chance) not in certified:
            line = f"{look(name).label} {TITLES[panel][:3]}"
            lines.setdefault(line, []).append(f"{chance:g}")
    where = [f"{line} at p_min = {', '.join(at)}" for line, at in lines.items()]
    found = f"; none was found for {'; '.join(where)}" if where else ""
    many = len(asked) - sum(map(len, lines.values()))
    return f"Of {len(asked)} rates below 1 in (a) and (b) {many} are certified{found}."


_SCOPE = (
    "Scope: this class and law; the worst quadratics found may not be the worst there "
    "are, and no certificate lies above their rate."
)
