"""The explorer's slices as one matplotlib figure, for Jupyter and for files."""

from __future__ import annotations

import io
import math
import re
import textwrap
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.ticker import MaxNLocator

from flverify._core.errors import InputError
from flverify.explore.at_the_point import PointRow, point, require_sound
from flverify.explore.axis import (
    LABELS,
    LOGARITHMIC,
    axis_value,
    map_refusal,
)
from flverify.explore.certified import (
    CertifiedRow,
    certified_boundary,
    certified_point,
)
from flverify.explore.error_curves import BAND, RUNS, errors
from flverify.explore.instance import describe
from flverify.explore.mixing_matrices import MATRICES, Mixing, mixing
from flverify.explore.stability_map import boundary
from flverify.explore.view import LAW_PARAMETERS, LAW_WORDS, View
from flverify.report.rows import RowTable
from flverify.report.style import PAGE, house_style, look

STABLE = "stable below (curvatures μ, L, some between)"
HEIGHT = 7.4  # inches
# no algorithm is drawn in these
CERTIFIED, PRINTED, POINT = "#4B2E83", "0.35", "#D6006C"
INCLUSION, AVERAGING = "#E69F00", "#0072B2"
SIDE_BY_SIDE = 30  # clients up to which p and q have bars of their own
CAP = 0.05  # part of the largest p that is drawn of it otherwise, above the bar of q
REACH = 100.0  # least ratio of the ends of a logarithmic axis
_LISTED = (
    "exact_rate",
    "certified_rate",
    "printed_rate",
    "printed_cap",
    "instance_rate",
    "bias",
    "stationary_error",
)
_PLAIN = {
    r"\tfrac": r"\frac",
    r"\text": r"\mathrm",
    r"\big": "",
    r"\top": r"\mathsf{T}",
    "for the class": r"for\ the\ class",
}
_PARAMETERS = {
    "probability": "$p$",
    "cohort": "$m$",
    "p_min": r"$p_{\min}$",
    "p_max": r"$p_{\max}$",
}
VERDICTS = {
    "PROVED": "#00664B",
    "CERTIFIED": "#009E73",
    "SUPPORTED": "#0072B2",
    "REFUTED": "#B03A00",
    "INCONCLUSIVE": "#7F6A00",
}


class Picture(Figure):
    """A figure that a notebook shows although no window system knows of it."""

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png")
        return stream.getvalue()


def show(view: View | None = None, *, certified: bool = False, **fields: Any) -> Figure:
    """Draw the slices of a view: map, point, errors, mixing matrices and weights.

    Parameters
    ----------
    view : View, optional
        The default view without it.
    certified : bool
        Whether to wait for the slow layers, which takes some seconds.
    **fields
        Fields of the view that differ, by name.

    Returns
    -------
    figure : matplotlib Figure
        Shown by Jupyter by itself; savefig writes it to a file.

    Raises
    ------
    InputError
        If a field does not exist, lies outside its domain, or does not go with the
        others.

    Examples
    --------
    >>> figure = show(algorithm="fedavg", step_size="1/8", over="kappa")
    >>> len(figure.axes)
    8
    """
    unknown = [name for name in fields if name not in View.__dataclass_fields__]
    if unknown:
        raise InputError(
            f"a view has {', '.join(View.__dataclass_fields__)}; got {unknown[0]!r}; "
            "choose among them."
        )
    seen = View() if view is None else view
    if isinstance(seen, View):
        seen = replace(seen, **fields)
    require_sound(seen)
    if not certified:
        return draw(seen)
    along = None if map_refusal(seen) else certified_boundary(seen)
    return draw(seen, certified_point(seen), along)


