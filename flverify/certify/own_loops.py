"""The plain loop that somebody brings for a method of their own.

What finds a certificate reads the method's round; what judges it plays the loop. The
two are first compared on a few rounds, so that a certificate is about both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from inspect import Parameter, signature
from types import ModuleType
from typing import Any

import numpy as np

from flverify._core.errors import DomainError, InputError, Refusal, RefusedError
from flverify._core.shown import shown
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.certificate import NAMES, loop_of
from flverify.certify.check import Summary, check
from flverify.certify.check.one_by_one import FAULTS, Loop, loop_in
from flverify.certify.check.own import check_own
from flverify.engines.simulate import simulate
from flverify.participation._law import Participation
from flverify.participation.all_or_nothing import AllOrNothing
from flverify.participation.bernoulli import Bernoulli
from flverify.participation.explicit_law import ExplicitLaw
from flverify.problems import Quadratics

ROUNDS, RUNS, SEED = 6, 3, 1  # of the comparison
ROUNDS_OF_EXTREMES = 12  # such that each extreme cohort comes after each other one
NEAR, ROUNDED = 1e-6, 1e-13  # relative to how far a run moves, and to where it is


def own_loop(
    algorithm: Algorithm, participation: Participation, smoothness: Any, loop: object
) -> Loop | None:
    """Return the loop that has to come with an algorithm; None if the checker has it.

    Raises
    ------
    RefusedError
        If the checker has none and none is given.
    InputError
        If a loop is given for an algorithm of the package, is no module, or differs
        from the round.
    DomainError
        If a setting is no rational and no text.
    """
    kind = type(algorithm)
    if loop_of(algorithm) is not None:
        if loop is not None:
            raise InputError(
                f"loop must be left out for {kind.__name__}, whose loop the checker "
                f"has; got {shown(loop)}; leave it out."
            )
        return None
    if loop is None:
        own = f" of {kind.__module__}" if kind.__name__ in NAMES else ""
        raise RefusedError(
            f"a certificate must be for one of {', '.join(sorted(NAMES))}, or of one's "
            f"own with a plain loop; got {kind.__name__}{own}; give its loop, take its "
            "rate on one problem from moments, or prove a lemma of its round by "
            "flverify.certify.gram."
        )
    if not isinstance(loop, ModuleType):
        raise InputError(
            "loop must be a module with the functions start and play; got "
            f"{shown(loop)}; import your file and pass it."
        )
    try:
        made = loop_in(loop)
    except ValueError as error:
        raise InputError(str(error)) from error
    settings = _settings(algorithm)
    _require_named(algorithm, loop, settings)
    _require_same(algorithm.rescaled(2 / Fraction(smoothness)), participation, loop)
    return made


def judged(certificate: Mapping[str, Any], own: Loop | None) -> Summary:
    """Let the checker judge a certificate, of one's own method with its loop.

    Raises
    ------
    Rejected
        If it proves nothing.
    """
    return check(certificate) if own is None else check_own(certificate, own)


def _settings(algorithm: Algorithm) -> dict[str, Any]:
    if not is_dataclass(algorithm):
        raise InputError(
            "an algorithm must be a dataclass, whose fields are its settings; got "
            f"{type(algorithm).__name__}; write @dataclass(frozen=True) over it."
        )
    given = {f.name: getattr(algorithm, f.name) for f in fields(algorithm)}
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in given.items():
        exact = isinstance(value, int | Fraction) and not isinstance(value, bool)
        if not (isinstance(value, str) or exact):
            raise DomainError(
                "settings of a certificate must be rationals or text; got "
                f"{name} = {shown(value)}; write a fraction."
            )
    return given


def _require_named(
    algorithm: Algorithm, loop: ModuleType, settings: Mapping[str, Any]
) -> None:
    """Refuse a loop that does not take the settings, by name."""
    kinds = [signature(part).parameters.values() for part in (loop.start, loop.play)]
    known = {p.name for ps in kinds for p in ps if p.kind is Parameter.KEYWORD_ONLY}
    if extra := sorted(settings.keys() - known):
        raise InputError(
            "loop must take every setting by name, after a * in start or play; "
            f"{type(algorithm).__name__} has {', '.join(extra)} beside these; name it "
            "there."
        )


def _require_same(
    algorithm: Algorithm, participation: Participation, loop: ModuleType
) -> None:
    """Refuse a loop that is another method than the round, as far as runs show."""
    _require_same_runs(algorithm, participation, loop, ROUNDS)
    for extremes in _extremes(participation):
        _require_same_runs(algorithm, extremes, loop, ROUNDS_OF_EXTREMES)


def _extremes(law: Participation) -> list[Participation]:
    """Return the least and the largest cohorts, which few draws may not show."""
    if not isinstance(law, Bernoulli | AllOrNothing):
        return []  # all cohorts have one size
    chances = list(enumerate(law.inclusion()))
    always = {i for i, chance in chances if chance == 1}
    all_of_them = {i for i, chance in chances if chance > 0}
    sometimes = sorted(all_of_them - always)
    if not sometimes:
        return []
    cohorts = {frozenset(always), frozenset(all_of_them)}
    if isinstance(law, Bernoulli):
        cohorts |= {frozenset(always | {sometimes[0]})}
        cohorts |= {frozenset(all_of_them - {sometimes[-1]})}
    table = {cohort: Fraction(1, len(cohorts)) for cohort in cohorts}
    return [ExplicitLaw(table, law.n_clients)]


def _require_same_runs(
    algorithm: Algorithm, participation: Participation, loop: ModuleType, rounds: int
) -> None:
    n = participation.n_clients
    slopes = [[[1 + (k % 7) / 8]] for k in range(n)]
    problem = Quadratics(slopes, [[float(k % 5 - 1)] for k in range(n)])
    asked: dict[str, Any] = {"rounds": rounds, "runs": RUNS, "seed": SEED}
    runs = simulate(problem, algorithm, participation, **asked)
    if isinstance(runs, Refusal):
        raise RefusedError(str(runs))
    of_round = np.array(runs.errors)
    masks = participation.sample(SEED, range(RUNS), rounds)
    of_loop = np.array([_errors(loop, algorithm, problem, mask) for mask in masks])
    moved = float(np.abs(of_round - of_round[:, :1]).max())
    apart = np.abs(of_loop - of_round)
    wrong = ~(apart <= NEAR * moved + ROUNDED * float(of_round.max()))
    if wrong.any():
        raise InputError(
            f"loop must do what the round does; it differs {_where(wrong, masks)} of a "
            f"run with {n} clients; compare the two line by line."
        )


def _where(wrong: Any, masks: Any) -> str:
    first = int(wrong.any(axis=0).argmax())
    if not first:
        return "at the start"
    present = masks[wrong[:, first].argmax(), first - 1].sum()
    return f"after round {first}, with a cohort of {present},"


def _errors(
    loop: ModuleType, algorithm: Algorithm, problem: Quadratics, masks: Any
) -> list[float]:
    """Play the loop on numbers; return |x_r - x*|^2."""
    floats, n = problem.as_float(), problem.n_clients
    best = [float(x) for x in problem.minimiser()]

    def gradient(client: int, point: Any) -> list[float]:
        slope = floats.gradient(client, np.array(point, dtype=np.float64))
        return [float(entry) for entry in slope]

    try:
        state = loop.start(gradient, n, [0.0], **_taken(loop.start, algorithm))
        _require_slots(algorithm, state)
        models = [state["model"]]
        for mask in masks:
            cohort, play = np.flatnonzero(mask).tolist(), _taken(loop.play, algorithm)
            state = loop.play(state, gradient, n, cohort, **play)
            models.append(state["model"])
        return [math.dist(map(float, model), best) ** 2 for model in models]
    except FAULTS as error:
        raise InputError(
            f"loop must play a round of numbers; it ends in {type(error).__name__}: "
            f"{str(error).rstrip('.')}; try start and play by hand."
        ) from error


def _require_slots(algorithm: Algorithm, state: Any) -> None:
    """Refuse slots that the round does not keep."""
    slots, kept = list(algorithm.slots()), list(state)
    if "model" not in kept or not set(kept) <= set(slots):
        raise InputError(
            "loop must start with slots of the round's State, the model among them: "
            f"{', '.join(slots)}; got {', '.join(map(str, kept))}; name them alike."
        )


def _taken(part: Any, algorithm: Algorithm) -> dict[str, Any]:
    """Return the settings that a function has names for."""
    names = [name for name in signature(part).parameters if hasattr(algorithm, name)]
    return {name: getattr(algorithm, name) for name in names}
