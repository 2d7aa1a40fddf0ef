"""`flverify audit`: judge claims and compare the verdicts with the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import click

from flverify._core.errors import InputError
from flverify.claims import counterexamples, ledger, premises
from flverify.claims.audit import Audited, Failed, record
from flverify.commands._changes import changes, earlier
from flverify.commands._claims import Group, groups, judge_groups
from flverify.commands._numbers import Whole
from flverify.commands._options import AS_JSON
from flverify.commands._places import require_place, require_unread, unwritten
from flverify.commands._refusals import Reporting, told
from flverify.report import console
from flverify.report.claims import count_line, counts, verdict_table
from flverify.report.envelope import envelope
from flverify.report.files import require_writable
from flverify.report.summary import renew_readme

SLOWEST = 10  # claims named after an audit

Entries: TypeAlias = dict[str, ledger.Entry]

_HELP = """Judge claims and compare the verdicts with the ledger.

ID-PREFIX is the beginning of an id, FILE.py a file of your own claims, whose ledger is
FILE.ledger.toml beside it; without either all claims of the package are judged.

What has not changed since it was judged, by code, constants or libraries, is not judged
again; an audit that was interrupted goes on where it stopped. The findings are kept in
$FLVERIFY_CACHE, or in the user's cache folder. Of what your file rests on, modules
count (those installed, by their version), but data that it reads do not: use --fresh
when these change.

