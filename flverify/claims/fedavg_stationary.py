"""Where a recursion of FedAvg ends up: its drift inside rounds, its limsup over them.

Between communications A_{k+1} <= (1 - alpha) A_k + B. At the end of a round, tau steps
after the models agreed, there is nu^2 S^2 more, S = S_tau, where S_0 = 0 and
S_{t+1} = (1 - alpha) S_t + 1. Then X = A - B/alpha has X' <= p X + nu^2 S^2 over a
round, p = (1 - alpha)^tau; as alpha S = 1 - p, the gap X - nu^2 S/alpha shrinks by p.
So limsup A <= B/alpha + nu^2 S/alpha, and S <= tau. Here 0 < alpha < 1, B and nu >= 0.

S also bounds the drift. A client and the descent z' = z - eta grad F(z) start a round
from one model; a step of the client shrinks their distance by 1 - alpha and moves it by
at most nu = eta sigma_G, since grad f_i(z) and grad F(z) are that close. So their
distance is at most nu S_t after t steps.
"""

from __future__ import annotations

from functools import cache

import sympy

from flverify.claims import judge
from flverify.claims.fedavg_averages import EVERY
from flverify.claims.verdict import Finding
from flverify.claims.written import at_least

alpha, nu = sympy.symbols("alpha nu", positive=True)
drift, more, far, steps = sympy.symbols("B C S t", nonnegative=True)
p, w, eps = sympy.symbols("p w epsilon", nonnegative=True)
rounds = sympy.Symbol("r", nonnegative=True)
now, after, start = sympy.symbols("now after start", real=True)
U, V, Y, one, two = sympy.symbols("U V Y one two", nonnegative=True)
inner, a, b = sympy.symbols("inner a b", real=True)
keep = 1 - alpha
floor = nu**2 * far / alpha


@cache
def drifted() -> Finding:
    """Judge that a client is at most nu S_t away after t local steps."""
    cauchy = inner**2 <= U * V
    longer = (inner + a * b) ** 2 <= (U + a**2) * (V + b**2)
    added = [cauchy, one**2 >= U, two**2 >= V]
    closer = [alpha < 1, keep**2 * Y >= U, (nu * far) ** 2 >= Y]
    return judge.all_of(
        {
            "Cauchy-Schwarz, one more coordinate": judge.implied(
                [cauchy], longer, EVERY
            ),
            "triangle": judge.implied(
                added, U + 2 * inner + V <= (one + two) ** 2, EVERY
            ),
            "a step shrinks": judge.implied(closer, (keep * nu * far) ** 2 >= U, EVERY),
            "S_{t+1}": judge.identity(
                [("one + two", keep * nu * far + nu, nu * (keep * far + 1))], EVERY
            ),
            "S_t <= t": judge.implied(
                [alpha < 1, far <= steps], keep * far + 1 <= steps + 1, EVERY
            ),
        }
    )


@cache
def stationary() -> Finding:
    """Judge limsup A <= B/alpha + tau nu^2/alpha."""
    local = [alpha < 1, after <= keep * now + drift + more]
    left = keep * (now - drift / alpha) + more
    sums = {far: (1 - p) / alpha}
    ended = (p * now + (nu * far) ** 2 - floor).subs(sums)
    between = [now <= floor + eps, p <= 1]
    return judge.all_of(
        {
            "a step": judge.implied(local, after - drift / alpha <= left, EVERY),
            "t + 1 steps": _powers(keep),
            "alpha S = 1 - p": judge.identity(
                [("step", alpha * (keep * (1 - p) / alpha + 1), 1 - keep * p)], EVERY
            ),
            "end of a round": judge.identity(
                [("gap", ended, (p * (now - floor)).subs(sums))], EVERY
            ),
            "p <= 1 - alpha": judge.implied(
                [alpha < 1, p <= 1], keep * p <= keep, EVERY
            ),
            "r + 1 rounds": _powers(p),
            "gap": vanishes(alpha),
            "inside rounds": judge.implied(between, p * now <= floor + eps, EVERY),
            "S <= tau": judge.implied(
                [far <= steps], floor <= steps * nu**2 / alpha, EVERY
            ),
        }
    )


def _powers(factor: sympy.Expr) -> Finding:
    """Multiply now <= w start by a factor that is not negative."""
    held = [factor >= 0, now <= w * start, after <= factor * now]
    return judge.implied(held, after <= factor * w * start, EVERY)


@cache
def vanishes(rate: sympy.Expr) -> Finding:
    """Products w of r factors p <= 1 - rate are at most 1/(1 + r rate): they vanish."""
    bound = 1 / (1 + rounds * rate)
    held = [rate <= 1, p <= 1 - rate, w <= bound]
    next_one = bound.subs(rounds, rounds + 1)
    late = at_least(rounds * rate * eps, 1)
    return judge.all_of(
        {
            "no factor": judge.identity([("r = 0", bound.subs(rounds, 0), 1)], EVERY),
            "one more factor": judge.implied(held, p * w <= next_one, EVERY),
            "below any epsilon": judge.implied([late, eps > 0], bound <= eps, EVERY),
        }
    )
