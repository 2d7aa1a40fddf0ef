"""Numbers that a bound of an average is asked to have, at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flverify._core.errors import DomainError, InputError
from flverify._core.exact import within_floats
from flverify.certify._vectors import rational
from flverify.certify.inequality import Unknown

CONVEX = {"by_distance": ("C1",), "by_gradients": ("C2",), "constant": ("c",)}
SMOOTH = {"by_gap": ("C0",)}
OVER_L = ("by_gap", "by_distance")  # numbers that are divided by L where L = 1


@dataclass(frozen=True)
class AtMost:
    """Upper ends of a bound's numbers by name; names that are missing have none."""

    numbers: Mapping[str, Fraction]

    def unknowns(self, smoothness: Fraction) -> dict[Unknown, Fraction]:
        """Return upper ends of the unknowns in units where L = 1."""
        places: dict[str, Unknown] = {**CONVEX, **SMOOTH}
        return {
            places[name]: value / smoothness if name in OVER_L else value * smoothness
            for name, value in self.numbers.items()
        }

    def keeps(self, found: Any) -> bool:
        """Whether the numbers of a bound are as asked."""
        return all(getattr(found, name) <= top for name, top in self.numbers.items())


def at_most(numbers: Mapping[str, object], convex: bool) -> AtMost:
    """Read numbers that a bound for convex f_i, or for all smooth ones, can have.

    Raises
    ------
    InputError
        If a bound of this kind has no number of that name.
    DomainError
        If a number is no exact rational, negative, or beyond floats.

    Examples
    --------
    >>> at_most({"by_distance": "3/2"}, convex=True).unknowns(Fraction(2))
    {('C1',): Fraction(3, 4)}
    """
    known = CONVEX if convex else SMOOTH
    read = {}
    for name, value in numbers.items():
        if name not in known:
            kind = "convex" if convex else "smooth"
            raise InputError(
                f"a bound for {kind} functions must be one of {', '.join(known)}; got "
                f"{name}; leave it out."
            )
        read[name] = rational(value, name)
        within_floats(read[name], name)
        if read[name] < 0:
            raise DomainError(
                f"{name} must not be negative; got {value}; take 0 or more."
            )
    return AtMost(read)
