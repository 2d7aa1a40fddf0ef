"""A loop of the user's own, played client by client on vectors it cannot look at.

The checkers' own loops know how to play one client that stands for many. A loop that
somebody brings need not: here every client is written out, so that lists have their
lengths, and clients can be counted. What is played is played again with every client in
the next one's place, and with the first two exchanged, and all have to end alike: a
loop that treats client 0 in its own way, draws, or keeps something from one call to the
next is rejected. Vectors have one entry, then two, then three, each a multiple of the
first, and must stay so: a loop that leaves an entry out, or mixes them, is rejected.
All that it can do to a vector is to add it to others and to multiply it by numbers. A
draw that never differs while it is played goes unseen: whoever checks reads the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from hashlib import sha256
from pathlib import Path
from reprlib import repr as shortened
from types import ModuleType
from typing import Any

from ._json import Rejected, require

OWN = "own:"  # begins the names of methods that the checkers have no loop of
EXACT = (int, Fraction)
COUNTING = (int, float, str, list, dict, set, Fraction)
FAULTS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, NameError),
    *(RecursionError, RuntimeError, TypeError, ValueError),
)
LINEAR = "a loop may add vectors and multiply them by exact numbers, and nothing else"


class Whole(Fraction):
    """A whole number among the settings: it counts, and is divided exactly."""

    def __index__(self) -> int:
        return self.numerator


class Unseen:
    """A vector that can be added to others and multiplied by numbers."""

    __slots__ = ("_inner",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __add__(self, other: object) -> Unseen:
        return Unseen(self._inner + uncovered(other))

    def __sub__(self, other: object) -> Unseen:
        return self + Unseen(uncovered(other)) * -1

    def __rsub__(self, other: object) -> Unseen:
        return self * -1 + other

    def __neg__(self) -> Unseen:
        return self * -1

    def __mul__(self, factor: object) -> Unseen:
        return Unseen(self._inner * _exact(factor))

    def __truediv__(self, divisor: object) -> Unseen:
        return Unseen(self._inner * (Fraction(1) / _exact(divisor)))

    __radd__, __rmul__ = __add__, __mul__

    def _looked_at(self, *_: object) -> Any:
        raise TypeError(LINEAR)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _looked_at
    __bool__ = __len__ = __iter__ = __abs__ = __float__ = __int__ = _looked_at
    __pow__ = __rtruediv__ = __getitem__ = __contains__ = __index__ = _looked_at


def _exact(number: object) -> Any:
    if not isinstance(number, EXACT):
        raise TypeError(f"{LINEAR}; got the number {shortened(number)}")
    return number


def uncovered(value: object) -> Any:
    """Return the vector in what a loop was given, or a number as it is."""
    return value._inner if isinstance(value, Unseen) else _exact(value)


@dataclass(frozen=True)
class Loop:
    """A start and a play that take clients in groups, as the checkers give them.

    `source` says which text they were made from.
    """

    start: Callable[..., dict[str, Any]]
    play: Callable[..., dict[str, Any]]
    source: str


def loop_in(module: ModuleType) -> Loop:
    """Return the loop of a module with the functions `start` and `play`.

    Raises
    ------
    ValueError
        If that is no module with a file and these functions.

    Examples
    --------
    >>> from flverify.reference import focus
    >>> loop_in(focus).source[:26]
    'a loop, sha256 of its file'
    """
    path = getattr(module, "__file__", None)
    parts = [getattr(module, name, None) for name in ("start", "play")]
    if not (isinstance(module, ModuleType) and path and all(map(callable, parts))):
        raise ValueError(
            "loop must be a file with the functions start(gradient, n_clients, x0) and "
            "play(state, gradient, n_clients, cohort, *, step_size, ...); got "
            f"{path or shortened(module)}; write them there."
        )
    source = f"a loop, sha256 of its file {sha256(Path(path).read_bytes()).hexdigest()}"
    begun, played = _started(module.start), _played(module.play)
    return Loop(_forgetful(begun, module), _forgetful(played, module), source)


def _forgetful(part: Callable[..., Any], module: ModuleType) -> Callable[..., Any]:
    """Reject what changes the data of its module, or its defaults or closure."""

    @wraps(part)
    def told(*given: Any, **settings: Any) -> Any:
        before = _data(module)
        after = part(*given, **settings)
        same = _data(module) == before
        require(same, "a loop must keep nothing from one call to the next")
        return after

    return told


def _data(module: ModuleType) -> str:
    """Return all that a loop could count in, written out."""
    kept: list[Any] = [
        (name, value)
        for name, value in vars(module).items()
        if not name.startswith("__") and type(value) in COUNTING
    ]
    for part in (module.start, module.play):
        cells = getattr(part, "__closure__", None) or ()
        kept += [cell.cell_contents for cell in cells]
        kept += [
            getattr(part, f"__{name}__", None) for name in ("defaults", "kwdefaults")
        ]
    return repr(kept)


def _started(start: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    @wraps(start)
    def listed(gradient: Any, n_clients: int, x0: list[Any], **settings: Any) -> Any:
        def once(order: list[int], asked: Callable[..., Any], entries: int) -> Any:
            return start(asked, len(order), _covered(x0, entries), **_told(settings))

        return _in_all_orders(once, gradient, n_clients)

    return listed


def _played(play: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    @wraps(play)
    def listed(
        state: dict[str, Any],
        gradient: Any,
        n_clients: int,
        cohort: Collection[int],
        **settings: Any,
    ) -> Any:
        def once(order: list[int], asked: Callable[..., Any], entries: int) -> Any:
            given = {slot: _rows(rows, order, entries) for slot, rows in state.items()}
            inside = [place for place, group in enumerate(order) if group in cohort]
            after = play(given, asked, len(order), inside, **_told(settings))
            require(set(after) == set(state), "a round must keep its slots")
            return after

        return _in_all_orders(once, gradient, n_clients)

    return listed


def _in_all_orders(once: Callable[..., Any], gradient: Any, n_clients: int) -> Any:
    """Play every client of the groups in some orders; return what groups end with.

    A loop that follows whenever clients move on by one, and whenever the first two
    change places, follows whatever places they take. Each time vectors are longer.
    """
    counts = getattr(n_clients, "counts", None) or [1] * n_clients
    whole = all(type(many) is int for many in counts)
    require(whole, "clients are written out one by one; there must be whole numbers")
    each = [group for group, many in enumerate(counts) for _ in range(many)]
    turned, exchanged = [*each[1:], *each[:1]], [*each[1::-1], *each[2:]]
    first = _ended(once, each, gradient, 1)
    for entries, order in enumerate((turned, exchanged), 2):
        same = _ended(once, order, gradient, entries) == first
        require(same, "a loop must treat all clients, entries and calls alike")
    return first


def _ended(
    once: Callable[..., Any], order: list[int], gradient: Any, entries: int
) -> dict[str, Any]:
    """Play once; return the slots, of clients one for each group."""

    def asked(client: Any, point: Iterable[Any]) -> list[Unseen]:
        at = [_first(list(point), entries, "a point")]
        return _covered(gradient(order[client], at), entries)

    try:
        after = once(order, asked, entries)
        require(isinstance(after, dict), "a loop must return its slots in a dict")
        return {slot: _condensed(rows, order, entries) for slot, rows in after.items()}
    except FAULTS as error:
        raise Rejected(f"the loop fails: {type(error).__name__}: {error}") from error


def _condensed(rows: Any, order: list[int], entries: int) -> list[Any]:
    """Return a vector, or one for each group, whose clients must have the same."""
    if len(rows) == entries and not isinstance(rows[0], list | tuple):
        return [_first(rows, entries, "a slot")]
    require(len(rows) == len(order), "a slot of clients must have one row for each")
    found: dict[int, list[Any]] = {}
    for group, row in zip(order, rows, strict=True):
        entry = _first(row, entries, "a row")
        own = found.setdefault(group, [entry])
        require(own == [entry], "clients of one class must be treated alike")
    return [found[group] for group in sorted(found)]


def _rows(rows: list[Any], order: list[int], entries: int) -> list[Any]:
    """Return a slot as a loop is given it, anew for every call."""
    if rows and isinstance(rows[0], list):
        return [_covered(rows[group], entries) for group in order]
    return _covered(rows, entries)


def _covered(vector: Sequence[Any], entries: int) -> list[Any]:
    """Return a vector of entries 1, 2, ... times the only one of what is given."""
    return [Unseen(vector[0] * k) for k in range(1, entries + 1)]


def _first(vector: Sequence[Any], entries: int, what: str) -> Any:
    """Return the entry that all others must still be multiples of."""
    many = len(vector) == entries
    require(many, f"{what} must have as many entries as the model")
    first, *others = map(uncovered, vector)
    alike = others == [first * k for k in range(2, entries + 1)]
    require(alike, "a loop must treat all entries of a vector alike")
    return first


def _told(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings, whole numbers among them as such."""
    return {
        key: Whole(value)
        if isinstance(value, Fraction) and value.denominator == 1
        else value
        for key, value in settings.items()
    }