The exit code is 1 if a verdict differs from the ledger or a control misbehaves, and 2
if a claim could not be judged because its check raised; all others are.
"""


UNSCRIPTED = (
    "refuted without a script of its own, which an entry of counterexamples/bodies.toml"
    " would be"
)
_LOST = "all claims are judged", "name another file, or take what --json prints"


@click.command(name="audit", cls=Reporting, help=_HELP)
@click.argument("targets", nargs=-1, metavar="[ID-PREFIX | FILE.py]...")
@click.option(
    "--out",
    metavar="FILE.json",
    type=click.Path(path_type=Path),
    help="Write the records to a file, for --compare.",
)
@click.option(
    "--update-ledger",
    is_flag=True,
    help="Write the verdicts found into the ledger, unless a control misbehaves.",
)
@click.option("--fresh", is_flag=True, help="Judge anew what has not changed.")
@click.option(
    "--workers",
    type=Whole(1, 64),
    help="Processes; by default one per processor. No verdict depends on it.",
)
@click.option(
    "--compare",
    metavar="OLD.json",
    type=click.Path(path_type=Path),
    help="Say what changed since an audit written with --out.",
)
@AS_JSON
@click.pass_context
def command(
    ctx: click.Context,
    targets: tuple[str, ...],
    out: Path | None,
    update_ledger: bool,
    fresh: bool,
    workers: int | None,
    compare: Path | None,
    as_json: bool,
) -> None:
    """Judge, compare, write, print; exit code 1 if the answer is no."""
    if out:
        require_place("--out", out)
    before = earlier(compare) if compare else None
    chosen = groups(targets)
    if out:
        require_unread("--out", out, _read(targets, chosen))
        _require_no_claims(out)
    expected = [_expected(group, update_ledger) for group in chosen]
    failed: list[Failed] = []
    parts = judge_groups("audit", chosen, fresh=fresh, workers=workers, failed=failed)
    faults = _faults(parts)
    differing: list[str] = []
    silent: list[str] = []
    if not update_ledger:
        found = zip(chosen, parts, expected, strict=True)
        differing = [text for one in found for text in _differences(*one)]
    elif not (faults or failed):
        silent = _update(chosen, parts, expected)
    everyone = [one for part in parts for one in part]
    changed = None if before is None else list(changes(before, everyone))
    ledgers = _ledgers(chosen, faults, update_ledger, failed)
    unsafe = _beware(chosen, parts, expected)
    text = _json(everyone, faults, differing, failed, changed, ledgers, silent, unsafe)
    lost = unwritten(out, f"{text}\n", *_LOST) if out else ""
    if as_json:
        click.echo(text)
    else:
        _show(everyone, changed, unsafe)
        _remarks(faults, differing, ledgers, failed)
        if silent:
            console.line(f"{UNSCRIPTED}: {', '.join(silent)}")
    for one in failed:
        click.echo(f"error: {' '.join(one.why.split())}", err=True)
    if lost:
        told(ctx)
        raise InputError(lost)
    ctx.exit(2 if failed else 1 if faults or differing else 0)


def _show(
    everyone: Sequence[Audited],
    changed: Iterable[str] | None,
    unsafe: Mapping[str, str],
) -> None:
    """Print the verdicts, how many there are of each, and what changed."""
    verdict_table(everyone)
    console.line()
    console.line(count_line(everyone))
    for key, why in unsafe.items():
        console.line(f"beware: {key} is {why}")
    _slowest(everyone)
    for text in changed or ():
        console.line(f"changed: {text}")


def _beware(
    chosen: Sequence[Group],
    parts: Sequence[Sequence[Audited]],
    expected: Sequence[Entries],
) -> dict[str, str]:
    """Tell, of the claims that pass, those that are derived from refuted ones."""
    told_of = {}
    for group, part, entries in zip(chosen, parts, expected, strict=True):
        found = {one.claim.id: ledger.entry(one) for one in part}
        known = {**group.background(), **entries, **found}
        for one in (one for one in part if one.finding.passes()):
            lines = one.claim.given
            if premises.refuted(lines, known):
                why = f"given {', '.join(lines)}; {premises.told(lines, known)}"
                told_of[one.claim.id] = why
    return told_of


def _require_no_claims(path: Path) -> None:
    """Refuse to write where claims were meant to be read."""
    if path.suffix == ".py":
        raise InputError(
            f"--out must name the file to be written, which is no Python; got {path}; "
            "name another, and claims to be judged before it."
        )


def _read(
    targets: Sequence[str], chosen: Sequence[Group]
) -> list[tuple[str, Path | None]]:
    """Return the files of claims and their ledgers."""
    claims = [Path(target) for target in targets if target.endswith(".py")]
    named: list[tuple[str, Path | None]] = [("a file of claims", p) for p in claims]
    return [*named, *(("a ledger", group.path) for group in chosen)]


def _expected(group: Group, update: bool) -> Entries:
    """Read the ledger, unless it is about to be replaced whole."""
    if update:
        require_writable(group.path)
    return {} if update and group.whole else group.expected()


def _slowest(everyone: Sequence[Audited]) -> None:
    """Name the claims that took longest to judge, kept ones as they took then."""
    slow = sorted(everyone, key=lambda one: -one.seconds)[:SLOWEST]
    if len(everyone) > SLOWEST:
        listed = ", ".join(f"{one.claim.id} {one.seconds:.1f} s" for one in slow)
        console.line(f"slowest: {listed}")


def _faults(parts: Sequence[Sequence[Audited]]) -> dict[str, str]:
    """Return what is wrong with controls, by claim."""
    faults = {one.claim.id: one.control_fault() for part in parts for one in part}
    return {key: fault for key, fault in faults.items() if fault}


def _update(
    chosen: Sequence[Group],
    parts: Sequence[Sequence[Audited]],
    expected: Sequence[Entries],
) -> list[str]:
    """Write the ledgers; claims that were not judged keep their entries.

    Of the claims of the package, the scripts of the refuted ones are written too;
    returned are those that have none.
    """
    silent = []
    for group, part, entries in zip(chosen, parts, expected, strict=True):
        found = {one.claim.id: ledger.entry(one) for one in part}
        ledger.write(group.path, {**entries, **found})
        if not group.own:
            renew_readme(group.path, {**entries, **found})
            silent += counterexamples.renew(part, group.path)
    return silent


def _json(
    everyone: Sequence[Audited],
    faults: dict[str, str],
    differing: Sequence[str],
    failed: Sequence[Failed],
    changed: Sequence[str] | None,
    ledgers: Sequence[str],
    silent: Sequence[str],
    unsafe: Mapping[str, str],
) -> str:
    return envelope(
        "audit",
        claims=[record(one) for one in everyone],
        counts=counts(everyone),
        differences=differing,
        control_faults=faults,
        errors={one.claim.id: one.why for one in failed},
        changes=changed,
        ledgers=ledgers,
        refuted_without_script=silent,
        derived_from_refuted=unsafe,
    )


def _differences(group: Group, part: Sequence[Audited], entries: Entries) -> list[str]:
    if group.silent:
        return []
    out = ledger.differences(part, entries)
    if not group.own:
        old = counterexamples.stale(part, group.path)
        out += [f"{key}: its script tells of another counterexample" for key in old]
    if group.whole:
        gone = [key for key in entries if key not in group.claims]
        out += [f"{key}: in the ledger, but there is no such claim" for key in gone]
    return out


def _ledgers(
    chosen: Sequence[Group],
    faults: dict[str, str],
    updated: bool,
    failed: Sequence[Failed],
) -> list[str]:
    """Say what became of ledgers that are written, and which are absent."""
    why = "a claim could not be judged" if failed else "a control misbehaves"
    done = f"not written, since {why}" if faults or failed else "written"
    absent = "absent, nothing to compare with"
    shown = [group for group in chosen if updated or group.silent]
    return [f"{group.path.name}: {done if updated else absent}" for group in shown]


def _remarks(
    faults: dict[str, str],
    differing: Sequence[str],
    ledgers: Sequence[str],
    failed: Sequence[Failed],
) -> None:
    """Say what misbehaves, what differs, and what became of the ledgers."""
    for key, fault in faults.items():
        console.line(f"control misbehaves: {key}: {fault}")
    for text in differing:
        console.line(f"differs from the ledger: {text}")
    for said in ledgers:
        console.line(f"ledger {said}")
    if not (faults or differing or ledgers or failed):
        console.line("all verdicts agree with the ledger")
