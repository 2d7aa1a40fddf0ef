"""What `flverify advise` asks about: a problem, a law or a log, and algorithms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from flverify._core.errors import DomainError, InputError
from flverify.advise.budget import LEAST, require_start
from flverify.advise.class_wide import Constants, constants
from flverify.advise.fit import Fitted, fit
from flverify.advise.log import read_log
from flverify.advise.rarest import Rarest, rarest
from flverify.advise.step_sizes import require_searchable
from flverify.advise.table import Place
from flverify.algorithms.gradient_descent import GradientDescent
from flverify.commands._algorithms import Chosen, Override, build, read_overrides
from flverify.commands._laws import build_law, read_law
from flverify.commands._numbers import one_number
from flverify.commands._problems import Described, read_problem
from flverify.commands._setting import default_step_size
from flverify.participation._law import Participation
from flverify.participation.bernoulli import Bernoulli
from flverify.report.laws import notes

ALGORITHMS = ("focus", "fedavg", "scaffold")
DEFAULT_LAW, DEFAULT_ACCURACY = "full", "1e-6"
NOTED = 200  # clients up to which the law's notes are computed: they take N^2 steps


@dataclass(frozen=True)
class Asked:
    """Everything that was asked, read and checked.

    Parameters
    ----------
    place : Place
    algorithms : tuple of (Chosen, Chosen)
        Each for the exact law and for the law in floats.
    fitted : Fitted or None
        What the log says, if there is one.
    rarest : Rarest or None
        None if all clients always take part, or no algorithm asks the law.
    target : Fraction
    words : mapping
        What was asked, by name.
    notes : tuple of str
    """

    place: Place
    algorithms: tuple[tuple[Chosen, Chosen], ...]
    fitted: Fitted | None
    rarest: Rarest | None
    target: Fraction
    words: Mapping[str, Any]
    notes: tuple[str, ...]

    @property
    def scope(self) -> str:
        """For which problems the certificates are, or why there are none."""
        found = self.place.constants
        if found is None:
            why = (self.place.no_constants or "").rstrip(".")
            return f"there are no certificates and no caps: {why}."
        ends = f"mu = {found.strong_convexity}, L = {found.smoothness}"
        ends += " (rounded outward)" if found.rounded else ""
        return (
            f"certified and cap are for every problem with {ends}; that no certificate "
            "was found says nothing about the method."
        )


@dataclass(frozen=True)
class _Laws:
    """One law twice, and where it is from."""

    exact: Participation
    floats: Participation
    text: str
    fitted: Fitted | None = None


def read_question(names: Sequence[str], options: Mapping[str, Any]) -> Asked:
    """Read and check all options.

    Raises
    ------
    FlverifyError
        If an option is outside its domain or contradicts another.
    """
    listed = tuple(dict.fromkeys(names or ALGORITHMS))
    steps_given = options["local_steps"] is not None
    taken = {"local_steps": "--local-steps"} if steps_given else {}
    overrides = _without_step_sizes(read_overrides(options["overrides"], listed, taken))
    given = options["accuracy"]
    target = _accuracy(DEFAULT_ACCURACY if given is None else given)
    steps = options["local_steps"] or 1
    require_searchable(options["n_clients"] or 1, steps)  # before a problem is built
    described, laws = _problem_and_laws(options)
    require_searchable(described.problem.n_clients, steps)
    floats = described.problem.as_float()
    problem = floats if options["floats"] else described.problem
    require_start(problem)
    step_size = default_step_size(problem, steps)  # it is searched, but must be some
    chosen = tuple(
        (
            build(name, step_size, steps, overrides, laws.exact),
            build(name, step_size, steps, overrides, laws.floats),
        )
        for name in listed
    )
    # gradient descent hears all clients, whatever the law
    heeded = any(not isinstance(c.algorithm, GradientDescent) for c, _ in chosen)
    law = laws.exact if problem.exact else laws.floats
    lone = _rarest(problem, law) if heeded else None
    raised = None if lone is None else _in_floats(lone.raised)
    known, why = _constants(described.problem)
    place = Place(problem, floats, laws.exact, laws.floats, raised, known, why)
    words = _words(described.text, laws.text, problem, steps, target)
    told = notes(laws.floats) if heeded and problem.n_clients <= NOTED else []
    filled = [f"{c.name}: {note}" for c, _ in chosen for note in c.notes]
    return Asked(place, chosen, laws.fitted, lone, target, words, (*told, *filled))


def _words(
    described: str, law: str, problem: Any, steps: int, target: Fraction
) -> dict[str, Any]:
    """Return what was asked, by name."""
    return {
        "problem": described,
        "law": law,
        "n_clients": problem.n_clients,
        "local_steps": steps,
        "accuracy": target,
        "arithmetic": "exact rationals" if problem.exact else "floats",
    }


def _rarest(problem: Any, law: Participation) -> Rarest | None:
    """Return the rarest client; nothing where all clients always take part."""
    always = min(law.inclusion().tolist()) == 1
    return None if always else rarest(problem, law)


def _without_step_sizes(overrides: tuple[Override, ...]) -> tuple[Override, ...]:
    """Refuse a step size: it would play no role.

    Raises
    ------
    InputError
        If one is set.
    """
    for one in overrides:
        if one.name == "step_size":
            raise InputError(
                f"--set must not name step_size, which is searched; got {one.text!r}; "
                "leave it out, or ask `flverify rate` about one step size."
            )
    return overrides


def _problem_and_laws(options: Mapping[str, Any]) -> tuple[Described, _Laws]:
    """Read the problem, and the law from its text or from a log.

    Raises
    ------
    InputError
        If both a law and a log are given, or options of a log without one.
    """
    if options["availability"] is None:
        for name in ("rounds", "write_law"):
            if options[name] is not None:
                raise InputError(
                    f"--{name.replace('_', '-')} must come with --availability; it is "
                    "not there; add it or leave this out."
                )
        text = DEFAULT_LAW if options["law"] is None else options["law"]
        written = read_law(text)
        described = read_problem(options, written.size)
        size = described.problem.n_clients
        exact = build_law(written, text, size)
        return described, _Laws(
            exact, build_law(read_law(text, True), text, size), text
        )
    if options["law"] is not None:
        raise InputError(
            "--law must not come with --availability, which gives the law; got both; "
            "leave one out."
        )
    return _from_log(options, Path(options["availability"]))


def _from_log(options: Mapping[str, Any], path: Path) -> tuple[Described, _Laws]:
    """Let the problem say the number of clients, where it does; else the log."""
    says = [options[n] for n in ("problem", "curvatures", "n_clients")]
    if any(says):
        described = read_problem(options, None)
        log = read_log(path, described.problem.n_clients, options["rounds"])
    else:
        log = read_log(path, None, options["rounds"])
        require_searchable(log.n_clients, options["local_steps"] or 1)
        described = read_problem(options, log.n_clients)
    found = fit(log)
    text = f"fitted to {path}"
    return described, _Laws(found.law, found.in_floats(), text, found)


def _constants(problem: Any) -> tuple[Constants | None, str]:
    try:
        return constants(problem), ""
    except DomainError as error:
        return None, str(error)


def _in_floats(law: Participation | None) -> Participation | None:
    if law is None:
        return None
    return Bernoulli([float(p) for p in law.inclusion().tolist()])


def _accuracy(text: str) -> Fraction:
    target = Fraction(one_number("--accuracy", text))
    if not LEAST <= target < 1:
        raise DomainError(
            f"--accuracy must be at least {float(LEAST):g} and below 1; got {text}; "
            "choose another."
        )
    return target
