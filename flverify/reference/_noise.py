"""Noisy gradients of finitely many values: every sequence of noises, one by one.

A plain loop is run again and again with a gradient that adds a noise at every call,
until every sequence of noises has been played; a run need not know its calls ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ._vectors import Gradient, Number, Vector, plus

Atoms = Sequence[tuple[Number, Vector]]  # (probability, noise)


def every_run(
    play: Callable[[Gradient], Any], gradient: Gradient, noise: Sequence[Atoms]
) -> Iterator[tuple[Number, Any]]:
    """Yield (probability, result of play) over every sequence of noises.

    Parameters
    ----------
    play : callable
        Runs a plain loop with the gradient that it is given.
    gradient : callable
        ``gradient(i, point)``: exact gradient of client i as d numbers.
    noise : sequence of lists of (probability, d numbers)
        Noise of one call, client by client; calls are independent.

    Examples
    --------
    A step x - g/2 on f = x^2/2 with noise 1 or -1, from 1:

    >>> from fractions import Fraction
    >>> half = Fraction(1, 2)
    >>> step = lambda g: 1 - half * g(0, [1])[0]
    >>> signs = [[(half, [1]), (half, [-1])]]
    >>> [(str(p), str(x)) for p, x in every_run(step, lambda i, x: x, signs)]
    [('1/2', '0'), ('1/2', '1')]
    """
    path: list[list[int]] = []  # of each call: the value taken and how many there are
    while True:
        calls, chance = 0, noise[0][0][0] ** 0

        def noisy(client: int, point: Vector) -> Vector:
            nonlocal calls, chance
            atoms = noise[client]
            if calls == len(path):
                path.append([0, len(atoms)])
            part, added = atoms[path[calls][0]]
            calls, chance = calls + 1, chance * part
            return plus(list(gradient(client, point)), added)

        result = play(noisy)
        yield chance, result
        while path and path[-1][0] + 1 == path[-1][1]:
            path.pop()
        if not path:
            return
        path[-1][0] += 1
