"""A setting from the command line: problem, law, algorithms, and words for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np

from flverify._core.exact import Scalar
from flverify.commands._algorithms import Chosen, build, law_notes, read_overrides
from flverify.commands._laws import build_law, file_of, read_law
from flverify.commands._numbers import Whole, positive_number
from flverify.commands._options import SETTINGS_BY_NAME, Run, adding
from flverify.commands._problems import problem_options, read_problem
from flverify.report.numbers import law_text

DEFAULT_LAW = "full"
_COMMON = ("step_size", "local_steps")
_OPTIONAL = ("law", *_COMMON)
_RULE = "largest power of 1/2 at most 1/(2 N L local_steps)"


@dataclass(frozen=True)
class Setting:
    """What an engine is asked about, and how a report words it.

    Parameters
    ----------
    problem, law
        Of the package, exact unless floats were asked for.
    algorithms : tuple of Chosen
    words : mapping
        What was asked, by name.
    defaults : mapping
        Which of these were not given, and where their values come from.
    notes : tuple of str
        What the law does to convergence, and what was filled in.
    """

    problem: Any
    law: Any
    algorithms: tuple[Chosen, ...]
    words: Mapping[str, Any]
    defaults: Mapping[str, str]
    notes: tuple[str, ...]

    def lines(self) -> list[tuple[str, str]]:
        """Return what was asked as labels and texts; defaults are marked."""
        return [
            (name.removeprefix("n_").replace("_", " "), self._text(name))
            for name in self.words
        ]

    def _text(self, name: str) -> str:
        value = self.words[name]
        text = law_text(value) if name == "law" else str(value)
        return f"{text} ({self.defaults[name]})" if name in self.defaults else text

    def record(self) -> dict[str, Any]:
        """Return what was asked for a JSON report."""
        return {"setting": {**self.words, "defaults": sorted(self.defaults)}}


def setting_options(*, seed_name: str | None = "--seed") -> Callable[[Run], Run]:
    """Return a decorator that adds algorithms, law, problem and settings."""
    listed = [
        click.argument("algorithms", nargs=-1, required=True, metavar="ALGORITHM..."),
        click.option(
            "--law",
            "--participation",
            "law",
            metavar="LAW",
            help=f"Participation law, {DEFAULT_LAW} by default; see `flverify law "
            "--help`.",
        ),
        click.option(
            "--step-size",
            metavar="NUMBER",
            help=f"Default: the {_RULE}, L the largest absolute row sum of a Hessian.",
        ),
        click.option(
            "--local-steps",
            type=Whole(min=1),
            help="Gradient evaluations per client and round, 1 by default; "
            "agnostic_fedavg takes its period from it.",
        ),
        SETTINGS_BY_NAME,
        problem_options(seed_name=seed_name),
    ]
    return adding(listed)


def read_setting(
    names: Sequence[str], options: Mapping[str, Any], *, floats: bool = False
) -> Setting:
    """Build the setting that the options describe.

    Raises
    ------
    FlverifyError
        If an option is outside its domain or contradicts another.
    """
    listed = tuple(dict.fromkeys(names))
    named = [name for name in _COMMON if options[name] is not None]
    given = {name: f"--{name.replace('_', '-')}" for name in named}
    overrides = read_overrides(options["overrides"], listed, given)
    text = DEFAULT_LAW if options["law"] is None else options["law"]
    written = read_law(text, floats)
    described = read_problem(options, written.size)
    problem = described.problem.as_float() if floats else described.problem
    law = build_law(written, text, problem.n_clients)
    steps = options["local_steps"] or 1
    step_size = _step_size(options["step_size"], problem, steps)
    chosen = [build(name, step_size, steps, overrides, law) for name in listed]
    words = {
        "problem": described.text,
        "law": text,
        "n_clients": problem.n_clients,
        "step_size": step_size,
        "local_steps": steps,
    }
    defaults = {name: "default" for name in _OPTIONAL if options[name] is None}
    if "step_size" in defaults:
        defaults["step_size"] = f"default: {_RULE}"
    filled = (f"{c.name}: {note}" for c in chosen for note in c.notes)
    told = (*law_notes(law, listed), *filled)
    return Setting(problem, law, tuple(chosen), words, defaults, told)


def files_read(options: Mapping[str, Any]) -> list[tuple[str, Path | None]]:
    """Return the files that the setting is read from, each with its option."""
    problem = options["problem"]
    named = None if problem is None else Path(problem)
    return [("--problem", named), ("--law", file_of(options["law"]))]


def _step_size(text: str | None, problem: Any, local_steps: int) -> Scalar:
    if text is not None:
        return positive_number("--step-size", text)
    return default_step_size(problem, local_steps)


def default_step_size(problem: Any, local_steps: int) -> Fraction:
    """Return the largest power of 1/2 at most 1/(2 N L local_steps).

    L is the largest absolute row sum of a Hessian, which bounds its eigenvalues.

    Examples
    --------
    >>> from flverify.problems import Quadratics
    >>> default_step_size(Quadratics([[[1]], [[2]]], [[0], [2]]), 1)
    Fraction(1, 8)
    """
    row_sums = np.abs(problem.hessians).sum(axis=2)
    bound = Fraction(row_sums.max()) * 2 * problem.n_clients * local_steps
    step = Fraction(1)
    while step * bound > 1:
        step /= 2
    while 0 < 2 * step * bound <= 1:
        step *= 2
    return step
