"""The corrected bounds of Theorem 1 of the FOCUS paper, proved from any start.

With the facts of `focus_theorem1_round` and `focus_theorem1_gradients`, V = A + c B
does not grow faster than the bound of its case, where A is |w - x*|^2 or F(w) - F* and
B = sum |w - z_i|^2:

    E A' <= k A - d D + e C + f E|S|^2      (|g|^2 for D, -f for f if F is not convex)
    E B' <= g C + j E|S|^2,    E C <= rho B,    g = 1 + b, j = (1 + 1/b) N eta^2

For convex f_i, d D pays for |S|^2 in both lines; otherwise the -eta (1 - eta L N)
|S|^2/(2N) in the descent of F does. c (k - g rho) pays for C. What is needed of the
step size is eta L N <= q/8, a cap on eta L (tau-1), and q <= p_i for all i; and for the
start of (23) that c <= 1/9 <= 1 - 8 eta L^2 N/mu.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import sympy

from flverify._core.errors import InputError
from flverify.claims import focus_theorem1_gradients as gradients
from flverify.claims import focus_theorem1_round as one_round
from flverify.claims import judge
from flverify.claims.focus_lemma3 import EVERY
from flverify.claims.focus_server_move import moved_square, square_of_move
from flverify.claims.focus_theorem1_gradients import (
    S2,
    B_next,
    Behind,
    C,
    D,
    G,
    Sums,
    gap,
)
from flverify.claims.focus_theorem1_lines import (
    A,
    A_next,
    B,
    Line,
    before_rows,
    before_squares,
    unpaid_rows,
    unpaid_values,
)
from flverify.claims.focus_theorem1_round import Moves, Parts
from flverify.claims.focus_theorem1_steps import (
    L,
    N,
    R,
    Relations,
    beta,
    conditions,
    eta,
    implied,
    mu,
    q,
    summed,
    without_scale,
)
from flverify.claims.focus_theorem1_weights import SUBTRACTED
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.claims.written import at_least, at_most, put_in

NUMBERS = "every eta, L, mu, beta, N, tau and q_min inside the caps"
COEFFICIENTS = "all coefficients"
RUNS = "every N, tau, law, f_i of their class and eta inside the caps"

# eta L N, and eta mu N or eta beta N
h, x = sympy.symbols("h x", positive=True)
SMALL = {  # what `inside` proves of them
    "q_min <= 1": q <= 1,
    "eta L N <= q/8": h <= q / 8,
    "eta mu N, eta beta N": x <= h,
}

Caps = Mapping[str, str]


def plain(expression: Any) -> Any:
    """Write it in h, x and q alone, where no other symbol is left.

    Only one of mu and beta may be in it.

    Examples
    --------
    >>> plain(eta**2 * L**2 * N**2 / q)
    h**2/q
    """
    scale = x * L / h  # mu or beta
    inside_caps = expression.subs(eta, h / (L * N)).subs({mu: scale, beta: scale})
    return sympy.cancel(inside_caps)


def inside(given: Relations, moves: Moves, modulus: Any) -> Parts:
    """Judge SMALL and the cap on the local moves from relations of the step size.

    Those that change with the units of f are left out; the others suffice.
    """
    meant = {h: eta * L * N, x: eta * modulus * N}
    needs = {name: put_in(relation, meant) for name, relation in SMALL.items()}
    needs[f"eta L (tau-1) <= {moves.cap}"] = moves.within
    kept = [relation for relation in given if _keeps_form(relation)]
    return {name: implied(kept, need, NUMBERS) for name, need in needs.items()}


def _keeps_form(relation: Any) -> bool:
    try:
        without_scale(relation)
    except InputError:
        return False
    return True


# (23) ----------------------------------------------------------------------------

THIRDS = Sums(sympy.Integer(2))  # |S|^2 <= 3 |N g|^2 + (3/2) |S - N g|^2
CONVEX = Moves("1/3", "1/9", convex=True)
FIFTH = Behind(q / 5)
ROOT = "q^(3/2)/(L sqrt N)"


def strongly_convex(
    caps: Caps,
    contraction: str,
    reading: str,
    *,
    case_3a: str = "1/N",
    rows: bool,
    weight: str = "8 eta L^2 N/mu",
) -> Finding:
    """Judge the two ends of (23) from any start, B_0 having a weight as that of (102).

    E|w_R - x*|^2 <= (1 - t eta mu N)^R (|w_0 - x*|^2 + (1 - weight) B_0), where t is
    the contraction; the f_i are convex and F is mu-strongly convex. Without `rows` all
    models start equal, B_0 = 0, whatever its weight.
    """
    known, named = one_round.chances(reading, case_3a)
    given = [mu <= L, *known, *conditions(caps)]
    start = _weight_of_start(caps, given, weight) if rows else {}
    shrinks = convex_shrinks(rational(contraction), CONVEX, THIRDS, FIFTH)
    return judge.all_of(
        {"q_min": named, **inside(given, CONVEX, mu), **shrinks, **start},
        scope=RUNS,
        argument=__doc__,
    )


@cache
def convex_shrinks(t: Any, moves: Moves, sums: Sums, behind: Behind) -> Parts:
    """Judge that V with c = 2 (1 - 8q/9) eta L/q shrinks."""
    line, c, small = distance_line(t), _weight_sc(moves), list(SMALL.values())
    whole = before_squares(line.f, c, behind.j)
    per_d = unpaid_values(whole, sums.m, line.d) / (eta * N)
    rows = before_rows(line.e, c, behind.g, whole * sums.n)
    per_c = unpaid_rows(rows, moves.rho, c, line.k) / c
    return {
        "the round": one_round.the_round(),
        **moves.judged(),
        "B'": gradients.rows_follow(behind),
        "<w - x*, S>": gradients.three_points(),
        "A'": squared_distance(t),
        "|S|^2": gradients.sum_of_gradients(sums),
        "D pays": judge.implied(small, plain(per_d) <= 0, NUMBERS),
        "C pays": judge.implied(small, at_most(plain(per_c), 0), NUMBERS),
        "0 <= c": judge.implied([q <= 1], at_least(c, 0), NUMBERS),
        "0 <= d": judge.implied([], at_least(line.d / (eta * N), 0), NUMBERS),
        "0 <= k": judge.implied(small, at_least(plain(line.k), 0), NUMBERS),
        "V' <= k V": _assembled_from_values(),
        "A_R <= V_R <= k^R V_0": one_round.unrolled(),
    }


def _weight_sc(moves: Moves) -> Any:
    return 2 * moves.rho * eta * L / q


def distance_line(t: Any) -> Line:
    """Return what bounds |w' - x*|^2, t of D >= (mu/2) A being spent."""
    spent = eta * mu * N * t
    return Line(1 - spent, (2 - 2 * t) * eta * N, eta * L, eta**2)


