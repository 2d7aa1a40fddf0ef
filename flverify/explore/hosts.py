"""Names under which the explorer answers: those of its address and no others.

A page of a stranger can let its own name point to this machine and then read what is
served here as if it were its own; but the browser says by which name it asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tornado.web import Application, RequestHandler

LOCAL = ("localhost", "127.0.0.1", "[::1]")


class Stranger(RequestHandler):
    """Answers, whatever is asked, that this name is none of the server's."""

    def prepare(self) -> None:
        """Say what to do where the name is meant."""
        self.set_status(403)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(
            "The explorer answers for localhost and the address it listens on; it was "
            "asked under another name; open the address that it prints, or allow the "
            "name with --allow-origin HOST:PORT.\n"
        )


def answer_only(application: Application, names: Iterable[str]) -> None:
    """Let an application answer for some host names, whatever their port.

    Parameters
    ----------
    application : tornado.web.Application
    names : iterable of str
        IPv6 addresses in square brackets.
    """
    allowed = "|".join(re.escape(name.lower()) for name in names)
    application.add_handlers(f"(?!(?:{allowed})$).*", [(r".*", Stranger)])
