"""Where FedAvg ends up with two clients of one curvature, one of them in every round.

Let f_i = h (x - b_i)^2/2 with x* = 0, so that b_1 = -b_2, and a = (1 - eta h)^tau. A
round takes x to a x + (1 - a) b_i, client i with chance q_i. With m = sum q_i b_i,
d = m^2 = delta_q^2/h^2 and g = b_i^2 = sigma_G^2/h^2, the mean tends to m and the mean
square to M = (2 a d + (1 - a) g)/(1 + a). After some local steps, s in place of a,
xbar = s x + (1 - s) m, whose mean square is at most M: so M is the limsup.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.verdict import Finding
from flverify.claims.written import above

SCOPE = (
    "two clients of one curvature h, one of them in every round, both with a chance, "
    "every tau and eta h < 1"
)
a, g, more, kept = sympy.symbols("a g more kept", positive=True)
d, s = sympy.symbols("d s", nonnegative=True)
m = sympy.Symbol("m", real=True)


def level(a: Any, g: Any, d: Any) -> Any:
    """Return M, the limit of E|x - x*|^2 over communications."""
    return (2 * a * d + (1 - a) * g) / (1 + a)


@cache
def grows() -> Finding:
    """Judge the limit, and that it grows with tau, sigma_G^2 and delta_q^2 alone.

    One local step more is a factor `kept` = 1 - eta h on a.
    """
    M, local = level(a, g, m**2), sympy.Symbol("M", nonnegative=True)
    after = a**2 * M + 2 * a * (1 - a) * m * m + (1 - a) ** 2 * g
    inside = s**2 * local + 2 * s * (1 - s) * m * m + (1 - s) ** 2 * m**2
    held = [a < 1, d < g]  # d = g if one client alone comes
    pairs = [("mean", a * m + (1 - a) * m, m), ("mean square", after, M)]
    facts = {
        "M >= m^2": judge.implied(held, level(a, g, d) >= d, SCOPE),
        "inside rounds": judge.implied([local >= m**2, s <= 1], inside <= local, SCOPE),
        "tau": judge.implied(
            [*held, kept < 1], above(level(kept * a, g, d), level(a, g, d)), SCOPE
        ),
        "sigma": judge.implied(
            held, above(level(a, g + more, d), level(a, g, d)), SCOPE
        ),
        "delta": judge.implied(
            held, above(level(a, g, d + more), level(a, g, d)), SCOPE
        ),
        "positive": judge.implied(held, above(level(a, g, d), 0), SCOPE),
    }
    return judge.all_of(
        {"limit": judge.identity(pairs, SCOPE), **facts},
        scope=SCOPE,
        argument=__doc__,
    )
