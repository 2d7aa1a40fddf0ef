"""`flverify report`: one page per paper, for its readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from flverify.claims.audit import Audited
from flverify.commands._claims import groups, judge_groups
from flverify.commands._numbers import Whole
from flverify.commands._refusals import Reporting
from flverify.report import console
from flverify.report.claims import corrections, count_line, counts
from flverify.report.envelope import envelope
from flverify.report.files import require_folder, require_writable, write_together
from flverify.report.pages import html, latex, markdown
from flverify.report.pages.mathematics import understood
from flverify.report.pages.model import Paper, paper_keys, papers

Page = Callable[[Paper], str]
Index = Callable[[Sequence[Paper]], str]

FORMATS: dict[str, tuple[Page, Index]] = {
    "html": (html.page, html.index),
    "md": (markdown.page, markdown.index),
    "tex": (latex.page, latex.index),
}

_HELP = """Write one page per paper: counts, errata, proofs as trees, every claim.

ID-PREFIX is the beginning of an id, FILE.py a file of your own claims; without either
all claims of the package are reported. The pages need neither network nor script; what
has not changed since it was judged is not judged again.
"""


@click.command(name="report", cls=Reporting, help=_HELP)
@click.argument("targets", nargs=-1, metavar="[ID-PREFIX | FILE.py]...")
@click.option(
    "--format",
    "kind",
    type=click.Choice(list(FORMATS)),
    default="html",
    show_default=True,
    help="Pages for a browser, in Markdown, or in LaTeX.",
)
@click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    default=Path("report"),
    show_default=True,
    help="Where the pages go; made, with its parents, if it does not exist.",
)
@click.option("--fresh", is_flag=True, help="Judge anew what has not changed.")
@click.option(
    "--workers",
    type=Whole(1, 64),
    help="Processes; by default one per processor. No verdict depends on it.",
)
@click.option("--json", "as_json", is_flag=True, help="Say what was written in JSON.")
def command(
    targets: tuple[str, ...],
    kind: str,
    out: Path,
    fresh: bool,
    workers: int | None,
    as_json: bool,
) -> None:
    """Judge, write all pages, say where they are."""
    chosen = groups(targets)
    known = {key: entry for group in chosen for key, entry in group.expected().items()}
    claims = [claim for group in chosen for claim in group.claims.values()]
    _require_room(out, [f"{key}.{kind}" for key in (*paper_keys(claims), "index")])
    parts = judge_groups("report", chosen, fresh=fresh, workers=workers)
    everyone = [one for part in parts for one in part]
    page, index = FORMATS[kind]
    found = papers(everyone, known)
    texts = {f"{paper.key}.{kind}": page(paper) for paper in found}
    texts[f"index.{kind}"] = index(found)
    write_together(out, texts)
    _say([str(out / name) for name in texts], everyone, as_json)


def _say(files: Sequence[str], everyone: Sequence[Audited], as_json: bool) -> None:
    """Name the files, the counts, and the statements that are no mathematics."""
    sources = [
        one.claim.id
        for one in everyone
        if not all(map(understood, (one.claim.statement, *corrections(one.finding))))
    ]
    if as_json:
        found = counts(everyone)
        click.echo(
            envelope("report", files=files, counts=found, shown_as_source=sources)
        )
        return
    for file in files:
        console.line(f"written: {file}")
    console.line(count_line(everyone))
    if sources:
        console.remarks([f"shown as LaTeX source: {', '.join(sources)}"])


def _require_room(out: Path, names: Sequence[str]) -> None:
    """Check, before a long computation, that all pages can be written."""
    require_folder(out)
    for name in names if out.exists() else ():
        require_writable(out / name)
