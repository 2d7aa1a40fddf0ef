"""The three terms of Theorem 2 of the FOCUS paper against the exact error of FedAvg."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from flverify.claims.parallel_clients import Setting, step_cap
from flverify.participation import Bernoulli, NonEmpty, UniformCohort
from flverify.participation._law import Participation
from flverify.report import captions, theorem_plots
from flverify.report.rows import RowTable, read_rows
from flverify.report.style import PAGE, look

NAME = "theorem2_terms"
TITLE = "The three terms of Theorem 2 against the exact error of FedAvg"
SIZE = (PAGE, 5.4)
CLAIMS = ("focus.thm2", "focus.thm2.remark")

ONE = Fraction(1)
CURVATURES, MINIMISERS = (ONE, 2 * ONE, 4 * ONE), (-ONE, 2 * ONE, ONE)
EVEN = UniformCohort(3, 2)
CHANCES = ("9/10", "1/2", "1/10")
UNEVEN = NonEmpty(Bernoulli(CHANCES))
SCALE = Fraction(1, 1000)
LOCAL_STEPS = 5
HALVINGS = {True: 2, False: 12}  # of the step size, by whether it is quick
COUNTS = {True: (1, 2), False: (1, 2, 3, 4, 6, 8, 11, 16, 22, 32)}  # local steps

TERMS = ("drift", "mismatch", "variance")
KINDS = (*TERMS, "sum", "exact")
GREYS = {"drift": "0.0", "mismatch": "0.3", "variance": "0.55", "sum": "0.0"}
DASHES: dict[str, Any] = {
    "drift": (0, (1.0, 1.2)),
    "mismatch": (0, (4.0, 1.5)),
    "variance": (0, (4.0, 1.5, 1.0, 1.5)),
    "sum": "-",
}
LABELS = {
    "drift": r"$80\,\eta^2\kappa^2L^2(\tau-1)^2(\delta_q^2+\sigma_G^2)$",
    "mismatch": r"$10\,\kappa\,\delta_q^2$",
    "variance": r"$16\,\eta\tau^2/\mu\,(\delta_q^2+\sigma_G^2)$",
    "sum": "their sum, the printed bound",
}
PANELS = {
    "even": r"(a) two of three clients, $q_i=1/3$",
    "uneven": r"(b) uneven participation",
    "scaled": r"(c) as (b), $f_i\to f_i/1000$, $\eta\to1000\,\eta$",
    "local steps": r"(d) as (b), largest $\eta$ for every $\tau$",
}


@dataclass(frozen=True)
class Value:
    """One number of one panel.

    Parameters
    ----------
    panel : str
    kind : str
        A term, their sum, or the exact limit.
    x : float
        Step size times L, or local steps.
    value : float, weight x^2
    """

    panel: str
    kind: str
    x: float
    value: float


def table(quick: bool) -> RowTable[Value]:
    """Compute terms and exact limits of E|q'x - x*|^2."""
    rows: list[Value] = []
    for panel, law in (("even", EVEN), ("uneven", UNEVEN)):
        for power in range(HALVINGS[quick] + 1):
            one = setting(law, LOCAL_STEPS, Fraction(1, 2**power))
            rows += _values(panel, float(one.step_size * one.smoothness), one)
            if law is UNEVEN:
                moved = one.scaled(SCALE)
                x = float(moved.step_size * moved.smoothness)
                rows += _values("scaled", x, moved)
    for count in COUNTS[quick]:
        rows += _values("local steps", count, setting(UNEVEN, count, ONE))
    order = list(PANELS)
    return RowTable(tuple(sorted(rows, key=lambda row: order.index(row.panel))))


def setting(law: Participation, local_steps: int, part: Fraction) -> Setting:
    """Return three clients at a part of the largest step size of Theorem 2."""
    step = part * step_cap(max(CURVATURES), local_steps)
    return Setting((CURVATURES,), (MINIMISERS,), law, local_steps, step)


def _values(panel: str, x: float, one: Setting) -> Iterator[Value]:
    terms = theorem_plots.theorem2_terms(one)
    for kind, value in zip(KINDS, (*terms, sum(terms), one.limit()), strict=True):
        yield Value(panel, kind, float(x), float(value))


