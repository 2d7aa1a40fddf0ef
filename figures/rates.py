"""Theorems with a rate: printed, certified, exact and sampled, against rounds.

A panel is one theorem at the largest step size that it allows, on one small instance;
flverify/report/rate_curves.py computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from flverify.report import agnostic_average, captions, rate_curves, theorem_plots
from flverify.report.rate_curves import Plan
from flverify.report.rows import RowTable, read_rows
from flverify.report.style import PAGE, look, number_logarithms
from flverify.report.theorem_plots import Point

NAME = "rates"
TITLE = "Printed bound, certified bound, exact and sampled error of each theorem"
SIZE = (PAGE, 7.4)

RUNS = {True: 40, False: 400}  # by whether it is quick
SHORT = 8  # a quick table has so much fewer rounds


@dataclass(frozen=True)
class Panel:
    """One theorem and the instance it is drawn on.

    Parameters
    ----------
    claim : str
    title : str
    algorithm : str
        Whose colour it has.
    label : str
        What is drawn, with its symbol.
    rounds : int
    curves : callable
        From a plan to points.
    setting : str
        The instance in words.
    """

    claim: str
    title: str
    algorithm: str
    label: str
    rounds: int
    curves: Callable[[Plan], Iterator[Point]]
    setting: str

    def plan(self, quick: bool) -> Plan:
        """Return what is computed."""
        rounds = self.rounds // SHORT if quick else self.rounds
        return Plan(self.claim, rounds, RUNS[quick], self.claim in LOGARITHMIC)


def table(quick: bool) -> RowTable[Point]:
    """Compute all curves; x is the number of rounds."""
    return RowTable(tuple(p for one in PANELS for p in one.curves(one.plan(quick))))


def read(path: Path) -> RowTable[Point]:
    """Read the table from its CSV file."""
    return read_rows(path, Point)


SQUARED = r"squared error $\|x_r-x^\star\|^2$"
FOUR_TEXT = "N = 4, h = (1/2, 1, 1/2, 1), two clients a round"

PANELS = (
    Panel(
        "focus.thm1.sc",
        "Theorem 1, (23)",
        "focus",
        SQUARED,
        500,
        rate_curves.strongly_convex,
        f"{FOUR_TEXT}, tau = 2",
    ),
    Panel(
        "focus.thm1.pl",
        "Theorem 1, (24)",
        "focus",
        r"gap $F(x_r)-F^\star$",
        400,
        rate_curves.polyak,
        f"N = 2, h = (1, 1), one client a round, tau = {rate_curves.PL_TAU}",
    ),
    Panel(
        "focus.cor1",
        "Corollary 1",
        "fedavg",
        SQUARED,
        80,
        rate_curves.averaged,
        f"{FOUR_TEXT}, b = (-3, 0, 2, 1)/10, tau = 5",
    ),
    Panel(
        "focus.cor2",
        "Corollary 2",
        "fedavg",
        SQUARED,
        80,
        rate_curves.averaged,
        "the same with tau = 1",
    ),
    Panel(
        "focus.cor3",
        "Corollary 3",
        "fedavg",
        SQUARED,
        300,
        rate_curves.averaged,
        "N = 3 equal clients with H = diag(1, 1/10), independent with chances 9/10, "
        "1/2, 1/10 given somebody comes, tau = 5",
    ),
    Panel(
        "agnostic.thm4",
        "agnostic Thm. 4",
        "agnostic_fedavg",
        r"gap of the mean $f(\bar\theta_T)-f^\star$",
        agnostic_average.COUNTS[-1],
        agnostic_average.agnostic,
        "N = 3, h = (1, 2, 3), b = (0, 1, -1), two clients drawn one after the other "
        "with weights 1, 2, 4, H = 4 local steps between two communications, G and "
        "ell on [-1, 1], for every T the best step size of (9)",
    ),
    Panel(
        "sgfocus.thm3",
        "SG-FOCUS Thm. 3",
        "focus",
        SQUARED,
        2500,
        rate_curves.noisy,
        f"{FOUR_TEXT}, tau = 2, sigma^2 = 1/1000",
    ),
    Panel(
        "sgfocus.thm4",
        "SG-FOCUS Thm. 4",
        "focus",
        r"gap $F(x_r)-F^\star$",
        1500,
        rate_curves.noisy,
        "the same but f_i/1000, sigma^2 = 10^-9",
    ),
    Panel(
        "sgfocus.thm5",
        "SG-FOCUS Thm. 5",
        "focus",
        r"mean of $\|\nabla F(x_r)\|^2$, $r<R$",
        2000,
        rate_curves.noisy,
        "half these curvatures, sigma^2 = 10^4, 1/16 of the largest step size",
    ),
)
CLAIMS = tuple(panel.claim for panel in PANELS)
LOGARITHMIC = ("agnostic.thm4", "sgfocus.thm5")


def draw(figure: Figure, table: RowTable[Point]) -> None:
    """Draw the table into an empty figure."""
    axes = figure.subplots(3, 3)
    for letter, panel, ax in zip("abcdefghi", PANELS, axes.flat, strict=True):
        theorem_plots.draw_panel(
            ax, table.where(panel=panel.claim), look(panel.algorithm)
        )
        _finish(ax, panel)
        said = theorem_plots.verdict(panel.claim)
        ax.set_title(f"({letter}) {panel.title}: {said}", fontsize=7)
    figure.legend(handles=theorem_plots.kinds(), loc="lower center", ncols=3)
    figure.subplots_adjust(0.085, 0.125, 0.985, 0.965, wspace=0.42, hspace=0.42)


def _finish(ax: Axes, panel: Panel) -> None:
    ax.set_yscale("log")
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_ylabel(panel.label)
    if panel.claim in LOGARITHMIC:
        ax.set_xscale("log")
    symbol = {"agnostic.thm4": "T", "sgfocus.thm5": "R"}.get(panel.claim, "r")
    ax.set_xlabel(f"rounds ${symbol}$")
    ax.margins(x=0.02)
    number_logarithms(ax)


def caption(table: RowTable[Point]) -> str:
    """Say the settings, what bounds hold, the scope and the verdicts."""
    settings = (
        f"({letter}) {panel.title}: {panel.setting}."
        for letter, panel in zip("abcdefghi", PANELS, strict=True)
    )
    return captions.caption(
        TITLE,
        _SETTING,
        " ".join(settings),
        _DRAWN,
        _found(table),
        _SCOPE,
        claims=CLAIMS,
    )


def _found(table: RowTable[Point]) -> str:
    """Compare exact and printed values at the marks."""
    return " ".join(
        theorem_plots.compared(table.where(panel=panel.claim), f"({letter})")
        for letter, panel in zip("abcdefghi", PANELS, strict=True)
    )


_SETTING = (
    "Setting: scalar quadratics f_i = h_i (x - b_i)^2/2 where nothing else is said, "
    "b_i = 0 in (a), (b) and (g) to (i), started at distance 1 from x* with models, "
    "stored gradients and tracker as each proof starts them, at the largest step size "
    "that the theorem allows with q_i = E[I_i/|S|]. In (c) and (d) the clients are "
    "parallel outside of an interval, which no model leaves, so that sigma_G is finite."
)
_DRAWN = (
    "Printed bound: the right side for a start at distance 1, noise floor included; "
    "for (c) to (e) the contraction 1 - eta mu/2 of every local step of (58) and the "
    "limit of the corollary. Certified: rho^r (C1 + C2 mean|g*|^2), and for FedAvg its "
    "neighbourhood, with rho, C1, C2 that the independent checker accepted for all "
    "mu-strongly convex, L-smooth clients; in (g) for the rounds without noise, hence "
    "without a floor; in (e) under full participation, as which equal clients move. "
    "(b), (f), (h) and (i) have none: they are about other classes or measures. Exact: "
    "second moments; (b), (g) to (i) cohort by cohort, the others by the moments "
    "engine. Line and band: mean and middle 80 % of sampled runs. Lyapunov function: "
    "the exact Psi_r, Phi_r, Omega_r that (23), (24) and Theorem 4 bound, relative to "
    "the start; a theorem can be REFUTED by it, and in other instances than the one "
    "drawn, where the error stays below."
)
_SCOPE = (
    "Scope: printed, exact and sampled curves are of these instances and say nothing "
    "of others; the certified ones hold for the class; the verdicts are about the "
    "printed statements, not about these instances."
)
