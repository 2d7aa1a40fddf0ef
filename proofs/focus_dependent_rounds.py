"""Theorems 1 and 2 of the FOCUS paper, for cohorts that depend on those before.

Assumption 1 gives every round the same p_i and q_i and does not say that rounds are
independent. `focus.assump1` has both readings; Section 5.3 leaves Markov chains out of
"the proof". A reader who takes the assumption by itself may hold the theorems for
ergodic chains in their stationary law, too. There they fail: if the one client that
comes mostly comes again, FedAvg goes to that client's minimiser, and FOCUS goes on with
the stale gradient of the other. Corollary 3 holds: equal clients do the same, whoever
comes.

Conventions: two clients, one in every round, each first with probability 1/2, so that
p_i = q_i = 1/2 in every round and delta_q = 0; no round is empty. That FOCUS still
converges for some such chains at a slower rate is not denied here.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

from flverify._core.sources import Source
from flverify.claims import judge
from flverify.claims.claim import claim
from flverify.claims.fedavg_bounds import equal_clients, terms
from flverify.claims.sticky_cohorts import (
    FEDAVG_SEARCHED,
    FOCUS_SEARCHED,
    errors,
    limits,
)
from flverify.claims.verdict import Finding

STAY, INDEPENDENT = "255/256", "1/2"
TERMS = {"drift": 80, "drift_L": 2, "bias": 10, "bias_Lmu": 0, "variance": 16}
CHAIN = (
    "where the cohorts are an ergodic Markov chain in its stationary law, so that "
    "rounds depend on each other"
)


def _below(c: SimpleNamespace, taus: tuple[int, ...]) -> Finding:
    """Compare exact limits with the bound; L, mu and sigma_G are 1, delta_q is 0."""

    def bound(step: Fraction, tau: int) -> Fraction:
        known = SimpleNamespace(**{**TERMS, **vars(c)})
        one, none = Fraction(1), Fraction(0)
        return sum(terms(known, step, tau, one, one, one, none), none)

    searched = FEDAVG_SEARCHED.format(", ".join(map(str, taus)))
    return judge.instances(limits(Fraction(c.stay), taus, bound), "<=", searched)


@claim(
    "focus.thm2.dependent",
    source=Source("focus", "Theorem 2 with Assumption 1, dependent rounds"),
    statement=r"\text{Assumption 1}\Rightarrow\limsup_{K\to\infty}\mathbb{E}\|\bar{x}_K"
    r"-x^\star\|^2\le 80\eta^2\kappa^2L^2(\tau-1)^2(\delta_q^2+\sigma_G^2)+10\kappa"
    r"\delta_q^2+16\eta\tau^2/\mu(\delta_q^2+\sigma_G^2)",
    proposition=f"Theorem 2 holds {CHAIN}, for all f_i that it speaks of.",
    constants={**TERMS, "stay": STAY},
    twin={"stay": INDEPENDENT},
)
def theorem2(c: SimpleNamespace) -> Finding:
    """Compare the limit of E|x_K|^2 of two clients with the three terms."""
    return _below(c, (1, 2))


@claim(
    "focus.cor1.dependent",
    source=Source("focus", "Corollary 1, eq. (60), dependent rounds"),
    statement=r"\limsup_{K\to\infty}\mathbb{E}\|\bar{x}_K-x^\star\|^2\le 80\eta^2"
    r"\kappa^2L^2(\tau-1)^2\sigma_G^2+16\eta\tau^2/\mu\sigma_G^2,\quad q=u",
    proposition=f"Corollary 1 holds {CHAIN}, with q = u in every round.",
    constants={"drift": 80, "variance": 16, "stay": STAY},
    twin={"stay": INDEPENDENT},
)
def corollary1(c: SimpleNamespace) -> Finding:
    """Compare the limit with the terms without delta_q."""
    return _below(c, (2,))


@claim(
    "focus.cor2.dependent",
    source=Source("focus", "Corollary 2, eq. (61), dependent rounds"),
    statement=r"\limsup_{K\to\infty}\mathbb{E}\|\bar{x}_K-x^\star\|^2\le 16\eta\tau^2"
    r"/\mu\sigma_G^2,\quad\tau=1,\;q=u",
    proposition=f"Corollary 2 holds {CHAIN}, with q = u in every round.",
    constants={"variance": 16, "stay": STAY},
    twin={"stay": INDEPENDENT},
)
def corollary2(c: SimpleNamespace) -> Finding:
    """Compare the limit with the last term, at tau = 1."""
    return _below(c, (1,))


@claim(
    "focus.cor3.dependent",
    source=Source("focus", "Corollary 3, eq. (62), dependent rounds"),
    statement=r"\lim_{K\to\infty}\mathbb{E}\|\bar{x}_K-x^\star\|^2=0 \text{ for "
    r"homogeneous } f_i",
    proposition=f"Corollary 3 holds {CHAIN}, if no round is empty.",
    constants={"apart": 0},
    twin={"apart": Fraction(1, 10)},
    exact=("apart",),
)
def corollary3(c: SimpleNamespace) -> Finding:
    """Prove it cohort by cohort: equal clients do the same, whoever comes."""
    nothing, apart = Fraction(0), Fraction(c.apart)
    cases = limits(Fraction(STAY), (1, 2), lambda *_: nothing, apart)
    search = judge.instances(cases, "==", FEDAVG_SEARCHED.format("1, 2"))
    return judge.proof_or_search(equal_clients(apart), search)


@claim(
    "focus.thm1.sc.dependent",
    source=Source("focus", "Theorem 1, eq. (23), with Assumption 1, dependent rounds"),
    statement=r"\text{Assumption 1}\Rightarrow\mathbb{E}\|\bar x_{R\tau+1}-x^\star\|^2"
    r"\le(1-\eta\mu N/2)^R\Psi_0",
    proposition=f"The two ends of (23) hold {CHAIN}, from equal models with the sum of "
    "their gradients as tracker, at every step size inside the printed caps.",
    constants={
        "caps": {
            "mu/(N L^2)": "3/27",
            "1/(L (tau-1))": "1/3",
            "q^(3/2)/(L sqrt N)": "1/8",
        },
        "stay": STAY,
    },
    twin={"stay": INDEPENDENT},
)
def strongly_convex(c: SimpleNamespace) -> Finding:
    """Compare E|xbar_R - x*|^2 of two equal clients with the bound."""
    return judge.instances(errors(Fraction(c.stay), c.caps), "<=", FOCUS_SEARCHED)
