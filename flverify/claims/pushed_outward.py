"""One client bent downwards among many, for (25) of FOCUS under Assumption 2 alone.

f_1 = -k x^2/2 meets the inequality printed as Assumption 2 with L = 1 for every k > 0;
the N - 1 others are x^2/2. With k = N - 2 the mean F is x^2/(2 N), convex. But a local
step makes the distance of client 1 from where its gradient was stored longer by 1 + eta
k, which no cap on eta L bounds: its row goes from z to z + (1 + eta k)^(tau-1) (w - z),
far beyond w, and what it pushes drives the server away. Left sides of many digits are
rounded down once they are above the right ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from math import floor
from typing import Any

from flverify.claims import judge
from flverify.claims.focus_caps import inside
from flverify.claims.focus_moments import Clients
from flverify.participation.full import Full
from flverify.reference import focus

SIZES = {5: (129, Fraction(1, 256)), 6: (169, Fraction(1, 336))}  # tau, step size
LAST = 20  # rounds


def outward(caps: Mapping[str, str], factor: Fraction) -> Iterator[judge.Case]:
    """Yield both sides of (25) in the first round in which it fails, from w = 1.

    Parameters
    ----------
    caps : mapping
        Factor of each monomial of `focus_caps.SQUARES`; L is 1.
    factor : rational
        8 in print.

    Examples
    --------
    >>> [case.left > case.right for case in outward({"1/(L N)": "1/4"}, Fraction(8))]
    [True, True]
    """
    for size, (steps, step) in SIZES.items():
        alike = Clients((Fraction(1),) * size, Full(size), steps)  # as L = 1 asks
        if not inside(caps, alike, Fraction(1, size), step):
            continue
        rounds, left, right = _first(size, steps, step, factor)
        where = {"h": [2 - size, *[1] * (size - 1)], "L": 1, "N": size}
        where |= {"law": f"full:{size}", "q_min": Fraction(1, size), "tau": steps}
        where |= {"step size": step, "xbar_1": 1, "rows of x_0": "all 1", "R": rounds}
        again = partial(_again, size, steps, step, rounds, factor)
        yield judge.Case(where, left, right, again)


def _first(
    size: int, steps: int, step: Fraction, factor: Fraction
) -> tuple[int, Fraction, Fraction]:
    """Return R and both sides; F' = w/N and F(1) = 1/(2 N)."""
    bent, flat = (1 - step * (2 - size)) ** (steps - 1), (1 - step) ** (steps - 1)
    w, first, others, total = Fraction(1), Fraction(1), Fraction(1), Fraction(0)
    for rounds in range(1, LAST + 1):
        total += (w / size) ** 2
        right = factor / (2 * size) / (step * size * rounds)
        if rounded(total / rounds) > right:
            return rounds, rounded(total / rounds), right
        first, others = first + bent * (w - first), others + flat * (w - others)
        w -= step * ((2 - size) * first + (size - 1) * others)
    return LAST, total / LAST, right


def rounded(left: Fraction) -> Fraction:
    """Return a left side with three decimals, rounded down.

    Examples
    --------
    >>> rounded(Fraction(2, 3))
    Fraction(333, 500)
    """
    return Fraction(floor(1000 * left), 1000)


def _again(
    size: int, steps: int, step: Fraction, rounds: int, factor: Fraction
) -> tuple[Fraction, Fraction]:
    """Return both sides from the plain loop."""
    slopes = [Fraction(2 - size), *[Fraction(1)] * (size - 1)]
    mean, squares = sum(slopes, Fraction(0)) / size, Fraction(0)
    stored = [[h] for h in slopes]
    state: Any = {"model": [Fraction(1)], "tracker": [size * mean], "stored": stored}
    for _ in range(rounds):
        squares += (mean * state["model"][0]) ** 2
        state = focus.play(
            state,
            lambda i, x: [slopes[i] * x[0]],
            size,
            frozenset(range(size)),
            step_size=step,
            local_steps=steps,
        )
    left, right = squares / rounds, factor * (mean / 2) / (step * size * rounds)
    return (rounded(left) if rounded(left) > right else left), right
