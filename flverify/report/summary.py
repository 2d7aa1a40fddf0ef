"""The verdict table of README.md, generated from the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from flverify._core.sentences import number_of
from flverify.claims import premises
from flverify.claims.ledger import Entry
from flverify.claims.verdict import Verdict
from flverify.report.files import write_whole

BEGIN = (
    "<!-- verdicts: generated from proofs/ledger.toml by "
    "`flverify audit --update-ledger` -->"
)
END = "<!-- end of verdicts -->"


def summary(entries: Mapping[str, Entry]) -> str:
    """Return the ledger as a Markdown table, counts first.

    Examples
    --------
    >>> print(summary({"demo.sum": {"verdict": "PROVED", "control": "REFUTED"}}))
    1 claim: 1 PROVED.
    <BLANKLINE>
    | claim | verdict | given, or by reading |
    |---|---|---|
    | demo.sum | PROVED | |
    """
    found = Counter(entry["verdict"] for entry in entries.values())
    parts = [f"{found[str(v)]} {v}" for v in Verdict if found[str(v)]]
    many = number_of(len(entries), "claim")
    lines = [
        f"{many}: {', '.join(parts)}.{_steps_alone(entries)}",
        "",
        "| claim | verdict | given, or by reading |",
        "|---|---|---|",
    ]
    for key in sorted(entries):
        lines_given = premises.given(entries[key])
        given = f"given {', '.join(lines_given)}" if lines_given else ""
        rests = premises.told(lines_given, entries)
        noted = [given, rests, _readings(entries[key])]
        text = "; ".join(filter(None, noted))
        cell = f" {text} " if text else " "
        lines.append(f"| {key} | {entries[key]['verdict']} |{cell}|")
    return "\n".join(lines)


def _steps_alone(entries: Mapping[str, Entry]) -> str:
    """Say how many are proved as steps alone, from lines that do not all hold."""
    given = [
        premises.given(entry)
        for entry in entries.values()
        if entry["verdict"] == Verdict.PROVED
    ]
    false = [lines for lines in given if premises.refuted(lines, entries)]
    unsure = [
        lines
        for lines in given
        if premises.open_among(lines, entries) and lines not in false
    ]
    said = ""
    if false:
        said += (
            f" Of those PROVED, {len(false)} as steps alone: some of what they are "
            "given is REFUTED, so their conclusions may be false."
        )
    if unsure:
        said += (
            f" Of {'the others' if false else 'those PROVED'}, {len(unsure)} from "
            "lines of which some are INCONCLUSIVE: their conclusions hold under "
            "readings that make all of these true, if there are any."
        )
    return said


def _readings(entry: Entry) -> str:
    readings = entry.get("readings", {})
    if not isinstance(readings, Mapping):
        return ""
    if len(readings) > 1 and len({*readings.values()}) == 1:
        return f"under each of {len(readings)} readings"
    named = [f"{_plain(name)}: {verdict}" for name, verdict in readings.items()]
    return "; ".join(named)


def _plain(name: str) -> str:
    """Text of a reading inside a table cell."""
    return name.replace("|", "\\|").replace("\n", " ")


def renewed(document: str, entries: Mapping[str, Entry]) -> str:
    """Return a document with its verdict block renewed; others stay as they are."""
    head, begin, rest = document.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        return document
    return f"{head}{BEGIN}\n{summary(entries)}\n{END}{tail}"


def renew_readme(ledger_path: Path, entries: Mapping[str, Entry]) -> None:
    """Renew the verdict table of the README beside proofs/, if there is one."""
    readme = ledger_path.parent.parent / "README.md"
    if readme.is_file():
        document = readme.read_text(encoding="utf-8")
        after = renewed(document, entries)
        if after != document:
            write_whole(readme, after)
