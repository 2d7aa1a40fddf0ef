"""Psi and Phi of the FOCUS paper shrink under the collected caps of (23) and (24).

They add to A_r a weight W times the consensus error of one round before: that of
(102), (110) before the round, B_{r-1} = E||1 w_{r-1} - x_{(r-1) tau}||^2, or that
printed in Psi, after it, C_r = E||1 w_{r-1} - x_{r tau}||^2. (Phi as printed takes
B_r, which is V of `focus_theorem1_rates` with c = W.) With the facts of
`focus_theorem1_round` and `focus_theorem1_gradients`, where D is F(w_r) - F* for (23)
and |grad F(w_r)|^2 for (24),

    A_{r+1} <= k A_r - d D + e C_{r+1},     C_{r+1} <= rho B_r,     C_r <= rho B_{r-1}
    B_r <= g C_r + j E|S|^2,     |S|^2 <= m D + n B_r,      g = 1 + b, rho g = 1 - q/3

S being what moved the server to w_r, so that its sum is compared with N grad F(w_r).
W is at least 0, so that A_R <= Psi_R.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import sympy

from flverify.claims import focus_theorem1_gradients as gradients
from flverify.claims import focus_theorem1_round as one_round
from flverify.claims import judge
from flverify.claims.focus_lemma3 import EVERY
from flverify.claims.focus_theorem1_assembled import (
    assembled,
    left_of_rows,
    pushed,
    rows_pay,
    values_pay,
)
from flverify.claims.focus_theorem1_gradients import (
    S2,
    Behind,
    D,
    G,
    Sums,
    in_values_and_rows,
)
from flverify.claims.focus_theorem1_lines import (
    A,
    A_next,
    Line,
    before_rows,
    before_squares,
    unpaid_rows,
)
from flverify.claims.focus_theorem1_rates import (
    COEFFICIENTS,
    CONVEX,
    NUMBERS,
    RUNS,
    SMALL,
    Caps,
    assembled_from_squares,
    descent,
    distance_line,
    h,
    inside,
    plain,
    smooth_move,
    squared_distance,
    value_line,
    x,
)
from flverify.claims.focus_theorem1_round import Moves, Parts
from flverify.claims.focus_theorem1_steps import (
    L,
    N,
    Relations,
    beta,
    conditions,
    eta,
    implied,
    mu,
    q,
)
from flverify.claims.focus_theorem1_weights import SUBTRACTED
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding
from flverify.claims.written import above, at_least, at_most, put_in

BEHIND = Behind(5 * q / (9 - 8 * q))
HALF, THIRD = Sums(sympy.Rational(1, 2)), Sums(sympy.Rational(1, 3))
SHORT = Moves("1/8", "1/9")  # local moves of L-smooth f_i
EXTRA = sympy.Rational(11, 8)  # e is at most this times eta L N for (23)

# eta L N^2, 8 eta L^2 N/mu, eta L^2, eta N^2
many, y, z, v = sympy.symbols("many y z v", positive=True)
MEANT = {
    h: eta * L * N,
    many: eta * L * N**2,
    y: SUBTRACTED["8 eta L^2 N/mu"],
    z: eta * L**2,
    v: eta * N**2,
}
PHI_WEIGHT = SUBTRACTED["4 eta L^2"].subs(eta, z * eta / MEANT[z])  # 1 - W
ROOT = {"eta L N <= sqrt(q^3)/8": h**2 <= q**3 / 64}
NEEDS_PSI = {
    **ROOT,
    "eta L N^2 <= q/8": many <= q / 8,
    "8 eta L N <= 1 - W": 8 * h <= y,
    "1 - W + eta mu N/2": y + x / 2 <= 2 * q / 3,
}
NEEDS_PHI = {
    **ROOT,
    "eta beta N <= q/12": x <= q / 12,
    "eta L^2 <= q/16": z <= q / 16,
    "eta N^2 <= 3 q/32": v <= 3 * q / 32,
}
LAGS = {"w_{r-1}, x_{r tau}": "C", "w_{r-1}, x_{(r-1) tau}": "B"}


def psi_shrinks(
    caps: Caps, contraction: str, lag: str, reading: str, case_3a: str
) -> Finding:
    """Judge Psi_{r+1} <= (1 - t eta mu N) Psi_r, W = 1 - 8 eta L^2 N/mu.

    t is the contraction.
    """
    chosen = one_round.chances(reading, case_3a)
    caps_kept = _granted(caps, chosen, CONVEX, NEEDS_PSI, mu)
    return _inside_caps(
        caps_kept, lambda: _psi(rational(contraction)) | assembled(LAGS[lag])
    )


def phi_shrinks(
    caps: Caps, contraction: str, lag: str, reading: str, case_3a: str
) -> Finding:
    """Judge Phi_{r+1} <= (1 - t eta beta N) Phi_r, W = 1 - 4 eta L^2.

    t is the contraction.
    """
    chosen = one_round.chances(reading, case_3a)
    caps_kept = _granted(caps, chosen, SHORT, NEEDS_PHI, beta, scaled=False)
    lagged = lag in LAGS
    rest = assembled(LAGS[lag]) if lagged else _same_round()
    return _inside_caps(caps_kept, lambda: _phi(rational(contraction), lagged) | rest)


def _same_round() -> Parts:
    return {"Phi_{r+1} <= k Phi_r": assembled_from_squares()}


def _inside_caps(caps_kept: Parts, rest: Callable[[], Parts]) -> Finding:
    """Judge the rest only where the caps grant what it needs."""
    granted = all(part.passes() for part in caps_kept.values())
    return judge.all_of(
        caps_kept | (rest() if granted else {}),
        scope=RUNS,
        argument=__doc__,
    )


def _granted(
    caps: Caps,
    chosen: tuple[Relations, Finding],
    moves: Moves,
    needs: dict[str, Any],
    modulus: Any,
    *,
    scaled: bool = True,
) -> Parts:
    """Judge that the caps and a reading of q grant what the rest needs."""
    known, named = chosen
    given = [modulus <= L, *known, *conditions(caps)]
    meant = {**MEANT, x: eta * modulus * N}
    return {
        "q_min": named,
        **inside(given, moves, modulus),
        **{
            name: implied(given, put_in(need, meant), NUMBERS, scaled=scaled)
            for name, need in needs.items()
        },
    }


def _facts(moves: Moves, behind: Behind) -> Parts:
    whole = judge.identity([("1 - q/3", behind.g * moves.rho, 1 - q / 3)], NUMBERS)
    return {
        "the round": one_round.the_round(),
        **moves.judged(),
        "B'": gradients.rows_follow(behind),
        "(1 + b) rho": whole,
        "to R": one_round.unrolled(),
    }


# Psi -----------------------------------------------------------------------------


@cache
def _psi(
    t: Any, moves: Moves = CONVEX, behind: Behind = BEHIND, sums: Sums = HALF
) -> Parts:
    """Judge what is needed with |S|^2 <= (3/2) |N g|^2 + 3 |S - N g|^2."""
    known = [*SMALL.values(), *NEEDS_PSI.values()]
    line, weight = distance_line(t), 1 - y  # W
    gone, drop = pushed(behind.j, sums.m), line.without_squares(sums.m, sums.n).d
    paid = Paid(
        weight,
        EXTRA * h,
        plain(line.k),
        behind.g * moves.rho,
        behind.g,
        plain(left_of_rows(behind.j, sums.n)),
        *_in_units_of(eta * N, gone, drop, many),
    )
    return {
        **_facts(moves, behind),
        "<w - x*, S>": gradients.three_points(),
        "A'": squared_distance(t),
        "|S|^2": gradients.sum_of_gradients(sums),
        "e": _before_rows(line, sums),
        "S in A'": _square_put_in(),
        **paid.judged(known),
    }


def _in_units_of(unit: Any, gone: Any, drop: Any, known: Any) -> tuple[Any, Any]:
    """Return both in one unit, the first by a symbol of MEANT, the second plainly."""
    return sympy.cancel(_by(known, gone / unit)), plain(drop / unit)


def _by(known: Any, expression: Any) -> Any:
    """Put a symbol of MEANT in, by what it says of eta."""
    return expression.subs(eta, known * eta / MEANT[known])


def _before_rows(line: Line, sums: Sums) -> Finding:
    """Judge eta L + n eta^2 <= e = (11/8) eta L N, what stands before C in A'."""
    claimed = line.without_squares(sums.m, sums.n).e <= EXTRA * eta * L * N
    known = [q <= 1, SMALL["eta L N <= q/8"].subs(MEANT)]
    return judge.implied(known, claimed, NUMBERS)