def draw(
    view: View,
    at_point: RowTable[PointRow] | None = None,
    along: RowTable[CertifiedRow] | None = None,
) -> Figure:
    """Draw a view, with those tables of the slow layers that are known.

    Parameters
    ----------
    view : View
    at_point, along : tables of the slow layers, optional
        At the point, and along the axis of the map, perhaps not yet everywhere.

    Raises
    ------
    InputError
        If the view is refused.
    """
    require_sound(view)
    with house_style():
        figure = Picture(figsize=(PAGE, HEIGHT))
        above, below = _places(figure)
        _map(figure.add_subplot(above[0]), view, along)
        _errors(figure.add_subplot(above[1]), view)
        _table(figure.add_axes((0.08, 0.32, 0.905, 0.2)), view, at_point)
        found = mixing(view)
        for k, name in enumerate(MATRICES):
            _matrix(figure.add_subplot(below[k]), found, name)
        _weights(figure.add_subplot(below[3]), found)
    return figure


def _places(figure: Figure) -> tuple[GridSpec, GridSpec]:
    """Places of the two plots above, and of matrices and bars below."""
    ends: dict[str, Any] = {"figure": figure, "right": 0.985}
    above = GridSpec(1, 2, left=0.1, top=0.96, bottom=0.68, wspace=0.24, **ends)
    ends["right"] = 0.91  # the bars have an axis on either side
    below = GridSpec(1, 4, left=0.075, top=0.235, bottom=0.065, wspace=0.5, **ends)
    return above, below


def _map(ax: Axes, view: View, along: RowTable[CertifiedRow] | None) -> None:
    """Draw step sizes against the axis, and the point."""
    refused = map_refusal(view)
    ax.set_title("stable, certified and printed step sizes")
    if refused is not None:
        ax.set_axis_off()
        ax.text(0.5, 0.5, textwrap.fill(refused, 40), ha="center", va="center")
        return
    rows, here = boundary(view), look(view.algorithm)
    x = rows.column("value")
    stable = np.array(rows.column("boundary"))
    step = float(view.number("step_size"))
    ax.set_yscale("log")
    if view.over in LOGARITHMIC:
        ax.set_xscale("log")
    ax.plot(x, _finite(stable), **here.line, label=STABLE)
    caps = _finite(np.array(rows.column("printed_cap")))
    if np.isfinite(caps).any():
        ax.plot(x, caps, color=PRINTED, linestyle="--", label="printed cap")
    if along is not None:
        _certified(ax, along, len(rows.rows))
    own = float(axis_value(view))
    ax.plot([own], [step], "o", color=POINT, markersize=6, label="this point")
    ax.set_xlabel(LABELS[view.over])
    ax.set_ylabel(r"step size $\eta$")
    _decades(ax)
    _legend(ax)


def _certified(ax: Axes, along: RowTable[CertifiedRow], places: int) -> None:
    """Draw certified step sizes, and say where some are still to come."""
    proved = _finite(np.array(along.column("certified")))
    known = len(along.rows)
    label = "certified up to" + (f" ({known} of {places})" if known < places else "")
    style: dict[str, Any] = {"color": CERTIFIED, "markersize": 4, "label": label}
    ax.plot(along.column("value"), proved, "D", **style)


def _decades(ax: Axes) -> None:
    """Give a logarithmic axis room for two decades, so that its ticks stay short."""
    low, high = ax.get_ylim()
    room = max(1.0, (REACH / (high / low)) ** 0.5)
    ax.set_ylim(low / room, high * room)


def _legend(ax: Axes) -> None:
    ax.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, borderaxespad=0.0
    )


def _finite(values: Any) -> Any:
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def _errors(ax: Axes, view: View) -> None:
    rows, here = errors(view), look(view.algorithm)
    r = rows.column("round")
    label = f"{BAND[0]:.0%} to {BAND[1]:.0%} of {RUNS} runs"
    lower, upper = rows.column("lower"), rows.column("upper")
    ax.fill_between(r, lower, upper, color=here.colour, alpha=0.2, lw=0, label=label)
    ax.plot(r, rows.column("exact"), **here.line, label="exact mean")
    bound = rows.column("printed")
    if not all(math.isnan(v) for v in bound):
        ax.plot(r, bound, color=PRINTED, linestyle="--", label="printed bound")
    ax.set_yscale("log")
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.set_xlabel(r"round $r$")
    ax.set_ylabel(r"error $\mathbb{E}|x_r-x^\star|^2$")
    ax.set_title(describe(view).partition(";")[0])
    _decades(ax)
    _legend(ax)


