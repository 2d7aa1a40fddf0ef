"""One round of Psi or Phi of the FOCUS paper from the lines of its proof.

Coefficients are symbols here; the module `focus_theorem1_lagged` says what they are.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sympy

from flverify.claims import judge
from flverify.claims.focus_lemma3 import EVERY
from flverify.claims.focus_theorem1_gradients import (
    S2,
    C,
    D,
    in_values_and_rows,
    rows_after,
)
from flverify.claims.focus_theorem1_lines import A, A_next, B, Line
from flverify.claims.focus_theorem1_rates import COEFFICIENTS
from flverify.claims.focus_theorem1_round import Parts
from flverify.claims.focus_theorem1_steps import Relations
from flverify.claims.written import at_most

W, T, e, k, d, g, rho, less, gone = sympy.symbols(
    "W T e k d g rho less gone", nonnegative=True
)
before, after = sympy.symbols("B_before C_next", nonnegative=True)  # B_{r-1}, C_{r+1}
LINE = A_next <= Line(k, d, e, 0).above(D).subs(C, after)


def rows_pay(whole: Any, kept: Any, k: Any, weight: Any, less: Any) -> Any:
    """Say that k W pays for what stands before C_r."""
    return at_most(whole * kept, k * weight * less)


def values_pay(whole: Any, gone: Any, d: Any, less: Any) -> Any:
    """Say that d D pays for what stands before D."""
    return at_most(whole * gone, d * less)


def pushed(j: Any, m: Any) -> Any:
    """Return what |S|^2 <= m D + n B_r puts before D in the line of B_r."""
    return j * m


def left_of_rows(j: Any, n: Any) -> Any:
    """Return what is left of B_r once j n B_r is on its side."""
    return 1 - j * n


def _follows(left: Any, before_d: Any) -> Any:
    return left * B <= g * C + before_d * D


PAYS = [less > 0, rows_pay(T, rho * g, k, W, less), values_pay(T, gone, d, less)]


@cache
def assembled(lag: str) -> Parts:
    """Judge one round of A + W B_{r-1}, or of A + W C_r, and its first round.

    T = W + e stands before the error; less is 1 - j n and gone is j m.
    """
    j, m, n = sympy.symbols("j m n", nonnegative=True)
    moved = [rows_after(g, j) >= B, in_values_and_rows(m, n).subs(C, B) >= S2]
    solved = _follows(left_of_rows(j, n), pushed(j, m))
    rules = {"B_r": judge.implied(moved, solved, EVERY)}
    return {**rules, **(_before_round() if lag == "B" else _after_round())}


def _before_round() -> Parts:
    """Judge it for A + W B_{r-1}: from r = 1 on, from r = 0 on for equal models."""
    paid = k * W * before + d * D >= T * B
    whole = [LINE, sympy.Eq(T, W + e), paid, after <= rho * B, rho <= 1]
    shrinks = A_next + W * B <= k * (A + W * before)
    rules = {
        "T B_r": ([_follows(less, gone), rho * before >= C, *PAYS], paid),
        "one round": (whole, shrinks),
        "first round": ([LINE, after <= 0], A_next <= k * A),
    }
    return _implied(rules)


def _after_round() -> Parts:
    """Judge it for A + W C_r, with C_0 = B_0; u is T rho and K is k W."""
    u, K, share = sympy.symbols("u K share", nonnegative=True)

    def paid(left: Any, by: Any) -> Any:
        return left <= K * by + d * D

    whole = [LINE, paid((W + e) * after, share)]  # T = W + e
    rows = rows_pay(u, g, K, 1, less)
    start = [rows, g >= 1, less <= 1]
    rules = {
        "T rho": (
            [rho <= 1, values_pay(T, gone, d, less)],
            values_pay(T * rho, gone, d, less),
        ),
        "u B_r": (
            [_follows(less, gone), less > 0, rows, values_pay(u, gone, d, less)],
            paid(u * B, C),
        ),
        "T C_{r+1}": ([after <= rho * B], T * after <= T * rho * B),
        "one round": (whole, A_next + W * after <= k * A + K * share),
        "u <= K": (start, u <= K),
        "first round": ([u <= K], paid(u * B, B)),
    }
    return _implied(rules)


def _implied(rules: dict[str, tuple[Relations, Any]]) -> Parts:
    return {
        name: judge.implied(known, goal, COEFFICIENTS)
        for name, (known, goal) in rules.items()
    }
