"""How far the mean of FedAvg ends from the minimiser: step size, local steps, law."""

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

from flverify import moments
from flverify.algorithms import FedAvg
from flverify.claims.parallel_clients import Setting, step_cap
from flverify.participation import Bernoulli, Full, NonEmpty
from flverify.participation._law import Participation
from flverify.problems import Quadratics
from flverify.report import captions, theorem_plots
from flverify.report.rows import RowTable, read_rows
from flverify.report.style import PAGE, look

NAME = "fedavg_bias"
TITLE = "Bias of FedAvg against step size, local steps and participation"
SIZE = (PAGE, 5.6)
CLAIMS = ("focus.eq3.drift_li", "focus.thm2", "focus.thm2.remark")

ONE = Fraction(1)
CURVATURES, MINIMISERS = (ONE, 2 * ONE, 4 * ONE), (-ONE, 2 * ONE, ONE)
CHANCES = ("9/10", "1/2", "1/10")
STEPS = {  # step sizes as powers of 1/2, by whether it is quick
    True: (4, 8, 12),
    False: tuple(range(3, 17)),
}
COUNTS = {True: (2, 8, 33), False: (2, 3, 5, 9, 17, 33, 65)}  # local steps
RARE = {True: ("1/2", "1/8"), False: tuple(f"1/{2**k}" for k in range(1, 11))}
CURVES = {"step size": (2, 5, 20), "law": (1, 5), "rarest": (1, 5)}
FIXED = (4, 7, 10)  # powers of the step sizes whose local steps are varied
DASHES: tuple[Any, ...] = ("-", (0, (4.0, 1.5)), (0, (1.0, 1.2)))
MARKERS = "osD"


@dataclass(frozen=True)
class Value:
    """One number of one panel.

    Parameters
    ----------
    panel : str
        "step size", "local steps", "law" or "rarest".
    kind : str
        "exact", "printed", or "limit" for what the exact curve tends to.
    curve : int
        Local steps, or the power of the step size 2^-k in "local steps".
    x : float
        Step size times L, tau - 1, or the least inclusion probability.
    value : float, weight x
    """

    panel: str
    kind: str
    curve: int
    x: float
    value: float


def table(quick: bool) -> RowTable[Value]:
    """Compute |E x_inf - x*| in rationals, and what is printed of it."""
    rows = [*_step_size(quick), *_local_steps(quick), *_law(quick), *_rarest(quick)]
    return RowTable(tuple(rows))


def bias(law: Participation, local_steps: int, step_size: Fraction) -> Fraction:
    """|x - x*| at the fixed point x of the mean round, weight x."""
    hessians = [[[h]] for h in CURVATURES]
    linear = [[h * b] for h, b in zip(CURVATURES, MINIMISERS, strict=True)]
    found = moments(Quadratics(hessians, linear), FedAvg(step_size, local_steps), law)
    return abs(Fraction(found.bias[0]))


def minimiser(weights: list[Fraction]) -> Fraction:
    """Minimiser of sum_i w_i f_i."""
    scaled = [w * h for w, h in zip(weights, CURVATURES, strict=True)]
    pulls = sum(s * b for s, b in zip(scaled, MINIMISERS, strict=True))
    return Fraction(pulls / sum(scaled))


BEST = minimiser([ONE] * 3)
LARGEST = max(CURVATURES)


def _step_size(quick: bool) -> Iterator[Value]:
    """Full participation: exact, and eq. (3) through the largest step size drawn."""
    for tau in CURVES["step size"]:
        first = None
        for power in STEPS[quick]:
            step = Fraction(1, 2**power)
            if step * LARGEST * tau > 2:
                continue
            x, exact = float(step * LARGEST), float(bias(Full(3), tau, step))
            first = first or (x, exact)
            printed = first[1] * (x / first[0]) ** 0.5
            yield Value("step size", "exact", tau, x, exact)
            yield Value("step size", "printed", tau, x, printed)


