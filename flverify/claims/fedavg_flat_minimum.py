"""Two smooth convex clients that FedAvg leaves by more than the square root of eta.

In the plane f_1 = H(|x|) + x_1 + p(x_2 - 2) and f_2 = -x_1 - x_2 under full
participation. H(|x|) is |x|^2/2 inside the unit circle and |x| - 1/2 outside, so its
gradient n is the projection of x onto the disc; p'(t) = t^5/(1 + t^4), p(0) = 0. The
one minimiser is x* = (0, 2), where F is as flat as t^6 along x_2.

Client 2 moves by eta tau (1, 1) wherever it starts, so x^o rests if and only if the
tau gradients of client 1 sum to (tau, tau): of n_1, and of p' - (1 - n_2), the sums
are 0. Let x^o be within 1/20 of x* in each coordinate and 30 tau eta <= 1; u = x_1 and
v = x_2 - 2 at the local steps of client 1. Each takes eta/2 to 3 eta/2 from u and from
v. Hence u_0^2 + u_1^2 >= eta^2/8, and 1 - n_2 >= u^2/18: the 1 - n_2 sum to eta^2/144
at least, the p' to tau v_0^5 at most. So eta^2 <= 144 tau rho^5, rho = |x^o - x*|:
of order eta^(2/5) or more. No fixed point farther away breaks (3) either, eta small.

There is such an x^o: where u_0 = 0 and u_0 = 3 tau eta/2 the sums of n_1 have two
signs, and so have those of p' - (1 - n_2) where v_0 = -1/20 and v_0 = 1/20; by the
theorem of Poincare and Miranda both are 0 somewhere between.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.verdict import Finding
from flverify.claims.written import at_least
from flverify.reference import fedavg

EVERY = "every x, every step size and tau as given"
SCOPE = "the two clients of the argument, every tau > 1, every fixed point"
BOX, SIDE = Fraction(1, 10), Fraction(1, 20)
LEAST, MOST = Fraction(1, 2), Fraction(3, 2)
BENT = 18  # 1 - n_2 >= u^2/BENT

x, y, u, v = sympy.symbols("x_1 x_2 u v", real=True)
n, m, r = sympy.symbols("n_1 n_2 r", real=True)  # the unit vector x/r, r = |x|
eta, tau = sympy.symbols("eta tau", positive=True)
OUTSIDE = [sympy.Eq(n**2 + m**2, 1), sympy.Eq(u, r * n), sympy.Eq(v + 2, r * m), r > 0]
NEAR = [u >= -BOX, u <= BOX, v >= -BOX, v <= BOX, *OUTSIDE]


def _flat(t: Any) -> Any:
    """Return p' at t."""
    return t**5 / (1 + t**4)


def leaves_far(power: int, idle_steps: int = 1) -> Finding:
    """Judge |x^o - x*|^p >= (tau - k) eta |x*|^p for every tau > k, eta small.

    With one local step x* rests, as for all clients, so that k = 0 is too few.

    Parameters
    ----------
    power : int
    idle_steps : int
        k, 1 as printed.

    Examples
    --------
    >>> leaves_far(2, idle_steps=0).verdict.value  # |x^o - x*|^2 >= tau eta |x*|^2
    'REFUTED'
    """
    if idle_steps < 1:
        return judge.instances([_one_step()], ">", "the clients above, tau = 1")
    parts = {**clients_as_told(), "far": _far(power, idle_steps)}
    found = judge.all_of(parts, scope=SCOPE, argument=__doc__)
    return found if found.passes() else judge.inconclusive(f"{found.reason}; {OTHERS}")


OTHERS = "other convex clients are not judged"


@cache
def clients_as_told() -> dict[str, Finding]:
    """Prove what the argument says of the clients, and that there is an x^o."""
    return {
        "smooth and convex": _smooth_convex(),
        "x* = (0, 2) alone": _one_minimiser(),
        "local steps": _local_steps(),
        "there is one": _there_is_one(),
    }


def _one_step() -> judge.Case:
    """Return |x^o - x*|^2 where one step leaves x*, and from the plain loop again."""
    step_size, best = Fraction(1, 10), [Fraction(0), Fraction(2)]
    pairs = zip(_gradient(0, best), _gradient(1, best), strict=True)
    off = sum((step_size * (a + b) / 2) ** 2 for a, b in pairs)
    where = {
        "compared": "|x^o - x*|^2, 0",
        "f_1, f_2": "H(|x|) + x_1 + p(x_2 - 2), -x_1 - x_2",
        "x*": [0, 2],
        "tau": 1,
        "step size": step_size,
    }

    def again() -> tuple[Fraction, int]:
        models = fedavg.run(
            _gradient,
            2,
            best,
            [{0, 1}],
            step_size=step_size,
            local_steps=1,
        )
        return models[1][0] ** 2 + (models[1][1] - 2) ** 2, 0

    return judge.Case(where, off, 0, again)


