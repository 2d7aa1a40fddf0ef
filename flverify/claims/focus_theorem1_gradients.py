"""Sums of gradients in a round of FOCUS: facts for the bounds of Theorem 1.

The symbols are those of `focus_theorem1_round`. A factor that one of these facts gives
to another link is kept in one place, from which the fact is judged and the other link
reads it: in `Sums` and `Behind`, in what a function returns, or in a constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from flverify.certify.gram import Function, inner, square, vector
from flverify.claims import judge
from flverify.claims.focus_lemma3 import (
    EVERY,
    gradient_and_gap,
    gradients_of_rows,
    split_in_two,
)
from flverify.claims.focus_theorem1_round import added, far
from flverify.claims.focus_theorem1_steps import L, N, eta, q
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.claims.written import above

C, D, G, S2, B_next = sympy.symbols("C D G S2 B_next", nonnegative=True)  # G = |g|^2
gap = sympy.Symbol("gap", nonnegative=True)  # |S - N g|^2
b = sympy.Symbol("b", positive=True)
one, other = sympy.symbols("one other", real=True)  # coordinates of two vectors

HALF = "1/2"  # <u, S> >= N D - HALF L C
GAP = 1  # |S - N g|^2 <= GAP L^2 N C
SLOPE = 2  # |g|^2 <= SLOPE L D
HALVES = (2, 2)  # |N g|^2 <= 2 |S|^2 + 2 |N g - S|^2


def points_below(half: Any = HALF) -> Any:
    """Return what is below <u, S> for convex f_i: N D - (L/2) C."""
    return N * D - rational(half) * L * C


@cache
def three_points(half: Any = HALF) -> Finding:
    """<u, S> >= N D - (L/2) C for convex L-smooth f_i: z_i' between w and x*.

    A client: f_i(w) - f_i(x*) <= <grad f_i(z), w - x*> + (L/2) |w - z|^2.
    """
    here, star, below = sympy.symbols("here star below", real=True)  # f_i at w, x*, z
    back, ahead = sympy.symbols("back ahead", real=True)  # <grad, x* - z>, w - z
    along, rise = sympy.symbols("along rise", real=True)  # sums over the clients
    share = rational(half)
    held = [star >= below + back, here <= below + ahead + L / 2 * far**2]
    goal = here - star <= ahead - back + share * L * far**2
    whole = [rise <= along + share * L * C, sympy.Eq(rise, N * D)]
    parts = {
        "a client": judge.implied(held, goal, EVERY),
        "one client more": added(),
        "N clients": judge.implied(whole, along >= points_below(half), EVERY),
    }
    return judge.proof_or_search(judge.all_of(parts), _points_searched(share))


def _points_searched(share: Any) -> Finding:
    w, z, star = vector("w"), vector("z"), vector("x*")
    f = Function("f", Fraction(2), Fraction(0))
    bound = inner(f.gradient(z), w - star) + 2 * share * square(w - z)
    lemma = f.value(w) - f.value(star) <= bound
    return judge.vectors([({"L": 2}, lemma)], "L = 2")


@dataclass(frozen=True)
class Sums:
    """|S|^2 <= squares |g|^2 + n C by Young's inequality with a > 0, and m D + n C.

    Examples
    --------
    >>> two = Sums(sympy.Integer(2))
    >>> two.squares, two.m, two.n
    (3*N**2, 6*L*N**2, 3*L**2*N/2)
    """

    a: Any

    @property
    def squares(self) -> Any:
        """Return the factor of |g|^2."""
        return (1 + self.a) * N**2

    @property
    def m(self) -> Any:
        """Return the factor of D."""
        return SLOPE * L * self.squares

    @property
    def n(self) -> Any:
        """Return the factor of C."""
        return (1 + 1 / self.a) * GAP * L**2 * N


@cache
def sum_of_gradients(sums: Sums) -> Finding:
    """|S|^2 <= squares |g|^2 + n C, and |g|^2 <= 2 L D, so that |S|^2 <= m D + n C."""
    first, second = 1 + sums.a, 1 + 1 / sums.a
    young = sympy.Le((one + other) ** 2, first * one**2 + second * other**2)
    split = [first * N**2 * G + second * gap >= S2, gap_of_rows()]
    in_squares = sums.squares * G + sums.n * C >= S2
    slope, in_values = G <= SLOPE * L * D, in_values_and_rows(sums.m, sums.n) >= S2
    return judge.all_of(
        {
            "0 < a": judge.implied([], above(sums.a, 0), EVERY),
            "Young": judge.implied([], young, EVERY),
            "|S - N g|^2 <= L^2 N C": gradients_of_rows(GAP),
            "|g|^2 <= 2 L D": gradient_and_gap(SLOPE),
            "squares |g|^2 + n C": judge.implied(split, in_squares, EVERY),
            "m D + n C": judge.implied([in_squares, slope], in_values, EVERY),
        }
    )


def in_values_and_rows(m: Any, n: Any) -> Any:
    """Return what is above |S|^2, which `sum_of_gradients` judges."""
    return m * D + n * C


def gap_of_rows() -> Any:
    """Say that |S - N g|^2 <= L^2 N C, which `gradients_of_rows` judges."""
    return gap <= GAP * L**2 * N * C


@dataclass(frozen=True)
class Behind:
    """B' <= g C + j |S|^2 by Young's inequality with b > 0.

    Examples
    --------
    >>> Behind(q / 5).g, Behind(b).j
    (q/5 + 1, N*eta**2*(1 + 1/b))
    """

    b: Any

    @property
    def g(self) -> Any:
        """Return the factor of C."""
        return 1 + self.b

    @property
    def j(self) -> Any:
        """Return the factor of |S|^2."""
        return (1 + 1 / self.b) * N * eta**2


def rows_after(g: Any, j: Any) -> Any:
    """Return what is above B', which `rows_follow` judges."""
    return g * C + j * S2


