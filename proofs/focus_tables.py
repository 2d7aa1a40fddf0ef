"""Tables 1 and 2 of the FOCUS paper.

In Table 1 the row of FOCUS follows from (23)-(25); the other rows are about other
papers. In Table 2 the formula for r gives the iteration at which a round begins, not
the index of the round that (7), (13)-(14), (32) and (35) mean.

Conventions: complexity is the number R of rounds after which a printed bound is at
most eps; rounds count from 0.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.verdict import Finding


@claim(
    "focus.table1",
    source=Source("focus", "Table 1"),
    statement=r"\text{FOCUS: } \log(1/\epsilon)\text{ (strongly convex)},\ (\log(1/"
    r"\epsilon))\text{ (non-convex, with PL)},\text{ arbitrary participation, no "
    r"heterogeneity bound};\ \text{FedAvg } 1/\epsilon, 1/\epsilon^2;\ \text{LocalSGD "
    r"} "
    r"1/\sqrt\epsilon, 1/\epsilon^{3/2};\ \text{FedAU, FedAWE } 1/\epsilon^2;\ "
    r"\text{SCAFFOLD }\log(1/\epsilon), 1/\epsilon;\ \text{ProxSkip }\log(1/\epsilon)",
    proposition="The bounds (23) and (24) are at most eps after C log_2(2 Psi_0/eps) "
    "rounds, with C = 1 + 1/a not depending on eps, 1 - a being their factor; and the "
    "other rows say what the cited papers do.",
    constants={"rounds": "1"},
    no_control="the other rows are statements about other papers; the row of FOCUS is "
    "judged as a part",
)
def rates(c: SimpleNamespace) -> Finding:
    """Judge how long a factor 1 - a takes to halve; leave the other rows."""
    return judge.all_of(
        {
            "FOCUS, given (23)-(24)": _halves(c.rounds),
            "other rows": judge.inconclusive(
                "statements about other papers, of which the text gives neither proofs "
                "nor messages; the row of FOCUS follows from (23)-(24)"
            ),
        }
    )


def _halves(rounds: str) -> Finding:
    """(1 - a)^n <= 1/(1 + n a), by induction, which is at most 1/2 for n a >= 1."""
    a, n, power = sympy.symbols("a n power", nonnegative=True)
    enough = sympy.Rational(rounds)
    held = [power * (1 + n * a) <= 1, a <= 1]
    return judge.all_of(
        {
            "no round": judge.identity([("(1 - a)^0", 1, 1 / (1 + 0 * a))], "every a"),
            "a round more": judge.implied(
                held, (1 - a) * power * (1 + (n + 1) * a) <= 1, "every a in [0, 1], n"
            ),
            "halved": judge.implied(
                [power * (1 + n * a) <= 1, n * a >= enough],
                2 * power <= 1,
                "every a in (0, 1], n >= 1/a",
            ),
        }
    )


@claim(
    "focus.table2",
    source=Source("focus", "Table 2"),
    statement=r"r:\ \text{index of communication round and } r=\lfloor k/\tau\rfloor"
    r"\tau",
    proposition="The r of Table 2 is the round of iteration k in (7) and (13)-(14), "
    "r tau <= k < (r+1) tau, for all k and tau.",
    constants={"times": "tau"},
    twin={"times": "1"},
)
def round_index(c: SimpleNamespace) -> Finding:
    """Evaluate r; then without the factor tau."""
    return _rounds(c.times).corrected(r"r=\lfloor k/\tau\rfloor", _rounds("1"))


def _rounds(times: str) -> Finding:
    places = [(tau, k) for tau in (2, 1, 3, 5) for k in range(4 * tau)]
    starts = (_case(tau, k, times, 0) for tau, k in places)
    ends = (_case(tau, k, times, 1) for tau, k in places)
    listed = "tau = 1, 2, 3, 5, the first four rounds"
    found = {
        "r tau <= k": judge.instances(starts, "<=", listed),
        "k < (r+1) tau": judge.instances(ends, ">", listed),
    }
    proofs = {} if times == "tau" else _divided()
    found |= {k: judge.proof_or_search(proof, found[k]) for k, proof in proofs.items()}
    return judge.all_of(found)


def _divided() -> dict[str, Finding]:
    """Prove both for r = floor(k/tau): k = r tau + s with a rest 0 <= s <= tau - 1."""
    k, r, s = sympy.symbols("k r s", nonnegative=True)
    tau = sympy.Symbol("tau", positive=True)
    whole = sympy.Eq(k, r * tau + s)
    scope = "every k and tau"
    return {
        "r tau <= k": judge.implied([whole], r * tau <= k, scope),
        "k < (r+1) tau": judge.implied([whole, s <= tau - 1], k < (r + 1) * tau, scope),
    }


def _case(tau: int, k: int, times: str, end: int) -> judge.Case:
    factor = tau if times == "tau" else 1
    where = {"tau": tau, "k": k, "r": k // tau * factor}
    left = (k // tau * factor + end) * tau
    return judge.Case(where, left, k, partial(_counted, tau, k, factor, end))


def _counted(tau: int, k: int, factor: int, end: int) -> tuple[Any, Any]:
    """Count the rounds that have ended by k, instead of dividing."""
    ended, left = 0, k
    while left >= tau:
        ended, left = ended + 1, left - tau
    r = sum(factor for _ in range(ended))
    return sum(tau for _ in range(r + end)), k