def _square_put_in() -> Finding:
    """Judge A' <= k A - d D + e C, with |S|^2 <= m D + n C put into it."""
    k, d, e, f, m, n, more = sympy.symbols("k d e f m n more", nonnegative=True)
    line = Line(k, d, e, f)
    put, largest = line.without_squares(m, n), line.without_squares(m, n).e <= more
    known = [A_next <= line.above(D), in_values_and_rows(m, n) >= S2, largest]
    claimed = A_next <= Line(put.k, put.d, more, 0).above(D)
    return judge.implied(known, claimed, COEFFICIENTS)


@dataclass(frozen=True)
class Paid:
    """W, e, k, g rho, g and 1 - j n; and j m and d, these two in one unit."""

    weight: Any
    extra: Any
    k: Any
    kept: Any
    g: Any
    less: Any
    pushed: Any
    drop: Any

    def judged(self, known: Relations) -> Parts:
        """Judge what pays, and the signs that `assembled` asks for."""
        whole = self.weight + self.extra
        claimed = {
            "0 <= W": at_least(self.weight, 0),
            "0 <= k": at_least(self.k, 0),
            "0 < 1 - j n": above(self.less, 0),
            "1 - j n <= 1": at_most(self.less, 1),
            "1 <= g": at_least(self.g, 1),
            "0 <= d": at_least(self.drop, 0),
            "C pays": rows_pay(whole, self.kept, self.k, self.weight, self.less),
            "D pays": values_pay(whole, self.pushed, self.drop, self.less),
        }
        return _from(known, claimed)


