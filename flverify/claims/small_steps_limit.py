"""FedAvg as eta -> 0 beside the O(eta) neighbourhood of decentralised descent.

Two clients (x - b_i)^2/2 with b = 1, -1 and x* = 0, one of them in every round, client
1 with chance q. A round takes x to a x + (1 - a) b_i, a = (1 - eta)^tau.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import sympy

from flverify.claims import judge
from flverify.claims.client_drift import drift_order, minimiser
from flverify.claims.fedavg_two_clients import level
from flverify.reference import fedavg

ETA = sympy.Symbol("eta", positive=True)
CENTRES = (1, -1)


def orders_of_square(
    chance: Fraction, taus: tuple[int, ...], least: int
) -> Iterator[judge.Case]:
    """Yield m of E|x - x*|^2 = c eta^m + o(eta^m) as eta -> 0, against `least`.

    Examples
    --------
    >>> [[case.left for case in orders_of_square(Fraction(1, k), (1, 2), 1)]
    ...     for k in (4, 2)]
    [[0, 0], [1, 1]]
    """
    for tau in taus:
        kept = (1 - ETA) ** tau
        mean = 2 * sympy.Rational(chance) - 1
        top = sympy.numer(sympy.cancel(level(kept, sympy.Integer(1), mean**2)))
        found = min(power for (power,) in sympy.Poly(top, ETA).monoms())
        where = {"b": list(CENTRES), "tau": tau, "chance of client 1": chance}
        where["compared"] = "power of eta in lim E|x - x*|^2"
        again = partial(_again, chance, tau, least)
        yield judge.Case(where, int(found), least, again)


def _again(chance: Fraction, tau: int, least: int) -> tuple[int, int]:
    """Read a round off the plain loop, solve for both moments, divide by eta."""
    ends = []
    for i in (0, 1):
        for start in (0, 1):
            models = fedavg.run(
                lambda j, x: [x[0] - CENTRES[j]],
                2,
                [sympy.Integer(start)],
                [{i}],
                step_size=ETA,
                local_steps=tau,
            )
            ends.append(sympy.expand(models[-1][0]))
    maps = [(ends[1] - ends[0], ends[0]), (ends[3] - ends[2], ends[2])]
    shares = [sympy.Rational(chance), 1 - sympy.Rational(chance)]
    first, second = sympy.symbols("first second")
    mean, square = sympy.Integer(0), sympy.Integer(0)
    for share, (a, b) in zip(shares, maps, strict=True):
        mean += share * (a * first + b)
        square += share * (a**2 * second + 2 * a * b * first + b**2)
    found = sympy.solve([mean - first, square - second], [first, second], dict=True)
    return _first_power(found[0][second]), least


def _first_power(value: sympy.Expr) -> int:
    order, reduced = 0, sympy.cancel(value)
    while sympy.cancel(reduced / ETA**order).subs(ETA, 0) == 0:
        order += 1
    return order


def orders(least: int) -> Iterator[judge.Case]:
    """Yield m of x^o - x* = c eta^m + o(eta^m) under full participation.

    Clients that are these quadratics near x*, and whose gradients differ boundedly, end
    up there too; so a finite sigma_G does not raise the order.

    Examples
    --------
    >>> {case.left for case in orders(1)}
    {1}
    """
    for row in ((1, 2), (3, 1), (1, 100)):
        for tau in (2, 5):
            h, b = tuple(map(Fraction, row)), (Fraction(1), Fraction(2))
            where = {"h": list(h), "b": list(b), "tau": tau, "participation": "full"}
            found = drift_order(h, b, tau)[0]
            yield judge.Case(
                where, found, least, partial(_order_again, h, b, tau, least)
            )


def _order_again(
    h: tuple[Fraction, ...], b: tuple[Fraction, ...], tau: int, least: int
) -> tuple[int, int]:
    """Find the first power of eta in x^o - x*, from the plain loop's fixed point."""
    start = sympy.Symbol("x")
    models = fedavg.run(
        lambda i, x: [sympy.Rational(h[i]) * (x[0] - sympy.Rational(b[i]))],
        2,
        [start],
        [{0, 1}],
        step_size=ETA,
        local_steps=tau,
    )
    (point,) = sympy.solve(sympy.expand(models[-1][0] - start), start)
    return _first_power(point - sympy.Rational(minimiser(h, b))), least
