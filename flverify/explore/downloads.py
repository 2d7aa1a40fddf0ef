"""A view as a file: what the server answers beside the page.

`view.png`, `view.csv` and `view.py` take the view in their query, as the page does.
Picture and table hold what pages have certified so far; nobody waits for the rest. A
file that nobody waits for any more is not begun, so that it holds up no other.
"""

from __future__ import annotations

import io
from asyncio import CancelledError, wrap_future
from concurrent.futures import Future, ThreadPoolExecutor

from tornado.web import RequestHandler

from flverify._core.errors import FlverifyError
from flverify.explore.at_the_point import require_sound
from flverify.explore.found import found_boundary, found_point
from flverify.explore.notebook import draw
from flverify.explore.slices import csv, snippet
from flverify.explore.view import View

_TYPES = {"png": "image/png", "csv": "text/csv", "py": "text/x-python"}
# one picture at a time: matplotlib's settings belong to the whole process
_PAINTER = ThreadPoolExecutor(1, thread_name_prefix="explorer-files")
_ASKED: set[Future[bytes]] = set()


class Download(RequestHandler):
    """Answers with the view of the query as a file of some kind."""

    _work: Future[bytes] | None = None

    async def get(self, kind: str) -> None:
        """Send the file, or one sentence that says why there is none."""
        try:
            view = View.from_query(self.request.query)
            self._work = asked(view, kind)
            content = await wrap_future(self._work)
        except CancelledError:  # nobody waits for an answer
            return
        except FlverifyError as error:
            self.set_status(400)
            self.set_header("Content-Type", "text/plain; charset=utf-8")
            self.finish(f"{error}\n")
            return
        self.set_header("Content-Type", f"{_TYPES[kind]}; charset=utf-8")
        self.set_header("Content-Disposition", f'attachment; filename="view.{kind}"')
        self.set_header("X-Content-Type-Options", "nosniff")
        self.finish(content)

    def on_connection_close(self) -> None:
        """Leave out what is not begun yet: its reader went away."""
        if self._work is not None:
            self._work.cancel()


def asked(view: View, kind: str) -> Future[bytes]:
    """Return the file of a view to come, after those that were asked for before."""
    work = _PAINTER.submit(made, view, kind)
    _ASKED.add(work)
    work.add_done_callback(_ASKED.discard)
    return work


def leave_out() -> None:
    """Begin none of the files that are still asked for: the server ends."""
    for work in [*_ASKED]:
        work.cancel()


def made(view: View, kind: str) -> bytes:
    """Return the file of a view.

    Parameters
    ----------
    view : View
    kind : {"png", "csv", "py"}

    Raises
    ------
    InputError
        If the view is refused.

    Examples
    --------
    >>> made(View(), "csv").splitlines()[0]
    b'table,at,quantity,value,exact,verdict'
    """
    if kind == "py":
        return snippet(view).encode()
    require_sound(view)
    slow = found_point(view), found_boundary(view)
    if kind == "csv":
        return csv(view, *slow).encode()
    sink = io.BytesIO()
    draw(view, *slow).savefig(sink, format="png", metadata={"Software": None})
    return sink.getvalue()
