"""Algorithms and their settings as they are written on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from flverify._core.catalogue import load, member_names
from flverify._core.errors import (
    FlverifyError,
    FormatError,
    InputError,
    UnknownNameError,
)
from flverify._core.exact import Scalar, parse_number
from flverify._core.sentences import nearest
from flverify.algorithms._algorithm import Algorithm
from flverify.algorithms.agnostic_fedavg import Ball, Box
from flverify.commands._numbers import count, naming
from flverify.participation._law import Participation
from flverify.participation.all_or_nothing import AllOrNothing
from flverify.participation.full import Full
from flverify.report.laws import notes

CATALOGUE = "flverify.algorithms"
LAWLESS = {"gradient_descent"}  # in which everybody takes part, whatever the law
SEPARATE = "separate"  # the schedule whose communications consume no tick


@dataclass(frozen=True)
class Override:
    """NAME=VALUE for every algorithm that has it, or ALGORITHM.NAME=VALUE."""

    algorithm: str
    name: str
    value: str

    @property
    def text(self) -> str:
        """The override as it was written."""
        owner = f"{self.algorithm}." if self.algorithm else ""
        return f"{owner}{self.name}={self.value}"


@dataclass(frozen=True)
class Chosen:
    """An algorithm with its name and what was filled in for it."""

    name: str
    algorithm: Algorithm
    notes: tuple[str, ...]

    def settings(self) -> dict[str, Any]:
        """Return every setting by name, for a JSON report."""
        values = {
            name: getattr(self.algorithm, name) for name in _types(self.algorithm)
        }
        return {name: _plain(value) for name, value in values.items()}


def algorithm_class(name: str) -> type[Algorithm]:
    """Return the algorithm of a file of the catalogue.

    Raises
    ------
    UnknownNameError
        If there is no such file.

    Examples
    --------
    >>> algorithm_class("focus").__name__
    'Focus'
    """
    known = member_names(CATALOGUE)
    if name not in known:
        raise UnknownNameError(
            f"an algorithm must be one of {', '.join(known)}; got {name!r}; "
            f"{nearest(name, known, 'pick one')}."
        )
    module = load(CATALOGUE, name)
    public = (getattr(module, entry) for entry in module.__all__)
    return next(c for c in public if isinstance(c, type) and issubclass(c, Algorithm))


def read_overrides(
    texts: Iterable[str], names: Sequence[str], taken: Mapping[str, str] | None = None
) -> tuple[Override, ...]:
    """Read the values of --set and check that somebody has each setting.

    Parameters
    ----------
    texts, names : sequences of str
        What was written, and the algorithms.
    taken : mapping, optional
        Settings that another option gives to all algorithms, with that option.

    Raises
    ------
    FormatError
        If a text is not of the form NAME=VALUE.
    UnknownNameError
        If no chosen algorithm has the setting.
    InputError
        If another option gives the setting too, or a second --set.
    """
    read = _each_once(tuple(override(text) for text in texts))
    chosen = {name: _types(algorithm_class(name)) for name in names}
    for one in read:
        owners = [one.algorithm] if one.algorithm else list(chosen)
        if not any(one.name in chosen.get(owner, {}) for owner in owners):
            settings = sorted({s for owner in chosen for s in chosen[owner]})
            raise UnknownNameError(
                f"--set must name a setting of {', '.join(chosen)}; got {one.text!r}; "
                f"choose among {', '.join(settings)}."
            )
        # of several algorithms one may differ from what all the others get
        if one.name in (taken or {}) and not (one.algorithm and len(chosen) > 1):
            raise InputError(
                f"--set must not name what another option gives; got {one.text!r} and "
                f"{(taken or {})[one.name]}; leave one out."
            )
    return read


def _each_once(read: tuple[Override, ...]) -> tuple[Override, ...]:
    """Refuse two values of one setting: neither is more meant than the other."""
    first: dict[tuple[str, str], Override] = {}
    for one in read:
        other = first.setdefault((one.algorithm, one.name), one)
        if other is not one:
            raise InputError(
                f"--set must give a setting once; got {other.text!r} and {one.text!r}; "
                "leave one out."
            )
    return read


def law_notes(law: Participation, names: Iterable[str]) -> list[str]:
    """Word what the law does to these algorithms."""
    if not LAWLESS.issuperset(names):
        return notes(law)
    if isinstance(law, Full):
        return []
    return [
        f"the law has no effect on {', '.join(names)}: everybody takes part in every "
        "round of it."
    ]


def build(
    name: str,
    step_size: Scalar,
    local_steps: int,
    overrides: Iterable[Override],
    law: Any,
) -> Chosen:
    """Build an algorithm from the common settings and its own.

    Raises
    ------
    FlverifyError
        If a setting lies outside its domain; the message begins with the name.
    """
    made = algorithm_class(name)
    types = _types(made)
    own = {
        one.name: one.value
        for one in sorted(overrides, key=lambda one: bool(one.algorithm))
        if one.name in types and one.algorithm in ("", name)
    }
    given: dict[str, Any] = {"step_size": step_size}
    if "local_steps" in types:
        given["local_steps"] = local_steps
    try:
        for key, value in own.items():
            with naming(key):
                given[key] = _reader(types[key])(value)
        filled = _fill(given, types, local_steps, law)
        _require_all(made, given)
        return Chosen(name, made(**given), filled)
    except FlverifyError as error:
        raise type(error)(f"{name}: {error}") from error


def _require_all(made: type[Algorithm], given: Mapping[str, Any]) -> None:
    """Check that what has no default is given."""
    for one in fields(made):  # type: ignore[arg-type]
        default = one.default is not MISSING or one.default_factory is not MISSING
        if one.init and not default and one.name not in given:
            raise InputError(
                f"{one.name} must be given, since it has no default; write --set "
                f"{one.name}=VALUE."
            )


def _fill(
    given: dict[str, Any], types: dict[str, str], local_steps: int, law: Any
) -> tuple[str, ...]:
    """Fill in what the law or the common settings say; return what was done."""
    told = []
    if "period" in types and "period" not in given:
        separate = given.get("schedule") == SEPARATE
        given["period"] = local_steps if separate else local_steps + 1
        told.append(f"period is {given['period']}, from --local-steps {local_steps}")
    paper = given.get("variant", "paper") == "paper"
    if "probability" in types and paper:
        told.append(_coin_told(given, law))
    if "weights" in types and "weights" not in given:
        given["weights"] = tuple(law.averaging_weights().tolist())
        told.append("weights are the averaging weights q of the law")
    return tuple(filter(None, told))


def _coin_told(given: dict[str, Any], law: Any) -> str:
    """Take the coin from the law; say of another one that it is not the paper's."""
    if "probability" not in given:
        given["probability"] = _coin(law)
        return f"probability is {given['probability']}, from the law"
    chosen = given["probability"]
    of_law = _coin(law) if isinstance(law, Full | AllOrNothing) else None
    if of_law is not None and float(of_law) == float(chosen):  # also with --float
        return ""
    return (
        f"in the paper everybody communicates with the probability of the setting, "
        f"{chosen}, or nobody; the law {law.spec} is another"
    )


