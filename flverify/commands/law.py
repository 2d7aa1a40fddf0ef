"""`flverify law`: the tables of a participation law."""

from __future__ import annotations

import click

from flverify.commands._laws import FORMS, build_law, read_law
from flverify.commands._options import AS_JSON, N_CLIENTS
from flverify.commands._refusals import Reporting
from flverify.report.envelope import envelope
from flverify.report.laws import JOINT, show, tables

_HELP = f"""Tables of a participation law.

{FORMS}

Shown are the inclusion probabilities p_i = P(i in S), the averaging weights
q_i = E[I_i/|S|], their sum, the probability of an empty round, and for at most
{JOINT} clients the tables of pairs; and what p_i = 0 does to convergence.

\b
explicit:FILE.json  {{"outcomes": [{{"clients": [0, 2], "probability": "1/4"}}, ...]}}
                    and perhaps "n_clients"
chain:FILE.json     {{"transition": [["1/2", "1/2"], [1, 0]], "laws": [LAW, LAW]}}
                    and perhaps "initial": "stationary", a mode or a distribution;
                    a LAW is a text as above or an object with "outcomes"
file:FILE.json      {{"law": LAW, "n_clients": 3}}, as `flverify advise --write-law`
                    writes it; "outcomes" may stand in place of "law"

Clients are numbered from 0. A chain's tables are those of its stationary mode.
"""


@click.command(name="law", cls=Reporting, help=_HELP)
@click.argument("law")
@N_CLIENTS
@click.option("--joint", is_flag=True, help="Tables of pairs for any N.")
@click.option("--float", "floats", is_flag=True, help="Floats: fast for many clients.")
@AS_JSON
def command(
    law: str, n_clients: int | None, joint: bool, floats: bool, as_json: bool
) -> None:
    """Build the law, tabulate, print."""
    built = build_law(read_law(law, floats), law, n_clients)
    found = tables(built, law, joint or built.n_clients <= JOINT)
    if as_json:
        click.echo(envelope("law", **found))
    else:
        show(found)
