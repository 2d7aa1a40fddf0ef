"""What the plots of theorems share: rows, looks, and constants as printed.

In all of them a printed bound is dotted and black, a certified one dashed and grey, an
exact number a hollow mark and a sample a line with a band, both in the colour of the
algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from flverify._core.exact import Array
from flverify.claims import ledger_file
from flverify.claims.parallel_clients import Setting
from flverify.claims.registry import claims_in, proofs_folder
from flverify.report.curves import thinned
from flverify.report.rows import RowTable
from flverify.report.style import Look

PRINTED: dict[str, Any] = {"color": "0.0", "linestyle": (0, (1.0, 1.2))}
CERTIFIED: dict[str, Any] = {"color": "0.45", "linestyle": (0, (4.0, 1.5))}
LYAPUNOV: dict[str, Any] = {"linestyle": (0, (5.0, 1.2, 1.0, 1.2)), "linewidth": 0.9}
NOTICEABLE = 1e-6  # relative excess that counts
BAND = ("0.1", "0.9")  # quantiles over the runs that bound a band


@dataclass(frozen=True)
class Point:
    """One point of a curve of one panel.

    Parameters
    ----------
    panel : str
    kind : str
        "printed", "certified", "exact", "sampled", or "lyapunov" for the exact
        function that the theorem bounds, where it is not the error.
    x, value, lower, upper : float
        Place, number, and the ends of its band (equal to it where there is none).
    """

    panel: str
    kind: str
    x: float
    value: float
    lower: float
    upper: float


def points(
    panel: str, kind: str, xs: Sequence[float], *columns: Array
) -> Iterator[Point]:
    """Yield a curve; `columns` are its values, or values, lower and upper ends.

    Examples
    --------
    >>> [point.upper for point in points("a", "exact", [0, 1], np.array([1.0, 0.5]))]
    [1.0, 0.5]
    """
    three = columns if len(columns) == 3 else columns * 3
    for x, *values in zip(xs, *three, strict=True):
        yield Point(panel, kind, float(x), *(float(v) for v in values))


def against_rounds(
    panel: str, kind: str, most: int, *columns: Array
) -> Iterator[Point]:
    """Yield about `most` rounds of a curve that is known in every round."""
    kept = thinned(len(columns[0]) - 1, most)
    yield from points(panel, kind, kept, *(c[list(kept)] for c in columns))


def band(runs: Array) -> Array:
    """Return the lower and the upper end of the band of sampled runs, (runs, ...)."""
    ends = [float(end) for end in BAND]
    return np.asarray(np.quantile(runs, ends, axis=0, method="inverted_cdf"))


@cache
def constants(file: str, claim: str) -> Mapping[str, Any]:
    """Return the printed constants of a claim of proofs/.

    Examples
    --------
    >>> constants("fedavg_theorem2", "focus.thm2")["drift"]
    80
    """
    path = proofs_folder() / f"{file}.py"
    found: Mapping[str, Any] = claims_in([path])[claim].constants
    return found


def verdict(claim: str) -> str:
    """Return what the ledger says of a claim.

    Examples
    --------
    >>> verdict("focus.eq4.R")
    'PROVED'
    """
    known = ledger_file.read(proofs_folder() / "ledger.toml")
    return str(known.get(claim, {"verdict": "not judged"})["verdict"])


# Drawing -------------------------------------------------------------------------


def draw_panel(ax: Axes, table: RowTable[Point], look: Look) -> None:
    """Draw the kinds of curves that a panel has."""
    own = LYAPUNOV | {"color": look.colour}
    known = {"printed": PRINTED, "certified": CERTIFIED, "lyapunov": own}
    for kind, style in known.items():
        rows = table.where(kind=kind)
        ax.plot(rows.column("x"), rows.column("value"), **style)
    sampled, exact = table.where(kind="sampled"), table.where(kind="exact")
    xs = sampled.column("x")
    shade: dict[str, Any] = {"color": look.colour, "alpha": 0.2, "linewidth": 0}
    ax.fill_between(xs, sampled.column("lower"), sampled.column("upper"), **shade)
    ax.plot(xs, sampled.column("value"), color=look.colour)
    ax.plot(exact.column("x"), exact.column("value"), **look.points, zorder=3)


def kinds() -> list[Line2D | Patch]:
    """Return the handles of a legend of kinds."""
    grey: dict[str, Any] = {"color": "0.35"}
    hollow: dict[str, Any] = {"marker": "o", "markerfacecolor": "white"}
    return [
        Line2D([], [], label="printed bound", **PRINTED),
        Line2D([], [], label="certified for the class", **CERTIFIED),
        Line2D([], [], label="exact error", linestyle="none", **hollow, **grey),
        Line2D([], [], label="exact Lyapunov function", **LYAPUNOV, **grey),
        Line2D([], [], label="sampled mean", **grey),
        Patch(label="middle 80 % of the runs", alpha=0.3, linewidth=0, **grey),
    ]


def slope(xs: Iterable[float], values: Iterable[float]) -> float:
    """Return the slope of the last two points in logarithms.

    Examples
    --------
    >>> round(slope([1.0, 2.0, 4.0], [5.0, 3.0, 12.0]), 12)
    2.0
    """
    a, b = (np.log(np.array([*v][-2:], dtype=float)) for v in (xs, values))
    return float((b[1] - b[0]) / (a[1] - a[0]))


def compared(table: RowTable[Point], name: str) -> str:
    """Say where exact curves of a panel exceed the printed bound, if they do.

    Examples
    --------
    >>> bound = points("a", "printed", [0, 2], np.array([1.0, 0.01]))
    >>> exact = points("a", "exact", [0, 1, 2], np.array([1.0, 0.2, 0.001]))
    >>> compared(RowTable((*bound, *exact)), "(a)")
    'In (a) the exact error exceeds the printed bound from x = 1 to 1, 2 times at most.'
    """
    told = []
    for kind, said in (("exact", "error"), ("lyapunov", "Lyapunov function")):
        xs, ratios = _ratios(table, kind)
        over = xs[ratios > 1 + NOTICEABLE]
        if len(over):
            most = f"{upwards(float(ratios.max())):.3g}"
            told.append(
                f"In {name} the exact {said} exceeds the printed bound from x = "
                f"{over[0]:.4g} to {over[-1]:.4g}, {most} times at most."
            )
        elif kind == "exact":
            times = f"{1 / ratios[-1]:.3g} times"
            told.append(f"In {name} the error ends {times} below the printed bound.")
    return " ".join(told)


def _ratios(table: RowTable[Point], kind: str) -> tuple[Array, Array]:
    """Return places and ratios to the printed bound of a curve that is above 0."""
    bound = table.where(kind="printed")
    rows = [row for row in table.where(kind=kind) if row.value > 0]
    xs = np.array([row.x for row in rows])
    logs = np.interp(xs, bound.column("x"), np.log(bound.column("value")))
    return xs, np.array([row.value for row in rows]) / np.exp(logs)


def upwards(value: float, digits: int = 3) -> float:
    """Round a bound up to few digits, which solvers on other machines share.

    Examples
    --------
    >>> upwards(0.0123401), upwards(2.5), upwards(0.0)
    (0.0124, 2.5, 0.0)
    """
    if value == 0:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    return float(f"{math.ceil(value / unit * (1 - 1e-12)) * unit:.12g}")


# Theorem 2 -----------------------------------------------------------------------


def theorem2_terms(setting: Setting) -> tuple[float, float, float]:
    """Return the three terms of Theorem 2 of the FOCUS paper as printed.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from flverify.participation import UniformCohort
    >>> one = Setting(((1, 1),), ((-1, 1),), UniformCohort(2, 1), 1, Fraction(1, 4))
    >>> theorem2_terms(one)
    (0.0, 0.0, 4.0)
    """
    c = constants("fedavg_theorem2", "focus.thm2")
    mu, big = setting.strong_convexity, setting.smoothness
    eta, tau, kappa = setting.step_size, setting.local_steps, big / mu
    delta = setting.mismatch
    if delta is None:
        return (float("inf"),) * 3
    both = delta + setting.heterogeneity
    drift = c["drift"] * eta**2 * kappa**2 * big ** c["drift_L"] * (tau - 1) ** 2
    bias = c["bias"] * kappa / (big * mu) ** c["bias_Lmu"] * delta
    noise = c["variance"] * eta * tau**2 / mu
    return float(drift * both), float(bias), float(noise * both)
