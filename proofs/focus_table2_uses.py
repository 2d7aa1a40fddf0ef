"""Table 2 of the FOCUS paper: its r beside the rounds of (32) and (35) in Appendix C.

`focus.table2` compares r = floor(k/tau) tau with (7) and (13)-(14). Appendix C numbers
what happens at iteration k by r, too: W(S_r) at k = r tau in (35); R(S_r) at k = r tau
+ 1 and V(S_r) at k = r tau in (32). Without the factor tau the r of Table 2 is that of
(35), and that of (32) if tau > 1: at tau = 1 the pull of round r is at k = r + 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from types import SimpleNamespace

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most

LISTED = "r = 1, 2, 3, tau = 1, 2, 3, 5"
PLACES = {"(35)": (0,), "(32)": (1, 0), "(32) with tau > 1": (1, 0)}
FORMULAS = {"r as printed": "tau", "r = floor(k/tau)": "1"}


@claim(
    "focus.table2.uses",
    source=Source("focus", "Table 2 beside eq. (32) and (35)"),
    statement=r"r=\lfloor k/\tau\rfloor\tau;\quad W_k=W(S_r)\text{ if }k=r\tau;\quad "
    r"R_k=R(S_r)\text{ if }k=r\tau+1,\;A_k=V(S_r)\text{ if }k=r\tau",
    proposition="At every iteration k at which the equation applies a matrix of S_r, "
    "the r of Table 2 is that r, for all r >= 1 and tau.",
    constants={"late": 0},
    twin={"late": 1},
    no_control="the factor tau may be a slip of the pen, and which equation is meant "
    "is not printed; the twin, the round after, fails under every reading",
)
def uses(c: SimpleNamespace) -> Finding:
    """Evaluate r at each of these k; divide for all of them."""
    return judge.readings(
        {
            f"{place}, {name}": _place(c.late, place, factor)
            for (name, factor), place in product(FORMULAS.items(), PLACES)
        }
    )


def _place(late: int, place: str, factor: str) -> Finding:
    search = judge.instances(_cases(late, place, factor), "==", LISTED)
    if factor == "tau" or place == "(32)":
        return judge.proof_or_search(judge.inconclusive("no proof is tried"), search)
    return judge.proof_or_search(_divided(late, PLACES[place]), search)


def _divided(late: int, offsets: tuple[int, ...]) -> Finding:
    """Judge r tau <= k < (r+1) tau, in which case the floor of k/tau is r."""
    r, tau = sympy.symbols("r tau", positive=True)
    least = 2 if 1 in offsets else 1
    scope = f"every r and tau >= {least}"
    held = [tau >= least]
    parts = {}
    for offset in offsets:
        k = r * tau + offset
        low, high = at_most((r + late) * tau, k), at_most(k + 1, (r + late + 1) * tau)
        parts[f"k = r tau + {offset}: low"] = judge.implied(held, low, scope)
        parts[f"k = r tau + {offset}: high"] = judge.implied(held, high, scope)
    return judge.all_of(parts)


def _cases(late: int, place: str, factor: str) -> Iterator[judge.Case]:
    for tau, r, offset in product((2, 1, 3, 5), (1, 2, 3), PLACES[place]):
        if place.endswith("> 1") and tau == 1:
            continue
        k = r * tau + offset
        times = tau if factor == "tau" else 1
        where = {"tau": tau, "k": k, "times": times}
        again = partial(_counted, tau, k, times, r + late)
        yield judge.Case(where, k // tau * times, r + late, again)


def _counted(tau: int, k: int, times: int, r: int) -> tuple[int, int]:
    """Count how often tau can be taken from k, instead of dividing."""
    ended = 0
    while k >= tau:
        k, ended = k - tau, ended + 1
    return sum(ended for _ in range(times)), r