def _local_steps(quick: bool) -> Iterator[Value]:
    """Full participation: exact, and where every client ends at its own minimiser."""
    apart = abs(sum(MINIMISERS) / 3 - BEST)
    for power in FIXED:
        for tau in COUNTS[quick]:
            exact = bias(Full(3), tau, Fraction(1, 2**power))
            yield Value("local steps", "exact", power, tau - 1, float(exact))
            yield Value("local steps", "limit", power, tau - 1, float(apart))


def uneven(rarest: str) -> Participation:
    """Return independent clients of which somebody comes, the last of them rare."""
    return NonEmpty(Bernoulli([*CHANCES[:2], rarest]))


def printed(law: Participation, local_steps: int, step_size: Fraction) -> float:
    """Root of the first two terms of Theorem 2."""
    one = Setting((CURVATURES,), (MINIMISERS,), law, local_steps, step_size)
    drift, mismatch, _ = theorem_plots.theorem2_terms(one)
    return float((drift + mismatch) ** 0.5)


def _law(quick: bool) -> Iterator[Value]:
    law = uneven(CHANCES[2])
    left = abs(minimiser(law.averaging_weights().tolist()) - BEST)
    for tau in CURVES["law"]:
        for power in STEPS[quick]:
            step = Fraction(1, 2**power)
            if step > step_cap(LARGEST, tau):
                continue
            x = float(step * LARGEST)
            yield Value("law", "exact", tau, x, float(bias(law, tau, step)))
            yield Value("law", "printed", tau, x, printed(law, tau, step))
            yield Value("law", "limit", tau, x, float(left))


def _rarest(quick: bool) -> Iterator[Value]:
    for tau in CURVES["rarest"]:
        step = step_cap(LARGEST, max(CURVES["rarest"]))
        for chance in RARE[quick]:
            law, x = uneven(chance), float(Fraction(chance))
            yield Value("rarest", "exact", tau, x, float(bias(law, tau, step)))
            yield Value("rarest", "printed", tau, x, printed(law, tau, step))


def read(path: Path) -> RowTable[Value]:
    """Read the table from its CSV file."""
    return read_rows(path, Value)


TITLES = {
    "step size": "(a) full participation, eq. (3): {}",
    "local steps": "(b) full participation",
    "law": "(c) uneven participation, Theorem 2: {}",
    "rarest": r"(d) $\eta L=1/16$, a rare client",
}
CLAIM_OF = {"step size": CLAIMS[0], "law": CLAIMS[1]}
AXES = {
    "step size": r"step size times smoothness $\eta L$",
    "local steps": r"local steps beyond the first $\tau-1$",
    "law": r"step size times smoothness $\eta L$",
    "rarest": r"smallest probability $p_{\min}$",
}


def draw(figure: Figure, table: RowTable[Value]) -> None:
    """Draw the table into an empty figure."""
    axes = figure.subplots(2, 2)
    for panel, ax in zip(TITLES, axes.flat, strict=True):
        _panel(ax, table.where(panel=panel), panel)
        said = theorem_plots.verdict(CLAIM_OF[panel]) if panel in CLAIM_OF else ""
        ax.set_title(TITLES[panel].format(said))
        ax.set_xlabel(AXES[panel])
        ax.set_ylabel(r"bias $|\mathbb{E}\,x_\infty-x^\star|$")
    _slopes(axes[0, 0], table.where(panel="step size"))
    figure.legend(handles=_kinds(), loc="lower center", ncols=3)
    figure.subplots_adjust(0.085, 0.135, 0.985, 0.95, wspace=0.25, hspace=0.4)


def _panel(ax: Axes, table: RowTable[Value], panel: str) -> None:
    curves = tuple(dict.fromkeys(table.column("curve")))
    for curve, dashes, marker in zip(curves, DASHES, MARKERS, strict=False):
        rows = table.where(curve=curve)
        for kind, style in (("printed", theorem_plots.PRINTED), ("limit", LIMIT)):
            found = rows.where(kind=kind)
            ax.plot(found.column("x"), found.column("value"), **style)
        exact = rows.where(kind="exact")
        style = look("fedavg").points | {"linestyle": dashes, "marker": marker}
        symbol = r"\eta=2^{-%d}" if panel == "local steps" else r"\tau=%d"
        ax.plot(
            exact.column("x"),
            exact.column("value"),
            label=f"${symbol % curve}$",
            markevery=2 if panel == "law" else 1,
            **style,
        )
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.legend(loc="lower right" if panel in ("step size", "local steps") else "center")


