"""`flverify region`: which step sizes are certified, printed, and possible at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from flverify._core.errors import InputError, TerminatedError
from flverify._core.held import held
from flverify._core.shown import fewer_digits
from flverify.certify.region import OVER, SPACINGS, Region, region
from flverify.commands._function_class import CERTIFIABLE
from flverify.commands._laws import file_of
from flverify.commands._numbers import Whole
from flverify.commands._options import (
    AS_JSON,
    LOCAL_STEPS,
    N_CLIENTS,
    SETTINGS,
    SMOOTHNESS,
    strong_convexity,
)
from flverify.commands._places import require_apart, require_place, require_unread
from flverify.commands._refusals import Reporting
from flverify.commands._region_rows import DEFAULT_LAW, Asked, read_region
from flverify.report import console
from flverify.report.certificates import told_settings
from flverify.report.envelope import envelope
from flverify.report.files import write_whole
from flverify.report.numbers import law_text
from flverify.report.region_figure import render
from flverify.report.regions import as_csv, record, remarks, show
from flverify.report.style import FORMATS

_HELP = f"""Certify rates on a grid of step sizes and of another parameter.

\b
flverify region focus --over p --values 1/10:1:10 --n-clients 2 \\
    --mu 1/10 --smoothness 1 --step-sizes 1/1000:1:40 --out region.csv \\
    --figure region.pdf

ALGORITHM is one of {CERTIFIABLE}.
--over is tau (local steps, at most 8), p (every client takes part with probability p,
independently; for proxskip the probability that all communicate), n (number of clients)
or kappa (L/mu, with L fixed).

At every point the table has the best certified rate, to 1e-5 (seldom to 4e-5, where
rounding needs room), and the largest one found over scalar quadratics, which no
certified rate is below. For every value it has the largest step size that the
algorithm's theorem prints, the smallest at which some quadratic does not contract, and
the largest below that with a certificate, to 1e-4. A rate is one whose exact
certificate the independent checker accepted; where none was found, nothing is said
about the method.

Finished rows are kept in OUT.rows until the region is whole; after an interruption
--resume takes them up. Files of an earlier region are replaced at the end, as by every
command; those that another run is writing are refused. With clients of two kinds and
many local steps a cell takes minutes: begin with few. The result does not depend on the
number of workers. Numbers are fractions or decimal text, read exactly; those of the
table are rounded to floats, and exact with --json.
"""


@click.command(name="region", cls=Reporting, help=_HELP)
@click.argument("algorithm")
@click.option(
    "--over",
    type=click.Choice(tuple(OVER)),
    required=True,
    help="The parameter that differs from row to row.",
)
@click.option(
    "--values",
    metavar="V1,V2,...|LOW:HIGH:COUNT",
    required=True,
    help="Its values; a range of n or kappa is spaced geometrically, others evenly.",
)
@click.option(
    "--step-sizes",
    metavar="S1,S2,...|LOW:HIGH:COUNT",
    required=True,
    help="Step sizes; a range is rounded to 6 digits where it is geometric.",
)
@click.option(
    "--spacing",
    type=click.Choice(SPACINGS),
    default=SPACINGS[0],
    show_default=True,
    help="Spacing of a range of step sizes.",
)
@N_CLIENTS
@click.option(
    "--participation",
    "--law",
    "law",
    metavar="LAW",
    help=f"Participation law, {DEFAULT_LAW} by default; see `flverify certify --help`.",
)
@strong_convexity(required=False)
@SMOOTHNESS
@LOCAL_STEPS
@SETTINGS
@click.option(
    "--out",
    metavar="FILE.csv",
    type=click.Path(path_type=Path),
    help="Write the table as comma-separated values.",
)
@click.option(
    "--figure",
    metavar="FILE.pdf|png|svg",
    type=click.Path(path_type=Path),
    help="Draw the region.",
)
@click.option(
    "--workers",
    type=Whole(min=1),
    default=1,
    show_default=True,
    help="Processes that find rows at the same time.",
)
@click.option("--resume", is_flag=True, help="Take up the rows in OUT.rows.")
@AS_JSON
def command(
    *,
    out: Path | None,
    figure: Path | None,
    workers: int,
    resume: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Ask, certify, write, print."""
    asked = read_region(**given)
    kind = _format(figure)
    _require_places(out, figure, file_of(asked.law))
    store = _store(out, resume)
    with held(out), held(figure), _kept(store):
        with console.progress("region", len(asked.rows)) as begin:
            found = region(
                asked.over,
                asked.step_sizes,
                asked.rows,
                workers=workers,
                store=store,
                resume=resume,
                begin=begin,
                at=begin.at,
            )
        if out is not None:
            write_whole(out, as_csv(found))
        if figure is not None:
            render(found, asked.law, figure, kind)
        if store is not None:
            store.unlink(missing_ok=True)
    files = [path for path in (out, figure) if path is not None]
    if as_json:
        click.echo(_json(asked, found, files))
    else:
        _show(asked, found, files)


def _format(figure: Path | None) -> str:
    kind = "" if figure is None else figure.suffix.removeprefix(".").lower()
    if figure is not None and kind not in FORMATS:
        raise InputError(
            f"--figure must end in .{', .'.join(FORMATS)}; got {str(figure)!r}; "
            "rename it."
        )
    return kind


def _require_places(out: Path | None, figure: Path | None, law: Path | None) -> None:
    """Check that table and picture have places of their own."""
    if out is not None and out.suffix.removeprefix(".").lower() in FORMATS:
        raise InputError(
            f"--out must not end like a picture, since it is a table; got "
            f"{str(out)!r}; name it .csv, or use --figure."
        )
    both = (("--out", out), ("--figure", figure))
    named = [(flag, path) for flag, path in both if path is not None]
    for flag, path in named:
        require_place(flag, path)
        require_unread(flag, path, [("--participation", law)])
    require_apart(named)


@contextmanager
def _kept(store: Path | None) -> Iterator[None]:
    """Say at an interrupt or a termination how to go on."""
    try:
        yield
    except (KeyboardInterrupt, TerminatedError) as error:
        if store is not None and store.exists():
            error.add_note(
                f"finished rows are in {store}; give the same options and --resume to "
                "go on"
            )
        raise


def _store(out: Path | None, resume: bool) -> Path | None:
    """Return the file that keeps finished rows."""
    if out is None:
        if resume:
            raise InputError(
                "--resume must come with --out, beside which the rows are kept; got "
                "none; name the same file as before."
            )
        return None
    return out.with_name(f"{out.name}.rows")


def _show(asked: Asked, found: Region, files: list[Path]) -> None:
    steps = found.step_sizes
    setting = asked.setting()
    own = told_settings(setting.pop("settings"))
    words = [(name.replace("_", " "), law_text(str(v))) for name, v in setting.items()]
    span = ("step sizes", f"{len(steps)} from {steps[0]} to {steps[-1]}")
    algorithm = f"{asked.name} with {own}" if own else asked.name
    lines = [("algorithm", algorithm), *words, span]
    console.fields([(label, fewer_digits(text)) for label, text in lines])
    console.line()
    show(found)
    console.remarks([*remarks(found), *(f"wrote {path}" for path in files)])


def _json(asked: Asked, found: Region, files: list[Path]) -> str:
    return envelope(
        "region",
        algorithm=asked.name,
        over=found.over,
        setting=asked.setting(),
        step_sizes=found.step_sizes,
        rows=record(found),
        notes=remarks(found),
        files=files,
    )
