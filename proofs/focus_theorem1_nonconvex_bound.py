"""Theorem 1 of the FOCUS paper, its third item: (25), for f_i that are not convex.

(25) knows nothing of the clients' rows; with its printed index it bounds the gradient
of one round, not the mean, and a gradient that bends exceeds that. The inequality
printed as Assumption 2 does not hold local moves back where a client is bent downwards.
Otherwise how (25) fares depends on what q is, and on what it is in an empty round. With
any rows and a quarter of its factor it is proved: see the module focus_theorem1_rates
of flverify/claims.

Conventions and searches as in focus_theorem1.py; if all models start equal there is no
consensus error at first.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, product
from types import SimpleNamespace

import numpy as np

from flverify._core.sources import Source
from flverify.claims import focus_theorem1_rates as rates
from flverify.claims import judge
from flverify.claims.bent_descent import descents
from flverify.claims.claim import Free, claim
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_families import GENERAL, families
from flverify.claims.focus_lemma4 import SOMEBODY
from flverify.claims.focus_moments import Curves
from flverify.claims.focus_search import Instance, Sides, number, searched
from flverify.claims.focus_theorem1_round import START
from flverify.claims.focus_theorem1_searches import beside, chosen
from flverify.claims.pushed_outward import outward
from flverify.claims.rarely_there import SEARCHED, rarely_there
from flverify.claims.stale_rows import ALONE
from flverify.claims.verdict import Finding

INDICES = {"R tau + 1 as printed": "R", "r tau + 1 as in (121)": "r"}
READING_NC = f"index r tau + 1 as in (121); {Q_READINGS[0]}; all models equal"
READING_SOMEBODY = f"index r tau + 1 as in (121); {SOMEBODY}; all models equal"
READING_ALONE = f"index r tau + 1 as in (121); q_i = 1/N; all models equal; {ALONE}"


@claim(
    "focus.thm1.nc",
    source=Source("focus", "Theorem 1, eq. (25), and Appendix D.7, eq. (121)"),
    statement=r"\eta\le\min\Big\{\frac{1}{2L(\tau-1)},\frac{q_{\min}^{3/2}}{8L\sqrt "
    r"N},\frac{q_{\min}}{16L\sqrt{2N}},\frac{1}{4LN}\Big\}:\quad\frac1R\sum_{r=0}^{R-1}"
    r"\mathbb{E}\|\nabla f(x_{R\tau+1})\|^2\le\frac{8(f(x_1)-f^\star)}{\eta NR}",
    proposition="(25), with f read as F and x_1 as xbar_1, holds for all f_i that are "
    "smooth as Assumption 2 is read, with L-Lipschitz gradients where the reading does "
    "not say, with F bounded below under Assumption 1, with independent rounds of one "
    "law, of which an empty one executes line 13 too, and a tracker that starts as the "
    "sum of the gradients at the clients' rows, at every step size inside the caps.",
    constants={
        "caps": {
            "1/(L (tau-1))": "1/2",
            "q^(3/2)/(L sqrt N)": "1/8",
            "q/(L sqrt(2 N))": "1/16",
            "1/(L N)": "1/4",
        },
        "factor": "8",
        "case_3a": "1/m",
    },
    twin={"factor": "1/10"},
    no_control="q_i, the index under the sum, the rows of x_0 and Assumption 2 have "
    "several readings; the twin, a bound 80 times smaller, fails under every reading",
    free=(
        Free("factor", "1/10", 8, weaker="larger", reading=READING_NC),
        # beside the other caps: without them local steps go on, and all values fail
        Free(
            "caps",
            "1/16",
            1,
            weaker="smaller",
            key="q/(L sqrt(2 N))",
            reading=READING_NC,
        ),
    ),
)
def general(c: SimpleNamespace) -> Finding:
    """Search (25) from equal models for each q and index, and from any rows; prove it.

    The correction is for any rows, and its bound is a quarter of that in print.
    """
    found = {
        f"index {name}; {q}; all models equal": _nc_finding(c, q, index, equal=True)
        for (name, index), q in product(INDICES.items(), Q_READINGS)
    }
    for name, index in INDICES.items():
        label = f"index {name}; {Q_READINGS[0]}; any rows x_0"
        found[label] = _nc_finding(c, Q_READINGS[0], index, equal=False)
    found[READING_ALONE] = judge.instances(
        outward(c.caps, Fraction(c.factor)),
        "<=",
        "N = 5, 6; f_1 = -(N-2) x^2/2, all others x^2/2; L = 1; full participation",
    )
    found[READING_SOMEBODY] = judge.instances(
        rarely_there(c.caps, Fraction(c.factor)), "<=", SEARCHED
    )
    mended = SimpleNamespace(**{**vars(c), "factor": "2"})
    return judge.readings(found).corrected(
        r"\frac1R\sum_{r=0}^{R-1}\mathbb{E}\|\nabla F(\bar x_{r\tau+1})\|^2\le\frac{"
        r"2(F(\bar x_1)-F^\star)}{\eta NR}+\frac{3L^2}{q_{\min}NR}\|\mathbb{1}\bar x_1-"
        r"\boldsymbol{x}_0\|_F^2\text{ for } \eta \text{ as printed, }\nabla f_i\;L"
        rf"\text{{-Lipschitz}},\quad q_i=\mathbb{{E}}[I_i/|S|],\;{START}",
        _nc_finding(mended, Q_READINGS[0], "r", equal=False, start="3"),
    )


def _nc_finding(
    c: SimpleNamespace, q: str, index: str, *, equal: bool, start: str = "0"
) -> Finding:
    """Search it; prove it for the mean over rounds, where B_0 is 0 or has a weight."""

    def sides(one: Instance, found: Curves) -> Sides:
        error, beta, total = found.server, one.clients.mean_curvature, one.clients.total
        squares = number(beta**2, error) * error  # E|grad F(xbar_{r tau+1})|^2
        rounds = np.array([*range(1, len(error))], dtype=error.dtype)
        gap = Fraction(c.factor) * beta / 2 / (one.step * total)
        rows = Fraction(start) * one.clients.smoothness**2 / (one.q * total)
        right = number(gap, error) * error[0] + number(rows, error) * found.behind[0]
        left = squares[1:] if index == "R" else np.cumsum(squares[:-1]) / rounds
        return Sides(1, left, right / rounds)

    listed = chosen(c.caps, c.case_3a, q, families(GENERAL))
    cases = searched(listed, sides, 40, equal=equal)
    bent = descents(c.caps, Fraction(c.factor), last=index == "R")
    search = judge.instances(chain(cases, bent), "<=", SEARCHED_NC)
    if index == "R" or not (equal or Fraction(start)):
        return search
    weight = "3" if equal else start  # whatever it is, 0 is what it multiplies
    return beside(rates.general(c.caps, c.factor, weight, q, case_3a=c.case_3a), search)


SEARCHED_NC = (
    "N = 1, 2, 5, 25, 64, 6400; curvatures 1, one of them 30, half of them 0, "
    "half of them -1/2; tau = 1, 2, 20; R <= 40; a gradient that bends, R = 215"
)
