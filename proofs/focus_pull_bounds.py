"""Appendix D.2 of the FOCUS paper: (73) and (74) as upper bounds.

As equalities they need q_i = p_i, which `focus.obs73` and `focus.obs74` judge. A proof
needs no more than that the left side is at most the right one. Since E[I_i/|S|] <= p_i
for every law, (74) is such a bound for the q_i of Assumption 1, and (73) is the wrong
way round. The value of Case 3a, 1/m, may be smaller or larger than p_i = m/N.

Conventions as in focus_observations.py: clients' rows only in norms unless a reading
says otherwise; q_i = E[I_i/|S|] with 0/0 = 0; independent rounds, E given the past.
"""

from __future__ import annotations

from types import SimpleNamespace

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.focus_lemma4 import CASE_3A, CHANCE, DEFINED
from flverify.claims.pulled_bounds import bounds
from flverify.claims.verdict import Finding

WITH_SERVER = f"{CHANCE}, the norm with the server's row"
WEIGHTS = {DEFINED: "q_i", CASE_3A: "1/m", CHANCE: "p_i"}
WHY = (
    "whether q_i is the averaging weight of Assumption 1 or the probability to "
    "participate decides; the twin, half of the sum, fails under every reading"
)


@claim(
    "focus.obs73.bound",
    source=Source("focus", "eq. (73), as an upper bound"),
    statement=r"\mathbb{E}\|\boldsymbol{x}_{r\tau+1}-\boldsymbol{x}_{r\tau}\|_F^2\le"
    r"\sum_{i=1}^Nq_i\|\bar x_{r\tau+1}-x_{r\tau,i}\|^2",
    proposition="For every law of Assumption 1, independent rounds and all rows, the "
    "mean square of what pulling changes is at most the sum with weights q_i.",
    constants={"factor": "1"},
    twin={"factor": "1/2"},
    no_control=WHY,
)
def pulled_at_most(c: SimpleNamespace) -> Finding:
    """Compare for each meaning of q_i, and with the server's own row."""
    found = {
        name: bounds(weight, c.factor, absent=False) for name, weight in WEIGHTS.items()
    }
    found[WITH_SERVER] = bounds("p_i", c.factor, absent=False, server=True)
    return judge.readings(found).corrected(
        r"\mathbb{E}\|\hat{\boldsymbol{x}}_{r\tau+1}-\hat{\boldsymbol{x}}_{r\tau}"
        r"\|_F^2\le\sum_ip_i\|\bar x_{r\tau+1}-x_{r\tau,i}\|^2,\;"
        r"\text{independent rounds}",
        bounds("p_i", "1", absent=False),
    )


@claim(
    "focus.obs74.bound",
    source=Source("focus", "eq. (74), as an upper bound"),
    statement=r"\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol{x}_{r\tau+1}\|_F^2"
    r"\le\sum_{i=1}^N(1-q_i)\|\bar x_{r\tau+1}-x_{r\tau,i}\|^2",
    proposition="For every law of Assumption 1, independent rounds and all rows, the "
    "mean square distance of the clients from the server after pulling is at most the "
    "sum with weights 1 - q_i.",
    constants={"factor": "1"},
    twin={"factor": "1/2"},
    no_control=WHY,
)
def left_at_most(c: SimpleNamespace) -> Finding:
    """Compare for each meaning of q_i."""
    return judge.readings(
        {
            name: bounds(weight, c.factor, absent=True)
            for name, weight in WEIGHTS.items()
        }
    )