def read(path: Path) -> RowTable[Value]:
    """Read the table from its CSV file."""
    return read_rows(path, Value)


def draw(figure: Figure, table: RowTable[Value]) -> None:
    """Draw the table into an empty figure."""
    axes = figure.subplots(2, 2)
    for panel, ax in zip(PANELS, axes.flat, strict=True):
        _panel(ax, table.where(panel=panel))
        ax.set_title(PANELS[panel])
        ax.set_ylabel(r"squared error $\|\bar x-x^\star\|^2$")
        ax.set_xlabel(
            r"local steps $\tau$"
            if panel == "local steps"
            else r"step size times smoothness $\eta L$"
        )
    figure.legend(handles=_handles(), loc="lower center", ncols=3)
    figure.subplots_adjust(0.085, 0.185, 0.985, 0.95, wspace=0.27, hspace=0.42)


def _panel(ax: Axes, table: RowTable[Value]) -> None:
    for kind in (*TERMS, "sum"):
        rows = RowTable(tuple(row for row in table.where(kind=kind) if row.value > 0))
        style = {"color": GREYS[kind], "linestyle": DASHES[kind]}
        ax.plot(rows.column("x"), rows.column("value"), **style)
    exact, style = table.where(kind="exact"), look("fedavg")
    ax.plot(exact.column("x"), exact.column("value"), color=style.colour)
    ax.plot(exact.column("x"), exact.column("value"), **style.points)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.yaxis.set_minor_formatter(NullFormatter())


def _handles() -> list[Line2D]:
    out = [
        Line2D([], [], color=GREYS[kind], linestyle=DASHES[kind], label=LABELS[kind])
        for kind in (*TERMS, "sum")
    ]
    solid = look("fedavg").points | {"linestyle": "-"}
    return [*out, Line2D([], [], label="exact limit of FedAvg", **solid)]


def caption(table: RowTable[Value]) -> str:
    """Say the setting, how the sides compare, the scope and the verdicts."""
    told = captions.verdicts(CLAIMS, readings=True)
    parts = (_SETTING, _found(table), _SCOPE, f"Verdicts by reading: {told}.")
    return captions.caption(TITLE, *parts)


def _found(table: RowTable[Value]) -> str:
    told = []
    for panel, title in PANELS.items():
        bound, exact = (
            table.where(panel=panel, kind=kind).column("value")
            for kind in ("sum", "exact")
        )
        ratios = [b / e for b, e in zip(bound, exact, strict=True)]
        told.append(f"{title[:3]} {min(ratios):.3g} to {max(ratios):.3g}")
    exact = table.where(panel="uneven", kind="exact").column("value")
    drift = table.where(panel="even", kind="exact")
    slope = theorem_plots.slope(drift.column("x"), drift.column("value"))
    return (
        f"Found: the printed bound over the exact error is {', '.join(told)}; below 1 "
        f"the bound fails. For the smallest step size in (a) the exact error falls as "
        f"the power {slope:.3g} of it; in (b) it ends at {exact[-1]:.3g}, the bias of "
        "the sampling, which no step size removes."
    )


_SETTING = (
    f"Setting: f_i = h_i (x - b_i)^2/2 with h = ({', '.join(map(str, CURVATURES))}) "
    f"and b = ({', '.join(map(str, MINIMISERS))}) for min b <= x <= max b, parallel of "
    "slope L outside, so that sigma_G^2 and delta_q^2, taken over consensual x, are "
    f"finite. tau = {LOCAL_STEPS} in (a) to (c). (a) two of the three clients; (b) to "
    f"(d) independent clients with chances {', '.join(CHANCES)}, given somebody comes. "
    "Step sizes: the largest that Theorem 2 allows, min{1/(3L), 1/(4 (tau - 1) L)}, "
    "and its halves. (c): f -> f/1000 and eta -> 1000 eta move no iterate; the first "
    "two terms are not covariant and vanish. Exact: limsup of E|q'x_k - x*|^2 over all "
    "iterations, from exact second moments in rationals."
)
_SCOPE = (
    "Scope: these clients; the verdict on Theorem 2 depends on what the supremum in "
    "(29) is taken over, and the curves take it over consensual x."
)
