"""One gradient step of one client of FedAvg, in closed form.

For two points x, y let v = x - y and g = grad f(x) - grad f(y). Assumptions 2 and 3 as
printed, each at x and at y, give P = <g - mu v, L v - g> >= 0. What a step does to a
distance is then a sum of squares and of P, with weights that are not negative while
eta L <= 1/3. Squared norms and inner products add up over coordinates, so that one
coordinate shows an identity; values of f cancel.

Here M = L - mu > 0. Where L = mu, f is L'-smooth for every L' > L; each line holds
for L' and is continuous in it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.fedavg_averages import EVERY
from flverify.claims.verdict import Finding

eta, mu, M = sympy.symbols("eta mu M", positive=True)
L = mu + M
above = sympy.Symbol("above", nonnegative=True)
e, v, g = sympy.symbols("e v g", real=True)
x, y, g_x, g_y = sympy.symbols("x y g_x g_y", real=True)
f_x, f_y, f_beyond_x, f_beyond_y = sympy.symbols("f_x f_y f_1 f_2", real=True)

Terms = list[tuple[Any, Any]]  # weights, and squares or P


def product(gap: Any) -> Any:
    """P of a gap between points and the gap g of their gradients."""
    return (g - mu * gap) * (L * gap - g)


@cache
def one_client() -> Finding:
    """Judge that P >= 0, and every sum of squares and P with its weights."""
    sums = {
        "a step from both ends": _both_move(),
        "a step elsewhere": _one_elsewhere(),
        "gradients grow": _grows(),
        "gradients are Lipschitz": _lipschitz(),
    }
    pairs = [
        (name, left, sum(weight * quantity for weight, quantity in terms))
        for name, (left, terms) in sums.items()
    ]
    inside = {eta: 1 / (3 * L * (1 + above))}
    weights = [
        (name, sympy.sympify(weight).subs(inside))
        for name, (_, terms) in sums.items()
        for weight, _ in terms
    ]
    return judge.all_of(
        {
            "sums": judge.identity([_interpolated(), *pairs], EVERY),
            "signs": judge.nonnegative(weights, EVERY),
        }
    )


def _interpolated() -> judge.Pair:
    """Add A2 and A3 at z = x - w and at y + w, w = (g - mu v)/M: M times that is P."""
    gap, slope = x - y, g_x - g_y
    w = (slope - mu * gap) / M
    slacks = [
        _bound(L, f_x, x, g_x, x - w) - f_beyond_x,
        f_beyond_x - _bound(mu, f_y, y, g_y, x - w),
        _bound(L, f_y, y, g_y, y + w) - f_beyond_y,
        f_beyond_y - _bound(mu, f_x, x, g_x, y + w),
    ]
    return "A2 and A3 twice", M * sum(slacks), (slope - mu * gap) * (L * gap - slope)


def _bound(curvature: Any, value: Any, point: Any, slope: Any, at: Any) -> Any:
    return value + slope * (at - point) + curvature / 2 * (at - point) ** 2


def _both_move() -> tuple[Any, Terms]:
    """Both ends of e take a step: |e - eta g| <= (1 - eta mu) |e|."""
    left = (1 - eta * mu) ** 2 * e**2 - (e - eta * g) ** 2
    slow = eta * (2 - eta * (mu + L)) / M
    return left, [(eta**2 + slow, product(e)), (slow, (g - mu * e) ** 2)]


def _one_elsewhere() -> tuple[Any, Terms]:
    """Take the gradient at distance d from e, where v = e - d.

    |e - eta g|^2 <= (1 - eta mu) |e|^2 + eta L |d|^2.
    """
    left = (1 - eta * mu) * e**2 + eta * L * (e - v) ** 2 - (e - eta * g) ** 2
    return left, [
        (eta * M, (e - (L * v - g) / M) ** 2),
        (eta / L * (1 - eta * L), g**2),
        (2 * eta / M, product(v)),
        (eta * mu / (L * M), (L * v - g) ** 2),
    ]


def _grows() -> tuple[Any, Terms]:
    """|g| >= mu |v|: gradients of strongly convex functions have no bound."""
    left = g**2 - mu**2 * v**2
    return left, [
        (1 + 2 * mu / M, (g - mu * v) ** 2),
        (2 * mu / M, product(v)),
    ]


def _lipschitz() -> tuple[Any, Terms]:
    """|g| <= L |v|."""
    left = L**2 * v**2 - g**2
    return left, [
        ((L + mu) / M, (L * v - g) ** 2),
        (2 * L / M, product(v)),
    ]
