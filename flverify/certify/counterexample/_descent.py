"""Descent in a box: along coordinates, by leaps, and across where both fail.

A sweep tries a step up and down in every coordinate; after a good sweep the same way
is gone once more, after a bad one a random direction is tried and steps are halved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TypeAlias

from flverify._core.exact import Array
from flverify.certify.counterexample._boxes import Box, Point

LARGEST_STEP, SMALLEST_STEP = Fraction(1, 4), Fraction(1, 2**20)  # of a range

Worth: TypeAlias = Fraction | float


def descend(
    box: Box,
    worth_of: Callable[[Point], Worth | None],
    start: Point,
    steps: int,
    rows: Iterator[Array],
) -> tuple[Point, Worth | None]:
    """Return the lowest point of a walk, and what it is worth.

    Parameters
    ----------
    box : Box
    worth_of : callable
        To be made small; None where it has no value, which is worse than any.
    start : dict
    steps : int
        Points looked at after the start.
    rows : iterator of arrays of uniforms
        One number per parameter; they choose the random directions.

    Examples
    --------
    >>> from flverify.certify.counterexample.parameters import Real, Whole
    >>> box = Box({"x": Real(0, 1), "n": Whole(1, 50)})
    >>> def away(at):
    ...     return (at["x"] - Fraction(1, 3)) ** 2 + (at["n"] - 17) ** 2
    >>> descend(box, away, {"x": Fraction(0), "n": 1}, 100, iter([]))
    ({'x': Fraction(1, 3), 'n': 17}, Fraction(0, 1))
    """
    walk = _Walk(worth_of, start, steps)
    size = LARGEST_STEP
    while size >= SMALLEST_STEP and walk.left > 0:
        before = walk.here
        for name, parameter in box.parameters.items():
            options = parameter.moves(walk.here[name], size)
            any(walk.goes({**walk.here, name: value}) for value in options)
        if walk.here != before:
            walk.goes(_leap(box, before, walk.here, size))
        elif not walk.goes(_across(box, walk.here, size, next(rows, None))):
            size /= 2
    return walk.here, walk.worth


def _leap(box: Box, before: Point, here: Point, size: Fraction) -> Point:
    """Go once more the way that the last sweep went."""
    pairs = zip(box.positions(before), box.positions(here), strict=True)
    return box.at([2 * new - old for old, new in pairs], size / 4)


def _across(box: Box, here: Point, size: Fraction, row: Array | None) -> Point:
    """Step in a random direction."""
    if row is None:
        return here
    draws = (2 * Fraction(float(u)) - 1 for u in row)
    pairs = zip(box.positions(here), draws, strict=True)
    return box.at([place + size * draw for place, draw in pairs], size / 4)


class _Walk:
    """Where a descent stands, what that is worth, and how many steps are left."""

    def __init__(
        self, worth_of: Callable[[Point], Worth | None], start: Point, steps: int
    ) -> None:
        self.worth_of, self.left = worth_of, steps
        self.here, self.worth = start, worth_of(start)

    def goes(self, point: Point) -> bool:
        """Go to a point if that is better and a step is left."""
        if self.left <= 0 or point == self.here:
            return False
        self.left -= 1
        found = self.worth_of(point)
        if found is None or (self.worth is not None and found >= self.worth):
            return False
        self.here, self.worth = point, found
        return True
