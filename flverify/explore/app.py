"""The page: text from widgets to a view, tables of the view to plots.

One session is one open page. A change asks for an answer a few milliseconds later, so
that the places a slider rushes through are answered once, by the last. The answer shows
the fast tables and asks for the slow ones, which arrive with the number of their
request and are dropped if the page has moved on.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any
from urllib.parse import urlencode

import panel as pn
from bokeh.document import Document

from flverify._core.errors import FlverifyError
from flverify.explore.axis import moved
from flverify.explore.controls import NUMBERS
from flverify.explore.layers import Arrival
from flverify.explore.layout import Page
from flverify.explore.shown import Shown
from flverify.explore.view import LAW_PARAMETERS, View

SETTLE = 8  # milliseconds in which further moves are taken together
_BASE = frozenset(
    {"n_clients", "local_steps", "step_size", "strong_convexity", "smoothness"}
)


class Session:
    """One open page.

    Parameters
    ----------
    document : Document
        What the browser sees.
    query : str
        The query of the address it was opened with.
    """

    def __init__(self, document: Document, query: str) -> None:
        self._document = document
        self.page = Page(self._changed, self._clicked)
        self._shown = Shown(self.page, self._deliver)
        self._number = 0
        self._waiting = False
        self._over = False
        self._fields: dict[str, str] = _texts(View())
        self._open(query)
        document.on_session_destroyed(self._destroyed)

    def _open(self, query: str) -> None:
        said = ""
        try:
            self._fields = _texts(View.from_query(query))
        except FlverifyError as error:
            said = f"{error} The page shows its first view instead."
        self._answer(said)

    def _changed(self, field: str, text: str) -> None:
        self._fields[field] = text
        self._ask()

    def _clicked(self, value: float, step_size: float) -> None:
        view = self._view()
        if not isinstance(view, View):
            return
        try:
            there = moved(view, value, step_size)
        except FlverifyError:  # no browser sends a place outside the plot
            return
        self._fields = _texts(there)
        self._ask()

    def _ask(self) -> None:
        if not self._waiting:
            self._waiting = True
            self._document.add_timeout_callback(self._answer, SETTLE)

    def _view(self) -> View | str:
        """Return the view of the fields, or why there is none."""
        try:
            view = View.from_query(urlencode(self._fields))
        except FlverifyError as error:
            return str(error)
        return view.refusal() or view

    def _answer(self, said: str = "") -> None:
        """Show the fast tables of the newest fields, and ask for the slow ones.

        What is said stands above them.
        """
        self._waiting = False
        self._number += 1
        view = self._view()
        with self._together():
            self._show_controls()
            try:
                self._show(view, said)
            except FlverifyError as error:
                self._refuse(str(error))

    def _show(self, view: View | str, said: str) -> None:
        if isinstance(view, str):
            self._refuse(view)
            return
        self._shown.show(view)
        self._tell(said, view.to_query())

    @contextmanager
    def _together(self) -> Iterator[None]:
        """Send all changes in one message.

        Until the browser has said that it has the page, Panel would drop them in the
        belief that the page is still to be sent; Bokeh sends them one by one.
        """
        if pn.state.loaded:
            with pn.io.hold(self._document):
                yield
            return
        self._document.hold("combine")
        try:
            yield
        finally:
            self._document.unhold()

    def _show_controls(self) -> None:
        law = LAW_PARAMETERS.get(self._fields["law"], ())
        self.page.controls.show(self._fields)
        self.page.controls.need(_BASE | frozenset(law))

    def _refuse(self, reason: str) -> None:
        """Say why nothing is shown; the number it begins with is named and marked."""
        self._shown.end()
        bad = [n for n in NUMBERS if reason.startswith((f"{n.field} ", f"{n.field}: "))]
        for number in bad:
            reason = number.word + reason.removeprefix(number.field)
        fields = (number.field for number in bad)
        self._tell(reason, self.page.texts["address"].text, ["refused", *fields])

    def _tell(self, said: str, query: str, tags: Sequence[str] = ()) -> None:
        notice = self.page.texts["notice"]
        notice.text = f"<p>{html.escape(said)}</p>" if said else ""
        notice.tags = list(tags)
        # last of all: who sees it change has seen the rest change
        self.page.texts["address"].update(text=query, tags=[str(self._number)])

    def _deliver(self, arrival: Arrival) -> None:
        self._document.add_next_tick_callback(partial(self._arrived, arrival))

    def _arrived(self, arrival: Arrival) -> None:
        if not self._over:
            with self._together():
                self._shown.arrived(arrival)

    def _destroyed(self, context: Any) -> None:
        del context
        self._over = True
        self._shown.end()


def _texts(view: View) -> dict[str, str]:
    return {name: str(value) for name, value in asdict(view).items()}


def _query(arguments: Mapping[str, list[bytes]]) -> str:
    """Return the arguments of a request as a query again."""
    return urlencode([(name, v) for name, values in arguments.items() for v in values])


def page() -> None:
    """Fill the document of one session: what the server calls when a page is opened."""
    document = pn.state.curdoc
    if document is not None:
        Session(document, _query(pn.state.session_args)).page.fill(document)
