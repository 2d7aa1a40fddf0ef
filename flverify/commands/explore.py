"""`flverify explore`: the interactive step-size explorer in a browser."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

import click

from flverify._core.errors import InputError, MissingExtraError
from flverify.commands._numbers import Whole
from flverify.commands._refusals import Reporting
from flverify.explore.view import View

_HELP = """Open the step-size explorer in a browser.

QUERY is a view to begin with, as the address bar of the page shows it after the
question mark, for example

\b
flverify explore "algorithm=fedavg&n_clients=8&step_size=1/50"

The page is served on this machine alone, and asks no other machine for anything;
Ctrl-C ends it. Whoever may connect can only choose a setting: no text is evaluated.
"""


@click.command(name="explore", cls=Reporting, help=_HELP)
@click.argument("query", default="", required=False)
@click.option(
    "--port",
    type=Whole(0, 65535),
    default=5006,
    show_default=True,
    help="The port; 0 takes one that is free.",
)
@click.option(
    "--address",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on; another one lets other machines connect.",
)
@click.option(
    "--allow-origin",
    "origins",
    metavar="HOST:PORT",
    multiple=True,
    help="Another name by which browsers reach the page, which answers for no name "
    "but its own; may be repeated.",
)
@click.option(
    "--show/--no-browser", default=True, help="Open a browser at the page, or do not."
)
def command(
    query: str, port: int, address: str, origins: tuple[str, ...], show: bool
) -> None:
    """Serve until interrupted."""
    server = _server_module()
    view = _first_view(query)
    made = server.make_server(address, port, origins)
    where = server.url(made, view)
    click.echo(f"explorer at {where}")
    click.echo("Ctrl-C ends it", err=True)
    server.run(made, where if show else None)


def _first_view(query: str) -> str:
    """Return the query of the view to begin with; empty for the default.

    Raises
    ------
    InputError
        If the query is not one of a view, or the view is refused.
    """
    if not query.removeprefix("?"):
        return ""
    view = View.from_query(query)
    refused = view.refusal()
    if refused is not None:
        raise InputError(refused)
    return view.to_query()


def _server_module() -> Any:
    """Load the server; it needs an extra.

    Raises
    ------
    MissingExtraError
        If the extra is not installed.
    """
    if find_spec("panel") is None or find_spec("bokeh") is None:
        raise MissingExtraError(
            "`flverify explore` must have Panel; it is not installed; run "
            '`pip install "flverify[explorer]"`.'
        )
    return importlib.import_module("flverify.explore.server")
