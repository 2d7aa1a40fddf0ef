"""(87) of the FOCUS paper on quadratics: gradients at rows, stale or moved.

Both sides are exact, under every law, for each q_i. Where Assumption 2 is the printed
inequality alone, f = -k x^2/2 satisfies it with L = 1 for every k > 0, and local moves
are longer than any multiple of L; so does a function that is so between -R and R and
bends upwards outside, if it is to be bounded below.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import TypeAlias

from flverify.claims import judge
from flverify.claims.focus_lemma3 import State, stale
from flverify.claims.focus_lemma4 import everybody, laws_for, weights

# readings of Assumption 2
ALONE, LIPSCHITZ = "Assumption 2 as printed, alone", "Lipschitz gradients"
Curved: TypeAlias = tuple[tuple[tuple[int, ...], int], ...]  # curvatures and tau

CURVED: Curved = (
    ((2,), 1),
    ((2,), 2),
    ((2, 1), 1),
    ((2, 1), 5),
    ((2, 1, 3), 2),
    ((1, 1), 2),
)
BENT: Curved = (
    ((-2,), 1),
    ((-2,), 5),
    ((2, -1), 1),
    ((-2, 1), 5),
    ((2, -1, 3), 2),
    ((-1, -1), 2),
)


def searched(curved: Curved) -> str:
    """Say what is searched."""
    listed = "; ".join(f"{', '.join(map(str, h))} at tau = {tau}" for h, tau in curved)
    return f"curvatures {listed}; every case of Assumption 1; two states"


def stale_cases(c: SimpleNamespace, name: str, curved: Curved) -> Iterator[judge.Case]:
    """Yield both sides of (87) for a reading of q_i."""
    for one in _states(c.cap, name, curved):
        far, moved, scale = _factors(c, one, one.smoothness)
        q = weights(name, one.setting)
        right = scale * one.spread([far * (1 - v) + moved * v for v in q])
        again = partial(_replayed, one, right)
        yield judge.Case(one.where(), one.mean(stale), right, again)


def _factors(
    c: SimpleNamespace, one: State, smooth: Fraction
) -> tuple[Fraction, Fraction, Fraction]:
    """Return the factors of 1 - q_i and of q_i, over L^2 N, and L^2 N."""
    moved = Fraction(c.moved) * (one.step * (one.local_steps - 1) * smooth) ** 2
    return Fraction(c.far), moved, smooth**2 * one.total


def _replayed(one: State, right: Fraction) -> tuple[Fraction, Fraction]:
    return one.played(stale), right


def _states(cap: str, name: str, curved: Curved) -> Iterator[State]:
    """List states under every law: one row apart from the server, and all of them."""
    for numbers, tau in curved:
        size, h = len(numbers), tuple(map(Fraction, numbers))
        step = Fraction(cap) / max(map(abs, h)) / max(tau - 1, 1)
        for setting in laws_for(name, size):
            for rows in ((1,) * size, (1, *(-1,) * (size - 1))):
                z = tuple(map(Fraction, rows))
                yield State(h, setting, tau, step, Fraction(0), z)


def bent_farther(c: SimpleNamespace) -> Iterator[judge.Case]:
    """Yield both sides for one client f = -k x^2/2 that always comes, with L = 1.

    N = 1 = m, so that every q_i is 1.
    """
    for k, tau in product((2, 5, 10), (2, 3)):
        h, step = Fraction(-k), Fraction(c.cap) / (tau - 1)
        one = State((h,), everybody(1), tau, step, Fraction(0), (Fraction(1),))
        _, moved, _ = _factors(c, one, Fraction(1))
        again = partial(_replayed, one, moved)
        yield judge.Case({**one.where(), "L": 1}, one.mean(stale), moved, again)