def _gradient(client: int, point: list[Any]) -> list[Any]:
    """Outside the disc, on the axis x_1 = 0."""
    if client:
        return [-1, -1]
    return [point[0] + 1, 1 + _flat(point[1] - 2)]


def _smooth_convex() -> Finding:
    """Prove that n is the projection, and that it and p' are monotone and Lipschitz.

    A map P is both if (P x - P y)(x - y) >= |P x - P y|^2, as for projections.
    """
    a, b, c, d, e, f = sympy.symbols("a b c d e f", real=True)
    onto = (a - c) * (d - c) + (b - e) * (f - e) <= 0  # of (a, b) at (c, e)
    back = (x - d) * (c - d) + (y - f) * (e - f) <= 0  # of (x, y) at (d, f)
    firm = (a - x) * (c - d) + (b - y) * (e - f) >= (c - d) ** 2 + (e - f) ** 2
    unit, inside = sympy.Eq(n**2 + m**2, 1), c**2 + e**2 <= 1
    angle = (r * n - n) * (c - n) + (r * m - m) * (e - m)
    slope = v**4 * (5 + v**4) / (1 + v**4) ** 2
    return judge.all_of(
        {
            "n is the projection": _shown([unit, inside, r >= 1], angle <= 0),
            "projections": _shown([onto, back], firm),
            "p''": judge.identity([("p''", _flat(v).diff(v), slope)], EVERY),
            "p'' >= 0": _shown([], at_least(slope, 0)),
            "p'' <= 2": _shown([], slope <= 2),
        }
    )


def _one_minimiser() -> Finding:
    """Prove that n_1 = 0 and n_2 + p' = 1 hold at (0, 2) and nowhere else."""
    rests = [sympy.Eq(n, 0), sympy.Eq(m + _flat(v), 1)]
    at = [("n_2 + p'", 1 + _flat(v).subs(v, 0), 1)]  # n = (0, 1) there
    return judge.all_of(
        {
            "at (0, 2)": judge.identity(at, EVERY),
            "outside the disc": _shown([*rests, m <= 1], v >= 0),
            "there": _shown([*rests, *OUTSIDE], u**2 + v**2 <= 0),
        }
    )


def _local_steps() -> Finding:
    """Prove 1/2 <= each entry of the gradient of f_1 <= 3/2 at all tau local steps."""
    start, j, g, w = sympy.symbols("start j g w", real=True)
    short = [j >= 0, j + 1 <= tau, g >= LEAST, g <= MOST]
    moved = [w <= start - LEAST * j * eta, w >= start - MOST * j * eta]
    left = [*short, *moved, start >= -SIDE, start <= SIDE, 30 * tau * eta <= 1]
    later = w - eta * g
    return judge.all_of(
        {
            "n_1 + 1, least": _shown(NEAR, n + 1 >= LEAST),
            "n_1 + 1, most": _shown(NEAR, n + 1 <= MOST),
            "n_2 + p', least": _shown(NEAR, m + _flat(v) >= LEAST),
            "n_2 + p', most": _shown(NEAR, m + _flat(v) <= MOST),
            "one more, left": _shown(left, later <= start - LEAST * (j + 1) * eta),
            "one more, right": _shown(left, later >= start - MOST * (j + 1) * eta),
            "in the box, left": _shown(left, w >= -BOX),
            "in the box, right": _shown(left, w <= BOX),
        }
    )


def _far(power: int, idle_steps: int) -> Finding:
    """Prove eta^2 <= 144 tau rho^5, and rho^p > (tau - k) eta 2^p of such a rho."""
    rho, first, second, curved = sympy.symbols("rho u_0 u_1 curved", real=True)
    bend = [BENT * curved >= first**2 + second**2, first - second >= LEAST * eta]
    two, sums = 144 * curved >= eta**2, eta**2 <= 144 * tau * rho**5
    small = [tau >= 2, rho >= 0, 2304 * tau**3 * rho <= 1]
    apart = rho**power > (tau - idle_steps) * eta * 2**power
    return judge.all_of(
        {
            "1 - n_2": _shown(NEAR, BENT * (1 - m) >= u**2),
            "two of them": _shown(bend, two),
            "p'": _shown([v <= rho, rho >= 0], _flat(v) <= rho**5),
            "the sums": _shown([two, curved <= tau * rho**5], sums),
            "rho": _shown([sums, *small], apart),
        }
    )


def _there_is_one() -> Finding:
    """Prove the signs on the four sides; n_2 <= 1 on the lower one."""
    wide, short = MOST * tau * eta, 10**4 * tau * eta <= 1
    beside = [-wide <= u, u <= wide, short]
    return judge.all_of(
        {
            "left": _shown([u < 0, *OUTSIDE], n < 0),
            "right": _shown([u > 0, *OUTSIDE], n > 0),
            "below": _shown([v <= -SIDE], _flat(v) < 0),
            "above": _shown([*beside, *NEAR, v >= SIDE - wide], _flat(v) > 1 - m),
        }
    )


def _shown(given: list[Any], conclusion: Any) -> Finding:
    return judge.implied(given, conclusion, EVERY)
