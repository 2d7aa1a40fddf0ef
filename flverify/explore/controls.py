"""What can be set on the page: one control for each number of a view.

The widgets hold text and places of sliders and nothing else; what they mean is read by
`View`. A control is a text field for an exact number and a slider below it, which move
together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bokeh.models import Column, InlineStyleSheet
from bokeh.models.widgets import Select, Slider, TextInput, Widget

from flverify.explore.scales import (
    Scale,
    geometric,
    hundredths,
    listed,
    whole_numbers,
)
from flverify.explore.view import MOST_LOCAL_STEPS

Changed = Callable[[str, str], object]


@dataclass(frozen=True)
class Number:
    """A number of a view.

    Parameters
    ----------
    field : str
        Its name in a view.
    word : str
        Its name on the page, with its symbol.
    scale : Scale
        What its slider reaches.
    """

    field: str
    word: str
    scale: Scale


_CLIENTS = [*range(1, 17), 20, 24, 32, 48, 64, 100]

NUMBERS = (
    Number("n_clients", "clients N", listed(_CLIENTS)),
    Number("probability", "probability p", hundredths(1, 100)),
    Number("cohort", "cohort size m", listed(_CLIENTS)),
    Number("p_min", "smallest p", hundredths(1, 100)),
    Number("p_max", "largest p", hundredths(1, 100)),
    Number("local_steps", "local steps τ", whole_numbers(1, MOST_LOCAL_STEPS)),
    Number("step_size", "step size η", geometric(-5, 1, 40)),
    Number("strong_convexity", "convexity μ", geometric(-3, 1, 20)),
    Number("smoothness", "smoothness L", geometric(-2, 2, 20)),
)


class Controls:
    """The widgets of a page.

    Parameters
    ----------
    choices : mapping from str to mapping
        For every field that is one of a list: its choices, value to label.
    words : mapping from str to str
        The names of those fields on the page.
    sheet, select_sheet : style sheets
        Of numbers, and of lists.
    changed : function
        Called with a field and its new text when the user changes it.
    """

    def __init__(
        self,
        choices: Mapping[str, Mapping[str, str]],
        words: Mapping[str, str],
        sheet: InlineStyleSheet,
        select_sheet: InlineStyleSheet,
        changed: Changed,
    ) -> None:
        self._changed = changed
        self._shown: dict[str, object] = {}
        self._selects = {
            field: Select(
                title=words[field],
                options=_pairs(options),
                value=next(iter(options)),
                name=field,
                stylesheets=[select_sheet],
                sizing_mode="stretch_width",
                margin=0,
            )
            for field, options in choices.items()
        }
        self._texts = {n.field: _text(n, sheet) for n in NUMBERS}
        self._sliders = {n.field: _slider(n, sheet) for n in NUMBERS}
        self._rows = {
            n.field: Column(
                children=[self._texts[n.field], self._sliders[n.field]],
                sizing_mode="stretch_width",
                margin=0,
                spacing=0,
            )
            for n in NUMBERS
        }
        self._connect()

    def __getitem__(self, field: str) -> Select | Column:
        """Return what stands on the page for a field."""
        return self._selects[field] if field in self._selects else self._rows[field]

    def show(self, fields: Mapping[str, str]) -> None:
        """Set widgets to texts; what is set here is told to nobody."""
        for field, text in fields.items():
            if field in self._selects:
                self._set(self._selects[field], text)
                continue
            self._set(self._texts[field], text)
            place = _SCALES[field].place(text)
            if place is not None:
                self._set(self._sliders[field], place)

    def need(self, fields: frozenset[str]) -> None:
        """Show the numbers that are needed and hide the others."""
        for field, row in self._rows.items():
            row.visible = field in fields

    def _set(self, widget: Widget, value: object) -> None:
        # kept, since a document that is held calls back later and not from here
        self._shown[widget.id] = value
        widget.update(value=value)

    def _connect(self) -> None:
        for field, select in self._selects.items():
            select.on_change("value", self._told(field, select, _as_text))
        for field, text in self._texts.items():
            text.on_change("value", self._told(field, text, _as_text))
            slider = self._sliders[field]
            slider.on_change("value", self._told(field, slider, _at))

    def _told(
        self, field: str, widget: Widget, read: Callable[[str, object], str]
    ) -> Callable[[str, object, object], None]:
        def told(_attribute: str, _old: object, new: object) -> None:
            if new != self._shown.get(widget.id):
                text = read(field, new)
                self.show({field: text})
                self._changed(field, text)

        return told


def _pairs(choices: Mapping[str, str]) -> list[Any]:
    return [(value, label) for value, label in choices.items()]


def _as_text(_field: str, value: object) -> str:
    return str(value)


_SCALES = {number.field: number.scale for number in NUMBERS}


def _at(field: str, place: object) -> str:
    """Return the text at a place of a slider, whatever a browser sends as a place."""
    texts = _SCALES[field].texts
    inside = isinstance(place, (int, float)) and 0 <= place < len(texts)
    return texts[int(place)] if inside else texts[0]  # type: ignore[call-overload]


def _text(number: Number, sheet: InlineStyleSheet) -> TextInput:
    return TextInput(
        title=number.word,
        name=number.field,
        stylesheets=[sheet],
        sizing_mode="stretch_width",
        margin=0,
        max_length=80,
    )


def _slider(number: Number, sheet: InlineStyleSheet) -> Slider:
    return Slider(
        start=0,
        end=len(number.scale.texts) - 1,
        value=0,
        step=1,
        title=None,
        show_value=False,
        tooltips=False,
        name=f"{number.field} slider",
        stylesheets=[sheet],
        sizing_mode="stretch_width",
        margin=0,
    )
