"""What no bound of an average can be below: its sum on scalar quadratics.

On f_i = h_i x^2/2 all clients agree at x* = 0, so that terms of mean|grad f_i(x*)|^2
vanish, and (1/K) sum_{r<K} E M_r <= C/K for every K means that C is at least the sum of
E M_r over any number of rounds, where x_0 counts as 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations_with_replacement, product

import numpy as np

from flverify._core.errors import Refusal
from flverify._core.sentences import number_of
from flverify.algorithms._algorithm import Algorithm
from flverify.certify.classes import Classes, classes
from flverify.engines.moments import moments
from flverify.participation._law import Participation
from flverify.problems import Quadratics

MOST_CLIENTS = 12  # beyond this moments take long, many times
ROUNDS, EXACT_ROUNDS = 200, 100  # in floats, and in rationals
MOST_MIXED = 5  # clients up to which those of a class may differ
ALIKE = tuple(Fraction(k, 100) for k in (1, 2, 5, 10, 20, 35, 50, 75, 100))
MIXED = (Fraction(-1), Fraction(-1, 2), Fraction(0), Fraction(1, 4), Fraction(1))


@dataclass(frozen=True)
class Least:
    """The largest sum that was found.

    Parameters
    ----------
    constant : Fraction, weight M/x^2 or M/f
        Exact, of the first `rounds` rounds.
    curvatures : tuple of Fraction
        h_i, client by client.
    rounds : int
    """

    constant: Fraction
    curvatures: tuple[Fraction, ...]
    rounds: int

    @property
    def functions(self) -> str:
        """Say which functions they are."""
        kinds = Counter(self.curvatures)
        parts = [f"h_i = {h} at {number_of(n, 'client')}" for h, n in kinds.items()]
        return f"f_i = h_i x^2/2 with {', '.join(parts)}"


def least_constant(
    algorithm: Algorithm,
    participation: Participation,
    smoothness: Fraction,
    strong_convexity: Fraction,
) -> Least | None:
    """Return what C1 (or, with mu < 0, C0) is at least; None beyond 12 clients.

    Instances are compared in floats, and the largest one is computed in rationals.

    Examples
    --------
    >>> from flverify.algorithms import GradientDescent
    >>> from flverify.participation import Full
    >>> step = GradientDescent("1/2")
    >>> found = least_constant(step, Full(1), Fraction(1), Fraction(-1))
    >>> found.curvatures, float(found.constant)
    ((Fraction(1, 1),), 2.666...)
    """
    if participation.n_clients > MOST_CLIENTS:
        return None
    low = strong_convexity / smoothness
    scaled = [
        tuple(h * smoothness for h in found)
        for found in _curvatures(classes(participation), low)
    ]
    sums = [_sum(algorithm, participation, hs, low >= 0) for hs in scaled]
    best = max(range(len(sums)), key=lambda k: sums[k], default=None)
    if best is None or not 0 < sums[best] < np.inf:
        return None
    exact = _exact_sum(algorithm, participation, scaled[best], low >= 0)
    return None if exact is None else Least(exact, scaled[best], EXACT_ROUNDS)


def _curvatures(found: Classes, low: Fraction) -> Iterator[tuple[Fraction, ...]]:
    """Yield h_i from mu to L = 1 with a mean above 0, of classes or of clients."""
    alike = [h for h in ALIKE if h >= low]
    whole = [
        tuple(
            chain.from_iterable([h] * n for h, n in zip(hs, found.sizes, strict=True))
        )
        for hs in product(alike, repeat=min(len(found.sizes), 2))
        if len(hs) == len(found.sizes)
    ]
    yield from whole
    if found.n_clients > MOST_MIXED:
        return
    mixed = [h for h in MIXED if h >= low]
    parts = [combinations_with_replacement(mixed, n) for n in found.sizes]
    for rows in product(*parts):
        hs = tuple(chain.from_iterable(rows))
        if sum(hs) > 0:
            yield hs


def _weight(curvatures: tuple[Fraction, ...], convex: bool) -> Fraction:
    """Return M over what bounds it, where x^2 = 1 in M and x_0^2 = 1."""
    mean = sum(curvatures, Fraction(0)) / len(curvatures)
    return mean / 2 if convex else 2 * mean


def _sum(
    algorithm: Algorithm,
    law: Participation,
    curvatures: tuple[Fraction, ...],
    convex: bool,
) -> float:
    hessians = [[[float(h)]] for h in curvatures]
    setting = moments(_problem(hessians), algorithm, law)
    if isinstance(setting, Refusal):
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        errors = setting.mean_square_error([1.0], ROUNDS)[:ROUNDS].astype(float)
    total = float(errors.sum())
    return float(_weight(curvatures, convex)) * total if np.isfinite(total) else 0.0


def _exact_sum(
    algorithm: Algorithm,
    law: Participation,
    curvatures: tuple[Fraction, ...],
    convex: bool,
) -> Fraction | None:
    setting = moments(_problem([[[h]] for h in curvatures]), algorithm, law)
    if isinstance(setting, Refusal):
        return None
    errors = setting.mean_square_error([1], EXACT_ROUNDS)[:EXACT_ROUNDS]
    total = sum((Fraction(e) for e in errors), Fraction(0))
    return _weight(curvatures, convex) * total


def _problem(
    hessians: list[list[list[float]]] | list[list[list[Fraction]]],
) -> Quadratics:
    return Quadratics(np.array(hessians), np.array([[h[0][0] * 0] for h in hessians]))
