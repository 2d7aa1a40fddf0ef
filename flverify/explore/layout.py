"""Where things stand on the page: controls on the left, four results beside them."""

from __future__ import annotations

from dataclasses import dataclass, field

from bokeh.core.templates import FILE
from bokeh.document import Document
from bokeh.models import InlineStyleSheet, Model
from bokeh.models.widgets import Div
from bokeh.resources import Resources

from flverify.explore import _css, _html
from flverify.explore.controls import NUMBERS, Changed, Controls
from flverify.explore.mixing_matrices import MATRICES
from flverify.explore.plots import (
    Clicked,
    ErrorPlot,
    MatrixPlot,
    StepSizeMap,
    WeightPlot,
)
from flverify.explore.view import ALGORITHMS, LAW_WORDS, OVER
from flverify.report.style import look

OVER_WORDS = {
    "tau": "local steps τ",
    "p": "smallest p",
    "n": "clients N",
    "kappa": "condition L/μ",
}
_CHOICES = {
    "algorithm": {name: look(name).label for name in ALGORITHMS},
    "law": dict(LAW_WORDS),
    "over": {name: OVER_WORDS[name] for name in OVER},
}
_WORDS = {"algorithm": "algorithm", "law": "law", "over": "map over"}
_ORDER = ("algorithm", "law", *(number.field for number in NUMBERS), "over")
_RESULTS = (
    ("map", "Step-size map"),
    ("point", "At the point"),
    ("errors", "Error against rounds"),
    ("law_matrices", "Expected matrices and weights of the law"),
)
_PARTS = {
    "map": ("map_key", "plot_map"),
    "point": ("point_table",),
    "errors": ("errors_key", "plot_errors"),
    "law_matrices": ("law_key", "plot_matrices", "plot_weights"),
}
_PLOT_WORDS = {  # for those who do not see the pictures
    "plot_map": "picture of the step-size map; its numbers are in the CSV export",
    "plot_errors": "picture of the errors; their numbers are in the CSV export",
    "plot_matrices": "picture of the matrices; their numbers are in the CSV export",
    "plot_weights": "picture of the weights; their numbers are in the CSV export",
}
_TEXTS = ("notice", "address", "map_key", "point_table", "errors_key", "law_key")


@dataclass
class Page:
    """The widgets and plots of one page.

    Parameters
    ----------
    changed : function
        Told a field and its new text.
    clicked : function
        Told where the map was clicked.
    """

    changed: Changed
    clicked: Clicked
    controls: Controls = field(init=False)
    texts: dict[str, Div] = field(init=False)

    def __post_init__(self) -> None:
        """Make the widgets, all empty."""
        sheet = InlineStyleSheet(css=_css.WIDGET)
        select = InlineStyleSheet(css=_css.WIDGET + _css.SELECT)
        self.controls = Controls(_CHOICES, _WORDS, sheet, select, self.changed)
        text = InlineStyleSheet(css=_css.TEXT)
        self.texts = {name: _text(name, text) for name in _TEXTS}
        self.texts["address"].visible = False
        self.map = StepSizeMap(self.clicked)
        self.errors = ErrorPlot()
        self.matrices = MatrixPlot([symbol for symbol, _ in MATRICES.values()])
        self.weights = WeightPlot()

    def fill(self, document: Document) -> None:
        """Put the page into an empty document."""
        words = {number.field: number.word for number in NUMBERS}
        document.title = "flverify explorer"
        document.template = FILE.environment.from_string(_html.TEMPLATE)
        document.template_variables.update(
            scripts=_scripts(),
            page_css=_css.PAGE,
            page_js=_html.SCRIPT,
            control_words={name: {**_WORDS, **words}[name] for name in _ORDER},
            control_texts={number.field: number.scale.texts for number in NUMBERS},
            plot_words=_PLOT_WORDS,
            results=_RESULTS,
            parts=_PARTS,
        )
        with document.models.freeze():  # one look at all models, not one per root
            for name, model in self._roots().items():
                model.name = name
                document.add_root(model)

    def _roots(self) -> dict[str, Model]:
        plots = {
            "plot_map": self.map.figure,
            "plot_errors": self.errors.figure,
            "plot_matrices": self.matrices.figure,
            "plot_weights": self.weights.figure,
        }
        controls = {name: self.controls[name] for name in _ORDER}
        return {**controls, **plots, **self.texts}


def _text(name: str, sheet: InlineStyleSheet) -> Div:
    return Div(
        text="",
        name=name,
        disable_math=True,
        stylesheets=[sheet],
        sizing_mode="stretch_width",
        margin=0,
    )


def _scripts() -> list[str]:
    """Addresses on the server itself of the two libraries that the page needs."""
    libraries = Resources(mode="server", root_url="", path_versioner=None)
    libraries.components = ["bokeh", "bokeh-widgets"]
    return list(libraries.js_files)
