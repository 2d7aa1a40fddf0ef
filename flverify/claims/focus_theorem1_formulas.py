"""Rounds that the bounds of Theorem 1 of the FOCUS paper need, cap by cap, in formulas.

(1 - x)^R <= exp(-x R) <= epsilon as soon as x R >= log(1/epsilon), and a bound V/R is
at most epsilon as soon as R >= V/epsilon. At a step size equal to one cap, 1/x or V is
a formula in kappa = L/mu or L/beta, N, tau and q; at the least of the caps it is the
largest of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import product
from math import ceil
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.focus_theorem1_counts import LOSSES
from flverify.claims.focus_theorem1_steps import (
    L,
    N,
    beta,
    conditions,
    eta,
    implied,
    mu,
    q,
    tau,
)
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most

EVERY = "every L, mu, beta, N, tau, q_min and epsilon"
FALL = sympy.Symbol("F_1", positive=True)  # F(x_1) - F*
RELATIVE = {**LOSSES, "(25)": eta * N / (8 * FALL)}  # 1/V for (25)
SPOKEN = {"(23)": ("mu/(N L^2)",), "(24)": ("q/(beta N)",)}  # what x <= 1 needs
CAPS: dict[str, Any] = {
    "mu/(N L^2)": mu / (N * L**2),
    "1/(L (tau-1))": 1 / (L * (tau - 1)),
    "q^(3/2)/(L sqrt N)": q ** rational("3/2") / (L * sympy.sqrt(N)),
    "q/N": q / N,
    "q/(beta N)": q / (beta * N),
    "q/L^2": q / L**2,
    "q/(L sqrt(2 N))": q / (L * sympy.sqrt(2 * N)),
    "1/(L N)": 1 / (L * N),
}


def formula(bound: str, cap: str, factor: str) -> Any:
    """Return 1/x, or V, with eta at a cap.

    Examples
    --------
    >>> formula("(23)", "mu/(N L^2)", "3/27")
    18*L**2/mu**2
    """
    step = rational(factor) * CAPS[cap]
    return sympy.simplify(1 / RELATIVE[bound].subs(eta, step))


def as_written(
    caps: Mapping[str, Mapping[str, str]], written: Mapping[str, Mapping[str, Any]]
) -> Finding:
    """Judge formulas by hand against those from the bounds and the caps."""
    pairs = [
        (f"{bound}, eta = {factor} {cap}", formula(bound, cap, factor), by_hand)
        for bound, listed in caps.items()
        for (cap, factor), by_hand in zip(
            listed.items(), written[bound].values(), strict=True
        )
    ]
    return judge.identity(pairs, EVERY)


def enough(caps: Mapping[str, Mapping[str, str]]) -> Finding:
    """Judge that x R >= log(1/epsilon) is enough, and V/R.

    (1 - x)^R and exp(-x R) are products of R factors, from 1 on; 1 - x <= exp(-x) =: e,
    as the tangent of a convex function lies below it; and x <= 1 inside the caps.
    """
    x, e, power, larger = sympy.symbols("x e power larger", nonnegative=True)
    V, R, epsilon = sympy.symbols("V R epsilon", positive=True)
    one_more = [x <= 1, 1 - x <= e, power <= larger]
    inside = {
        f"x <= 1 in {name}": implied(
            [q <= 1, mu <= L, *conditions({k: caps[name][k] for k in SPOKEN[name]})],
            loss <= 1,
            EVERY,
        )
        for name, loss in LOSSES.items()
    }
    return judge.all_of(
        {
            **inside,
            "one round more": judge.implied(
                one_more, at_most(power * (1 - x), larger * e), EVERY
            ),
            "V/R": judge.implied([V / epsilon <= R], at_most(V / R, epsilon), EVERY),
        },
        scope=EVERY,
        argument=__doc__,
    )


def counted(
    caps: Mapping[str, Mapping[str, str]], written: Mapping[str, Mapping[str, Any]]
) -> Iterator[judge.Case]:
    """Compare the bounds with epsilon = 2^-k after the rounds that are written.

    log(1/epsilon) is taken from above: 7 k/10 >= k log 2.
    """
    for top, many, local, chance in product((1, 4), (1, 4, 9), (2, 5), ("1/4", "1")):
        values = {L: top, mu: 1, beta: 1, N: many, tau: local, FALL: 3}
        at = {symbol: rational(v) for symbol, v in {**values, q: chance}.items()}
        where = {"L": top, "mu = beta": 1, "N": many, "tau": local, "q_min": chance}
        for bound, listed in caps.items():
            steps = (rational(f) * CAPS[cap] for cap, f in listed.items())
            step = min(_rounded(one, at) for one in steps)
            V = max(_rounded(one, at, up=1) for one in written[bound].values())
            x = _rounded(RELATIVE[bound].subs(eta, rational(step)), at)
            for k in (1, 4, 7):
                needed = V * (2**k if bound == "(25)" else Fraction(7 * k, 10))
                one = {**where, "bound": bound, "step size": step, "k": k}
                rounds = max(1, ceil(needed))
                sides = partial(_after, bound, x, rounds, k)
                again = partial(sides, again=True)
                yield judge.Case({**one, "R": rounds}, *sides(), again)


def _rounded(expression: Any, at: Mapping[Any, Any], up: int = 0) -> Fraction:
    """Return a value that may have roots, rounded down or, a little more, up."""
    value = expression.subs(at)
    if value.is_Rational:
        return Fraction(int(value.p), int(value.q))
    return Fraction(int(sympy.floor(value * 10**15)) + up * 10**5, 10**15)


def _after(
    bound: str, x: Fraction, rounds: int, k: int, *, again: bool = False
) -> tuple[Fraction, Fraction]:
    """Return (1 - x)^R or 1/(x R), the second time round by round, and 2^-k."""
    if bound == "(25)":
        total = sum((x for _ in range(rounds)), Fraction(0)) if again else x * rounds
        return 1 / total, Fraction(1, 2**k)
    value = Fraction(1)
    for _ in range(rounds if again else 0):
        value *= 1 - x
    return value if again else (1 - x) ** rounds, Fraction(1, 2**k)
