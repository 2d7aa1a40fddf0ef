"""Iterations k = r tau + j of a round that a figure lists, against all of the round."""

from __future__ import annotations

import sympy

from flverify.claims import judge
from flverify.claims.verdict import Finding
from flverify.claims.written import both, either, equal

ROUND = "every tau and r"


def whole_round(local_from: int, local_to: int) -> Finding:
    """Judge that j = 1, j = local_from..tau + local_to and j = tau are just 1..tau."""
    j, tau = sympy.symbols("j tau", integer=True)
    first, last = local_from, tau + local_to
    # z3 works with reals here
    between = [either(j <= m, j >= m + 1) for m in (0, 1, 2, tau - 1, tau)]
    counted = either(equal(j, 1), both(j >= first, j <= last), equal(j, tau))
    known, round_ = [tau >= 1, *between], both(j >= 1, j <= tau)
    return judge.all_of(
        {
            "all of them": judge.implied([*known, round_], counted, ROUND),
            "no others": judge.implied([*known, counted], round_, ROUND),
        }
    )


def made_before(averaged: int) -> Finding:
    """Prove that (2b) makes the index tau + averaged, at t = tau - 1 or before."""
    t, tau = sympy.symbols("t tau", integer=True)
    last = [tau >= 1, equal(t, tau + averaged - 1)]
    return judge.implied(last, both(t >= 0, t <= tau - 1), "every tau")