@cache
def squared_distance(t: Any) -> Finding:
    """Expand |w - eta S - x*|^2, with <w - x*, S> >= N D - (L/2) C, D >= (mu/2) A.

    It is at most (1 - t eta mu N) A - (2 - 2t) eta N D + eta L C + eta^2 |S|^2.
    """
    inner, line = sympy.Symbol("inner", real=True), distance_line(t)
    held = [inner >= gradients.points_below(), mu / 2 * A <= D, at_least(t, 0)]
    after = moved_square(A, inner, S2)
    return judge.all_of(
        {
            "square": square_of_move(),
            "bound": judge.implied(held, after <= line.above(D), EVERY),
        }
    )


def _weight_of_start(caps: Caps, given: Relations, weight: str) -> Parts:
    """Judge c <= 1/9 <= 1 - weight: V_0 is at most the bound's start."""
    ninth = sympy.Rational(1, 9)
    root = conditions({name: f for name, f in caps.items() if name == ROOT})
    heavy = SUBTRACTED[weight] <= 8 * ninth
    return {
        "c <= 1/9": implied([q <= 1, *root], _weight_sc(CONVEX) <= ninth, NUMBERS),
        f"1/9 <= 1 - {weight}": implied(given, heavy, NUMBERS),
    }


@cache
def _assembled_from_values() -> Finding:
    """Judge V' <= k V from the lines, |S|^2 <= m D + n C, and what pays for what."""
    k, c, d, e, f, g, j, m, n, rho, whole, per_c = sympy.symbols(
        "k c d e f g j m n rho whole per_c", nonnegative=True
    )
    lines = [A_next <= Line(k, d, e, f).above(D), B_next <= gradients.rows_after(g, j)]
    sums = [
        sympy.Eq(whole, before_squares(f, c, j)),
        sympy.Eq(per_c, before_rows(e, c, g, whole * n)),
    ]
    paid = [gradients.in_values_and_rows(m, n) >= S2, unpaid_values(whole, m, d) <= 0]
    first = A_next + c * B_next <= k * A + per_c * C
    second = k * A + per_c * C <= k * (A + c * B)
    left = [rho * B >= C, unpaid_rows(per_c, rho, c, k) <= 0]
    return judge.all_of(
        {
            "D pays": judge.implied([*lines, *sums, *paid], first, COEFFICIENTS),
            "C pays": judge.implied(left, second, COEFFICIENTS),
        }
    )


