"""Products over all items but one, or but two, using multiplication only.

Halving shares the work: all N products without one item take N log N
multiplications, and nothing is ever divided out, so no accuracy is lost and symbols
are as welcome as numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import TypeVar

State = TypeVar("State")
Item = TypeVar("Item")


def without_one(
    items: Sequence[Item], start: State, include: Callable[[State, Item], State]
) -> Iterator[State]:
    """Yield, for each item in order, `start` with all the other items included.

    Examples
    --------
    >>> list(without_one([2, 3, 5], 1, lambda product, item: product * item))
    [15, 10, 6]
    """
    if len(items) == 1:
        yield start
    elif items:
        half = len(items) // 2
        left, right = items[:half], items[half:]
        yield from without_one(left, reduce(include, right, start), include)
        yield from without_one(right, reduce(include, left, start), include)


def without_two(
    items: Sequence[Item], start: State, include: Callable[[State, Item], State]
) -> Iterator[tuple[int, int, State]]:
    """Yield (i, j, `start` with all items but i and j included) for i < j.

    Examples
    --------
    >>> list(without_two([2, 3, 5], 1, lambda product, item: product * item))
    [(0, 1, 5), (0, 2, 3), (1, 2, 2)]
    """
    before = start
    for i, item in enumerate(items):
        later = items[i + 1 :]
        for j, state in enumerate(without_one(later, before, include), i + 1):
            yield i, j, state
        before = include(before, item)
