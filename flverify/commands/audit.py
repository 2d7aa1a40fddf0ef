"""`flverify audit`: judge claims and compare the verdicts with the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import click

from flverify.claims import ledger
from flverify.claims.audit import Audited, record
from flverify.commands._claims import Group, groups, judge
from flverify.report import console
from flverify.report.claims import count_line, counts, verdict_table
from flverify.report.envelope import envelope
from flverify.report.files import require_writable, write_whole
from flverify.report.summary import renew_readme

Entries: TypeAlias = dict[str, ledger.Entry]

_HELP = """Judge claims and compare the verdicts with the ledger.

TARGET is the beginning of an id, or a FILE.py of your own claims, whose ledger is
FILE.ledger.toml beside it; without a target all claims of the package are judged.

The exit code is 1 if a verdict differs from the ledger or a control misbehaves.
"""


@click.command(name="audit", help=_HELP)
@click.argument("targets", nargs=-1, metavar="[ID-PREFIX | FILE.py]...")
@click.option(
    "--json",
    "json_path",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Write the records to a JSON file.",
)
@click.option(
    "--update-ledger",
    is_flag=True,
    help="Write the verdicts found into the ledger, unless a control misbehaves.",
)
@click.pass_context
def command(
    ctx: click.Context,
    targets: tuple[str, ...],
    json_path: Path | None,
    update_ledger: bool,
) -> None:
    """Judge, compare, write, print; exit code 1 if the answer is no."""
    if json_path:
        require_writable(json_path)
    chosen = groups(targets)
    expected = [_expected(group, update_ledger) for group in chosen]
    parts = _judge(chosen)
    faults = _faults(parts)
    differing: list[str] = []
    if not update_ledger:
        found = zip(chosen, parts, expected, strict=True)
        differing = [text for one in found for text in _differences(*one)]
    elif not faults:
        _update(chosen, parts, expected)
    everyone = [one for part in parts for one in part]
    if json_path:
        write_whole(json_path, _json(everyone, faults, differing))
    verdict_table(everyone)
    console.line()
    console.line(count_line(everyone))
    _remarks(chosen, faults, differing, update_ledger)
    ctx.exit(1 if faults or differing else 0)


def _expected(group: Group, update: bool) -> Entries:
    """Read the ledger, unless it is about to be replaced whole."""
    if update:
        require_writable(group.path)
    return {} if update and group.whole else group.expected()


def _judge(chosen: Sequence[Group]) -> list[list[Audited]]:
    total = sum(len(group.claims) for group in chosen)
    with console.progress("audit", total) as begin:
        parts = []
        for group in chosen:
            part = []
            for key, claim in group.claims.items():
                begin(key)
                part.append(judge(group, claim))
            parts.append(part)
    return parts


def _faults(parts: Sequence[Sequence[Audited]]) -> dict[str, str]:
    """Return what is wrong with controls, by claim."""
    faults = {one.claim.id: one.control_fault() for part in parts for one in part}
    return {key: fault for key, fault in faults.items() if fault}


def _update(
    chosen: Sequence[Group],
    parts: Sequence[Sequence[Audited]],
    expected: Sequence[Entries],
) -> None:
    """Write the ledgers; claims that were not judged keep their entries."""
    for group, part, entries in zip(chosen, parts, expected, strict=True):
        found = {one.claim.id: ledger.entry(one) for one in part}
        ledger.write(group.path, {**entries, **found})
        if not group.own:
            renew_readme(group.path, {**entries, **found})


def _json(
    everyone: Sequence[Audited], faults: dict[str, str], differing: Sequence[str]
) -> str:
    text = envelope(
        "audit",
        claims=[record(one) for one in everyone],
        counts=counts(everyone),
        differences=differing,
        control_faults=faults,
    )
    return f"{text}\n"


def _differences(group: Group, part: Sequence[Audited], entries: Entries) -> list[str]:
    if group.silent:
        return []
    out = ledger.differences(part, entries)
    if group.whole:
        gone = [key for key in entries if key not in group.claims]
        out += [f"{key}: in the ledger, but there is no such claim" for key in gone]
    return out


def _remarks(
    chosen: Sequence[Group],
    faults: dict[str, str],
    differing: Sequence[str],
    updated: bool,
) -> None:
    """Say what misbehaves, what differs, and what became of the ledgers."""
    for key, fault in faults.items():
        console.line(f"control misbehaves: {key}: {fault}")
    for text in differing:
        console.line(f"differs from the ledger: {text}")
    for group in chosen:
        if updated:
            done = "not written, since a control misbehaves" if faults else "written"
            console.line(f"ledger {group.path.name}: {done}")
        elif group.silent:
            console.line(f"ledger {group.path.name}: absent, nothing to compare with")
    if not (faults or differing or updated or any(g.silent for g in chosen)):
        console.line("all verdicts agree with the ledger")
