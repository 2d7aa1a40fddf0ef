"""`flverify show`: one claim in full, judged anew."""

from __future__ import annotations

from typing import Any

import click

from flverify.claims import ledger, premises
from flverify.claims.audit import Audited, record
from flverify.claims.store import as_data
from flverify.commands._claims import judge, judge_own, one_claim
from flverify.commands._options import AS_JSON
from flverify.commands._refusals import Reporting
from flverify.report import console
from flverify.report.claims import reproduce
from flverify.report.envelope import envelope
from flverify.report.in_full import show


@click.command(name="show", cls=Reporting)
@click.argument("claim_id", metavar="ID")
@click.option("--file", "path", metavar="FILE.py", help="A file of your own claims.")
@AS_JSON
@click.option("--all", "whole", is_flag=True, help="Every step of a proof, and lists.")
@click.pass_context
def command(
    ctx: click.Context, claim_id: str, path: str | None, as_json: bool, whole: bool
) -> None:
    """Show one claim in full: statement, finding, control, evidence, how to reproduce.

    Proofs are shown by their parts; with --all by every step and what it rests on.

    The claim is judged anew. The exit code is 1 if its verdict differs from the ledger
    or its control misbehaves.
    """
    group, claim = one_claim(claim_id, path)
    entries = group.expected()
    with console.progress("judging", 1) as begin:
        begin(claim.id)
        one = judge_own(claim) if group.own else judge(claim)
    expected = entries.get(claim.id)
    known = str(expected["verdict"]) if expected else None
    told = {**group.background(), **entries}
    if as_json:
        given, mended = (
            premises.refuted(lines, told)
            for lines in (claim.given, claim.mended_from or {})
        )
        refuted = {"of_what_is_given": given, "of_what_is_given_the_correction": mended}
        click.echo(envelope("show", **_record(one, known), refuted=refuted))
    else:
        show(one, told, whole=whole)
    differs = not group.silent and bool(ledger.differences([one], entries))
    ctx.exit(1 if differs or one.control_fault() else 0)


def _record(one: Audited, expected: str | None) -> dict[str, Any]:
    control = one.control
    return {
        **record(one),
        "finding": as_data(one.finding),
        "citation": one.claim.source.citation(),
        "ledger_verdict": expected,
        "constants": dict(one.claim.constants),
        "twin": dict(one.claim.twin),
        "no_control": one.claim.no_control,
        "control_reason": control.reason if control else None,
        "control_fault": one.control_fault(),
        "reproduce": reproduce(one.claim),
    }