def _plain(value: object) -> object:
    """Return a setting as JSON has it: a region is its text."""
    return str(value) if isinstance(value, Ball | Box) else value


def _coin(law: Any) -> Scalar:
    """Return the probability that everybody communicates."""
    if isinstance(law, Full):
        return 1
    if isinstance(law, AllOrNothing):
        return law.probability
    raise InputError(
        f"the coin's probability must be known; the law {law.spec} is not all or "
        "nothing; use --law allornothing:P, --set probability=P or --set "
        "variant=notebook."
    )


def override(text: str) -> Override:
    """Read NAME=VALUE or ALGORITHM.NAME=VALUE.

    Raises
    ------
    FormatError
        If a text is neither.
    """
    place, equals, value = text.partition("=")
    owner, _, name = place.strip().rpartition(".")
    if not equals or not name:
        raise FormatError(
            f"--set must be NAME=VALUE or ALGORITHM.NAME=VALUE; got {text!r}; write "
            "it like that."
        )
    return Override(owner, name, value.strip())


def _types(made: Any) -> dict[str, str]:
    """Return the settings of an algorithm (a dataclass) with their annotations."""
    return {f.name: str(f.type) for f in fields(made)}


def _reader(annotation: str) -> Callable[[str], Any]:
    """Return what reads a value of an annotated type."""
    kind, _, optional = annotation.partition(" | ")
    read = _READERS.get(kind)
    if read is None:
        raise InputError(
            f"a setting must be a number, a word or a list to be written here; this "
            f"one is {annotation}; use it from Python."
        )
    if optional == "None":
        return lambda text: None if text == "none" else read(text)
    return read


def _whole(text: str) -> int:
    return count(text, "a whole number")


def _word(text: str) -> str:
    return text


def _numbers(text: str) -> tuple[Scalar, ...]:
    return tuple(parse_number(part) for part in text.split(","))


def _region(text: str) -> Ball | Box:
    kind, _, rest = text.partition(":")
    sizes = _numbers(rest) if rest else ()
    if kind == "ball" and len(sizes) == 1:
        return Ball(*sizes)
    if kind == "box" and len(sizes) == 2:
        return Box(*sizes)
    raise FormatError(
        f"a region must be ball:RADIUS, box:LOWER,UPPER or none; got {text!r}; write "
        "one of them."
    )


_READERS: dict[str, Callable[[str], Any]] = {
    "Scalar": parse_number,
    "int": _whole,
    "str": _word,
    "tuple[Scalar, ...]": _numbers,
    "Region": _region,
}
