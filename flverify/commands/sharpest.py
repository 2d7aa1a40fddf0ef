"""`flverify sharpest`: the best value of a claim's free constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

import click

from flverify._core.errors import InputError, TerminatedError, UnknownNameError
from flverify._core.shown import shown
from flverify.claims.claim import Claim
from flverify.claims.free import Free
from flverify.claims.probes import Probes
from flverify.claims.sharpest import Sharpest, sharpest
from flverify.claims.store import default_folder
from flverify.commands._claims import Group, kept_note, one_claim
from flverify.commands._numbers import one_number
from flverify.commands._options import AS_JSON
from flverify.commands._refusals import Reporting
from flverify.report import console
from flverify.report.envelope import envelope
from flverify.report.sharpest import CLAIMED, record, show

FEW = 3  # claims with free constants that are offered in place of one without


@click.command(name="sharpest", cls=Reporting)
@click.argument("claim_id", metavar="ID")
@click.option("--file", "path", metavar="FILE.py", help="A file of your own claims.")
@click.option(
    "--constant",
    metavar="NAME",
    help="One of the free constants; all of them if none is named.",
)
@click.option(
    "--precision",
    default="1/1000",
    show_default=True,
    metavar="NUMBER",
    help="Width of the bracket around the sharp value.",
)
@click.option("--fresh", is_flag=True, help="Judge anew what has not changed.")
@AS_JSON
@click.pass_context
def command(
    ctx: click.Context,
    claim_id: str,
    path: str | None,
    constant: str | None,
    precision: str,
    fresh: bool,
    as_json: bool,
) -> None:
    """Find the best value of a constant for which a claim still passes.

    The claim's own check is run at other values of each constant that the claim
    declares free, until the best value that passes and the first that is refuted are
    as close as the precision. Both are printed with what shows them: the proof,
    certificate or search, and the counterexample. Six more values, between the best,
    the printed and the weakest, are tried afterwards, and told where they contradict
    that order; values that were not tried may. The exit code is 1 if no value passes.

    What was found at a value is kept, as in `flverify audit`: a search that was
    interrupted goes on where it stopped. Data that your file reads do not count as
    changed: use --fresh when they do.
    """
    group, claim = one_claim(claim_id, path)
    _require_free(claim, group)
    width = one_number("--precision", precision)
    chosen = _chosen(claim, constant)
    probes = Probes(claim, default_folder(), fresh=fresh)
    with (
        _interrupted(probes, fresh),
        console.progress("sharpest", len(chosen)) as begin,
    ):
        found = [_found(probes, free, width, begin) for free in chosen]
    if as_json:
        results = [record(one) for one in found]
        notes = [CLAIMED]
        click.echo(envelope("sharpest", id=claim.id, results=results, notes=notes))
    else:
        show(found)
    ctx.exit(0 if all(one.bracket.best for one in found) else 1)


def _found(
    probes: Probes, free: Free, width: Fraction, begin: console.Begin
) -> Sharpest:
    """Search one constant, and say at which value the search is."""
    begin(free.name)

    def tell(value: Fraction) -> None:
        begin.at(f"{free.name} = {shown(value)}")

    return sharpest(probes.claim, free, width, probes=probes, begin=tell)


@contextmanager
def _interrupted(probes: Probes, fresh: bool) -> Iterator[None]:
    """Say whether what was found is kept."""
    try:
        yield
    except (KeyboardInterrupt, TerminatedError) as error:
        error.add_note(kept_note(fresh, probes.closed))
        raise


def _chosen(claim: Claim, constant: str | None) -> Sequence[Free]:
    """Return the free constants asked for."""
    named = {one.name: one for one in claim.free}
    chosen = [one for one in claim.free if constant in (None, one.name, one.constant)]
    if not chosen:
        raise UnknownNameError(
            f"--constant must name what is free in {claim.id}; got {constant!r}; "
            f"choose among {', '.join(named)}."
        )
    return chosen


def _require_free(claim: Claim, group: Group) -> None:
    """Check that a claim declares what is free, or say which ones do."""
    if claim.free:
        return
    paper = claim.source.paper
    others = [c.id for c in group.claims.values() if c.free and c.source.paper == paper]
    ways = [f"take another claim, such as {', '.join(others[:FEW])}"] if others else []
    if group.own:
        ways.append("give its decorator `free=Free(...)`")
    raise InputError(
        f"a claim must declare what is free; {claim.id} declares nothing; "
        f"{', or '.join(ways) or 'see `flverify list`'}."
    )
