"""Participation laws as they are written on the command line.

`full`, `bernoulli:P1,P2,...` (one number: all clients), `uniform:M`,
`successive:M:W1,W2,...`, `replacement:M:W1,W2,...`, `allornothing:P`,
`nonempty:LAW`, `explicit:FILE.json`, `chain:FILE.json` and `file:FILE.json`.

explicit: {"outcomes": [{"clients": [0, 2], "probability": "1/4"}, ...]}, perhaps
with "n_clients". chain: {"transition": [["1/2", "1/2"], ...], "laws": [LAW, ...]},
perhaps with "initial" ("stationary", a mode, or a distribution); a LAW is a text as
above or an object with "outcomes", and files are sought beside the chain's.
file: {"law": LAW, "n_clients": N}, or "outcomes" in place of "law", and perhaps
"about", a text; `flverify advise --write-law` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flverify import participation
from flverify._core.checks import whole
from flverify._core.errors import (
    FlverifyError,
    FormatError,
    InputError,
    ShapeError,
    UnknownNameError,
)
from flverify._core.exact import Scalar, scalar
from flverify._core.sentences import nearest
from flverify.commands._json_files import entries, read_object
from flverify.commands._numbers import count, require_countable
from flverify.participation._law import Participation

Build = Callable[[int], Participation]

DEEPEST = 8  # laws within laws: more is a file that names itself

# The text of --help; the line break is kept.
FORMS = """LAW is one of full, bernoulli:P1,P2,... (one number with --n-clients means
all clients), uniform:M, successive:M:W1,W2,..., replacement:M:W1,W2,...,
allornothing:P, nonempty:LAW, explicit:FILE.json, chain:FILE.json, file:FILE.json.
Numbers are fractions or decimal text, with or without exponent, read exactly."""


@dataclass(frozen=True)
class Written:
    """A law as written: the clients its text names, and how to build it.

    Parameters
    ----------
    build : callable
        From the number of clients to the law.
    clients : int or None
        Number of clients, where the text fixes it.
    alone : int or None
        Number of clients if nothing else says it.
    """

    build: Build
    clients: int | None = None
    alone: int | None = None

    @property
    def size(self) -> int | None:
        """Number of clients that the text says, or has numbers for."""
        # one number for all clients does not say how many there are
        return self.clients or (self.alone if (self.alone or 0) > 1 else None)


@dataclass(frozen=True)
class _Place:
    """Where a text stands: its folder and depth, and how its numbers are read."""

    folder: Path
    depth: int
    floats: bool

    def number(self, value: object) -> Scalar:
        exact = scalar(value, "a number of the law")
        return float(exact) if self.floats else exact

    def numbers(self, text: str) -> tuple[Scalar, ...]:
        return tuple(self.number(part) for part in text.split(","))


def read_law(text: str, floats: bool = False) -> Written:
    """Read the text of a law.

    Parameters
    ----------
    text : str
    floats : bool
        Whether numbers become floats; they are rationals otherwise.

    Raises
    ------
    UnknownNameError
        If no law begins like that.
    FormatError
        If the text or a file it names is damaged.

    Examples
    --------
    >>> read_law("uniform:2").build(3).inclusion()[0]
    Fraction(2, 3)
    """
    return _read(text, _Place(Path(), 0, floats))


def file_of(text: str | None) -> Path | None:
    """Return the file that the text of a law names, if it names one.

    Examples
    --------
    >>> file_of("nonempty:chain:modes.json").name, file_of("uniform:2")
    ('modes.json', None)
    """
    name, _, rest = (text or "").strip().partition(":")
    if name == "nonempty":
        return file_of(rest)
    return Path(rest) if name in ("explicit", "chain", "file") else None


def build_law(written: Written, text: str, n_clients: int | None) -> Participation:
    """Build a law for a number of clients, or for the number its text says.

    Raises
    ------
    InputError
        If nothing says the number of clients.
    ShapeError
        If the text says another number.
    FlverifyError
        If a setting of the law lies outside its domain.
    """
    size = n_clients or written.clients or written.alone
    if size is None:
        raise InputError(
            f"the law {text!r} must be given its number of clients; got none; add "
            "--n-clients."
        )
    require_countable(size)
    if written.clients not in (None, size):
        raise ShapeError(
            f"law and setting must have the same clients; {text!r} has "
            f"{written.clients} and the setting {size}; change one of them."
        )
    try:
        return written.build(size)
    except FlverifyError as error:
        raise type(error)(f"law {text!r}: {error}") from error


def _read(text: str, place: _Place) -> Written:
    name, _, rest = text.strip().partition(":")
    if name not in _READERS:
        raise UnknownNameError(
            f"a law must be one of {', '.join(_READERS)}; got {text!r}; "
            f"{nearest(name, _READERS, 'see `flverify law --help`')}."
        )
    if place.depth > DEEPEST:
        raise FormatError(
            f"laws must not be nested deeper than {DEEPEST}; got {text!r}; see that "
            "no file names itself."
        )
    try:
        return _READERS[name](rest, replace(place, depth=place.depth + 1))
    except FlverifyError as error:
        if place.depth:
            raise
        raise type(error)(f"law {text!r}: {error}") from error


def _full(rest: str, place: _Place) -> Written:
    del place
    if rest:
        raise FormatError(f"full must stand alone; got {rest!r} after it; remove it.")
    return Written(_law("Full"))


def _bernoulli(rest: str, place: _Place) -> Written:
    chances = place.numbers(rest)
    if len(chances) > 1:
        return Written(_fixed("Bernoulli", chances), len(chances))
    return Written(lambda n: _law("Bernoulli")(chances * n), alone=1)


def _uniform(rest: str, place: _Place) -> Written:
    del place
    size = count(rest, "m")
    return Written(lambda n: _law("UniformCohort")(n, size))


def _weighted(law: str) -> Callable[[str, _Place], Written]:
    def read(rest: str, place: _Place) -> Written:
        drawn, _, listed = rest.partition(":")
        size, weights = count(drawn, "m"), place.numbers(listed)
        return Written(_fixed(law, weights, size), len(weights))

    return read


def _all_or_nothing(rest: str, place: _Place) -> Written:
    chance = place.number(rest)
    return Written(lambda n: _law("AllOrNothing")(n, chance))


def _non_empty(rest: str, place: _Place) -> Written:
    inner = _read(rest, place)
    return replace(inner, build=lambda n: _law("NonEmpty")(inner.build(n)))


def _explicit(rest: str, place: _Place) -> Written:
    path = place.folder / rest
    content = read_object(path, {"outcomes"}, {"outcomes", "n_clients"})
    return _outcomes(content, path, place)


def _outcomes(content: Mapping[str, Any], path: Path, place: _Place) -> Written:
    table: dict[frozenset[int], Scalar] = {}
    for entry in entries(content["outcomes"], "outcomes", path):
        clients, chance = _outcome(entry, path)
        if clients in table:
            raise FormatError(
                f"each set of clients must be listed once; got {sorted(clients)} "
                f"twice in {path}; add the probabilities."
            )
        table[clients] = place.number(chance)
    least = max((i + 1 for clients in table for i in clients), default=1)
    given = content.get("n_clients")
    size = None if given is None else whole(given, "n_clients")
    build = _law("ExplicitLaw")
    return Written(lambda n: build(table, n), size, alone=least)


def _outcome(entry: object, path: Path) -> tuple[frozenset[int], object]:
    keys = {"clients", "probability"}
    if not isinstance(entry, dict) or entry.keys() != keys:
        raise FormatError(
            f"an outcome must be an object of clients and probability; got {entry!r} "
            f"in {path}; mend it."
        )
    listed = entry["clients"]
    plain = isinstance(listed, list) and all(type(i) is int for i in listed)
    if not plain or min(listed, default=0) < 0 or len(set(listed)) < len(listed):
        raise FormatError(
            f"clients must be a list of different whole numbers from 0; got "
            f"{listed!r} in {path}; mend it."
        )
    return frozenset(listed), entry["probability"]


def _chain(rest: str, place: _Place) -> Written:
    path = place.folder / rest
    needed = {"transition", "laws"}
    content = read_object(path, needed, needed | {"initial", "n_clients"})
    inside = replace(place, folder=path.parent)
    parts = [_part(p, path, inside) for p in entries(content["laws"], "laws", path)]
    rows = [
        [place.number(v) for v in entries(row, "a row of transition", path)]
        for row in entries(content["transition"], "transition", path)
    ]
    initial = content.get("initial", "stationary")
    if isinstance(initial, list):
        initial = [place.number(value) for value in initial]
    given = content.get("n_clients")
    sizes = [whole(given, "n_clients")] if given is not None else []
    sizes += [part.clients for part in parts if part.clients is not None]
    if len(set(sizes)) > 1:
        raise FormatError(
            f"the laws of a chain must have the same clients; {path} has "
            f"{', '.join(map(str, sizes))}; mend it."
        )
    alone = max((part.alone or 1 for part in parts), default=1)

    def build(n: int) -> Participation:
        laws = [part.build(n) for part in parts]
        return _law("ModeChain")(rows, laws, initial)

    return Written(build, sizes[0] if sizes else None, alone if alone > 1 else None)


def _file(rest: str, place: _Place) -> Written:
    path = place.folder / rest
    content = read_object(path, set(), {"law", "about"} | _OUTCOME_KEYS)
    if ("law" in content) == ("outcomes" in content):
        raise FormatError(
            f"{path} must hold either law or outcomes; got {sorted(content)}; keep one "
            "of them."
        )
    if "outcomes" in content:
        return _outcomes(content, path, place)
    inner = _part(content["law"], path, replace(place, folder=path.parent))
    given = content.get("n_clients")
    size = inner.clients if given is None else whole(given, "n_clients")
    if inner.clients not in (None, size):
        raise FormatError(
            f"n_clients must agree with the law; {path} has {size} and a law of "
            f"{inner.clients} clients; mend it."
        )
    return replace(inner, clients=size)


def _part(law: object, path: Path, place: _Place) -> Written:
    if isinstance(law, str):
        return _read(law, place)
    if isinstance(law, dict) and {"outcomes"} <= law.keys() <= _OUTCOME_KEYS:
        return _outcomes(law, path, place)
    raise FormatError(
        f"a mode must have the text of a law or an object with outcomes; got {law!r} "
        f"in {path}; mend it."
    )


def _fixed(name: str, *settings: Any) -> Build:
    """Build a law whose settings say the number of clients."""

    def build(n_clients: int) -> Participation:
        del n_clients
        return _law(name)(*settings)

    return build


def _law(name: str) -> Callable[..., Participation]:
    found: Callable[..., Participation] = getattr(participation, name)
    return found


_OUTCOME_KEYS = {"outcomes", "n_clients"}
_READERS: dict[str, Callable[[str, _Place], Written]] = {
    "full": _full,
    "bernoulli": _bernoulli,
    "uniform": _uniform,
    "successive": _weighted("SuccessiveSampling"),
    "replacement": _weighted("ReplacementSampling"),
    "allornothing": _all_or_nothing,
    "nonempty": _non_empty,
    "explicit": _explicit,
    "chain": _chain,
    "file": _file,
}