LIMIT: dict[str, Any] = {"color": "0.55", "linestyle": (0, (4.0, 1.5))}


def _slopes(ax: Axes, table: RowTable[Value]) -> None:
    """Write the slopes of the curves of the most local steps."""
    ax.set_ylim(top=10 * max(table.column("value")))  # room for the text
    last = max(table.column("curve"))
    place = {"transform": ax.transAxes, "va": "top"}
    for kind, look_of, height in (
        ("printed", "dotted", 0.97),
        ("exact", "marks", 0.89),
    ):
        rows = table.where(kind=kind, curve=last)
        slope = theorem_plots.slope(rows.column("x"), rows.column("value"))
        ax.text(0.03, height, f"{kind} ({look_of}): slope {slope:.2f}", **place)


def _kinds() -> list[Line2D]:
    fedavg = look("fedavg").points | {"linestyle": "-"}
    return [
        Line2D([], [], label="exact bias of FedAvg", **fedavg),
        Line2D([], [], label="printed order or bound", **theorem_plots.PRINTED),
        Line2D([], [], label="what the exact bias tends to", **LIMIT),
    ]


def caption(table: RowTable[Value]) -> str:
    """Say the setting, the slopes, the scope and the verdicts."""
    told = captions.verdicts(CLAIMS, readings=True)
    parts = (_SETTING, _found(table), _SCOPE, f"Verdicts by reading: {told}.")
    return captions.caption(TITLE, *parts)


def _found(table: RowTable[Value]) -> str:
    slopes = []
    for curve in CURVES["step size"]:
        rows = table.where(panel="step size", kind="exact", curve=curve)
        slope = theorem_plots.slope(rows.column("x"), rows.column("value"))
        slopes.append(f"{slope:.4f} for tau = {curve}")
    rows = table.where(panel="local steps", kind="exact", curve=max(FIXED))
    first = RowTable(rows.rows[:2])
    slope = theorem_plots.slope(first.column("x"), first.column("value"))
    ratios = [
        bound.value / exact.value
        for panel in ("law", "rarest")
        for bound, exact in zip(
            table.where(panel=panel, kind="printed"),
            table.where(panel=panel, kind="exact"),
            strict=True,
        )
    ]
    return (
        "Found: as the step size shrinks the exact bias in (a) falls as its power "
        f"{', '.join(slopes)}; as printed it could not fall faster than the power 1/2. "
        f"In (b), for the smallest step size, it grows as the power {slope:.3f} of "
        f"tau - 1 at first. In (c) and (d) the printed bound is {min(ratios):.3g} to "
        f"{max(ratios):.3g} times the exact bias."
    )


_SETTING = (
    f"Setting: f_i = h_i (x - b_i)^2/2 with h = ({', '.join(map(str, CURVATURES))}) "
    f"and b = ({', '.join(map(str, MINIMISERS))}); x* = {BEST}; x_inf is at the fixed "
    "point of the mean round, in rationals. (a) and (b): all clients in all rounds; "
    "the dotted lines have the order of eq. (3), |x - x*|^2 of order (tau - 1) eta, "
    "and start where the exact curve does; broken in (b): every client at its own "
    "minimiser. (c) and (d): independent clients with chances "
    f"{', '.join(CHANCES)}, in (d) with another one for the last, given somebody "
    "comes; clients are parallel outside of [min b, max b]; dotted: root of the first "
    "two terms of Theorem 2, the higher one for tau = 5; broken: distance of the "
    "minimiser of sum_i q_i f_i from x*."
)
_SCOPE = "Scope: these clients; eq. (3) is about any two clients, Theorem 2 about all."
