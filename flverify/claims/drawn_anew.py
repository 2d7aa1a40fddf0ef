"""Two models of availability as laws of nonempty cohorts, for every number of clients.

M clients drawn one after the other by weights, and clients that come independently,
given that somebody does. In both a list of chances grows by one draw, or one client:
what it adds up to goes on, and so does what nobody's chance leaves to the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

from flverify.claims import cohorts, judge
from flverify.claims.cohorts import Listed
from flverify.claims.verdict import Finding

held, w, p = sympy.symbols("held w p_i", positive=True)
rest = sympy.Symbol("rest", positive=True)  # weight of those not drawn yet
counted = sympy.Symbol("counted", nonnegative=True)
none = sympy.Symbol("none", nonnegative=True)  # chance that nobody came so far


def by_weights(nobody: bool) -> Finding:
    """Judge M of N clients, drawn one after the other by any weights.

    `held` is the chance of some first draws. The chances of the next one, listed client
    by client, add up to it; M draws of different clients are a cohort of M.
    """
    shares = sympy.symbols("w_1:4", positive=True)
    sizes = [(n, m) for n in (1, 2, 3) for m in range(1 - nobody, n + 1)]
    found = [cohorts.without_replacement(shares[:n], m) for n, m in sizes]
    M = sympy.Symbol("M", nonnegative=True)
    listed = held * counted / rest
    pairs = [
        ("one client more", listed + held * w / rest, held * (counted + w) / rest),
        ("all of them", listed.subs(counted, rest), held),
    ]
    scope = "every N, M = 1..N, all weights"
    parts = {
        "one draw more": judge.identity(pairs, scope),
        "somebody": judge.implied([sympy.Ge(M, 1 - nobody)], M > 0, scope),
        "N = 1..3": drawn_anew(found, "N = 1..3, M = 1..N, all weights"),
    }
    return _every(parts, scope)


def by_chances(nobody: bool) -> Finding:
    """Judge clients that come independently with any chances, given that somebody does.

    One client more comes, or does not, beside any cohort of the others. Given that
    somebody comes, every chance but nobody's is divided by 1 - `none`.
    """
    chances = sympy.symbols("p_1:5", positive=True)
    free = [cohorts.independent(chances[:n]) for n in (1, 2, 3, 4)]
    found = free if nobody else [cohorts.nonempty(law) for law in free]
    share = 0 if nobody else none  # what is taken out
    left = (1 - share) / (1 - none)
    pairs = [
        ("one client more", held * p + held * (1 - p), held),
        ("given somebody", left, 1),
        ("nobody", none - share, 0),
    ]
    scope = "every N, all chances between 0 and 1"
    parts = {
        "one client more": judge.identity(pairs, scope),
        "somebody may": judge.implied([none <= 1], none * (1 - p) < 1, scope),
        "N = 1..4": drawn_anew(found, "N = 1..4, all chances"),
    }
    return _every(parts, scope)


def _every(parts: dict[str, Finding], scope: str) -> Finding:
    return judge.all_of(
        parts, scope=f"{scope}, rounds drawn anew", argument=__doc__.split("\n\n", 1)[1]
    )


def drawn_anew(found: Sequence[Listed], scope: str) -> Finding:
    """Judge q(empty) = 0 and that the chances add up to 1.

    Then P(S^1 = A) is the sum of P(A) P(B) over B, P(A); and so is that of S^2 = B.
    """
    first, second, total = sympy.symbols("P_A P_B sum", positive=True)
    both = (first * total) * (total * second)
    pairs: list[Any] = [("two rounds", first * second, both.subs(total, 1))]
    for law in found:
        label = f"{len(law)} cohorts"
        pairs.append((f"{label}, nobody", law.get(frozenset[int](), 0), 0))
        pairs.append((f"{label}, sum", sum(law.values()), 1))
    return judge.identity(pairs, scope)
