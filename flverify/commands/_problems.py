"""Problems as they are written on the command line, with a default that is exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import click

from flverify._core.errors import InputError, ShapeError
from flverify._core.exact import Scalar
from flverify._core.sentences import number_of
from flverify.commands._numbers import Whole, numbers_of, one_number, require_countable
from flverify.commands._options import N_CLIENTS, Run, adding
from flverify.problems.npz import load_problem
from flverify.problems.quadratics import Quadratics
from flverify.problems.ridge import synthetic_ridge

LARGEST_SEED = (1 << 63) - 1
CLIENTS = 2  # of the default problem, if nothing says the number
_RIDGE = ("dim", "samples", "regularisation", "data_seed")


@dataclass(frozen=True)
class Described:
    """A problem and the words a report has for it."""

    problem: Quadratics
    text: str


def problem_options(*, seed_name: str | None = "--seed") -> Callable[[Run], Run]:
    """Return a decorator that adds the options of a problem to a command.

    Parameters
    ----------
    seed_name : str or None
        A second name of `--data-seed`, where the command has no seed of its own.
    """
    at_least_1 = Whole(min=1)
    seed_names = ["--data-seed", *([seed_name] if seed_name else []), "data_seed"]
    options = [
        click.option(
            "--problem",
            metavar="FILE.npz",
            help="Arrays features and targets, or hessians and linear.",
        ),
        click.option(
            "--curvatures",
            metavar="H1,H2,...",
            help="Scalar quadratics (h_i/2)(x - c_i)^2; one number is that of all. The "
            "default problem is this with h_i = i and c_i = i - 1 for i = 1, ..., N.",
        ),
        click.option(
            "--centres",
            metavar="C1,C2,...",
            help="Their minimisers c_i; one number is that of all.",
        ),
        click.option(
            "--synthetic-ridge",
            is_flag=True,
            help="Ridge regression on generated heterogeneous data, in floats.",
        ),
        N_CLIENTS,
        click.option("--dim", type=at_least_1, help="Dimension of the ridge data."),
        click.option("--samples", type=at_least_1, help="Rows per ridge client."),
        click.option("--regularisation", metavar="NUMBER", help="Ridge regulariser."),
        click.option(
            *seed_names,
            type=Whole(0, LARGEST_SEED),
            help="Seed of the ridge data.",
        ),
    ]
    return adding(options)


def read_problem(options: Mapping[str, Any], clients: int | None) -> Described:
    """Build the problem that the options describe.

    Parameters
    ----------
    options : mapping
        Values of the options of `problem_options`.
    clients : int or None
        Number of clients that the law's text says.

    Raises
    ------
    InputError
        If options contradict one another.
    """
    kinds = ("problem", "curvatures", "synthetic_ridge")
    chosen = [name for name in kinds if options[name] not in (None, False)]
    if len(chosen) > 1:
        raise InputError(
            f"one problem must be chosen; got {_flags(chosen)}; keep one of them."
        )
    _require_owner(options, _RIDGE, "synthetic_ridge")
    _require_owner(options, ("centres",), "curvatures")
    if options["problem"] is not None:
        return _from_file(options)
    if options["synthetic_ridge"]:
        return _ridge(options, clients)
    return _scalars(options, clients)


def _from_file(options: Mapping[str, Any]) -> Described:
    problem = load_problem(options["problem"])
    given = options["n_clients"]
    if given not in (None, problem.n_clients):
        raise ShapeError(
            f"--n-clients must agree with the problem; got {given} and a file of "
            f"{problem.n_clients} clients; leave it out."
        )
    size = f"{number_of(problem.n_clients, 'client')}, dimension {problem.dim}"
    return Described(problem, f"quadratics of {options['problem']}, {size}")


def _ridge(options: Mapping[str, Any], clients: int | None) -> Described:
    sizes = {
        "n_clients": _counted(options["n_clients"] or clients or 16),
        "dim": options["dim"] or 100,
        "samples": options["samples"] or 100,
        "seed": options["data_seed"] or 0,
    }
    given = options["regularisation"]
    weight = one_number("--regularisation", "0.01" if given is None else given)
    problem = synthetic_ridge(**sizes, regularisation=weight)
    words = ", ".join(f"{name} {value}" for name, value in sizes.items())
    return Described(problem, f"synthetic ridge, {words}, regularisation {weight}")


def _scalars(options: Mapping[str, Any], clients: int | None) -> Described:
    given = options["curvatures"]
    if given is not None:
        curvatures = _one_per_client(given, "curvatures", options["n_clients"])
    else:
        size = _counted(options["n_clients"] or clients or CLIENTS)
        curvatures = [Fraction(i + 1) for i in range(size)]
    size = len(curvatures)
    centres = [Fraction(i) for i in range(size)]
    if options["centres"] is not None:
        centres = _one_per_client(options["centres"], "centres", size)
    hessians: Any = [[[h]] for h in curvatures]
    linear: Any = [[h * c] for h, c in zip(curvatures, centres, strict=True)]
    many = number_of(size, "scalar quadratic")
    text = f"{many} (h/2)(x - c)^2, h = {_short(curvatures)}, c = {_short(centres)}" + (
        "" if given else " (default)"
    )
    return Described(Quadratics(hessians, linear), text)


def _counted(size: int) -> int:
    require_countable(size)
    return size


def _one_per_client(text: str, name: str, size: int | None) -> list[Scalar]:
    """Read numbers; one number with a number of clients means all clients."""
    values = numbers_of(f"--{name}", text)
    if size is not None and len(values) == 1:
        values = values * _counted(size)
    if size not in (None, len(values)):
        raise ShapeError(
            f"--{name} must hold one number per client; got {len(values)} for {size} "
            "clients; give as many."
        )
    return values


def _require_owner(
    options: Mapping[str, Any], names: tuple[str, ...], owner: str
) -> None:
    stray = [name for name in names if options[name] is not None]
    if stray and options[owner] in (None, False):
        raise InputError(
            f"{_flags(stray)} must come with {_flags([owner])}; it is not there; add "
            "it or leave them out."
        )


def _flags(names: list[str]) -> str:
    return " and ".join("--" + name.replace("_", "-") for name in names)


def _short(values: list[Scalar], most: int = 8) -> str:
    words = [str(value) for value in values[:most]]
    return ", ".join(words) + (
        f", ... ({len(values)} numbers)" if len(values) > most else ""
    )
