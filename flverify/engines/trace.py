"""Trace a round once into linear forms; nothing is probed with numbers.

The trace is independent of the problem: gradients are symbols, one per call at a new
point. Whatever the forms cannot follow raises `ReadingError` with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from flverify._core.errors import ReadingError
from flverify.algorithms._algorithm import Algorithm, Clients, Server
from flverify.engines.forms import (
    ONE,
    SHARE,
    TAKES_PART,
    ClientForm,
    ServerForm,
    Symbol,
    combine,
    require,
)
from flverify.engines.own_factors import require_round
from flverify.engines.own_rounds import performed, require_vectors


@dataclass(frozen=True)
class Trace:
    """An algorithm's start and round as forms.

    `start` is over the symbol ("server", "start") and gradients at `start_points`;
    `after` is over the slots and gradients at `points`.
    """

    slots: Mapping[str, type]
    start: Mapping[str, ServerForm | ClientForm]
    start_points: tuple[ClientForm, ...]
    after: Mapping[str, ServerForm | ClientForm]
    points: tuple[ClientForm, ...]

    @property
    def server_slots(self) -> tuple[str, ...]:
        """Names of the server slots, in order."""
        return tuple(n for n, kind in self.slots.items() if kind is Server)

    @property
    def client_slots(self) -> tuple[str, ...]:
        """Names of the clients slots, in order."""
        return tuple(n for n, kind in self.slots.items() if kind is Clients)


class TraceCohort:
    """The cohort's verbs on forms."""

    def __init__(self, n_clients: int) -> None:
        self.n_clients = n_clients

    def broadcast(self, vector: ServerForm) -> ClientForm:
        """Give a server vector that does not depend on this round's draw to all."""
        require(vector, ServerForm, "what is broadcast or pulled")
        if vector.summed:
            raise ReadingError(
                "a traced round must not return a fresh aggregate to clients; got "
                "one; small laws are enumerated instead."
            )
        return ClientForm({(ONE, s): c for s, c in vector.fixed.items()})

    def pull(self, vector: ServerForm) -> ClientForm:
        """Broadcast, known at participants only."""
        return replace(self.broadcast(vector), partial=True)

    def select(self, new: ClientForm, old: ClientForm) -> ClientForm:
        """I new + (1 - I) old."""
        for stack in (new, old):
            require(stack, ClientForm, "what is selected")
        kept = combine(old.terms, old.times(TAKES_PART), -1)
        return ClientForm(combine(kept, new.times(TAKES_PART), 1), old.partial)

    def sum(self, stack: ClientForm) -> ServerForm:
        """Sum over participants."""
        require(stack, ClientForm, "what is summed")
        return ServerForm({}, stack.times(TAKES_PART))

    def mean(self, stack: ClientForm, otherwise: ServerForm) -> ServerForm:
        """Mean over participants: 1{S empty} = 1 - sum_i a_i carries `otherwise`."""
        require(stack, ClientForm, "what is summed")
        require(otherwise, ServerForm, "the value of an empty round")
        if otherwise.summed:
            raise ReadingError(
                "the value of an empty round must not depend on this round's draw; "
                "got a fresh aggregate; use a slot."
            )
        nobody = {(SHARE, s): c for s, c in otherwise.fixed.items()}
        return ServerForm(otherwise.fixed, combine(stack.times(SHARE), nobody, -1))

    def everyone(self, stack: ClientForm) -> ServerForm:
        """Sum over all clients."""
        require(stack, ClientForm, "what is summed")
        if stack.partial:
            raise ReadingError(
                "everyone() must be given a stack known at all clients; got one "
                "pulled by participants only; broadcast instead."
            )
        return ServerForm({}, dict(stack.terms))

    def numbers(self, *given: object, **named: object) -> object:
        """Refuse, as `equal` and `weighted_mean`: such numbers multiply vectors."""
        del given, named
        raise ReadingError(
            "a linear round must keep no numbers per client; got some; the algorithm "
            "can only be simulated."
        )

    equal = weighted_mean = numbers

    def project(self, stack: object, region: object) -> object:
        """Refuse: a projection is not linear."""
        del stack
        raise ReadingError(
            f"a linear round must not project; got {region}; the algorithm can only "
            "be simulated."
        )


