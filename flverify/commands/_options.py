"""Options that several commands have, in the words that all of them use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from flverify.commands._numbers import Whole

Run = TypeVar("Run", bound=Callable[..., Any])
Option = Callable[[Any], Any]

N_CLIENTS = click.option("--n-clients", type=Whole(min=1), help="Number of clients N.")
SMOOTHNESS = click.option(
    "--smoothness", metavar="NUMBER", required=True, help="Smoothness L of every f_i."
)
LOCAL_STEPS = click.option(
    "--local-steps",
    type=Whole(min=1),
    help="Gradient evaluations per client and round, 1 by default.",
)
SETTINGS = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another setting of the algorithm; may be repeated.",
)
SETTINGS_BY_NAME = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="[ALGORITHM.]NAME=VALUE",
    help="Another setting, for every algorithm that has it or for one; may be "
    "repeated.",
)
AS_JSON = click.option(
    "--json", "as_json", is_flag=True, help="One JSON object instead."
)


def strong_convexity(*, required: bool) -> Option:
    """Return the option for mu."""
    return click.option(
        "--mu",
        "--strong-convexity",
        "mu",
        metavar="NUMBER",
        required=required,
        help="Strong convexity of every f_i, above 0 and below the smoothness.",
    )


POLYAK_LOJASIEWICZ = click.option(
    "--pl",
    "--polyak-lojasiewicz",
    "pl",
    metavar="NUMBER",
    help="Instead of --mu: beta in |grad f|^2 >= 2 beta (f - f*), the f_i need not be "
    "convex.",
)


def taken(local_steps: int | None) -> dict[str, str]:
    """Say which settings have options of their own."""
    steps = {"step_size": "--step-size"}
    return steps if local_steps is None else {**steps, "local_steps": "--local-steps"}


def adding(options: Sequence[Option]) -> Callable[[Run], Run]:
    """Return a decorator that adds options in the order in which they are listed."""

    def add(run: Run) -> Run:
        for option in reversed(options):
            run = option(run)
        return run

    return add
