"""How the fixed point of FedAvg leaves the minimiser as the step size grows from 0.

Scalar clients f_i = h_i (x - b_i)^2 / 2 under full participation: the fixed point is
x^o = sum (1 - a_i) b_i / sum (1 - a_i) with a_i = (1 - eta h_i)^tau. For two of them
x^o - x* = -(tau-1) eta h_1 h_2 (h_1 - h_2)(b_1 - b_2)/(2 (h_1 + h_2)^2) + o(eta).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb
from typing import Any

import sympy

from flverify._core.errors import DomainError
from flverify.claims import judge
from flverify.claims.verdict import Finding
from flverify.reference import fedavg

Numbers = Sequence[Fraction]


def minimiser(curvatures: Numbers, minimisers: Numbers) -> Fraction:
    """Return x* = sum h_i b_i / sum h_i, weight x."""
    pairs = zip(curvatures, minimisers, strict=True)
    return sum((h * b for h, b in pairs), Fraction(0)) / sum(curvatures)


def drift_order(
    curvatures: Numbers, minimisers: Numbers, local_steps: int
) -> tuple[int, Fraction]:
    """Return (m, c) with x^o - x* = c eta^m + o(eta^m) as eta -> 0.

    From the powers of eta in sum (1 - a_i)(b_i - x*) over sum (1 - a_i).

    Raises
    ------
    DomainError
        If x^o = x* for every step size.

    Examples
    --------
    >>> drift_order([Fraction(1), Fraction(2)], [Fraction(0), Fraction(1)], 2)
    (1, Fraction(-1, 9))
    """
    best, total = minimiser(curvatures, minimisers), local_steps * sum(curvatures)
    for j in range(2, local_steps + 1):
        moved = [-comb(local_steps, j) * (-h) ** j for h in curvatures]
        pairs = zip(moved, minimisers, strict=True)
        value = sum((m * (b - best) for m, b in pairs), Fraction(0))
        if value:
            return j - 1, value / total
    raise DomainError(
        "the clients must drift; got a fixed point at the minimiser for every step "
        "size; take different curvatures and minimisers and two local steps."
    )


def drift_ratio(
    curvatures: Numbers, minimisers: Numbers, local_steps: int, power: int
) -> Fraction:
    """Return lim |x^o - x*|^p / ((tau - 1) eta |x*|^p) as eta -> 0.

    Raises
    ------
    DomainError
        If x* = 0, or there is no drift.

    Examples
    --------
    >>> h, b = [Fraction(1), Fraction(2)], [Fraction(0), Fraction(1)]
    >>> drift_ratio(h, b, 2, power=1), drift_ratio(h, b, 2, power=2)
    (Fraction(1, 6), Fraction(0, 1))
    """
    best = minimiser(curvatures, minimisers)
    if not best:
        raise DomainError("x* must not be 0; got 0; shift the minimisers.")
    order, value = drift_order(curvatures, minimisers, local_steps)
    if order * power > 1:
        return Fraction(0)
    return abs(value / best) ** power / (local_steps - 1)


def drift_ratio_again(
    curvatures: Numbers, minimisers: Numbers, local_steps: int, power: int
) -> Fraction:
    """Recompute the limit in sympy, from the fixed point of the plain loop.

    Examples
    --------
    >>> h, b = [Fraction(1), Fraction(2)], [Fraction(0), Fraction(1)]
    >>> drift_ratio_again(h, b, 2, power=1)
    Fraction(1, 6)
    """
    eta = sympy.Symbol("eta", positive=True)
    h, b = ([sympy.Rational(v) for v in row] for row in (curvatures, minimisers))

    def gradient(client: int, point: list[Any]) -> list[Any]:
        return [h[client] * (point[0] - b[client])]

    def end(start: int) -> Any:
        models = fedavg.run(
            gradient,
            len(h),
            [sympy.Integer(start)],
            [set(range(len(h)))],
            step_size=eta,
            local_steps=local_steps,
        )
        return models[1][0]

    fixed = end(0) / (1 - end(1) + end(0))
    best = sum(v * w for v, w in zip(h, b, strict=True)) / sum(h)
    ratio = (fixed / best - 1) ** power / ((local_steps - 1) * eta)
    found = abs(sympy.limit(sympy.cancel(ratio), eta, 0))
    return Fraction(int(found.p), int(found.q))


PAIRS = (
    "every two scalar quadratics h (x - b)^2/2 of different h and b, full "
    "participation, every tau > 1"
)


def pair_drifts(power: int) -> Finding:
    """Judge that |x^o - x*|^p / ((tau - 1) eta) has a limit above 0, for two clients.

    1 - a_i is eta (tau h_i + eta r_i) with r_i -> -tau (tau - 1) h_i^2/2.

    Examples
    --------
    >>> pair_drifts(power=1).verdict, pair_drifts(power=2).passes()
    (<Verdict.PROVED: 'PROVED'>, False)
    """
    one, two = sympy.symbols("h1:3", positive=True)
    b, c, r, s = sympy.symbols("b1 b2 r1 r2", real=True)
    eta, tau = sympy.Symbol("eta", positive=True), sympy.Symbol("tau", positive=True)
    best = (one * b + two * c) / (one + two)
    u, v = eta * (tau * one + eta * r), eta * (tau * two + eta * s)
    fixed = (u * b + v * c) / (u + v)
    left = [b + (1 - u) * (fixed - b), c + (1 - v) * (fixed - c)]
    whole = tau * (one + two) + eta * (r + s)
    ratio = (r * (b - best) + s * (c - best)) / whole  # (x^o - x*)/eta
    slope = -one * two * (one - two) * (b - c) / (2 * (one + two) ** 2)
    ended = {h: -tau * (tau - 1) * g**2 / 2 for h, g in ((r, one), (s, two))}
    pairs = [
        ("x^o rests", sum(left) / 2, fixed),
        ("x^o - x*", fixed - best, eta * ratio),
        ("its limit over eta", ratio.subs({eta: 0, **ended}), (tau - 1) * slope),
    ]
    apart = [(one - two) ** 2 > 0, (b - c) ** 2 > 0]
    more = (eta ** (power - 1)).subs(eta, 0)  # its limit, power being at least 1
    return judge.all_of(
        {
            "local steps": judge.identity(_local_steps(), PAIRS),
            "the fixed point": judge.identity(pairs, PAIRS),
            "above 0": judge.implied(apart, slope**2 * more > 0, PAIRS),
        }
    )


def _local_steps() -> list[judge.Pair]:
    """One step takes a to (1 - eta h) a, and 1 - a = eta (t h + eta r) to its like.

    So r stays a polynomial in eta; at eta = 0 it is -t (t - 1) h^2/2, as at t = 0.
    """
    eta, h = sympy.symbols("eta h", positive=True)
    a, b, x, r = sympy.symbols("a b x r", real=True)
    t = sympy.Symbol("t", integer=True, nonnegative=True)
    now, keep, lost = b + a * (x - b), 1 - eta * h, eta * (t * h + eta * r)
    later = keep * r - t * h**2
    ended = -t * (t - 1) * h**2 / 2
    return [
        ("one step", now - eta * h * (now - b), b + (1 - eta * h) * a * (x - b)),
        ("r", 1 - keep * (1 - lost), eta * ((t + 1) * h + eta * later)),
        ("r at eta = 0", later.subs({eta: 0, r: ended}), ended.subs(t, t + 1)),
    ]
