"""Closing sentences of Appendices D.5, D.6 and E.4 of the FOCUS paper.

Each speaks of a rate, not of a Lyapunov function. So it may hold where a chain of
inequalities before it does not: there is some constant before the power. That of D.5
holds at the step sizes of (23), unless q_i is the 1/m that Case 3a prints. That of D.6
holds at the caps of its proof; (24) prints none on local steps, and without one the
rate comes near 1. That of E.4 needs samples independent of each other, which Assumption
6 does not say.

Conventions: q_i = E[I_i/|S|] where a reading does not say; rounds are independent and
of one law, empty ones are executed; the tracker starts as the sum of the stored
gradients, which are those at the clients' rows; beta <= L.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from itertools import chain
from types import SimpleNamespace

from flverify._core.sources import Source
from flverify.claims import closing_rates as closing
from flverify.claims import focus_theorem1_rates as rates
from flverify.claims import judge
from flverify.claims import sg_focus_theorem4 as theorem4
from flverify.claims.claim import claim
from flverify.claims.focus_caps import OF_PROOFS, Q_READINGS
from flverify.claims.focus_families import CONVEX, families
from flverify.claims.focus_moments import Clients
from flverify.claims.focus_theorem1_searches import chosen, exact_rates
from flverify.claims.verdict import Finding

CAPS_23 = {
    "mu/(N L^2)": "3/27",
    "1/(L (tau-1))": "1/3",
    "q^(3/2)/(L sqrt N)": "1/8",
}
CAPS_24 = {
    "q/N": "3/32",
    "q/(beta N)": "1/12",
    "q/L^2": "1/16",
    "q^(3/2)/(L sqrt N)": "1/8",
}
CAPS_T4 = {
    "q/(beta N (4-q))": "1/3",
    "q/L^2": "1/16",
    "q^(3/2)/(L sqrt(6 N))": "1/4",
    "q^(3/2)/(sqrt(2) L (tau-1))": "1/8",
    "q/N^2": "1/16",
    "q^(3/2)/(L N)": "1/8",
}
FEW = "exact rates of 1 and 2 clients, tau = 1, 2"


def _rate(factor: Fraction, modulus: str, one: Clients, step: Fraction) -> Fraction:
    curved = one.strong_convexity if modulus == "mu" else one.mean_curvature
    return 1 - factor * step * curved * one.total


@claim(
    "focus.thm1.sc.closing",
    source=Source("focus", "Appendix D.5, closing sentence"),
    statement=r"\text{Hence, we conclude that FOCUS achieves the linear convergence "
    r"rate of }(1-\eta\mu N/2)\text{ under the strongly-convex condition}",
    proposition="At every step size inside the caps of (23) there is a C of the start "
    "alone with E|w_R - x*|^2 <= C (1 - eta mu N/2)^R for all R, for all mu-strongly "
    "convex f_i of L-Lipschitz gradients and all rows x_0.",
    constants={"contraction": "1/2"},
    twin={"contraction": "4"},
    no_control="q_i has several readings; the twin, eight times the exponent, fails "
    "under each",
)
def strongly_convex(c: SimpleNamespace) -> Finding:
    """Prove it from any start; compare exact rates."""
    listed = chosen(CAPS_23, "1/N", Q_READINGS[0], families(CONVEX))
    factor = Fraction(c.contraction)
    alone = closing.many_steps(CAPS_23, factor, (1, 2))
    cases = chain(exact_rates(listed, partial(_rate, factor, "mu")), alone)
    proof = rates.strongly_convex(CAPS_23, c.contraction, Q_READINGS[0], rows=True)
    drawn = closing.drawn_alone(CAPS_23, factor)
    return judge.readings(
        {
            Q_READINGS[0]: judge.proof_or_search(
                proof, judge.instances(cases, "<=", FEW)
            ),
            Q_READINGS[1]: judge.instances(drawn, "<=", "one of 20 and 40 clients"),
        }
    )


PRINTED = "(i) the caps of (24)"
PROVEN = "(ii) the caps of (24) and those of Appendix D.6 and Lemma 4"


@claim(
    "focus.thm1.pl.closing",
    source=Source("focus", "Appendix D.6, closing sentence"),
    statement=r"\text{Therefore, we conclude that FOCUS achieves the linear "
    r"convergence rate of }(1-\eta\beta N)\text{ in the nonconvex case with PL "
    r"condition}",
    proposition="At every step size inside the caps that the reading says there is a C "
    "of the start alone with E F(w_R) - F* <= C (1 - eta beta N)^R for all R, for all "
    "f_i of L-Lipschitz gradients with F beta-PL and all rows x_0.",
    constants={"contraction": "1"},
    twin={"contraction": "4"},
    no_control="which caps are meant is not printed; the twin, four times the "
    "exponent, fails under both readings",
)
def polyak_lojasiewicz(c: SimpleNamespace) -> Finding:
    """Prove it with a cap on local steps; compare exact rates, for many local steps."""
    return judge.readings(
        {
            PRINTED: _pl(c, CAPS_24),
            PROVEN: _pl(c, {**CAPS_24, **OF_PROOFS["(24)"]}),
        }
    )


def _pl(c: SimpleNamespace, caps: Mapping[str, str]) -> Finding:
    factor = Fraction(c.contraction)
    listed = chosen(caps, "1/N", Q_READINGS[0], families(CONVEX))
    rate = partial(_rate, factor, "beta")
    alone = closing.many_steps(caps, factor, (1, 2, 50, 200))
    searched = f"{FEW}; one client with tau = 1, 2, 50, 200"
    search = judge.instances(chain(alone, exact_rates(listed, rate)), "<=", searched)
    if "1/((tau-1) L N)" not in caps:
        return judge.proof_or_search(judge.inconclusive("no proof is tried"), search)
    proof = rates.polyak_lojasiewicz(caps, c.contraction, Q_READINGS[0])
    return judge.proof_or_search(proof, search)


INDEPENDENT = "(i) independent samples"
OPEN = "(ii) the joint law of the samples open"


@claim(
    "sgfocus.E4.closing",
    source=Source("focus", "Appendix E.4, closing sentence"),
    statement=r"\text{Therefore, we conclude that SG-FOCUS achieves the linear "
    r"convergence rate of }(1-\eta\beta N)\text{ to }\mathcal{O}(\eta)\text{ level "
    r"neighborhood of the optimal solution in the nonconvex case with PL condition}",
    proposition="For small eta, from equal models with exact stored gradients, "
    "E F(w_R) - F* <= (1 - eta beta N)^R (F(w_0) - F*) + C eta sigma^2 for all R, C "
    "free of eta, for all f_i of L-Lipschitz gradients with F beta-PL.",
    constants={"contraction": "1", "power": 1},
    twin={"contraction": "4"},
    reading_twins={INDEPENDENT: {"power": 2}},
    no_control="Assumption 6 does not say whether samples are independent; the twin, "
    "four times the exponent, fails where the claim holds",
)
def noisy(c: SimpleNamespace) -> Finding:
    """Prove it by the mended Theorem 4; compute rates and stationary values of F."""
    search = {
        what: judge.instances(closing.noisy(c, CAPS_T4, what), "<=", closing.SMALL)
        for what in ("rate", "level")
    }
    mended = SimpleNamespace(caps=CAPS_T4, floor="wider", case_3a="1/N")
    proof = judge.inconclusive("no proof of this exponent or power is tried")
    if Fraction(c.contraction) == 1 and c.power == 1:
        proof = judge.all_of(
            {
                "Theorem 4, mended": theorem4.theorem4(mended, Q_READINGS[0]),
                "its floor": closing.of_order_eta(),
            }
        )
    found = judge.proof_or_search(proof, judge.all_of(search))
    alone = judge.instances(closing.shared_sample(c), "<=", "one client")
    return judge.readings({INDEPENDENT: found, OPEN: alone})
