"""FOCUS paper: the recursion (56)-(57), its sum (58), and its limit beside (59)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.fedavg_averages import EVERY
from flverify.claims.fedavg_stationary import vanishes
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most

eta, L, mu, tau = sympy.symbols("eta L mu tau", positive=True)
sigma, delta = sympy.symbols("sigma delta", nonnegative=True)  # both squared
p = sympy.Symbol("p", positive=True)
before, now, after = sympy.symbols("A_0 now after", nonnegative=True)
w, b, c, far, near = sympy.symbols("w B C G H", nonnegative=True)


def summed_58() -> Finding:
    """Judge (58) by induction over iterations, and its sums beside their limits.

    H is the sum of (1 - alpha)^k' over k' <= K, and G that over k' below the number of
    communications before K, whether k = 0 is one or not: at most floor(K/tau) + 1.
    """
    proof = judge.all_of(
        {
            "(58) goes on": _one_iteration(),
            "sums": _geometric_sums(),
            "(1 - alpha)^K A_0": vanishes(sympy.Symbol("alpha", positive=True)),
        }
    )
    return judge.proof_or_search(
        proof, judge.instances(_sums(), "<=", "K <= 20, tau = 1, 2, 3, 5")
    )


def _one_iteration() -> Finding:
    """From K to K + 1, with p = 1 - alpha and w = p^K."""
    bound = w * before + near * b
    moved = p * w * before + (p * near + 1) * b
    held = [p < 1, now <= bound + far * c]
    local = [*held, after <= p * now + b]
    ended = [*held, after <= p * now + b + c]
    communicated = moved + (p * far + 1) * c
    return judge.all_of(
        {
            "K = 0": judge.implied([], at_most(before, before + b + c), EVERY),
            "k is no r tau": judge.implied(local, after <= moved + far * c, EVERY),
            "k = r tau": judge.implied(ended, after <= communicated, EVERY),
        }
    )


def _geometric_sums() -> Finding:
    """One more term, the first being 1; more terms are more; all are below 1/alpha."""
    last = sympy.Symbol("K", positive=True)
    one_more = p * (1 - p ** (last + 1)) + (1 - p)  # times 1/(1 - p)
    below = (1 - w) / (1 - p) <= 1 / (1 - p)
    return judge.all_of(
        {
            "one more term": judge.identity(
                [("sum", one_more, 1 - p ** (last + 2))], EVERY
            ),
            "more terms": judge.implied([], at_most(far, far + w), EVERY),
            "below 1/alpha": judge.implied([p < 1, w <= 1], below, EVERY),
        }
    )


def _sums() -> Iterator[judge.Case]:
    """Run (56)-(57) as equalities from A_0 = 1, with B = 1/10 and C = 1."""
    b, start = Fraction(1, 10), Fraction(1)
    for alpha, n, last in product(
        (Fraction(1, 6), Fraction(1, 100)), (1, 2, 3, 5), range(1, 21)
    ):
        keep, now = 1 - alpha, start
        for k in range(last):
            now = keep * now + b + int(k > 0 and k % n == 0)
        right = keep**last * start + sum((keep**k * b for k in range(last + 1)), 0 * b)
        right += sum((keep**k for k in range(last // n + 1)), 0 * b)
        where = {"alpha": alpha, "tau": n, "K": last, "A_0": 1, "B": b, "C": 1}
        yield judge.Case(where, now, right)


def limit(c: SimpleNamespace, reading: str) -> Finding:
    """B/alpha + C/alpha against (59); K is 100 tau if it is a number of iterations.

    delta_q = 0 comes first: over all stacked x (29) leaves it to nothing but q = u.
    """
    factor = 1 if reading == "tau" else 100
    values = {eta: eta, L: L, mu: mu, tau: tau, sigma: sigma, delta: delta}
    proof = judge.identity(
        [("(B + C)/alpha", _derived(values, factor), _printed(c, values))],
        "every eta, L, mu, tau, sigma_G and delta_q",
    )
    places = product((0, 1), (1, Fraction(1, 10), 10), (1, 5), (1, 3))
    cases = (_limit_case(c, factor, *place) for place in places)
    return judge.proof_or_search(
        proof, judge.instances(cases, "<=", "L = 1/10..50, kappa = 1, 5, tau = 1, 3")
    )


def _derived(v: Any, factor: int) -> Any:
    alpha = v[eta] * v[mu] / 2
    both = v[delta] + v[sigma]
    b = 40 * v[eta] ** 3 * v[L] ** 2 * (v[tau] - 1) ** 2 / v[mu] * both
    b += 5 * v[eta] / v[mu] * v[delta]
    return (b + 8 * v[eta] ** 2 * (factor * v[tau]) ** 2 * both) / alpha


def _printed(c: SimpleNamespace, v: Any) -> Any:
    kappa, both = v[L] / v[mu], v[delta] + v[sigma]
    drift = 80 * v[eta] ** 2 * kappa**2 * v[L] ** c.drift_L * (v[tau] - 1) ** 2 * both
    bias = 10 * kappa / (v[L] * v[mu]) ** c.bias_Lmu * v[delta]
    return drift + bias + 16 * v[eta] * v[tau] ** 2 / v[mu] * both


def _limit_case(
    c: SimpleNamespace, factor: int, mismatch: int, scale: Any, kappa: int, n: int
) -> judge.Case:
    small = Fraction(scale)
    big = small * kappa
    step = 1 / (3 * big) if n == 1 else min(1 / (3 * big), 1 / (4 * (n - 1) * big))
    s, d = Fraction(1), Fraction(mismatch)
    v = {eta: step, L: big, mu: small, tau: n, sigma: s, delta: d}
    where = {"L": big, "mu": small, "tau": n, "step size": step}
    where |= {"sigma_G^2": s, "delta_q^2": d, "K": factor * n}
    again = partial(_limit_again, c, v, factor)
    return judge.Case(where, _derived(v, factor), _printed(c, v), again)


def _limit_again(c: SimpleNamespace, v: Any, factor: int) -> tuple[Any, Any]:
    """Put the three terms of each side down by hand."""
    e, big, small, n, s, d = (v[name] for name in (eta, L, mu, tau, sigma, delta))
    left = 80 * (e * big / small * (n - 1)) ** 2 * (s + d) + 10 * d / small**2
    left += 16 * e * (factor * n) ** 2 / small * (s + d)
    first = 80 * (e * big / small * (n - 1)) ** 2 * (s + d)
    second = 10 * d / small**2
    powers = [big] * c.drift_L
    for value in powers:
        first *= value
    if not c.bias_Lmu:
        second *= big * small
    return left, first + second + 16 * e * n**2 / small * (s + d)
