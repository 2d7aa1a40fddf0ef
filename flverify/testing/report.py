"""The rows of a session's assertions as terminal lines, Markdown, HTML or JSON."""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flverify._core.sentences import number_of
from flverify.testing.outcome import Status

FORMATS = (".html", ".md", ".json")
COLUMNS = {
    "status": "outcome",
    "assertion": "assertion",
    "test": "test",
    "claimed": "claimed",
    "found": "found",
    "first_break": "first round that breaks it",
    "reason": "no answer because",
    "answered_by": "answered by",
    "setting": "setting",
    "reproduce": "reproduce",
}
MANY = 40  # assertions of a session that are all listed
LONGEST = 160  # characters of a text in the terminal and in Markdown

CSS = """
body { margin: 0 auto; max-width: 75rem; padding: 1rem 1.2rem 3rem; color: #1b1f24;
  background: #fff; font: 16px/1.5 system-ui, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.5rem; margin: .6rem 0; }
section { border: 1px solid #d0d7de; border-left: .32rem solid #009e73;
  border-radius: .4rem; padding: .7rem 1rem; margin: .9rem 0; }
section.BROKEN { border-left-color: #b34700; }
section.INCONCLUSIVE { border-left-color: #e69f00; }
h2 { font-size: 1rem; margin: 0 0 .4rem; overflow-wrap: anywhere; }
b { display: inline-block; font-size: .78rem; padding: .08em .5em; margin-right: .6em;
  border: 1.5px solid #009e73; border-radius: .3em; color: #00593f;
  background: #e3f5ee; }
.BROKEN b { color: #fff; border-color: #b34700; background: #b34700; }
.INCONCLUSIVE b { color: #5c4300; border-color: #e69f00; background: #fdf3dc; }
dl { display: grid; grid-template-columns: 9rem 1fr; gap: .2rem .8rem; margin: 0;
  font-size: .94rem; }
dt { color: #57606a; } dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
pre { margin: 0; white-space: pre-wrap; font: .86em/1.45 ui-monospace, Consolas,
  "DejaVu Sans Mono", monospace; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; gap: 0; } }
"""


@dataclass(frozen=True)
class Row:
    """One assertion of one test: the test's id and the outcome's texts.

    Parameters
    ----------
    test : str
    outcome : mapping
    passed : bool
        Whether the test passed all the same: then it expected what was raised.
    """

    test: str
    outcome: Mapping[str, str]
    passed: bool = False

    @property
    def expected(self) -> bool:
        """Whether the assertion did not hold and its test wanted just that."""
        return self.passed and self.text("status") != Status.HOLDS

    def text(self, column: str) -> str:
        """Return the text of one column."""
        return self.test if column == "test" else self.outcome.get(column, "")


def count_line(rows: Sequence[Row]) -> str:
    """Say how many assertions ended how.

    Examples
    --------
    >>> count_line([Row("t", {"status": "HOLDS"}), Row("t", {"status": "BROKEN"})])
    '2 assertions: 1 HOLDS, 1 BROKEN, 0 INCONCLUSIVE'
    """
    counts = Counter(row.text("status") for row in rows)
    listed = ", ".join(f"{counts[status]} {status}" for status in Status)
    wanted = sum(row.expected for row in rows)
    more = f" ({wanted} as tests that passed expect)" if wanted else ""
    return f"{number_of(len(rows), 'assertion')}: {listed}{more}"


def text_rows(rows: Sequence[Row], *, every: bool) -> Iterator[str]:
    """Lines of the terminal summary; many that hold are only counted unless asked."""
    many = len(rows) > MANY and not every
    shown = [row for row in rows if not many or row.text("status") != Status.HOLDS]
    for row in shown:
        if row.expected and not every:
            continue
        yield f"{row.text('status'):<12} {row.text('assertion')}  {row.test}"
        for column in ("claimed", "found", "answered_by"):
            yield f"    {COLUMNS[column] + ':':<12} {_short(row.text(column))}"
    if many:
        yield f"{len(rows) - len(shown)} that hold are listed with -v"


def as_text(rows: Sequence[Row], suffix: str) -> str:
    """Return the text of a report file by its suffix."""
    written = {".html": _as_html, ".md": _as_markdown, ".json": _as_json}
    return written[suffix](rows)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


def _as_json(rows: Sequence[Row]) -> str:
    counts = Counter(row.text("status") for row in rows)
    content = {
        "format": "flverify/assertions",
        "version": 1,
        "counts": {str(status): counts[status] for status in Status},
        "assertions": [{"test": row.test, **row.outcome} for row in rows],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _as_markdown(rows: Sequence[Row]) -> str:
    shown = ("status", "assertion", "test", "claimed", "found", "answered_by")
    lines = ["# Rate assertions", "", f"{count_line(rows)}.", ""]
    lines.append(f"| {' | '.join(COLUMNS[column] for column in shown)} |")
    lines.append(f"|{'---|' * len(shown)}")
    for row in rows:
        cells = (_cell(_short(row.text(column))) for column in shown)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    plain = html.escape(text, quote=False)
    for mark in "\\|*_`[]":
        plain = plain.replace(mark, f"\\{mark}")
    return plain


def _as_html(rows: Sequence[Row]) -> str:
    cards = "\n".join(_card(row) for row in rows)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Rate assertions</title>\n<style>{CSS}</style>\n</head>\n<body>\n"
        f"<h1>Rate assertions</h1>\n<p>{count_line(rows)}.</p>\n{cards}\n"
        "</body>\n</html>\n"
    )


def _card(row: Row) -> str:
    status = html.escape(row.text("status"))
    head = html.escape(f"{row.text('assertion')} in {row.test}")
    parts = [
        f"<dt>{name}</dt><dd>{_shown(column, row.text(column))}</dd>"
        for column, name in COLUMNS.items()
        if column not in ("status", "assertion", "test") and row.text(column)
    ]
    return (
        f'<section class="{status}"><h2><b>{status}</b>{head}</h2>\n'
        f"<dl>{''.join(parts)}</dl></section>"
    )


def _shown(column: str, text: str) -> str:
    safe = html.escape(text)
    return f"<pre>{safe}</pre>" if column == "reproduce" or "\n" in text else safe
