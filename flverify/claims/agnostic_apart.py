"""How far apart the models of a window get, and that they stay in C, for any losses.

A window is what happens between two communications of the agnostic paper, the second
included; it starts in C.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy

from flverify.certify import gram
from flverify.claims import judge
from flverify.claims.agnostic_rounds import BOUND
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding

EVERY = (
    "windows that start in C, S independent of their models; every C, dimension, law "
    "of the noise and step size"
)


def tracks_apart(missing: int, factor: Any, less: int) -> Finding:
    """Prove that two models of a window are factor eta G (H - less) apart at most.

    In the mean, and for any two clients, one average included. A client takes at most
    H - `missing` steps.
    """
    return judge.all_of(
        {
            "a step": short_step(),
            "its mean length": mean_length(),
            "all steps": all_steps(missing, factor, less),
            "a mean of models": mean_of_models(),
        }
    )


@cache
def short_step() -> Finding:
    """Prove |P(x - v) - x| <= |v| for x in C, from <x - v - P, x - P> <= 0."""
    x, v, z = map(gram.vector, ("x", "eta g", "P"))
    nearest = gram.given(gram.inner(x - v - z, x - z) <= 0)
    lemma = gram.Lemma(gram.square(z - x) <= gram.square(v), (nearest,))
    return judge.vectors([({"C": "convex, x in C"}, lemma)], EVERY)


@cache
def mean_length() -> Finding:
    """Prove E|g| <= G from a variance E|g|^2 - (E|g|)^2 that is not negative."""
    mean, second = sympy.symbols("mean second", nonnegative=True)
    return judge.implied(
        [second - mean**2 >= 0, second <= BOUND**2], mean <= BOUND, EVERY
    )


@cache
def all_steps(missing: int, factor: Any, less: int) -> Finding:
    """Prove that two tracks make at most factor (H - less) steps together.

    Each makes at most H - missing, of mean length eta G at most.
    """
    H = 1 + sympy.Symbol("h", nonnegative=True)
    mine, yours = sympy.symbols("k_i k_j", nonnegative=True)
    return judge.implied(
        [mine <= H - missing, yours <= H - missing],
        mine + yours <= rational(factor) * (H - less),
        f"{EVERY}, every H, tau_i and tau_j",
    )


@cache
def mean_of_models() -> Finding:
    """Prove that a mean of models is as near to the start as the farthest of them.

    Two are folded, nearer than `reach` by a and b, and so any number; the farthest is
    nearer by 0.
    """
    w, v = sympy.symbols("w v", positive=True)
    a, b, reach = sympy.symbols("a b reach", nonnegative=True)
    mean = (w * (reach - a) + v * (reach - b)) / (w + v)
    return judge.nonnegative([("reach less the mean distance", reach - mean)], EVERY)


@cache
def stay_inside(scope: str) -> Finding:
    """Prove for each half-space y <= b around C that the start and means obey it.

    C is the intersection of them, and a projection on C needs no proof. The start is
    0, which lies in C; of a mean two models are folded, and so any number.
    """
    start, b = sympy.symbols("start b", real=True)
    w, v = sympy.symbols("w v", positive=True)
    one, other = sympy.symbols("s t", nonnegative=True)  # both models are below b
    mean = (w * (b - one) + v * (b - other)) / (w + v)
    below = sympy.cancel(b - mean)
    return judge.all_of(
        {
            "start": judge.implied([sympy.Eq(start, 0), b >= 0], start <= b, scope),
            "a mean of models": judge.nonnegative([("b less the mean", below)], scope),
        }
    )
