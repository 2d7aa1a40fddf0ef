"""FOCUS with one local step on scalar quadratics: what is searched beside the proofs.

Exact mean-square rates under small laws, and single rounds of one uniform client, from
rational states: by the plain loop, and again from moments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

from flverify._core.errors import Refusal, RefusedError
from flverify.algorithms import Focus
from flverify.claims import cohorts, judge
from flverify.engines.moments import moments
from flverify.participation import Bernoulli
from flverify.participation._law import Participation
from flverify.problems import Quadratics
from flverify.reference import focus

CURVATURES = ((1, 1, 1), (1, 4, 2), (1, 40, 1))


def rates(
    c: SimpleNamespace, laws: Sequence[Participation], convex: str
) -> Iterator[judge.Case]:
    """Exact mean-square rates on scalar quadratics against the claimed rate."""
    for law in laws:
        n, p = law.n_clients, Fraction(law.inclusion()[0])
        for h, share in ((h[:n], s) for h in CURVATURES for s in ("1", "1/6")):
            step = Fraction(c.step) * Fraction(share) / max(h) / _noise(law)
            mu = Fraction(sum(h), n) if convex == "mean" else Fraction(min(h))
            rate = 1 - min(Fraction(c.strong) * step * mu, Fraction(c.memory) * p)
            problem = Quadratics([[[v]] for v in h], [[0]] * n)
            found = moments(problem, Focus(step / n), law)
            if isinstance(found, Refusal):
                raise RefusedError(str(found))
            where = {"h": h, "law": law.spec, "gamma": step, "tau": 1}
            # one client that is always there descends
            both = cohorts.sides((1 - step * h[0]) ** 2, rate)
            sure = n == 1 and p == 1
            interval = found.mean_square_rate_interval
            yield judge.Case(where, interval, rate, both if sure else None)


def _noise(law: Participation) -> Fraction:
    """Return max(1, omega) for independent clients, and 1 for uniform cohorts."""
    p = Fraction(law.inclusion()[0])
    if isinstance(law, Bernoulli):
        return max(Fraction(1), Fraction((1 - p) / (p * law.n_clients)))
    return Fraction(1)


def single_rounds(c: SimpleNamespace) -> Iterator[judge.Case]:
    """E V' + gain gamma F against V, one uniform client, from rational states."""
    for n, h in ((n, h[:n]) for n in (1, 2, 3) for h in CURVATURES):
        step = Fraction(c.step) / max(h)
        for x, stored in ((3, h), (1, (0,) * n), (2, (5, -3, 1)[:n])):
            where = {"N": n, "h": h, "gamma": step, "x": x, "stored": stored}
            value = Fraction(c.gain) * step * Fraction(sum(h), 2 * n) * x**2
            listed = [after_round(n, h, step, x, stored, i) for i in range(n)]
            mean = sum(listed, Fraction(0)) / n
            before = potential(n, h, step, x, stored)
            again = partial(_by_moments, n, h, step, x, stored, value)
            yield judge.Case(where, mean + value, before, again)


def potential(
    n: int, h: Sequence[int], step: Fraction, x: Any, stored: Sequence[Any]
) -> Fraction:
    """V for f_i = h_i x^2/2, omega = 1 and p = 1/N."""
    a = Fraction(sum(stored)) / n
    values = 3 * n * step * Fraction(sum(h), 2 * n) * x**2
    squares = Fraction(18, 5) * (n + Fraction(1, 4)) * step**2
    moved = (x - (n - 1) * step * a) ** 2 + (n * step * a) ** 2 / 2
    kept = squares * sum((Fraction(v) ** 2 for v in stored), Fraction(0)) / n
    return Fraction(moved + values + kept)


def after_round(
    n: int, h: Sequence[int], step: Fraction, x: Any, stored: Sequence[Any], i: int
) -> Fraction:
    """V after a round of the box with client i."""
    state = {"model": [x], "tracker": [sum(stored)], "stored": [[v] for v in stored]}
    after = focus.play(state, lambda j, at: [h[j] * at[0]], n, {i}, step_size=step / n)
    return potential(n, h, step, after["model"][0], [v[0] for v in after["stored"]])


def _by_moments(
    n: int, h: Sequence[int], step: Fraction, x: Any, stored: Sequence[Any], value: Any
) -> tuple[Fraction, Fraction]:
    """Both sides again: V' from E a', E a'^2 and E mean |h_i'|^2."""
    moves = [Fraction(v * x - s, n) for v, s in zip(h, stored, strict=True)]
    a = Fraction(sum(stored), n)
    first = a + sum(moves) / n
    second = a**2 + 2 * a * sum(moves) / n + sum(v**2 for v in moves) / n
    old = Fraction(sum(v**2 for v in stored), n)
    new = old + (Fraction(sum(v**2 for v in h) * x**2, n) - old) / n
    curved = 1 + Fraction(3 * sum(h), 2) * step  # |x|^2 and 3 N gamma F
    expected = (
        x**2
        - 2 * n * step * x * first
        + (n * step) ** 2 * second
        + (curved - 1) * (x**2 - 2 * step * x * first + step**2 * second)
        + (n * step) ** 2 * second / 2
    )
    weight = Fraction(18, 5) * (n + Fraction(1, 4)) * step**2
    before = x**2 - 2 * (n - 1) * step * x * a + ((n - 1) * step * a) ** 2
    before += (n * step * a) ** 2 / 2 + (curved - 1) * x**2 + weight * old
    return expected + weight * new + value, before
