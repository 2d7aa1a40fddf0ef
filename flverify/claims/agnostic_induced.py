"""Objective (3) of the agnostic paper on scalar quadratics, for every N.

With bend = sum p_i h_i and best = sum p_i h_i b_i / bend over the clients so far, the
objective is least + bend (x - best)^2/2 and its slope bend (x - best). One client more
is judged; a cohort of s clients gives each of its members 1/s, whatever N is.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from flverify.claims import cohorts, judge
from flverify.claims.cohorts import Cohort, Listed, any_law, people
from flverify.claims.verdict import Finding
from flverify.reference import agnostic_fedavg

LAWS = "every N and law of nonempty S"
QUADRATICS = f"scalar quadratics, {LAWS}"
S = 1 + sympy.Symbol("t", positive=True)  # |A|, at least 1
x, eta = sympy.symbols("x eta")
bend, p, h = sympy.symbols("bend p_i h_i", positive=True)
best, b, least = sympy.symbols("best b_i least", real=True)


@cache
def definition(power: int) -> Finding:
    """Judge that (3) is a convex combination with one minimiser, on quadratics.

    Parameters
    ----------
    power : int
        1 for the p_i of (2), E[1{i in S} / |S|^power].
    """
    shares: list[Any] = [("members of a cohort of s", S * S**-power, 1)]
    for n in (1, 2, 3):
        total = sum(weights_of(any_law(n), n, power))
        shares.append((f"sum of p_i, N = {n}", total, 1))
    alone = p * h * (x - b) ** 2 / 2
    more, centre = bend + p * h, (bend * best + p * h * b) / (bend + p * h)
    rest = bend * p * h * (best - b) ** 2 / (2 * more)
    one_more = (
        "one client more",
        least + bend * (x - best) ** 2 / 2 + alone,
        least + rest + more * (x - centre) ** 2 / 2,
    )
    first = judge.identity([("N = 1", alone, 0 + p * h * (x - b) ** 2 / 2)], "N = 1")
    step = judge.identity([one_more], QUADRATICS)
    argument = "the objective is least + bend (x - best)^2/2, with bend > 0"
    return judge.all_of(
        {
            "sum of p_i": judge.identity(shares, LAWS),
            "p_i >= 0": judge.nonnegative([("a member's share", S**-power)], LAWS),
            "one minimiser": judge.induction(first, step, QUADRATICS, argument),
        }
    )


@cache
def mean_step(power: int) -> Finding:
    """Judge that one local step moves the mean by a gradient step on (3).

    The step is checked for any gradients g_i, then the mean gradient of quadratics at
    the mean. The distance to the minimiser is multiplied by 1 - eta sum p_i h_i, of
    modulus below 1 just for the step sizes of the scope.

    Parameters
    ----------
    power : int
        1 for the p_i of (2), E[1{i in S} / |S|^power].
    """
    pairs: list[Any] = [("factor of a gradient, |A| = s", 1 / S, S**-power)]
    for n in (1, 2, 3):
        law, g = any_law(n), sympy.symbols(f"g_1:{n + 1}")
        mean = sum(v * gradient_step(g, a, x, eta) for a, v in law.items())
        rows = zip(weights_of(law, n, power), g, strict=True)
        step = x - eta * sum(w * v for w, v in rows)
        pairs.append((f"mean step, N = {n}", mean, step))
    more, centre = bend + p * h, (bend * best + p * h * b) / (bend + p * h)
    factor = 1 - eta * bend
    pairs += [
        (
            "slope of one client",
            sympy.diff(p * h * (x - b) ** 2 / 2, x),
            p * h * (x - b),
        ),
        (
            "slope, one client more",
            bend * (x - best) + p * h * (x - b),
            more * (x - centre),
        ),
        ("contraction", x - eta * bend * (x - best) - best, factor * (x - best)),
        ("step sizes", 1 - factor**2, eta * bend * (2 - eta * bend)),
    ]
    steps = "step sizes with 0 < eta sum_i p_i h_i < 2, no active constraint"
    return judge.identity(pairs, f"{QUADRATICS}, {steps}")


def weights_of(law: Listed, n_clients: int, power: int) -> list[Any]:
    """E[1{i in S} / |S|^power] for every client, over listed outcomes.

    Examples
    --------
    >>> law = {frozenset({1}): Fraction(1, 2), frozenset({1, 2}): Fraction(1, 2)}
    >>> weights_of(law, 2, 1)
    [Fraction(3, 4), Fraction(1, 4)]
    """
    found = []
    for i in people(n_clients):
        shares = [v / Fraction(len(a) ** power) for a, v in law.items() if i in a]
        found.append(sum(shares[1:], start=shares[0]) if shares else Fraction(0))
    return found


def gradient_step(gradients: Any, members: Cohort, start: Any, step: Any) -> Any:
    """Server model of the plain loop after one local step with given gradients."""
    models = agnostic_fedavg.run(
        lambda i, _x: [gradients[i]],
        len(gradients),
        [start],
        [cohorts.zero_based(members)],
        step_size=step,
        period=2,
    )
    return models[-1][0]
