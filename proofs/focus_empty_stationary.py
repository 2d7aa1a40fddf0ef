"""Assumption 1 of the FOCUS paper when nobody takes part: where the server ends up.

`focus.assump1.empty` judges what each convention keeps of the weights. Here runs are
compared: with empty rounds, in which the server of FedAvg keeps its model, and given
that somebody comes. FedAvg's stationary law is the same, for only the clock differs.
The errors of FOCUS in round R differ, whether it executes line 13 in an empty round or
skips the round.

Conventions: scalar quadratics; p = (1/2, 1/3, 9/10) and parts of it; FOCUS starts from
equal models with the sum of their gradients.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.idle_rounds import fedavg_ends, focus_goes_on
from flverify.claims.verdict import Finding

LAZY = "FedAvg: its stationary mean square error"


@claim(
    "focus.assump1.empty.stationary",
    source=Source("focus", "Assumption 1 with Section 3.1, Case 2; not printed"),
    statement=r"x_{r+1}=x_r\text{ if }S_r=\emptyset,\quad\text{or }S_r\ne\emptyset"
    r"\text{ given}\quad\text{(not printed)}",
    proposition="What the reading names is the same if rounds may be empty and if they "
    "are conditioned on somebody coming.",
    constants={
        "p": (Fraction(1, 2), Fraction(1, 3), Fraction(9, 10)),
        "spared": Fraction(0),
    },
    twin={"spared": Fraction(1, 100)},
    no_control="what is compared decides; the twin, one side being larger by 1/100, "
    "fails under every reading",
)
def same_law(c: SimpleNamespace) -> Finding:
    """Compare stationary moments, and the first rounds of FOCUS."""
    two = tuple(c.p[:2])
    return judge.readings(
        {
            LAZY: fedavg_ends(c.p, c.spared),
            "FOCUS: E|w_R - x*|^2, line 13 executed in empty rounds": focus_goes_on(
                two, "step", c.spared
            ),
            "FOCUS: E|w_R - x*|^2, empty rounds skipped": focus_goes_on(
                two, "skip", c.spared
            ),
        }
    )