@cache
def rows_follow(behind: Behind) -> Finding:
    """B' <= g C + j |S|^2: each row is left behind by -eta S. Any b > 0 will do."""
    whole, sums = Behind(b), sympy.symbols("sum_1 sum_2", nonnegative=True)
    right = (1 + b) * one**2 + (1 + 1 / b) * other**2
    rows = B_next <= (1 + b) * sums[0] + (1 + 1 / b) * sums[1]
    held = [rows, sympy.Eq(sums[0], C), sympy.Eq(sums[1], N * eta**2 * S2)]
    after = rows_after(whole.g, whole.j)
    parts = {
        "a row": judge.implied([], sympy.Le((one - other) ** 2, right), EVERY),
        "one row more": added(),
        "N rows": judge.implied(held, B_next <= after, EVERY),
        "0 < b": judge.implied([q <= 1], above(behind.b, 0), EVERY),
    }
    return judge.all_of(parts)


def smooth_cross(slope: Any, between: Any, total: Any) -> Any:
    """Return -eta <g, S> + (eta^2 L/2) |S|^2 from |g|^2, |N g - S|^2 and |S|^2."""
    right = -eta * N / 2 * slope + eta / (2 * N) * between
    return right - eta / (2 * N) * (1 - eta * L * N) * total


@cache
def squares_split() -> Finding:
    """-eta <g, S> + (eta^2 L/2) |S|^2 in squares of g, N g - S and S, of which half.

    It is -(eta N/2) |g|^2 + eta/(2N) |N g - S|^2 - eta/(2N) (1 - eta L N) |S|^2, and
    |N g|^2 <= 2 |S|^2 + 2 |N g - S|^2.
    """
    left = -eta * one * other + eta**2 * L / 2 * other**2
    right = smooth_cross(one**2, (N * one - other) ** 2, other**2)
    return judge.all_of(
        {
            "identity": judge.identity([("coordinate", left, right)], EVERY),
            "half of |N g|^2": split_in_two(*HALVES),
            "|S - N g|^2 <= L^2 N C": gradients_of_rows(GAP),
        }
    )


def half_of_slope() -> Any:
    """Say that |N g|^2 <= 2 |S|^2 + 2 |N g - S|^2, which `squares_split` judges."""
    return HALVES[0] * S2 + HALVES[1] * gap >= N**2 * G
