"""How many rounds the bounds of Theorem 1 of the FOCUS paper need for epsilon <= 1/2.

A bound (1 - x)^R is halved by every m >= 1/x rounds, so that m k of them suffice with
k the least integer that is at least log2(1/epsilon). A bound V/R needs V/epsilon.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.focus_theorem1_steps import (
    L,
    N,
    beta,
    conditions,
    eta,
    implied,
    mu,
    q,
)
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.claims.written import at_least, both

EVERY = "every epsilon <= 1/2"
CAPPED = "every step size inside the caps"

x, m, k = sympy.symbols("x m k", positive=True)
V = sympy.Symbol("V", nonnegative=True)  # 0 if a run starts at its end
power, other, bound = sympy.symbols("power other bound", nonnegative=True)
least = sympy.Symbol("log", positive=True)  # log2(1/epsilon)
epsilon, rounds = sympy.symbols("epsilon rounds", positive=True)

# what is lost in a round, relative: eta mu N/2 of (23), eta beta N of (24)
LOSSES = {"(23)": eta * mu * N / 2, "(24)": eta * beta * N}


def rounds_suffice(caps: Mapping[str, str], name: str, order: str) -> Finding:
    """Judge that C times the order of rounds makes the bound at most epsilon.

    Examples
    --------
    >>> rounds_suffice({"q/(beta N)": "1/12"}, "(24)", "log").verdict
    <Verdict.PROVED: 'PROVED'>
    """
    if name in LOSSES and order == "log":
        return judge.all_of({**_geometric(), "x <= 1": _loss(caps, name)})
    if name not in LOSSES and order == "1/epsilon":
        return _harmonic()
    return judge.inconclusive(f"no proof of order {order} is tried for {name}")


def _loss(caps: Mapping[str, str], name: str) -> Finding:
    """Judge x <= 1 from the caps that speak of its symbols."""
    spoken = {"mu/(N L^2)", "q/(beta N)"}
    given = conditions({cap: f for cap, f in caps.items() if cap in spoken})
    known = [q <= 1, mu <= L, *given]
    return implied(known, LOSSES[name] <= 1, CAPPED)


def _geometric() -> dict[str, Finding]:
    """(1 - x)^m (1 + m x) <= 1 by induction on m; then halve k times."""
    half = rational("1/2")

    def kept(rounds: Any, factor: Any) -> Any:
        return factor * (1 + rounds * x) <= 1

    line, longer = kept(m, power), kept(m + 1, power * (1 - x))
    whole = [k <= least + 1, least >= 1]
    rules: dict[str, tuple[list[Any], Any]] = {
        "one round": ([x <= 1], kept(1, 1 - x)),
        "one round more": ([line, x <= 1], longer),
        "m rounds halve": ([line, m * x >= 1], power <= half),
        "k times": ([other <= bound, power <= half], other * power <= bound / 2),
        "m k rounds": (whole, m * k <= 2 * m * least),
    }
    return {name: judge.implied(*rule, EVERY) for name, rule in rules.items()}


def _harmonic() -> Finding:
    """V/R <= epsilon for R the least integer that is at least V/epsilon."""
    enough = [rounds >= V / epsilon]
    few = [rounds <= V / epsilon + 1, epsilon <= rational("1/2")]
    return judge.all_of(
        {
            "enough": judge.implied(enough, V / rounds <= epsilon, EVERY),
            "few": judge.implied(few, rounds <= (V + 1) / epsilon, EVERY),
        }
    )


def log_below(degree: Fraction) -> Finding:
    """Judge that log(1/epsilon) epsilon^p tends to 0: it is at most 2/p epsilon^(p/2).

    With w = epsilon^(p/2) it is 2/p log(1/w) w^2, and log z <= z at z = 1/w.

    Examples
    --------
    >>> log_below(Fraction(1, 2)).verdict, log_below(Fraction(-1)).passes()
    (<Verdict.PROVED: 'PROVED'>, False)
    """
    w, log = sympy.symbols("w log_1_over_w", positive=True)
    times = 2 / rational(degree)
    value = times * log * w**2
    held = [w < 1, log <= 1 / w]
    return judge.implied(held, both(at_least(value, 0), value <= times * w), EVERY)