def _table(ax: Axes, view: View, at_point: RowTable[PointRow] | None) -> None:
    """Write the quantities at the point, each with its verdict and formula."""
    ax.set_axis_off()
    ax.set_title(_heading(view), fontweight="bold", pad=8)
    rows = {row.name: row for row in (*point(view), *(at_point or ()))}
    listed = [rows[name] for name in _LISTED if name in rows]
    columns = ((0.33, "value", "right"), (0.47, "rounds to 1e-6", "right"))
    for x, word, side in (*columns, (0.50, "verdict", "left")):
        ax.text(x, 0.97, word, ha=side, color="0.35")
    for y, row in zip(np.linspace(0.82, 0.0, len(_LISTED)), listed, strict=False):
        rounds = rows.get(row.name.replace("rate", "rounds"), row)
        ax.text(0.0, y, row.label)
        ax.text(0.33, y, row.text, ha="right", fontweight="bold")
        ax.text(0.47, y, rounds.text if rounds is not row else "", ha="right")
        ax.text(0.50, y, row.verdict, color=VERDICTS.get(row.verdict, "0.4"))
        ax.text(0.65, y, f"${_plain(row.formula)}$")


def _plain(formula: str) -> str:
    """Write a formula in what matplotlib's own mathematics knows."""
    for known, plain in _PLAIN.items():
        formula = formula.replace(known, plain)
    return re.sub(r"\\(le|ge)(?![a-z])", r"\\\1q", formula)


def _heading(view: View) -> str:
    law = [
        f"{_PARAMETERS[name]} = {getattr(view, name)}"
        for name in LAW_PARAMETERS[view.law]
    ]
    settings = (
        f"N = {view.n_clients}",
        ", ".join([f"law: {LAW_WORDS[view.law]}", *law]),
        rf"$\mu$ = {view.strong_convexity}",
        f"L = {view.smoothness}",
        rf"$\tau$ = {view.local_steps}",
        rf"$\eta$ = {view.step_size}",
    )
    return f"{look(view.algorithm).label} at {', '.join(settings)}"


def _matrix(ax: Axes, found: Mixing, name: str) -> None:
    symbol, word = MATRICES[name]
    values = np.array(found.matrix(name))
    most = float(values.max())
    ax.imshow(values, cmap="Blues", vmin=0, vmax=most)
    ax.set_title(f"{symbol}, {word}, 0 to {most:.3g}")
    ax.set_xlabel("from node")
    ax.grid(visible=False)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(4, integer=True))
    if name == next(iter(MATRICES)):
        ax.set_ylabel("node (0 the server)")
    if len(values) <= 5:
        for (i, j), v in np.ndenumerate(values):
            colour = "white" if v > 0.6 * most else "black"
            ax.text(j, i, f"{v:.2g}", ha="center", va="center", color=colour, size=5)


def _weights(ax: Axes, found: Mixing) -> None:
    clients = np.array([w.client for w in found.weights])
    right = ax.twinx()  # weights of many clients are small beside probabilities
    p = np.array([w.inclusion for w in found.weights])
    q = [w.averaging for w in found.weights]
    few = len(clients) <= SIDE_BY_SIDE
    shift, width = (0.2, 0.4) if few else (0.0, 1.0)
    low = 0 * p if few else np.maximum(p - CAP * max(p), 0)
    ax.bar(clients - shift, p - low, width, low, color=INCLUSION)
    right.bar(clients + shift, q, width, color=AVERAGING)
    for one, values in ((ax, p), (right, q)):
        one.set_ylim(0, 1.05 * max(values) or 1)
        one.grid(visible=False)
    ax.set_zorder(right.get_zorder() + 1)
    ax.patch.set_visible(False)
    ax.set_title(r"$p_i$ orange, $q_i$ blue")
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.set_xlabel(r"client $i$")
    ax.set_ylabel(r"$p_i$", labelpad=2)
    right.set_ylabel(r"$q_i$", labelpad=2)
