"""`flverify list`: the claims, without judging them."""

from __future__ import annotations

import click

from flverify.commands._claims import groups
from flverify.commands._options import AS_JSON
from flverify.commands._refusals import Reporting
from flverify.report.claims import claim_table
from flverify.report.envelope import envelope


@click.command(name="list", cls=Reporting)
@click.argument("targets", nargs=-1, metavar="[ID-PREFIX | FILE.py]...")
@AS_JSON
def command(targets: tuple[str, ...], as_json: bool) -> None:
    """List the claims with the ledger's verdict, their source and proposition."""
    chosen = groups(targets)
    claims = [claim for group in chosen for claim in group.claims.values()]
    expected = {
        key: str(entry["verdict"])
        for group in chosen
        for key, entry in group.expected().items()
    }
    if not as_json:
        claim_table(claims, expected)
        return
    rows = [
        {
            "id": one.id,
            "ledger_verdict": expected.get(one.id),
            "source": str(one.source),
            "statement": one.statement,
            "proposition": one.proposition,
        }
        for one in claims
    ]
    click.echo(envelope("list", claims=rows))
