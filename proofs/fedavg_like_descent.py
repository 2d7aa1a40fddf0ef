"""Appendix A of the FOCUS paper: what FedAvg shares with decentralised descent.

"DGD with a fixed step size only converges to an O(eta)-sized neighborhood of the
solution. This resembles the FedAvg algorithm exactly." FedAvg does so under full
participation, in the norm, and if all q_i are equal in mean square. But its root mean
square is of order sqrt(eta) if clients are sampled, and where q is not uniform a bias
is left that no step size removes.

Conventions: tau > 1 at full participation, where one local step is gradient descent;
rounds are independent; the limit is that of Theorem 2.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import sympy

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims import small_steps_limit as small
from flverify.claims.claim import claim
from flverify.claims.fedavg_bounds import uniform_below
from flverify.claims.fedavg_full import near
from flverify.claims.sticky_cohorts import FEDAVG_SEARCHED, limits
from flverify.claims.verdict import Finding

TERMS = {"drift": 80, "drift_L": 0, "bias": 0, "bias_Lmu": 1, "variance": 16}
TAUS = (1, 2)
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


@claim(
    "focus.eq26_27.resembles",
    source=Source("focus", "Appendix A, sentence after eq. (27)"),
    statement=r"\text{DGD with a fixed step size }\eta\text{ only converges to an }"
    r"\mathcal{O}(\eta)\text{-sized neighborhood of the solution}\dots\text{ This "
    r"resembles the FedAvg algorithm exactly}",
    proposition="Where FedAvg ends up is within O(eta) of x* as eta -> 0, in the sense "
    "and for the sampling that the reading says, for all clients of Theorem 2.",
    constants={"order": 1},
    twin={"order": 2},
    no_control="what is O(eta), and which sampling is meant, is not printed; the twin, "
    "O(eta^2), fails under every reading",
)
def resembles(c: SimpleNamespace) -> Finding:
    """Take limits as eta -> 0; prove it if nobody is absent or all q_i are equal."""
    two = "two clients of curvature 1, tau = 1, 2"
    unequal, sampled = (
        judge.instances(small.orders_of_square(chance, TAUS, order), ">=", two)
        for chance, order in ((QUARTER, c.order), (HALF, 2 * c.order))
    )
    found = judge.instances(small.orders(c.order), ">=", "pairs of scalar quadratics")
    full = judge.proof_or_search(near(c.order), found)
    return judge.readings(
        {
            "(i) full participation, the norm": full,
            "(ii) q = u, the mean square": _uniform(c.order),
            "(iii) q = u, the root mean square": sampled,
            "(iv) any q, the mean square": unequal,
        }
    )


def _uniform(order: int) -> Finding:
    """Prove limsup E|x - x*|^2 <= 16 eta tau^2/mu sigma_G^2 and less than C eta."""
    two = FEDAVG_SEARCHED.format("1, 2")
    if order != 1:
        cases = small.orders_of_square(HALF, TAUS, order)
        return judge.instances(cases, ">=", two)
    found = limits(HALF, TAUS, lambda step, tau: 16 * step * tau**2)
    eta, C = sympy.symbols("eta C", positive=True)
    drift = sympy.Symbol("drift", nonnegative=True)
    held = [eta <= 1]
    parts = {
        "the bound": uniform_below(SimpleNamespace(**TERMS), more_steps=True),
        "O(eta)": judge.implied(
            held, drift * eta**2 + C * eta <= (drift + C) * eta, "every eta <= 1"
        ),
    }
    return judge.proof_or_search(judge.all_of(parts), judge.instances(found, "<=", two))
