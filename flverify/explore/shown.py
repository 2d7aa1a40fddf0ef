"""Tables of a view, put before the reader: which columns go into which plot.

The fast tables are shown at once. The slow ones arrive row by row; what was found for
one view is kept for the page, since most moves leave most of it as it was.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from flverify.explore.error_curves import BAND, LARGEST, RUNS
from flverify.explore.found import map_key, point_key, remember
from flverify.explore.layers import Arrival, SlowLayer
from flverify.explore.layout import Page
from flverify.explore.mixing_matrices import MATRICES
from flverify.explore.plots import (
    CERTIFIED,
    INCLUSION,
    PRINTED,
    WEIGHT,
    Axis,
)
from flverify.explore.point_table import table
from flverify.explore.slices import (
    LABELS,
    LOGARITHMIC,
    CertifiedRow,
    PointRow,
    axis_value,
    axis_values,
    boundary,
    describe,
    errors,
    map_refusal,
    mixing,
    point,
)
from flverify.explore.slow import certify_map, certify_point
from flverify.explore.view import View
from flverify.report.style import look

_ANY = View().step_size
_KEPT = 2000  # slow rows that a page remembers
_TICKS = 12  # parts of the axis of the map, each with room for a name


@dataclass(frozen=True)
class MapAxis:
    """The values of a map, and what its rows are remembered by.

    Parameters
    ----------
    view : View
    values : tuple of Fraction
    keys : tuple
    """

    view: View
    values: tuple[Fraction, ...]
    keys: tuple[Hashable, ...]

    @classmethod
    def of(cls, view: View) -> MapAxis:
        """Read the axis of a view."""
        values = axis_values(view)
        return cls(view, values, tuple(map_key(view, v) for v in values))

    def key(self, value: Fraction) -> Hashable:
        """Return what the row of a value is remembered by."""
        return self.keys[self.values.index(value)]


_NO_AXIS = MapAxis(View(), (), ())


@dataclass
class Shown:
    """What a page shows, and the slow layers that add to it.

    Parameters
    ----------
    page : Page
    deliver : function
        Brings an arrival from its thread to the page, as `arrived`.
    """

    page: Page
    deliver: Callable[[Arrival], object]
    _kept: dict[Hashable, Any] = field(default_factory=dict)
    _view: View = field(default_factory=View)
    _axis: MapAxis = _NO_AXIS
    _last: dict[str, Any] = field(default_factory=dict)
    _point: tuple[PointRow, ...] = ()
    _colour: str = ""

    def __post_init__(self) -> None:
        """Make the slow layers."""
        self._map_layer = SlowLayer("map", certify_map, self.deliver)
        self._point_layer = SlowLayer("point", certify_point, self.deliver)

    def show(self, view: View) -> None:
        """Show the fast tables of a view and ask for the slow ones."""
        self._view = view
        self._point = point(view).rows
        self._colour = look(view.algorithm).colour
        self.page.map.colour(self._colour)
        self.page.errors.colour(self._colour)
        self._show_map()
        self._show_errors()
        self._show_law()
        self._ask()

    def end(self) -> None:
        """End the slow layers: nothing is shown, or nobody looks."""
        self._map_layer.end()
        self._point_layer.end()

    def arrived(self, arrival: Arrival) -> None:
        """Take what a slow layer found, if it answers the newest request."""
        layer = {"map": self._map_layer, "point": self._point_layer}[arrival.layer]
        if not layer.is_newest(arrival):
            return
        if arrival.layer == "map":
            self._map_arrived(arrival)
        else:
            self._point_arrived(arrival)

    # the map

    def _show_map(self) -> None:
        view, plot = self._view, self.page.map
        plot.figure.visible = map_refusal(view) is None
        if not plot.figure.visible:
            return
        rows = boundary(view).rows
        exact = _columns(rows, "value", "boundary")
        printed = _columns(rows, "value", "printed_cap")
        here = float(axis_value(view)), float(view.number("step_size"))
        named = [row.value for row in rows]
        geometric = view.over in LOGARITHMIC
        axis = Axis(LABELS[view.over], _ticks(named, geometric), geometric)
        plot.show(axis, exact, printed, here)

    def _map_arrived(self, arrival: Arrival) -> None:
        if isinstance(arrival.piece, CertifiedRow):
            row = arrival.piece
            self._keep(self._axis.key(Fraction(row.text)), row)
        self._show_certified(arrival.piece is not None, arrival.problem)

    def _show_certified(self, busy: bool, problem: str = "") -> None:
        """Show what is known of the certified boundary, and what is awaited."""
        values = self._axis.values
        rows = [self._kept.get(key) for key in self._axis.keys]
        found = [row for row in rows if row is not None]
        self.page.map.show_certified(
            _columns([r for r in found if r.certified > 0], "value", "certified"),
            _columns([r for r in found if r.stable < math.inf], "value", "stable"),
        )
        with_one = sum(row.certified > 0 for row in found)
        state = f"{with_one} of {len(values)} certified"
        if busy:
            state = _busy(f"{len(found)} of {len(values)} certified")
        remarks = sorted({row.remark for row in found if row.remark})
        word = "printed cap" if self.page.map.printed.data["x"] else "no printed cap"
        self.page.texts["map_key"].text = _keys(
            ("stable below, curvatures μ, L, some between", self._colour, "solid"),
            (word, PRINTED, "dashed"),
            ("certified", CERTIFIED, "solid"),
        ) + _small(state, *(html.escape(text) for text in (*remarks[:1], problem)))

    # at the point

    def _point_arrived(self, arrival: Arrival) -> None:
        if isinstance(arrival.piece, tuple):
            self._keep(self._point_key(), arrival.piece)
        if arrival.piece is None or self._point_key() in self._kept:
            self._show_point(busy=False, problem=arrival.problem)

    def _show_point(self, busy: bool, problem: str = "") -> None:
        slow = self._kept.get(self._point_key(), ())
        note = _busy("certifying at the point") if busy else html.escape(problem)
        self.page.texts["point_table"].text = table(self._point, slow, note)

    def _point_key(self) -> Hashable:
        return point_key(self._view)

    # error against rounds

    def _show_errors(self) -> None:
        rows = errors(self._view).rows
        bound = _columns(rows, "round", "printed")
        band = [row for row in rows if math.isfinite(row.upper)]
        self.page.errors.show(
            _columns(rows, "round", "exact"),
            {
                "x": [row.round for row in band],
                "low": [row.lower for row in band],
                "high": [row.upper for row in band],
            },
            bound,
        )
        low, high = (f"{100 * end:g}" for end in BAND)
        word = "printed bound" if bound["x"] else "no printed bound"
        # of a curve that leaves the plot at once nothing is drawn
        gone = f", above {LARGEST:.0e} in round 1".replace("+", "")
        self.page.texts["errors_key"].text = _keys(
            (f"exact{gone if len(rows) == 1 else ''}", self._colour, "solid"),
            (f"{RUNS} runs, {low} to {high} %", f"{self._colour}55", "solid"),
            (word, PRINTED, "dashed"),
        ) + _small(html.escape(describe(self._view)))

    # the law

    def _show_law(self) -> None:
        found = mixing(self._view)
        if self._last.get("law") is found:
            return
        self._last["law"] = found
        self.page.matrices.show([found.matrix(name) for name in MATRICES])
        self.page.weights.show(
            [bar.inclusion for bar in found.weights],
            [bar.averaging for bar in found.weights],
        )
        self.page.texts["law_key"].text = _keys(
            ("inclusion p_i, left axis", INCLUSION, "solid"),
            ("averaging weight q_i, right axis", WEIGHT, "solid"),
        ) + _small("white 0, dark 1; first row: the server")

    # slow layers

    def _ask(self) -> None:
        view = self._view
        if map_refusal(view) is None:
            self._ask_map(view)
        else:
            self._map_layer.end()
            self._axis = _NO_AXIS
            reason = html.escape(str(map_refusal(view)))
            self.page.texts["map_key"].text = f"<p>{reason}</p>"
        known = self._point_key() in self._kept
        if known:
            self._point_layer.end()
        else:
            self._point_layer.ask(view, self._point_key())
        self._show_point(busy=not known)

    def _ask_map(self, view: View) -> None:
        whole = replace(view, step_size=_ANY)  # which plays no role for the map
        if self._axis.keys and whole == self._axis.view and not self._missing():
            return
        self._axis = MapAxis.of(whole)
        missing = self._missing()
        if missing:
            middle = axis_value(view)
            missing.sort(key=lambda value: abs(math.log(value / middle)))
            self._map_layer.ask((view, tuple(missing)), self._axis.keys)
        else:
            self._map_layer.end()
        self._show_certified(busy=bool(missing))

    def _missing(self) -> list[Fraction]:
        pairs = zip(self._axis.values, self._axis.keys, strict=True)
        return [value for value, key in pairs if key not in self._kept]

    def _keep(self, key: Hashable, found: object) -> None:
        self._kept[key] = found
        remember(key, found)
        while len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]


def _columns(rows: Sequence[Any], x: str, y: str) -> dict[str, list[float]]:
    """Return two columns of the rows whose second one is a number."""
    pairs = [(getattr(row, x), getattr(row, y)) for row in rows]
    kept = [(a, b) for a, b in pairs if math.isfinite(b)]
    return {"x": [a for a, _ in kept], "y": [b for _, b in kept]}


def _ticks(values: Sequence[float], geometric: bool) -> tuple[float, ...]:
    """Return values that are far enough apart to be named, the last among them."""
    places = [math.log(v) if geometric else v for v in values]
    apart = (places[-1] - places[0]) / _TICKS
    kept = [len(values) - 1]
    for k in reversed(range(len(values) - 1)):
        if places[kept[-1]] - places[k] >= apart:
            kept.append(k)
    return tuple(values[k] for k in reversed(kept))


def _keys(*lines: tuple[str, str, str]) -> str:
    """Return a legend: words, colours, and kinds of lines; p_i has an index."""
    return "".join(
        f'<span class="key"><i style="border-top-color:{colour};'
        f'border-top-style:{kind}"></i>'
        f"{html.escape(word).replace('_i', '<sub>i</sub>')}</span>"
        for word, colour, kind in lines
    )


def _busy(text: str) -> str:
    return f'<span class="busy" role="status">{html.escape(text)}</span>'


def _small(*parts: str) -> str:
    return f'<span class="small">{"; ".join(part for part in parts if part)}</span>'
