"""What a setting is made of: a problem, an algorithm and a law, and nothing else.

Public functions ask here first, so that a text or a class in place of an instance is
one sentence, not a failure deep inside.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from types import FunctionType
from typing import cast

from flverify._core.errors import InputError, Refusal, ShapeError
from flverify._core.shown import shown
from flverify.algorithms._algorithm import Algorithm, Clients, Numbers, Server
from flverify.engines import own_laws, own_problems
from flverify.engines.own_rounds import failing
from flverify.participation._law import Participation
from flverify.problems._problem import Problem

_LIKE: dict[type, tuple[str, str]] = {  # each kind, and an instance to imitate
    Problem: ("problem", "Quadratics(hessians=[[[1]], [[2]]], linear=[[0], [2]])"),
    Algorithm: ("algorithm", 'Focus("1/8")'),
    Participation: ("participation law", 'Bernoulli(["1/2", "1/3"])'),
}


def require_setting(problem: object, algorithm: object, participation: object) -> None:
    """Check what an engine is asked about.

    Raises
    ------
    InputError
        If a part is of another kind.
    """
    require_problem(problem)
    require_algorithm(algorithm)
    require_law(participation)


def require_same_clients(problem: Problem, participation: Participation) -> None:
    """Check that a problem and a law are about as many clients.

    Raises
    ------
    ShapeError
        If they are not.
    """
    if problem.n_clients != participation.n_clients:
        raise ShapeError(
            "problem and participation must have the same clients; got "
            f"{problem.n_clients} and {participation.n_clients}; change one of them."
        )


def require_problem(given: object) -> None:
    """Check that a problem is one.

    Raises
    ------
    InputError
        If it is not, or one of another module contradicts itself.
    """
    _require(given, "problem", Problem)
    own_problems.require_consistent(cast(Problem, given))


def require_law(given: object) -> Participation:
    """Return a law, if it is one.

    Raises
    ------
    InputError
        If it is not, or one of another module contradicts itself.

    Examples
    --------
    >>> require_law("full")
    Traceback (most recent call last):
    flverify._core.errors.InputError: participation must be an instance of a ...
    """
    _require(given, "participation", Participation)
    law = cast(Participation, given)
    own_laws.require_consistent(law)
    return law


def require_algorithm(given: object, *needed: str) -> None:
    """Check that an algorithm is one, and has the settings that an engine needs.

    Raises
    ------
    InputError
        If it is not, or lacks the slot model or a setting that can be set.
    """
    _require(given, "algorithm", Algorithm)
    slots = getattr(getattr(given, "State", None), "_fields", ())
    if "model" not in slots:
        raise InputError(
            "an algorithm must have a NamedTuple State with the slot model; "
            f"{type(given).__name__} has {', '.join(slots) or 'none'}; add it."
        )
    _require_slots(cast(Algorithm, given))
    for name in needed:
        if not hasattr(given, name):
            raise InputError(
                f"an algorithm must have the setting {name}; {type(given).__name__} "
                "has none; add it."
            )
        computed = isinstance(getattr(type(given), name, None), property)
        if computed and name == "step_size":  # which sweeps set
            raise InputError(
                f"the setting {name} of an algorithm must be one that can be set; "
                f"{type(given).__name__} computes it; make it a field of the dataclass."
            )


def _require_slots(algorithm: Algorithm) -> None:
    """Check that every slot is of a kind, and the model at the server."""
    with failing(f"reading the annotations of State of {type(algorithm).__name__}"):
        kinds = algorithm.slots()
    known = Server, Clients, Numbers
    if kinds["model"] is not Server or not all(k in known for k in kinds.values()):
        said = ", ".join(f"{n}: {getattr(k, '__name__', k)}" for n, k in kinds.items())
        raise InputError(
            "the slots of a State must be annotated as Server, Clients or Numbers, and "
            f"model as Server; {type(algorithm).__name__} has {said}; mend it."
        )


def require_listed(algorithm: Algorithm) -> None:
    """Check that the settings of an algorithm can be listed.

    Raises
    ------
    InputError
        If it is no dataclass.
    """
    if not is_dataclass(algorithm):
        raise InputError(
            f"an algorithm must be a dataclass; {type(algorithm).__name__} is none; "
            "add @dataclass(frozen=True)."
        )


def _require(given: object, name: str, kind: type) -> None:
    if isinstance(given, kind):
        return
    word, like = _LIKE[kind]
    if kind is Algorithm and isinstance(given, FunctionType):
        like += ", or give the function to the assertions of flverify.testing"
    raise InputError(
        f"{name} must be an instance of a{'n' * (word[0] in 'aeiou')} {word}; got "
        f"{shown(given)}; pass one such as {like}."
    )


def not_quadratic(problem: object) -> Refusal | None:
    """Refuse a problem without Hessians, for exact moments.

    Examples
    --------
    >>> from flverify.problems import LogSpiral
    >>> print(not_quadratic(LogSpiral(2, "1/10", 1)))
    moments refuses: a problem must be quadratic, with hessians and linear; got ...
    """
    if hasattr(problem, "hessians"):
        return None
    return Refusal(
        "moments",
        "a problem must be quadratic, with hessians and linear; got "
        f"{type(problem).__name__}; simulate it, or give it these.",
    )
