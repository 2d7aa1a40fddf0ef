"""`flverify simulate`: sampled mean squared errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from flverify._core.errors import DomainError, InputError
from flverify.commands._numbers import Whole, numbers_of, whole_number
from flverify.commands._options import AS_JSON
from flverify.commands._places import require_place, require_unread, unwritten
from flverify.commands._problems import LARGEST_SEED
from flverify.commands._refusals import Reporting, told
from flverify.commands._setting import (
    Setting,
    files_read,
    read_setting,
    setting_options,
)
from flverify.engines.simulate import simulate
from flverify.report import console
from flverify.report.envelope import envelope
from flverify.report.simulations import as_csv, curves, show_curves, shown_rounds

_LOST = "all rounds are sampled", "save them from the output, where they stand instead"


@click.command(name="simulate", cls=Reporting)
@setting_options(seed_name=None)
@click.option(
    "--rounds",
    type=Whole(min=1),
    default=100,
    show_default=True,
    help="Rounds of every run.",
)
@click.option(
    "--runs",
    type=Whole(min=1),
    default=100,
    show_default=True,
    help="Independent runs.",
)
@click.option(
    "--seed",
    type=Whole(0, LARGEST_SEED),
    default=0,
    show_default=True,
    help="Key of the random rounds; all algorithms see the same rounds.",
)
@click.option("--start", metavar="X1,X2,...", help="Starting point, 0 by default.")
@click.option("--at", metavar="R1,R2,...", help="Rounds to show.")
@click.option(
    "--out",
    metavar="FILE.csv",
    type=click.Path(path_type=Path),
    help="Write every round to a file of comma-separated values.",
)
@AS_JSON
@click.pass_context
def command(
    ctx: click.Context,
    /,
    algorithms: tuple[str, ...],
    rounds: int,
    runs: int,
    seed: int,
    start: str | None,
    at: str | None,
    out: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Sample the mean squared error E|x_r - x*|^2, with its standard error.

    The same seed gives the same numbers. All algorithms see the same random rounds.
    """
    setting = read_setting(algorithms, options)
    places = _places(at, rounds)
    if out:
        require_place("--out", out)
        require_unread("--out", out, files_read(options))
    point = None if start is None else numbers_of("--start", start)
    sampled = _sample(setting, rounds, runs, seed, point)
    lost = unwritten(out, as_csv(sampled), *_LOST) if out else ""
    shown = list(range(rounds + 1)) if lost else places
    records = [curves(name, one, shown) for name, one in sampled.items()]
    sizes = {"rounds": rounds, "runs": runs, "seed": seed}
    if as_json:
        click.echo(_json(setting, sizes, shown, records, lost))
    else:
        _show(setting, sizes, shown, records)
    if lost:
        told(ctx)
        raise InputError(lost)


def _show(
    setting: Setting,
    sizes: dict[str, int],
    places: Sequence[int],
    records: Sequence[dict[str, Any]],
) -> None:
    words = [(name, str(value)) for name, value in sizes.items()]
    console.fields([*setting.lines(), *words])
    console.line()
    show_curves(records, places)
    console.remarks(setting.notes)


def _places(at: str | None, rounds: int) -> list[int]:
    """Read the rounds to show."""
    if at is None:
        return shown_rounds(rounds)
    numbers = numbers_of("--at", at)
    places = sorted({whole_number(number, "--at", 0) for number in numbers})
    if places[-1] > rounds:
        raise DomainError(
            f"--at must name rounds from 0 to {rounds}; got {places[-1]}; name others, "
            "or raise --rounds."
        )
    return places


def _sample(
    setting: Setting, rounds: int, runs: int, seed: int, start: Any
) -> dict[str, Any]:
    sampled = {}
    with console.progress("simulate", len(setting.algorithms)) as begin:
        for chosen in setting.algorithms:
            begin(chosen.name)
            sampled[chosen.name] = simulate(
                setting.problem,
                chosen.algorithm,
                setting.law,
                rounds=rounds,
                runs=runs,
                seed=seed,
                start=start,
            )
    return sampled


def _json(
    setting: Setting,
    sizes: dict[str, int],
    places: Sequence[int],
    records: Sequence[dict[str, Any]],
    lost: str,
) -> str:
    """With one algorithm its keys also stand at the top level."""
    alone = records[0] if len(records) == 1 else {}
    return envelope(
        "simulate",
        **setting.record(),
        **sizes,
        at=places,
        notes=[*setting.notes, *([lost] if lost else [])],
        algorithms=records,
        **alone,
    )
