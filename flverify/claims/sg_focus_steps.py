"""What Theorems 4 and 5 of Appendix E share: the descent of F with noise, and sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import numpy as np
import sympy

from flverify._core.exact import Array
from flverify.certify import gram
from flverify.claims import judge
from flverify.claims.focus_families import GENERAL
from flverify.claims.focus_lemma3 import EVERY
from flverify.claims.focus_search import number
from flverify.claims.sg_focus_moments import Curves, NoisyClients
from flverify.claims.sg_focus_search import (
    Q_READINGS,
    SAMPLES,
    NoisyInstance,
    Sides,
    by_samples,
    chosen,
    full,
    one_sample,
    population,
    remembered,
    searched,
)
from flverify.claims.verdict import Finding

FULL = {"laws": "full", "samples": SAMPLES[:1]}
SEARCHED = (
    "N = 1, 2, 5; curvatures 1, one of them 30, half of them 0 or -1/2; tau = 1, 2, "
    "20; loud and quiet noise; 15 rounds"
)


@remembered
def descent_on_runs(c: SimpleNamespace) -> Finding:
    """Judge E F(w_{r+1}) against the second line of the descent display on runs.

    The first line is the descent lemma for w - eta S, and the third follows from the
    second by Jensen; both are proved. `c` has caps, noise, laws and samples.
    """

    def sides(one: NoisyInstance, found: Curves) -> Sides:
        own, like, step = one.clients, found.server, one.step
        beta, top = own.mean_curvature, own.smoothness
        line2 = (
            number(beta / 2, like) * like[:-1] - number(step * beta, like) * found.aim
        )
        line2 = line2 + number(step**2 * top / 2, like) * found.smooth
        share = Fraction(c.noise) * own.total * step**2 * top
        right = line2 + number(share * own.variance, like)
        return Sides(1, number(beta / 2, like) * like[1:], np.asarray(right))

    listed = population(GENERAL, largest=5)
    listed = full(listed) if c.laws == "full" else listed
    first = _without_noise()
    found = by_samples(
        lambda: judge.instances(
            searched(chosen(c.caps, Q_READINGS[0], listed), sides, 15), "<=", SEARCHED
        ),
        lambda: judge.instances(
            one_sample(c.caps, Q_READINGS[0], sides, 2), "<=", "one sample for all"
        ),
        c.samples,
    )
    return judge.readings(
        {
            name: judge.all_of({"the noise": part, "without noise": first})
            for name, part in found.items()
        }
    )


@cache
def _without_noise() -> Finding:
    """F(w - eta S) <= F(w) - eta <g, S> + eta^2 L/2 |S|^2; |S|^2 by Jensen; L = 1."""
    one = Fraction(1)
    F, w, S = gram.Function("F", one, -one), gram.vector("w"), gram.vector("S")
    lemmas = [
        (
            {"eta L": step},
            F.value(w - step * S)
            <= F.value(w)
            - step * gram.inner(F.gradient(w), S)
            + step**2 / 2 * gram.square(S),
        )
        for step in (Fraction(1, 100), Fraction(1, 4), Fraction(2))
    ]
    a, b = sympy.symbols("a b", real=True)
    jensen = a**2 / 2 <= (b - a) ** 2 + b**2
    return judge.all_of(
        {
            "line 1": judge.vectors(
                lemmas, "eta L = 1/100, 1/4, 2; L = 1 by scaling f"
            ),
            "line 3": judge.implied([], jensen, EVERY),
        }
    )


def running_means(values: Array) -> Array:
    """Return the means of the first R = 1, 2, ... values.

    Examples
    --------
    >>> running_means(np.array([1.0, 3.0])).tolist()
    [1.0, 2.0]
    """
    out = np.empty(len(values), dtype=values.dtype)
    total = 0 * values[0]
    for k, value in enumerate(values):
        total = total + value
        out[k] = total / (k + 1)
    return out


def divided(value: Fraction, rounds: int, like: Array) -> Array:
    """Return value / R for R = 1, ..., rounds, in the arithmetic of an array."""
    out = np.empty(rounds, dtype=like.dtype)
    out[:] = [number(value / r, like) for r in range(1, rounds + 1)]
    return out


def varied(
    clients: Iterable[NoisyClients], caps: Mapping[str, str], reading: str, case_3a: str
) -> list[tuple[NoisyClients, Fraction, Fraction]]:
    """List clients with steps for which 1/(N - 8 L^2) has a value."""
    return [
        (one, step, q)
        for one, step, q in chosen(caps, reading, clients, case_3a)
        if one.total != 8 * one.smoothness**2
    ]
