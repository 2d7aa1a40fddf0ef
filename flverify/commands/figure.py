"""`flverify figure`: draw a printed figure."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from click.core import ParameterSource

from flverify._core.errors import InputError
from flverify.commands._options import AS_JSON
from flverify.commands._refusals import Reporting
from flverify.report import console
from flverify.report.envelope import envelope
from flverify.report.figures import find_titles, load_figure, make
from flverify.report.style import FORMATS

DRAWING = ("file", "out", "kind", "quick", "stored")  # what only a drawing can be told


@click.command(name="figure", cls=Reporting)
@click.argument("name", required=False)
@click.option(
    "--file",
    metavar="FILE.py",
    type=click.Path(path_type=Path),
    help="A figure of your own instead of a NAME.",
)
@click.option("--list", "listing", is_flag=True, help="List the figures instead.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Folder for the files, the current one by default.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    show_default=True,
    help="Format of the picture.",
)
@click.option("--quick", is_flag=True, help="A small problem of the same kind.")
@click.option("--stored", is_flag=True, help="Draw the table that is shipped.")
@AS_JSON
@click.pass_context
def command(
    context: click.Context,
    name: str | None,
    file: Path | None,
    listing: bool,
    out: Path,
    kind: str,
    quick: bool,
    stored: bool,
    as_json: bool,
) -> None:
    """Compute a figure's table, draw it, and write table, picture and caption."""
    if listing == (name is not None or file is not None):
        raise InputError(
            "one of a figure's NAME, --file and --list must be given; got "
            f"{'both' if listing else 'neither'}; see `flverify figure --help`."
        )
    if file is not None:
        _require_lone(name, stored)
        name = file.stem
    if name is None:
        _refuse_drawing(context)
        _list(as_json)
        return
    title = load_figure(name, file).TITLE
    with console.progress(f"figure {name}", 1) as begin:
        begin("computing and drawing")
        written = make(name, out, kind, quick, stored, file)
    if as_json:
        click.echo(envelope("figure", name=name, title=title, files=written))
        return
    console.line(title)
    for path in written:
        click.echo(f"wrote {path}")


def _require_lone(name: str | None, stored: bool) -> None:
    """Refuse what a figure of one's own has not: a shipped name, a shipped table."""
    if name is not None or stored:
        given = f"NAME {name}" if name is not None else "--stored"
        raise InputError(
            f"--file must be given without a shipped figure's NAME and without "
            f"--stored; got {given} too; leave one out."
        )


def _refuse_drawing(context: click.Context) -> None:
    """Refuse what a list would ignore."""
    given = [
        option.opts[0]
        for option in context.command.params
        if option.name in DRAWING
        and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise InputError(
            f"--list must stand alone or with --json; got {', '.join(given)} too; "
            "leave out one or the other."
        )


def _list(as_json: bool) -> None:
    titles = find_titles()
    if as_json:
        rows = [{"name": name, "title": title} for name, title in titles.items()]
        click.echo(envelope("figures", figures=rows))
    elif console.is_terminal(sys.stdout):
        console.table(("figure", "title"), list(titles.items()))
    else:  # one line each, however long, for grep and cut
        width = max(map(len, titles), default=0)
        for name, title in titles.items():
            click.echo(f"{name:<{width}}  {title}")