# (24), (25) ----------------------------------------------------------------------


SMOOTH_PL, SIXTH = Moves("1/3", "16/81"), Behind(q / 6)
SMOOTH_NC, LESS = Moves("1/2", "9/16"), Behind(sympy.Rational(5, 48) * q)
WEIGHT_PL, WEIGHT_NC = eta * L**2 / q, sympy.Rational(3, 2) * eta * L**2 / q


def polyak_lojasiewicz(
    caps: Caps,
    contraction: str,
    reading: str,
    *,
    start: str = "1",
    case_3a: str = "1/N",
) -> Finding:
    """Judge the two ends of (24) from any start, with a weight of B_0 of its own.

    E F(w_R) - F* <= (1 - t eta beta N)^R (F(w_0) - F* + start (eta L^2/q) B_0), where
    t is the contraction; the f_i are L-smooth and F is beta-PL, so that beta <= L.
    """
    known, named = one_round.chances(reading, case_3a)
    given = [beta <= L, *known, *conditions(caps)]
    line = value_line(rational(contraction))
    small = list(SMALL.values())
    begin = at_least(rational(start) * eta * L**2 / q, WEIGHT_PL)
    return judge.all_of(
        {
            "q_min": named,
            **inside(given, SMOOTH_PL, beta),
            **smooth_shrinks(rational(contraction), SMOOTH_PL, SIXTH, WEIGHT_PL),
            "0 <= k": judge.implied(small, at_least(plain(line.k), 0), NUMBERS),
            "A_R <= V_R <= k^R V_0": one_round.unrolled(),
            "the weight of B_0": judge.implied([], begin, NUMBERS),
        },
        scope=RUNS,
        argument=__doc__,
    )


def general(
    caps: Caps, factor: str, start: str, reading: str, *, case_3a: str = "1/N"
) -> Finding:
    """Judge the mean of E|grad F(w_r)|^2 over R rounds against its bound.

    factor (F(w_0) - F*)/(eta N R) + start L^2 B_0/(q N R), for L-smooth f_i with F
    bounded below by F*: V' <= V - (eta N/2) |g|^2 with c = (3/2) eta L^2/q.
    """
    known, named = one_round.chances(reading, case_3a)
    given = [*known, *conditions(caps)]
    line = value_line(sympy.Integer(0))
    return judge.all_of(
        {
            "q_min": named,
            **inside(given, SMOOTH_NC, L),
            **smooth_shrinks(sympy.Integer(0), SMOOTH_NC, LESS, WEIGHT_NC),
            "k = 1": judge.identity([("k", line.k, sympy.Integer(1))], NUMBERS),
            "summed": summed("every R"),
            "the mean": _mean(factor, start, line.d),
        },
        scope=RUNS,
        argument=__doc__,
    )


