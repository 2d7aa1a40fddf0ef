"""A certificate in numbers: what the proof works on, once it has been read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from ._forms import Label, Matrix, Number
from ._law_outcomes import Law
from ._wide import Wide


class Memory(NamedTuple):
    """A client slot that a participant overwrites by a combination of gradients.

    Without a slot: what V alone remembers, the gradients that all clients, present or
    not, have at the points of the last round.
    """

    slot: str | None
    calls: tuple[int, ...]
    weights: tuple[Number, ...]


class Layout(NamedTuple):
    """The slots a loop starts with, and how it starts them."""

    server: tuple[str, ...]
    client: tuple[str, ...]
    zero: frozenset[str]
    calls: int


@dataclass(frozen=True)
class Case:
    """An algorithm with its settings, a law, and the tables that describe its state.

    A slot rests at alpha x* + beta g*_i.  An eliminated one equals a combination of
    others, by its mean over all clients.
    """

    start: Callable[..., dict[str, Any]]
    play: Callable[..., dict[str, Any]]
    law: Law
    layout: Layout
    has_equilibrium: bool
    equilibrium: Mapping[str, tuple[Number, Number]]
    eliminated: Mapping[str, Mapping[str, Number]]
    calls: int
    memories: tuple[Memory, ...]

    @cached_property
    def kept(self) -> list[str]:
        """The server slots that are coordinates."""
        return [slot for slot in self.layout.server if slot not in self.eliminated]

    @cached_property
    def ghosts(self) -> list[tuple[str | None, int, Number]]:
        """Slot of the memory, call and weight of every ghost point."""
        return [
            (memory.slot, k, weight)
            for memory in self.memories
            for k, weight in zip(memory.calls, memory.weights, strict=True)
        ]

    @cached_property
    def coordinates(self) -> list[str]:
        """The client coordinates: slots that are no memory, then ghosts."""
        lifted = {memory.slot for memory in self.memories}
        parts = ("point", "gradient")
        ghosts = [f"ghost:{j}.{p}" for j in range(len(self.ghosts)) for p in parts]
        return [slot for slot in self.layout.client if slot not in lifted] + ghosts

    @cached_property
    def averaged(self) -> list[str]:
        """The client coordinates whose class means are coordinates."""
        return [name for name in self.coordinates if name not in self.eliminated]

    @cached_property
    def state(self) -> list[Label]:
        """The mean coordinates of a state."""
        classes = range(len(self.law.sizes))
        means = [(q, name) for q in classes for name in self.averaged]
        return [*((slot,) for slot in self.kept), *means]


class Multiplier(NamedTuple):
    """A weight on the interpolation inequality between two points of a class."""

    q: int
    above: str
    below: str
    weight: Number


class Bound(NamedTuple):
    """A weight on the bound of one value term from one point of a class."""

    value: int
    q: int
    point: str
    weight: Number


class Value(NamedTuple):
    """The term delta times the mean of f_i at a point of the server."""

    point: dict[str, Number]
    delta: Number


class Part(NamedTuple):
    """The multipliers of one condition."""

    multipliers: list[Multiplier]
    upper: list[Bound]
    lower: list[Bound]


@dataclass(frozen=True)
class Certificate:
    """A well-formed certificate; V holds its mean block, then one block per class.

    `words` has the texts it bears, each with the one that says what the rest does.
    """

    kind: str
    strong_convexity: Fraction
    smoothness: Fraction
    rho: Number
    weight: Number
    constant: Number
    case: Case
    values: list[Value]
    ghost_values: list[list[Number]]
    V: tuple[Matrix, list[Matrix]]
    decrease: Part
    positivity: Part
    start: Part
    C1: Number
    C2: Number
    words: dict[str, tuple[str, str]]
    wide: Wide | None = None  # of functions that need not be strongly convex
    C0: Number = 0
