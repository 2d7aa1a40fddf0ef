"""Two clients of which one is no quadratic: where the mean of the agnostic model ends.

f_1 = (x - 1)^2/2, and f_2 has the slope min(x, bend), on C = [0, 1], which no step
leaves. They come alone, with 1/2 each, and take one local step of size 1: client 1
moves to 1, client 2 by at most the bend towards 0. So the model is where client 2 has
moved it since client 1 came last.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from flverify.claims import cohorts
from flverify.claims.judge import Case
from flverify.reference import agnostic_fedavg

HALF = Fraction(1, 2)
LAW = {frozenset({1}): HALF, frozenset({2}): HALF}
BENDS = (HALF, Fraction(3, 4), Fraction(1, 4))
SEARCHED = "two clients on [0, 1], one of them bent; one local step, eta = 1"


def bent_cases(power: int, bends: tuple[Fraction, ...] = BENDS) -> Iterator[Case]:
    """Compare the limit of the mean model with the minimiser of (3).

    Parameters
    ----------
    power : int
        1 for the p_i of (2), E[1{i in S} / |S|^power].
    bends : tuple of rationals in (0, 1]
        With 1, both clients are quadratics on C.

    Examples
    --------
    >>> first = next(bent_cases(1))
    >>> first.left, first.right
    (Fraction(5, 8), Fraction(1, 2))
    """
    for bend in bends:
        at = {
            "f_1": "(x - 1)^2/2",
            "f_2": "x^2/2 below the bend, a line above it",
            "bend": bend,
            "law of S": {cohorts.shown(s): p for s, p in LAW.items()},
            "C": "[0, 1]",
            "eta": 1,
            "local steps": 1,
        }
        again = cohorts.sides(balanced(bend), flat(bend))
        yield Case(at, mean_model(bend), minimiser(bend, power), again)


def mean_model(bend: Fraction) -> Fraction:
    """E of the model, by the plain loop: it is k rounds old with chance 1/2^(k+1)."""

    def gradient(i: int, x: list[Any]) -> list[Any]:
        return [min(x[0], bend) if i else x[0] - 1]

    count = int(1 / bend) + 2  # by then client 2 has reached 0
    path = [{0}] + [{1}] * count
    models = agnostic_fedavg.run(
        gradient, 2, [Fraction(0)], path, step_size=1, period=2
    )
    return sum((m[0] * HALF**k for k, m in enumerate(models)), Fraction(0))


def minimiser(bend: Fraction, power: int) -> Fraction:
    """Root of the slope of (3), below the bend or above it."""
    p, q = weight(1, power), weight(2, power)
    below = p / (p + q)  # p (x - 1) + q x = 0
    return below if below <= bend else 1 - q * bend / p


def weight(client: int, power: int) -> Fraction:
    """E[1{i in S} / |S|^power]."""
    terms = [chance / len(s) ** power for s, chance in LAW.items() if client in s]
    return sum(terms, Fraction(0))


def balanced(bend: Fraction) -> Fraction:
    """E of the model, from the law that a round leaves as it is."""
    law, x, left = {Fraction(1): HALF}, Fraction(1), HALF
    while x > 0:
        x, left = x - min(x, bend), left / 2
        law[x] = left if x else 2 * left  # 0 stays where it is
    after = {Fraction(1): HALF}
    for model, chance in law.items():
        to = max(model - bend, Fraction(0))
        after[to] = after.get(to, Fraction(0)) + chance / 2
    return sum((m * p for m, p in after.items()), Fraction(0))


def flat(bend: Fraction) -> Fraction:
    """Point where the slopes 1 - x and min(x, bend) are equal."""
    return max(HALF, 1 - bend)