class TraceOracle:
    """Gradients as symbols, one per distinct point."""

    def __init__(self) -> None:
        self.points: list[ClientForm] = []

    def gradient(self, points: ClientForm) -> ClientForm:
        """Return the gradient symbol at a point, a known one for an equal point."""
        require(points, ClientForm, "the point of a gradient")
        if points.depends_on_draw():
            raise ReadingError(
                "a gradient must be taken at a point that does not depend on this "
                "round's draw; got one that does; small laws are enumerated instead."
            )
        equal = (k for k, known in enumerate(self.points) if _equal(known, points))
        index = next(equal, len(self.points))
        if index == len(self.points):
            self.points.append(points)
        symbol: Symbol = ("gradient", index)
        return ClientForm({(ONE, symbol): 1}, points.partial)


def _equal(left: ClientForm, right: ClientForm) -> bool:
    # most points differ in their symbols: forms have no terms that vanish
    same = left.terms.keys() == right.terms.keys()
    return same and not combine(left.terms, right.terms, -1)


def trace(
    algorithm: Algorithm, n_clients: int, cohort: TraceCohort | None = None
) -> Trace:
    """Trace an algorithm's start and one round.

    Parameters
    ----------
    cohort : TraceCohort, optional
        Another reading of the round's verbs, e.g. on known participants.

    Raises
    ------
    ReadingError
        If the round is not linear in the features, with the reason.
    InputError
        If own code raises, returns no State, or is no pure function.
    ShapeError, DomainError
        If an own round has not one weight per client, or multiplies by complex numbers.

    Examples
    --------
    >>> from flverify.algorithms import FedAvg
    >>> sorted(trace(FedAvg(step_size="1/4"), 2).after["model"].fixed.values())
    [1]
    """
    require_round(algorithm, n_clients)
    require_vectors(algorithm)
    slots = algorithm.slots()
    nobody, cohort = TraceCohort(n_clients), cohort or TraceCohort(n_clients)
    first, oracle = TraceOracle(), TraceOracle()
    begin = ServerForm({("server", "start"): 1})
    begun = performed(algorithm, "init", begin, nobody, first)
    state = algorithm.State(**{n: _slot(n, kind) for n, kind in slots.items()})
    after = performed(algorithm, "round", state, cohort, oracle)
    return Trace(
        slots,
        _record(begun, slots),
        tuple(first.points),
        _record(after, slots),
        tuple(oracle.points),
    )


def exact_twin(algorithm: Algorithm) -> Algorithm:
    """Return the same algorithm with every float setting as the rational it is."""
    twin = copy(algorithm)
    for setting in fields(algorithm):  # type: ignore[arg-type]
        twin.settle(setting.name, _rational(getattr(twin, setting.name)))
    return twin


def _rational(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_rational(v) for v in value)
    return Fraction(value) if isinstance(value, float) else value


def _slot(name: str, kind: type) -> ServerForm | ClientForm:
    if kind is Server:
        return ServerForm({("server", name): 1})
    return ClientForm({(ONE, ("client", name)): 1})


def _record(state: Any, slots: Mapping[str, type]) -> dict[str, Any]:
    record = {name: getattr(state, name) for name in slots}
    for name, value in record.items():
        server = slots[name] is Server
        require(value, ServerForm if server else ClientForm, f"slot {name}")
        if isinstance(value, ClientForm) and value.partial:
            raise ReadingError(
                f"slot {name} must be known at every client; got a stack pulled by "
                "participants only; select it against the old one."
            )
    return record
