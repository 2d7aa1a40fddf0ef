"""Means over clients and over cohorts, for every number of either.

A line about a sum holds for every number of terms if it holds for none, or one, and
goes on with one more. Weights are the q_i over clients, P(S) over cohorts, or 1/|S|
inside one; q_i is the sum of P(S)/|S| over the cohorts S of client i.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most

EVERY = "every N, tau, dimension, law, mu <= L and eta inside the caps"
ONE_STEP = "tau = 1, every N, dimension, law, mu <= L and eta inside the caps"
A, B, Z = sympy.symbols("a b z", real=True)
Q, W, P = sympy.symbols("Q w P", nonnegative=True)
first, second = sympy.symbols("first second", real=True)  # sums of w x and w |x|^2
total, most = sympy.symbols("total most", nonnegative=True)
size, chance = sympy.symbols("size chance", positive=True)  # |S| and P(S)


@cache
def weighted_mean(scope: str = EVERY, factor: Any = 1) -> Finding:
    """|sum w_i v_i|^2 <= factor (sum w_i)(sum w_i |v_i|^2), by induction over terms."""
    held = sympy.Le(A**2, factor * P * Q)
    step = sympy.Le((A + W * B) ** 2, factor * (P + W) * (Q + W * B**2))
    start = at_most((W * A) ** 2, factor * W * (W * A**2))
    return judge.all_of(
        {
            "one term": judge.implied([], start, scope),
            "one more": judge.implied([held], step, scope),
        }
    )


@cache
def spread() -> Finding:
    """Sum w |x - z|^2 = sum w |x - mean|^2 + |mean - z|^2 where the w sum to 1."""
    added = _about(first + W * A, second + W * A**2, P + W, Z)
    more = _about(first, second, P, Z) + W * (A - Z) ** 2
    about_mean = _about(first, second, 1, first)
    pairs = [
        ("one more value", more, added),
        (
            "weights of sum 1",
            _about(first, second, 1, Z),
            about_mean + (first - Z) ** 2,
        ),
    ]
    return judge.identity(pairs, EVERY)


def _about(one: Any, two: Any, weight: Any, z: Any) -> Any:
    return two - 2 * z * one + weight * z**2


@cache
def below_a_bound(scope: str = EVERY) -> Finding:
    """Sum w v <= m sum w where every v <= m."""
    step = total + W * A <= (P + W) * most
    return judge.implied([total <= P * most, most >= A], step, scope)


@cache
def mean_below(part: Any, scope: str) -> Finding:
    """Sum w v <= part m, where every v <= m and the w sum to 1; part 1 is enough."""
    whole = [total <= P * most, sympy.Eq(P, 1)]
    return judge.all_of(
        {
            "one more": below_a_bound(scope),
            "weights of sum 1": judge.implied(whole, total <= part * most, scope),
        }
    )


@cache
def gaps_below(part: Any, scope: str) -> Finding:
    """|sum w_i x_i - z|^2 <= part m, where every |x_i - z|^2 <= m and the w sum to 1.

    Coordinate by coordinate: `first - P Z` is the sum of w_i (x_i - z).
    """
    gap = sympy.Symbol("gap", real=True)  # squared
    more = first - P * Z + W * (A - Z), first + W * A - (P + W) * Z
    known = [gap <= P * total, sympy.Eq(P, 1), total <= most]
    return judge.all_of(
        {
            "one term more": judge.identity([("sum of w_i (x_i - z)", *more)], scope),
            "Jensen": weighted_mean(scope),
            "mean of squares": mean_below(part, scope),
            "together": judge.implied(known, gap <= most, scope),
        }
    )


@cache
def cohort_means() -> Finding:
    """Judge that E of the mean of v_i over S is sum q_i v_i, and that the q_i sum to 1.

    Cohort by cohort, a member's share of P(S) is P(S)/|S|.
    """
    one = chance / size
    pairs = [
        ("one more cohort of a client", P * B + one * B, (P + one) * B),
        ("the members of one cohort", size * one, chance),
    ]
    return judge.identity(pairs, EVERY)


def line_50(moved: Any, apart: Any) -> Any:
    """Return (50) from L^2 times the disagreement, and from delta_q^2 + sigma_G^2."""
    return 8 * moved + 4 * apart


def four_differences(scope: str = EVERY) -> dict[str, Finding]:
    """Judge (50): four squares of (49), two of them at most `moved` in the mean."""
    one, other = sympy.symbols("c d", real=True)
    e = sympy.symbols("e1:5", nonnegative=True)  # their weighted means over clients
    moved, apart = sympy.symbols("moved apart", nonnegative=True)
    sides = (A + B + one + other) ** 2, 4 * (A**2 + B**2 + one**2 + other**2)
    known = [e[0] <= moved, e[1] <= moved, e[2] + e[3] <= apart]
    squares = {A**2: e[0], B**2: e[1], one**2: e[2], other**2: e[3]}
    means = sides[1].subs(squares)
    return {
        "(49a)": judge.implied([], sympy.Le(*sides), scope),
        "(50)": judge.implied(known, means <= line_50(moved, apart), scope),
    }


def averages() -> dict[str, Finding]:
    """List all of these by their names."""
    return {
        "Jensen, over clients and in S": weighted_mean(),
        "sums about a point": spread(),
        "sums below a bound": below_a_bound(),
        "means over cohorts": cohort_means(),
    }
