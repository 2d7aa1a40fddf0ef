"""Boxes: named parameters, with their corners and the simple points near a place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from math import prod
from typing import TypeAlias

from flverify._core.errors import InputError
from flverify._core.shown import shown
from flverify.certify.counterexample.parameters import Parameter, Value

Point: TypeAlias = dict[str, Value]


@dataclass(frozen=True)
class Box:
    """Named parameters with the values that each may take.

    Parameters
    ----------
    parameters : mapping of name to Real, Whole or Choice

    Raises
    ------
    InputError
        If there is none, or one is of another kind.
    """

    parameters: Mapping[str, Parameter]

    def __post_init__(self) -> None:
        listed = self.parameters
        if not isinstance(listed, Mapping) or not listed:
            raise InputError(
                f"a box must have a parameter, by name in a mapping; got "
                f"{shown(listed)}; name some."
            )
        for name, parameter in listed.items():
            if not isinstance(name, str) or not isinstance(parameter, Parameter):
                raise InputError(
                    f"a parameter must be a Real, Whole or Choice under a name; got "
                    f"{shown(name)}: {shown(parameter)}; state its range."
                )
        object.__setattr__(self, "parameters", dict(listed))

    def contains(self, point: Mapping[str, Value]) -> bool:
        """Whether a point has these parameters, each with a value it may take."""
        known = isinstance(point, Mapping) and point.keys() == self.parameters.keys()
        return known and all(p.contains(point[n]) for n, p in self.parameters.items())

    def corners(self, most: int) -> Iterator[Point]:
        """Yield all corners; of too many, those that differ least from two of them.

        These two have every parameter at its first end, or at its last.
        """
        ends = [parameter.ends() for parameter in self.parameters.values()]
        if prod(map(len, ends)) <= most:
            found: Iterator[Sequence[Value]] = product(*ends)
        else:
            found = islice(_nearly_uniform(ends), most)
        for values in found:
            yield dict(zip(self.parameters, values, strict=True))

    def at(self, positions: Sequence[Fraction], slack: Fraction) -> Point:
        """Return the simple point near the given positions."""
        pairs = zip(self.parameters.items(), positions, strict=True)
        return {name: p.at(place, slack) for (name, p), place in pairs}

    def positions(self, point: Mapping[str, Value]) -> list[Fraction]:
        """Return where a point lies."""
        return [p.position(point[name]) for name, p in self.parameters.items()]


def _nearly_uniform(ends: Sequence[Sequence[Value]]) -> Iterator[Sequence[Value]]:
    first, last = [e[0] for e in ends], [e[-1] for e in ends]
    yield first
    yield last
    for place, options in enumerate(ends):
        for base in (first, last):
            for other in options:
                if other != base[place]:
                    yield [*base[:place], other, *base[place + 1 :]]
