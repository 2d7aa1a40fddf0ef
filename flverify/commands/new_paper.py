"""`flverify new-paper`: a file of one's own claims, to start from."""

from __future__ import annotations

import keyword
import sys
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import click

from flverify._core.errors import InputError
from flverify._core.sources import PAPERS
from flverify.commands._refusals import Reporting
from flverify.report import console
from flverify.report.envelope import envelope
from flverify.report.files import require_writable, write_whole

TEMPLATE, PLACEHOLDER = "paper_template.py", "my_paper"
# the bibliography's papers, a page of the report, and modules that the file would hide
TAKEN = {*PAPERS, "index", "flverify", *sys.stdlib_module_names}

_HELP = """Write NAME.py, a file of claims of your own, to start from.

\b
flverify new-paper my_paper
flverify audit my_paper.py --update-ledger
flverify show my_paper.theorem1 --file my_paper.py

The file holds two worked claims, each with a twin that must be refuted: an identity
that is proved and a theorem judged on exact moments. NAME is an identifier of Python
and the beginning of the claims' ids. A file that exists is not overwritten.
"""


@click.command(name="new-paper", cls=Reporting, help=_HELP)
@click.argument("name")
@click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Where the file goes; the current folder by default.",
)
@click.option("--json", "as_json", is_flag=True, help="Say what was written in JSON.")
def command(name: str, out: Path, as_json: bool) -> None:
    """Check the name, write the file whole, say what to do next."""
    path = out / f"{_identifier(name)}.py"
    _require_new(path)
    _require_no_module(name)
    write_whole(path, text(name))
    if as_json:
        click.echo(envelope("new-paper", files=[str(path)]))
        return
    console.line(f"written: {path}")
    console.line(f"judge it: flverify audit {path}")


def text(name: str) -> str:
    """Return the file of claims of a new paper.

    Examples
    --------
    >>> "my_paper" in text("lemmas"), '"lemmas.theorem1"' in text("lemmas")
    (False, True)
    """
    template = files("flverify.report").joinpath(TEMPLATE)
    return template.read_text(encoding="utf-8").replace(PLACEHOLDER, name)


def _identifier(name: str) -> str:
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
        raise InputError(
            f"NAME must be an identifier of Python in ASCII, such as my_paper; got "
            f"{name!r}; use letters a to z, digits and underscores, no digit first, no "
            "Python keyword."
        )
    if name in TAKEN:
        raise _taken(name)
    return name


def _taken(name: str) -> InputError:
    return InputError(
        f"NAME must not stand for something else already; got {name!r}; choose "
        "another, such as my_paper."
    )


def _require_no_module(name: str) -> None:
    """Refuse to hide an installed module from whoever works in that folder."""
    if find_spec(name) is not None:
        raise _taken(name)


def _require_new(path: Path) -> None:
    """Refuse before anything is written."""
    require_writable(path)
    if path.exists() or path.is_symlink():
        raise InputError(
            f"a new file of claims must not exist yet; {path} does; choose another "
            "name or folder."
        )
