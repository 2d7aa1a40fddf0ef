"""The plots of the page: they hold the last table and change in place.

Nothing is computed here but the place of a point on a screen. A plot is made once, and
a new table replaces the data behind its lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import Any

import numpy as np
from bokeh.events import Tap
from bokeh.models import (
    BasicTicker,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    InlineStyleSheet,
    LinearAxis,
    LinearColorMapper,
    Range1d,
    TapTool,
)
from bokeh.plotting import figure

INK, SOFT, GRID = "#1b1f24", "#57606a", "#e4e7eb"
CERTIFIED, PRINTED, POINT = "#4b2e83", "#595959", "#d6006c"
INCLUSION, WEIGHT = "#e69f00", "#0072b2"
SIDE_BY_SIDE = 30  # clients up to which p and q have bars of their own
CAP = 0.05  # part of the largest p that is drawn of it otherwise, above the bar of q
ROOM = (0.8, 1.25)  # left free below and above
FLOOR = 1e-30  # errors below are rounding
APART = 1.14  # from one matrix to the next
BLUES = tuple(
    f"#{round(247 - 239 * t):02x}{round(251 - 203 * t):02x}{round(255 - 148 * t):02x}"
    for t in [(k / 255) ** 0.5 for k in range(256)]  # small entries are seen too
)
_SHEET = ":host { width: 100%; height: 100%; }"

Columns = Mapping[str, Sequence[Any]]
Clicked = Callable[[float, float], object]


@dataclass(frozen=True)
class Axis:
    """The horizontal axis of a map.

    Parameters
    ----------
    label : str
        Word and symbol.
    ticks : tuple of floats
        Values that are named.
    geometric : bool
        Whether equal ratios are equal distances.
    """

    label: str
    ticks: tuple[float, ...]
    geometric: bool

    def place(self, value: float) -> float:
        """Return where a value lies on the screen."""
        return log10(value) if self.geometric else value

    def value(self, place: float) -> float:
        """Return the value at a place of the screen."""
        return float(10**place) if self.geometric else place


def new_figure(**settings: Any) -> Any:
    """Return an empty figure that fills its box, with no toolbar."""
    made = figure(
        toolbar_location=None,
        sizing_mode="stretch_both",
        min_border=4,
        tools="",
        stylesheets=[InlineStyleSheet(css=_SHEET)],
        output_backend="canvas",
        **settings,
    )
    made.outline_line_color = GRID
    for axis in (*made.xaxis, *made.yaxis):
        _soften(axis)
    for grid in (*made.xgrid, *made.ygrid):
        grid.grid_line_color = GRID
    return made


def _soften(axis: Any) -> None:
    axis.axis_label_text_font_style = "normal"
    axis.axis_label_text_font_size = "12px"
    axis.major_label_text_font_size = "11px"
    axis.axis_label_text_color = INK
    axis.axis_line_color = SOFT
    axis.minor_tick_line_color = None
    axis.axis_label_standoff = 3


def _wholes() -> BasicTicker:
    """Return ticks at whole numbers alone, as rounds and clients are."""
    return BasicTicker(min_interval=1, num_minor_ticks=0)


def source(name: str, *columns: str) -> ColumnDataSource:
    """Return named columns that a plot can draw, all empty."""
    return ColumnDataSource({column: [] for column in columns}, name=name)


def decades(values: Sequence[float]) -> tuple[float, float]:
    """Return whole decades that hold all positive finite values, and at least three.

    Fewer have ticks so close together that their names overlap; two may be taken for
    fewer, as 1 to 1/100 is not two decades in floats.

    Examples
    --------
    >>> decades([0.02, 3.0, float("inf")])
    (0.01, 10.0)
    >>> decades([2.0])
    (0.01, 10.0)
    """
    exponents = [log10(v) for v in values if isfinite(v) and v > 0] or [0.0]
    low, high = floor(min(exponents)), ceil(max(exponents))
    return 10.0 ** min(low, high - 3), 10.0**high


class StepSizeMap:
    """Step size against another parameter; a click is told to the page.

    Parameters
    ----------
    clicked : function
        Takes the value on the horizontal axis and the step size.
    """

    def __init__(self, clicked: Clicked) -> None:
        self._axis = Axis("", (1.0,), geometric=False)
        self.figure = new_figure(
            y_axis_type="log",
            x_range=Range1d(start=0, end=1),
            y_range=Range1d(start=1e-3, end=1),
            y_axis_label="step size η",
            x_axis_label=" ",
        )
        self.stable = source("stable", "x", "low", "high")
        self.exact = source("stability boundary", "x", "y", "value")
        self.printed = source("printed cap", "x", "y", "value")
        self.certified = source("certified boundary", "x", "y", "value")
        self.searched = source("searched boundary", "x", "y", "value")
        self.point = source("current point", "x", "y")
        # one ticker for ever: another model would have all models counted again
        self._ticker = FixedTicker(ticks=[], minor_ticks=[])
        self.figure.xaxis.ticker = self._ticker
        self._draw()
        self.figure.add_tools(TapTool())
        self.figure.on_event(Tap, lambda event: self._tell(clicked, event))

    def show(
        self,
        axis: Axis,
        exact: Columns,
        printed: Columns,
        point: tuple[float, float],
    ) -> None:
        """Show a boundary: columns `x` (values on the axis) and `y` (step sizes)."""
        if axis != self._axis:
            self._set_axis(axis)
        low, high = decades([r * v for v in (*exact["y"], point[1]) for r in ROOM])
        low = min(low, *decades([*printed["y"], point[1]]))
        self.figure.y_range.update(start=low, end=high)
        places = [axis.place(value) for value in exact["x"]]
        ends = [*places, axis.place(point[0])]
        margin = 0.03 * ((max(ends) - min(ends)) or 1.0)
        self.figure.x_range.update(start=min(ends) - margin, end=max(ends) + margin)
        self.stable.data = {"x": places, "low": [low] * len(places), "high": exact["y"]}
        self.exact.data = self._columns(exact)
        self.printed.data = self._columns(printed)
        self.point.data = {"x": [axis.place(point[0])], "y": [point[1]]}

    def _set_axis(self, axis: Axis) -> None:
        self._axis = axis
        self._ticker.ticks = [axis.place(tick) for tick in axis.ticks]
        self.figure.xaxis.axis_label = axis.label
        self.figure.xaxis.major_label_overrides = {
            axis.place(tick): f"{tick:g}" for tick in axis.ticks
        }

    def colour(self, colour: str) -> None:
        """Give what is exact the colour of its algorithm."""
        self._exact_line.line_color = colour

    def show_certified(self, certified: Columns, searched: Columns) -> None:
        """Show the certified and the thoroughly searched boundary, which come later."""
        self.certified.data = self._columns(certified)
        self.searched.data = self._columns(searched)

    def _columns(self, columns: Columns) -> dict[str, Any]:
        places = [self._axis.place(value) for value in columns["x"]]
        return {"x": places, "y": list(columns["y"]), "value": list(columns["x"])}

    def _draw(self) -> None:
        made = self.figure
        made.varea("x", "low", "high", source=self.stable, color="#009e73", alpha=0.13)
        exact = made.line("x", "y", source=self.exact, width=2.5)
        self._exact_line = exact.glyph
        printed = made.line(
            "x", "y", source=self.printed, color=PRINTED, width=2, line_dash=[6, 3]
        )
        certified = made.scatter(
            "x", "y", source=self.certified, color=CERTIFIED, size=8, marker="diamond"
        )
        made.line("x", "y", source=self.certified, color=CERTIFIED, width=1)
        made.scatter(
            "x", "y", source=self.point, size=13, line_color=POINT, line_width=3,
            fill_color="white", marker="circle", name="point",
        )  # fmt: skip
        made.scatter("x", "y", source=self.searched, color=INK, size=5, marker="circle")
        words = {"stable below": exact, "printed cap": printed}
        for word, drawn in {**words, "certified": certified}.items():
            tips = [(word, "@y{0.0000g}")]
            made.add_tools(HoverTool(renderers=[drawn], tooltips=tips))

    def _tell(self, clicked: Clicked, event: Any) -> None:
        inside = self.figure.x_range.start <= (event.x or 0) <= self.figure.x_range.end
        if event.x is not None and event.y is not None and inside:
            clicked(self._axis.value(event.x), event.y)


class ErrorPlot:
    """Mean squared error against rounds: exact, sampled, printed."""

    def __init__(self) -> None:
        self.figure = new_figure(
            y_axis_type="log",
            x_range=Range1d(start=0, end=1),
            y_range=Range1d(start=1e-6, end=1),
            y_axis_label="error E|x − x*|²",
            x_axis_label="round r",
        )
        self.figure.xaxis.ticker = _wholes()
        self.band = source("band", "x", "low", "high")
        self.exact = source("exact error", "x", "y")
        self.bound = source("printed bound", "x", "y")
        made = self.figure
        band = made.varea("x", "low", "high", source=self.band, alpha=0.2)
        self._band = band.glyph
        made.line("x", "y", source=self.bound, color=PRINTED, width=2,
                  line_dash=[6, 3])  # fmt: skip
        drawn = made.line("x", "y", source=self.exact, width=2.5)
        self._exact_line = drawn.glyph
        tips = [("round", "@x"), ("exact", "@y{0.000e+0}")]
        made.add_tools(HoverTool(renderers=[drawn], tooltips=tips, mode="vline"))

    def colour(self, colour: str) -> None:
        """Give what belongs to the algorithm its colour."""
        self._exact_line.line_color = colour
        self._band.fill_color = colour

    def show(self, exact: Columns, band: Columns, bound: Columns) -> None:
        """Show columns `x` and `y`; of the band `x`, `low` and `high`."""
        shown = [*exact["y"], *band["low"], *band["high"]]
        low, high = decades([v for v in shown if v > FLOOR])
        self.figure.y_range.update(start=low, end=high)
        self.figure.x_range.update(start=0, end=max([1, *exact["x"]]))
        self.exact.data = dict(exact)
        self.band.data = dict(band)
        self.bound.data = dict(bound)


class MatrixPlot:
    """Three matrices side by side, light for 0 and dark for 1."""

    def __init__(self, names: Sequence[str]) -> None:
        self.figure = new_figure(
            x_range=Range1d(start=-0.02, end=len(names) * APART - 0.06),
            y_range=Range1d(start=-0.02, end=1.22),
            match_aspect=True,
        )
        self.figure.axis.visible = False
        self.figure.grid.visible = False
        self.figure.outline_line_color = None
        self._places = [APART * k for k in range(len(names))]
        self.shown = source("matrices", "image", "x", "name")
        self.mapper = LinearColorMapper(palette=BLUES, low=0, high=1)
        drawn = self.figure.image(
            "image", "x", 0, 1, 1, source=self.shown, color_mapper=self.mapper
        )
        self.figure.rect(  # else zeros at an edge look like no matrix
            [p + 0.5 for p in self._places], 0.5, 1, 1,
            fill_alpha=0, line_color="#afb8c1", line_width=1,
        )  # fmt: skip
        titles = ColumnDataSource({"x": [p + 0.5 for p in self._places], "name": names})
        self.figure.text(
            "x", 1.03, text="name", source=titles, text_align="center",
            text_font_size="13px", text_color=INK,
        )  # fmt: skip
        tips = [("matrix", "@name"), ("entry", "@image{0.0000}")]
        self.figure.add_tools(HoverTool(renderers=[drawn], tooltips=tips))
        self._names = list(names)

    def show(self, matrices: Sequence[Any]) -> None:
        """Show matrices, first row on top."""
        images = [np.flipud(np.asarray(m, dtype=np.float32)) for m in matrices]
        self.shown.data = {"image": images, "x": self._places, "name": self._names}


class WeightPlot:
    """Inclusion probabilities and averaging weights of every client, as bars.

    Each have an axis of their own: weights sum to 1 at most, so that many are small.
    """

    def __init__(self) -> None:
        self.figure = new_figure(
            x_range=Range1d(start=0.5, end=1.5),
            y_range=Range1d(start=0, end=1),
            x_axis_label="client i",
            y_axis_label="pᵢ",
        )
        self.figure.xaxis.ticker = _wholes()
        self.figure.extra_y_ranges = {"q": Range1d(start=0, end=1)}
        right = LinearAxis(y_range_name="q", axis_label="qᵢ")
        _soften(right)
        self.figure.add_layout(right, "right")
        columns = ("client", "left", "right", "width", "low", "zero", "p", "q")
        self.shown = source("weights", *columns)
        bars = {"q": ("right", "zero", WEIGHT, "q"), "p": ("left", "low", INCLUSION)}
        for column, (place, bottom, colour, *scale) in bars.items():
            drawn = self.figure.vbar(
                place, "width", column, bottom, source=self.shown, color=colour,
                line_color=None, y_range_name=(*scale, "default")[0],
            )  # fmt: skip
            tips = [("client", "@client"), (f"{column}ᵢ", f"@{column}{{0.00000}}")]
            self.figure.add_tools(HoverTool(renderers=[drawn], tooltips=tips))
        self.figure.xgrid.visible = False

    def show(self, inclusion: Sequence[float], weights: Sequence[float]) -> None:
        """Show one pair of bars for each client."""
        clients = list(range(1, len(inclusion) + 1))
        self.figure.x_range.update(start=0.4, end=len(clients) + 0.6)
        few = len(clients) <= SIDE_BY_SIDE
        shift, width = (0.2, 0.38) if few else (0.0, 0.9)
        right = self.figure.extra_y_ranges["q"]
        for scale, values in ((self.figure.y_range, inclusion), (right, weights)):
            scale.update(end=max(values) * 1.08 or 1)
        self.shown.data = {
            "client": clients,
            "left": [c - shift for c in clients],
            "right": [c + shift for c in clients],
            "width": [width] * len(clients),
            "low": [0 if few else max(p - CAP * max(inclusion), 0) for p in inclusion],
            "zero": [0] * len(clients),
            "p": list(inclusion),
            "q": list(weights),
        }
