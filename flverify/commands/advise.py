"""`flverify advise`: step sizes, rounds and communication for one's own data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from flverify._core.errors import RefusedError
from flverify._core.sentences import sentence
from flverify.advise.table import Advice, advise
from flverify.commands._advising import (
    DEFAULT_ACCURACY,
    DEFAULT_LAW,
    Asked,
    read_question,
)
from flverify.commands._numbers import Whole
from flverify.commands._options import AS_JSON, LOCAL_STEPS, SETTINGS_BY_NAME
from flverify.commands._places import require_unread
from flverify.commands._problems import problem_options
from flverify.commands._refusals import Reporting, together, told
from flverify.commands._setting import files_read
from flverify.report import advice as views
from flverify.report import console
from flverify.report.envelope import envelope
from flverify.report.files import require_writable, write_whole
from flverify.report.numbers import law_text

_HELP = """Which step size, how many rounds, how much communication: in one table.

\b
flverify advise --problem data.npz --law bernoulli:0.1,0.5,0.9
flverify advise --problem data.npz --availability log.csv --write-law law.json
flverify rate focus --problem data.npz --law file:law.json

For every ALGORITHM (focus, fedavg and scaffold by default): the step size up to which
it is stable on this problem, the one with the fastest rate, and that rate, all from
exact moments; the best certified rate for every problem with the same mu and L, and
its step size; the step-size cap that its theorem prints; rounds and vectors until
E|x_r - x*|^2 is the target accuracy of what it is at x_0 = 0; and what the client that
takes part most rarely costs. "never" stands with the accuracy that a method with a
bias stays at.

--availability is a log of participants: a file of comma-separated values whose first
line is round,client and whose other lines are one client in one round, both whole
numbers, clients from 0. Rounds without a line are empty; --rounds says how many there
were. Inclusion probabilities and averaging weights are estimated with intervals;
independence of clients and of rounds is tested; and the law that the log supports is
used, and written by --write-law for the other commands (--law file:PATH).

The exit code is 2 for bad input, or if no algorithm has a step size.
"""


@click.command(name="advise", cls=Reporting, help=_HELP)
@click.argument("algorithms", nargs=-1, metavar="[ALGORITHM]...")
@click.option(
    "--law",
    "--participation",
    "law",
    metavar="LAW",
    help=f"Participation law, {DEFAULT_LAW} by default; see `flverify law --help`.",
)
@click.option(
    "--availability", metavar="LOG.csv", help="Fit the law to a log of participants."
)
@click.option(
    "--rounds",
    type=Whole(min=2),
    help="Rounds of the log, numbered from 0 or from 1; by default those from the "
    "first to the last that it names.",
)
@click.option(
    "--write-law",
    metavar="FILE.json",
    type=click.Path(path_type=Path),
    help="Write the fitted law, for --law file:FILE.json.",
)
@click.option(
    "--accuracy",
    metavar="NUMBER",
    help=f"Target of E|x_r - x*|^2/|x_0 - x*|^2, {DEFAULT_ACCURACY} by default.",
)
@LOCAL_STEPS
@SETTINGS_BY_NAME
@problem_options()
@click.option("--no-certify", is_flag=True, help="Leave certificates out.")
@click.option("--float", "floats", is_flag=True, help="Compute in floats.")
@AS_JSON
@click.pass_context
def command(
    ctx: click.Context,
    /,
    algorithms: tuple[str, ...],
    no_certify: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Ask, write the law, search, print; exit code 2 if there is no step size."""
    path: Path | None = options["write_law"]
    if path is not None:
        require_unread("--write-law", path, _read(options))
        require_writable(path)
    asked = read_question(algorithms, options)
    if path is not None and asked.fitted is not None:
        write_whole(path, asked.fitted.file(_about(asked, options["availability"])))
    found = _find(asked, certify=not no_certify)
    refused = _refused(asked, found)
    if as_json:
        click.echo(_json(asked, found, options, refused))
        told(ctx)
    else:
        _show(asked, found, options)
    if refused is not None:
        raise refused


def _read(options: dict[str, Any]) -> list[tuple[str, Path | None]]:
    """Return the files that are read, each with its option."""
    log = options["availability"]
    return [("--availability", Path(log) if log else None), *files_read(options)]


def _about(asked: Asked, log: str) -> str:
    fitted = asked.fitted
    if fitted is None:
        return ""
    return (
        f"fitted to {Path(log).name}: {fitted.log.rounds} rounds; supports: "
        f"{fitted.supports}; {fitted.reason}"
    )


def _find(asked: Asked, *, certify: bool) -> list[Advice]:
    out = []
    parts = 1 + (asked.place.raised is not None) + (asked.place.constants is not None)
    with console.progress("advise", parts * len(asked.algorithms)) as begin:
        for exactly, in_floats in asked.algorithms:
            one = advise(
                exactly.algorithm,
                in_floats.algorithm,
                asked.place,
                float(asked.target),
                certify=certify,
                begin=_named(begin, exactly.name),
            )
            out.append(one)
    return out


def _named(begin: Callable[[str], None], name: str) -> Callable[[str], None]:
    return lambda part: begin(f"{name}: {part}")


def _pairs(asked: Asked, found: list[Advice]) -> list[tuple[str, Advice]]:
    names = [exactly.name for exactly, _ in asked.algorithms]
    return list(zip(names, found, strict=True))


def _show(asked: Asked, found: list[Advice], options: dict[str, Any]) -> None:
    named, target = _pairs(asked, found), float(asked.target)
    if asked.fitted is not None:
        views.show_log(asked.fitted, options["availability"])
    words = [(k.replace("_", " "), law_text(str(v))) for k, v in asked.words.items()]
    console.fields(words)
    console.line()
    views.show_table(named, target)
    views.show_rarest(named, asked.rarest)
    console.remarks(_notes(asked, named, options))


def _notes(
    asked: Asked, named: list[tuple[str, Advice]], options: dict[str, Any]
) -> list[str]:
    log = [] if asked.fitted is None else views.log_notes(asked.fitted)
    wrote = [f"wrote {options['write_law']}"] if options["write_law"] else []
    table = views.notes(named, float(asked.target), asked.scope)
    return [*table, *log, *asked.notes, *wrote]


def _json(
    asked: Asked,
    found: list[Advice],
    options: dict[str, Any],
    refused: RefusedError | None,
) -> str:
    named = _pairs(asked, found)
    known, dim = asked.place.constants, int(asked.place.problem.dim)
    records = [
        views.record(exactly.name, exactly.settings(), one, dim)
        for (exactly, _), one in zip(asked.algorithms, found, strict=True)
    ]
    fitted = asked.fitted
    status = {"status": "refused", "reason": sentence(refused)} if refused else {}
    return envelope(
        "advise",
        **status,
        setting=asked.words,
        strong_convexity=known.strong_convexity if known else None,
        smoothness=known.smoothness if known else None,
        constants_rounded=known.rounded if known else None,
        availability=views.log_record(fitted, options["availability"])
        if fitted
        else None,
        algorithms=records,
        rarest=views.rarest_record(asked.rarest),
        notes=_notes(asked, named, options),
        files=[options["write_law"]] if options["write_law"] else [],
    )


def _refused(asked: Asked, found: list[Advice]) -> RefusedError | None:
    """Return the refusal if no algorithm has a step size."""
    if any(one.steps is not None for one in found):
        return None
    return together({name: one.reason for name, one in _pairs(asked, found)})
