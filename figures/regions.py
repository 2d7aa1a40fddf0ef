"""Step sizes against another parameter: what is stable, certified and printed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from flverify.algorithms import FedAvg, Focus
from flverify.certify.region.row import Row, RowFound, find_row
from flverify.participation import Bernoulli, UniformCohort
from flverify.report import captions, theorem_plots
from flverify.report.rows import RowTable, read_rows
from flverify.report.style import PAGE, look, number_logarithms

NAME = "regions"
TITLE = "Step sizes that are stable, certified and allowed by the theorems"
SIZE = (PAGE, 4.6)
CLAIMS = ("focus.thm1.sc", "focus.thm2")

ONE = Fraction(1)
BASES = {  # what is not on the axis, by whether it is quick
    True: {"tau": 1, "p": Fraction(1, 2), "n": 2, "kappa": 3},
    False: {"tau": 3, "p": Fraction(1, 2), "n": 8, "kappa": 10},
}
ALGORITHMS = {"focus": Focus, "fedavg": FedAvg}
DIGITS = 4  # that the table keeps, rounded down: what is below stays certified
VALUES = {
    "tau": tuple("12345678"),
    "p": tuple(f"{k}/50" for k in (1, 2, 3, 5, 8, 12, 17, 22, 25, 30, 35, 40, 45, 48)),
    "n": ("2", "4", "6", "8", "12", "16", "24", "32", "48", "64"),
    "kappa": ("3/2", "2", "3", "5", "10", "20", "30", "100", "300", "1000"),
}
QUICK = {
    "tau": ("1", "2"),
    "p": ("2/5", "4/5"),
    "n": ("2", "3"),
    "kappa": ("3", "10"),
}
LABELS = {
    "tau": r"local steps $\tau$",
    "p": "probability $p$",
    "n": "clients $N$",
    "kappa": r"condition $\kappa$",
}


@dataclass(frozen=True)
class Found:
    """What bounds the step sizes at one value of a parameter; eta in units of 1/L.

    Parameters
    ----------
    algorithm : str
    over : str
        "tau", "p", "n" or "kappa".
    value : float
        Of that parameter.
    printed : float
        Largest step size that the theorem allows.
    certified : float
        Largest step size found with a certificate for the class.
    stable : float
        Smallest step size at which a quadratic does not contract; infinite if none.
    """

    algorithm: str
    over: str
    value: float
    printed: float
    certified: float
    stable: float


def table(quick: bool) -> RowTable[Found]:
    """Search both boundaries and evaluate the printed caps."""
    return RowTable(tuple(found for over in LABELS for found in _rows(over, quick)))


def _rows(over: str, quick: bool) -> Iterator[Found]:
    values = (QUICK if quick else VALUES)[over]
    for name in ALGORITHMS:
        for value in values:
            found = _found_at(asked(name, over, Fraction(value), quick))
            ends = (found.printed_cap, found.certified_boundary)
            stable = found.stability_boundary
            numbers = (downwards(float(end or 0)) for end in ends)
            top = math.inf if stable is None else downwards(float(stable))
            yield Found(name, over, float(Fraction(value)), *numbers, top)


@cache
def _found_at(row: Row) -> RowFound:
    """Search once what several parameters share."""
    return find_row(row, [])


def asked(name: str, over: str, value: Fraction, quick: bool) -> Row:
    """Return the setting at one value of a parameter, the others as in `BASES`."""
    here = {key: Fraction(base) for key, base in BASES[quick].items()} | {over: value}
    n = int(here["n"])
    law = Bernoulli([here["p"]] * n) if over == "p" else UniformCohort(n, n // 2)
    algorithm = ALGORITHMS[name](ONE, int(here["tau"]))
    return Row(ONE, algorithm, law, 1 / here["kappa"], ONE)


def downwards(value: float) -> float:
    """Round down to `DIGITS` digits, which solvers on other machines share.

    Examples
    --------
    >>> downwards(0.453064), downwards(2.0), downwards(0.0)
    (0.453, 2.0, 0.0)
    """
    if value == 0:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - DIGITS)
    return float(f"{math.floor(value / unit * (1 + 1e-12)) * unit:.12g}")


def read(path: Path) -> RowTable[Found]:
    """Read the table from its CSV file."""
    return read_rows(path, Found)


def draw(figure: Figure, table: RowTable[Found]) -> None:
    """Draw the table into an empty figure."""
    axes = figure.subplots(2, 4, sharey="row", sharex="col")
    for name, line in zip(ALGORITHMS, axes, strict=True):
        for over, ax in zip(LABELS, line, strict=True):
            _panel(ax, table.where(algorithm=name, over=over), look(name).colour)
            _axis(ax, table.where(over=over), over)
        _height(line[0], table.where(algorithm=name))
        line[0].set_ylabel("step size $\\eta L$")
    for ax, over in zip(axes[1], LABELS, strict=True):
        ax.set_xlabel(LABELS[over])
    for ax in axes.flat:
        number_logarithms(ax)
    for name, claim, ax in zip(ALGORITHMS, CLAIMS, axes[:, 0], strict=True):
        theorem = {"focus": "Theorem 1, (23)", "fedavg": "Theorem 2"}[name]
        text = f"{look(name).label}; {theorem}: {theorem_plots.verdict(claim)}"
        place = {"transform": ax.transAxes, "ha": "left", "va": "bottom"}
        ax.text(0.0, 1.03, text, fontsize=8, fontweight="bold", **place)
    figure.legend(handles=_handles(), loc="lower center", ncols=4)
    figure.subplots_adjust(0.085, 0.205, 0.985, 0.94, wspace=0.18, hspace=0.22)


def _panel(ax: Axes, table: RowTable[Found], colour: str) -> None:
    xs, low = table.column("value"), [1e-9] * len(table.rows)
    certified, stable = table.column("certified"), table.column("stable")
    plain = {"linewidth": 0, "color": colour}
    ax.fill_between(xs, low, certified, alpha=0.45, **plain)
    ax.fill_between(xs, certified, stable, alpha=0.15, **plain)
    ax.fill_between(xs, stable, [1e9] * len(xs), color="0.82", linewidth=0)
    ax.plot(xs, stable, color="0.0", marker="o", markersize=2.5)
    ax.plot(xs, certified, **theorem_plots.CERTIFIED | {"color": "0.2"})
    ax.plot(xs, table.column("printed"), **theorem_plots.PRINTED)
    ax.grid(visible=False)


def _axis(ax: Axes, table: RowTable[Found], over: str) -> None:
    xs = sorted(set(table.column("value")))
    ax.set_yscale("log")
    if over in ("n", "kappa"):
        ax.set_xscale("log", base=2 if over == "n" else 10)
    if over == "tau":
        ax.xaxis.set_major_locator(FixedLocator(xs))
        ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlim(xs[0], xs[-1])
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_formatter(NullFormatter())


def _height(ax: Axes, table: RowTable[Found]) -> None:
    tops = [v for v in table.column("stable") if math.isfinite(v)]
    ax.set_ylim(min(table.column("printed")) / 1.5, max(tops) * 2)


def _handles() -> list[Line2D | Patch]:
    dot = {"color": "0.0", "marker": "o", "markersize": 2.5}
    colours = {name: look(name).colour for name in ALGORITHMS}
    certified = [
        Patch(
            facecolor=colours[name], alpha=0.45, label=f"{look(name).label}: certified"
        )
        for name in ALGORITHMS
    ]
    first, second = certified
    open_ = Patch(facecolor=colours["focus"], alpha=0.15, label="no certificate found")
    return [
        Line2D([], [], label="first instability, exact", **dot),
        first,
        Line2D([], [], label="certified up to", **theorem_plots.CERTIFIED),
        second,
        Line2D([], [], label="printed cap", **theorem_plots.PRINTED),
        open_,
        Patch(facecolor="0.82", label="beyond the first instability"),
    ]


def caption(table: RowTable[Found]) -> str:
    """Say the setting, how far the lines are apart, the scope and the verdicts."""
    return captions.caption(
        TITLE, _setting(table), _found(table), _SCOPE, claims=CLAIMS
    )


def _setting(table: RowTable[Found]) -> str:
    quick = len(set(table.where(over="tau").column("value"))) == len(QUICK["tau"])
    base = BASES[quick]
    return (
        "Setting: L = 1; where a parameter is not on the axis, "
        f"tau = {base['tau']}, N = {base['n']}, L/mu = {base['kappa']}, {_SETTING}"
    )


def _found(table: RowTable[Found]) -> str:
    told = []
    for name in ALGORITHMS:
        rows = table.where(algorithm=name).rows
        up = [row.certified / row.printed for row in rows]
        left = [row.stable / row.certified for row in rows if row.certified]
        most = f"{theorem_plots.upwards(max(left)):.3g}"
        told.append(
            f"the certified boundary of {look(name).label} is {min(up):.3g} to "
            f"{max(up):.3g} times the printed cap and {most} times below the "
            "stability boundary at most"
        )
    return f"Found: {'; '.join(told)}."


_SETTING = (
    "and half of the clients are drawn uniformly; "
    "over p: every client comes independently with probability p. FedAvg goes to a "
    "neighbourhood, and its boundaries are those of the contraction. Stability: "
    "smallest step size at which some scalar quadratics with curvatures in [mu, L] "
    "stop contracting in mean square, isolated in rationals; at eta L = 1 FOCUS with "
    "several local steps stands still, and it can contract again beyond. Certified: "
    "largest step size found, to 1e-4, at which the independent checker accepted a "
    "rate below 1 for all mu-strongly convex, L-smooth clients; the search takes the "
    "certified step sizes for an interval from 0. All to four digits, rounded down; "
    "computed where the circles are."
)
_SCOPE = (
    "Scope: between the certified and the stability boundary, and beyond the latter, "
    "nothing is said about the method; printed caps are what the theorems ask for, "
    "whatever their verdict."
)