def _from(known: Relations, claimed: dict[str, Any]) -> Parts:
    """Judge each; one in eta L N and q alone from what is known of these alone."""
    alone = [relation for relation in known if relation.free_symbols <= {h, q}]
    return {
        name: judge.implied(
            alone if goal.free_symbols <= {h, q} else known, goal, NUMBERS
        )
        for name, goal in claimed.items()
    }


# Phi -----------------------------------------------------------------------------


@cache
def _phi(
    t: Any,
    lagged: bool,
    moves: Moves = SHORT,
    behind: Behind = BEHIND,
    sums: Sums = THIRD,
) -> Parts:
    """Judge what is needed: half of |N g|^2 pays for B_r, or |S|^2 for B_{r+1}."""
    known = [*(SMALL[n] for n in ("q_min <= 1", "eta L N <= q/8"))]
    known += NEEDS_PHI.values()
    parts = _facts(moves, behind) | {
        "F(w')": gradients.squares_split(),
        "t": judge.implied([], at_most(t, 1), NUMBERS),
    }
    if not lagged:
        return parts | _phi_of_squares(t, moves, behind, known)
    line = half_line(t)
    paid = Paid(
        1 - PHI_WEIGHT,
        _by(z, line.e),
        plain(line.k),
        behind.g * moves.rho,
        behind.g,
        plain(left_of_rows(behind.j, sums.n)),
        *_in_units_of(eta * N, pushed(behind.j, sums.squares), line.d, v),
    )
    own = {"A'": _descent(t), "|S|^2": gradients.sum_of_gradients(sums)}
    return parts | own | paid.judged(known)


def _phi_of_squares(t: Any, moves: Moves, behind: Behind, known: Relations) -> Parts:
    """Judge what pays for A + W B_r, as in `focus_theorem1_rates` with c = W."""
    line, weight = value_line(t), 1 - PHI_WEIGHT
    gone, left = _in_units_of(eta / (2 * N), behind.j, line.f, v)
    extra, k = _by(z, line.e), plain(line.k)
    rows = before_rows(extra, weight, behind.g)
    claimed = {
        "0 <= W": weight >= 0,
        "0 <= k": at_least(k, 0),
        "0 <= d": at_least(plain(line.d / (eta * N)), 0),
        "0 <= f": left >= 0,
        "|S|^2 pays": before_squares(-left, weight, gone) <= 0,
        "C pays": unpaid_rows(rows, moves.rho, weight, k) <= 0,
    }
    return {"A'": descent(t), **_from(known, claimed)}


def half_line(t: Any) -> Line:
    """Return what bounds F(w') - F* with half of |N g|^2, in |g|^2 for D."""
    left = value_line(t)
    rest = left.f / gradients.HALVES[0]
    return Line(left.k, rest * N**2, eta * L**2, sympy.Integer(0))


@cache
def _descent(t: Any) -> Finding:
    """Judge the descent of F along -eta S under the PL condition, for t <= 1.

    At most (1 - t eta beta N) A - (1 - eta L N) (eta N/4) |g|^2 + eta L^2 C.
    """
    line = half_line(t)
    held = [*smooth_move(), 2 * beta * A <= G, gradients.half_of_slope()]
    return judge.implied([*held, eta * L * N <= 1], A_next <= line.above(G), EVERY)