@cache
def smooth_shrinks(t: Any, moves: Moves, behind: Behind, c: Any) -> Parts:
    """Judge V' <= k V - d |g|^2, t of the descent being spent on the PL condition."""
    line, small = value_line(t), list(SMALL.values())
    per_s = before_squares(-line.f, c, behind.j) * 2 * N / eta
    rows = before_rows(line.e, c, behind.g)
    per_c = unpaid_rows(rows, moves.rho, c, line.k) / c
    return {
        "the round": one_round.the_round(),
        **moves.judged(),
        "B'": gradients.rows_follow(behind),
        "F(w')": gradients.squares_split(),
        "A'": descent(t),
        "0 <= d": judge.implied([], at_least(line.d / (eta * N), 0), NUMBERS),
        "0 <= f": judge.implied(small, at_least(plain(line.f / eta * N), 0), NUMBERS),
        "|S|^2 pays": judge.implied(small, at_most(plain(per_s), 0), NUMBERS),
        "C pays": judge.implied(small, at_most(plain(per_c), 0), NUMBERS),
        "V' <= k V - d |g|^2": assembled_from_squares(),
    }


def value_line(t: Any) -> Line:
    """Return what bounds F(w') - F*, in |g|^2 for D and with -f for f."""
    rest = eta / (2 * N) * (1 - eta * L * N)
    return Line(1 - eta * beta * N * t, (1 - t) * eta * N / 2, eta * L**2 / 2, rest)


@cache
def descent(t: Any) -> Finding:
    """Judge the descent of F along -eta S, t of it being spent on the PL condition.

    At most (1 - t eta beta N) A - (1 - t) (eta N/2) |g|^2 + (eta L^2/2) C
    - eta (1 - eta L N) |S|^2/(2N); for t = 0 no PL condition is used.
    """
    line = value_line(t)
    held = [*smooth_move(), *([2 * beta * A <= G] if t else [])]
    return judge.implied(held, A_next <= line.above(G, -1), EVERY)


def smooth_move() -> Relations:
    """Say that F is L-smooth, from w to w - eta S, and what -eta <g, S> adds to it."""
    cross = sympy.Symbol("cross", real=True)  # -eta <g, S> + (eta^2 L/2) |S|^2
    split = cross <= gradients.smooth_cross(G, gap, S2)
    return [A_next <= A + cross, split, gradients.gap_of_rows()]


@cache
def assembled_from_squares() -> Finding:
    """Judge V' <= k V - d |g|^2 where -f |S|^2 pays for |S|^2 in the second line."""
    k, c, d, e, f, g, j, rho = sympy.symbols("k c d e f g j rho", nonnegative=True)
    line, per_c = Line(k, d, e, f).above(G, -1), before_rows(e, c, g)
    lines = [A_next <= line, B_next <= gradients.rows_after(g, j)]
    pays = before_squares(-f, c, j) <= 0
    after = A_next + c * B_next
    first = after <= k * A - d * G + per_c * C
    second = k * A + per_c * C <= k * (A + c * B)
    left = [rho * B >= C, unpaid_rows(per_c, rho, c, k) <= 0]
    return judge.all_of(
        {
            "|S|^2 pays": judge.implied([*lines, pays], first, COEFFICIENTS),
            "C pays": judge.implied(left, second, COEFFICIENTS),
        }
    )


def _mean(factor: str, start: str, d: Any) -> Finding:
    """Use V_R >= 0 in the sum d sum |g|^2 <= V_0 - V_R."""
    total, last, high, rows = sympy.symbols("total V_R high B_0", nonnegative=True)
    known = [d * total <= high + WEIGHT_NC * rows - last]
    bound = rational(factor) * high / (eta * N * R)
    bound += rational(start) * L**2 * rows / (q * N * R)
    return judge.implied(known, total / R <= bound, "every R, eta, L, N and q_min")
