"""Theorem 1 of the FOCUS paper: (23) strongly convex and (24) PL.

Each item is searched inside its printed hypotheses, edges included: one client, rare
clients, cohorts of all or none, tau = 1 and large tau, stiff, flat and bent curvatures,
several scales of f, many clients, starts away from consensus. Step sizes are the least
of the printed caps: first of all, those that only the proofs print among them, then of
the theorem's. What is found is recomputed in rationals, cohort by cohort or from four
numbers.

The mended bounds are proved, for all functions of the class: see the modules
focus_theorem1_rates and focus_theorem1_lagged of flverify/claims. The bound of (23)
itself holds at the printed caps, and that of (24), from a start with another weight,
with a cap on tau - 1. (25) is in focus_theorem1_nonconvex_bound.py.

In (23) the printed weight of the consensus error can be negative; where it is not, and
with that of Appendix D, a large uniform population gathers consensus error faster than
Psi allows, though the error stays below; that is proved where the weight is at least
1/2. That the error is at most Psi, or Phi, needs a weight that is not negative. No cap
of (24) holds tau back, and inside those that its proof adds such a population is too
much for Phi.

Conventions: the recursion of Appendix D, whose tracker starts as the sum of the
gradients at the clients' rows (Algorithm 1's own start is focus.thm1.init); xbar_1 is
the server model that round 0 pulls; rounds are independent and of one law, and an
empty one executes line 13; 1/(tau-1) at tau = 1 is no cap; F is not constant, so that
beta <= L. q_min is read as E[I_i/|S|] (0 for empty S), as 1/m of Case 3a, and as
p_min. If all models start equal, Psi_0 and Phi_0 have no consensus error; from other
starts the printed Psi takes xbar_{1-tau} = xbar_0, and the Lyapunov functions of
Appendix D are counted from round 1, the first whose two terms both exist.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product
from types import SimpleNamespace

from flverify._core.sources import Source
from flverify.claims import focus_theorem1_lagged as lagged
from flverify.claims import focus_theorem1_rates as rates
from flverify.claims import judge
from flverify.claims.claim import Free, claim
from flverify.claims.focus_caps import Q_READINGS
from flverify.claims.focus_families import CONVEX, GENERAL, families
from flverify.claims.focus_lyapunov import (
    Lyapunov,
    concludes,
    contracts,
    dominates,
    phi,
    psi,
)
from flverify.claims.focus_moments import Clients
from flverify.claims.focus_search import (
    Inequality,
    searched,
    small_exact,
)
from flverify.claims.focus_theorem1_round import START
from flverify.claims.focus_theorem1_searches import (
    beside,
    chosen,
    distances,
    exact_rates,
    proof_first,
    values,
)
from flverify.claims.focus_theorem1_weights import more_is_added
from flverify.claims.verdict import Finding

# (23) ----------------------------------------------------------------------------

COLLECTED_SC = {
    "mu/(N L^2)": "3/27",
    "1/(L (tau-1))": "1/3",
    "q^(3/2)/(L sqrt N)": "1/8",
    "q^(3/2)/(L N)": "1/8",
    "q^(3/2)/(L (tau-1))": "1/8",
    "q/(N^2 L)": "1/8",
    "q/(N (8 L^2/mu + mu/2))": "2/3",
}
WEIGHT_102 = "8 eta L^2 N/mu"
MENDED_SC = {"caps": COLLECTED_SC, "weight": WEIGHT_102, "case_3a": "1/N"}


@claim(
    "focus.thm1.sc",
    source=Source("focus", "Theorem 1, eq. (23), and Appendix D.5"),
    statement=r"\eta\le\min\Big\{\frac{3\mu}{27NL^2},\frac{1}{3L(\tau-1)},\frac{"
    r"q_{\min}^{3/2}}{8L\sqrt N}\Big\}:\quad\mathbb{E}\|\bar x_{R\tau+1}-x^\star\|^2"
    r"\le\Psi_R\le(1-\eta\mu N/2)^R\Psi_0,\quad\Psi_r:=\mathbb{E}\|\bar x_{r\tau+1}-"
    r"x^\star\|^2+(1-8\eta\tau LN)\,\mathbb{E}\|\mathbb{1}\bar x_{(r-1)\tau+1}-"
    r"\boldsymbol{x}_{r\tau}\|_F^2",
    proposition="Both inequalities of (23) hold for all mu-strongly convex, L-smooth "
    "f_i under Assumption 1, with independent rounds of one law, at every step size "
    "inside the printed caps.",
    constants={
        "caps": {
            "mu/(N L^2)": "3/27",
            "1/(L (tau-1))": "1/3",
            "q^(3/2)/(L sqrt N)": "1/8",
        },
        "contraction": "1/2",
        "weight": "8 eta tau L N",
        "case_3a": "1/m",
    },
    twin=MENDED_SC,
    free=Free(
        "contraction",
        "1/2",
        4,
        weaker="smaller",
        given=MENDED_SC,
        reading=f"Psi of (102); {Q_READINGS[0]}",
    ),
)
def strongly_convex(c: SimpleNamespace) -> Finding:
    """Search both inequalities for Psi as printed and as in Appendix D.5; prove them.

    A proof is known for the weight of Appendix D.5, with either consensus error.
    """
    few = {} if c.weight == WEIGHT_102 else {"1/(tau L N)": "1/16"}
    small = SimpleNamespace(**{**vars(c), "caps": {**c.caps, **few}})
    named = {
        "as printed": (c, c.weight, "w_{r-1}, x_{r tau}"),
        "as printed, its weight at least 1/2": (small, c.weight, "w_{r-1}, x_{r tau}"),
        "of (102)": (c, WEIGHT_102, "w_{r-1}, x_{(r-1) tau}"),
    }
    found = {
        f"Psi {name}; {reading}": _sc_finding(named[name][0], reading, *named[name][1:])
        for name, reading in product(named, Q_READINGS)
    }
    return judge.readings(found).corrected(
        r"\mathbb{E}\|\bar x_{R\tau+1}-x^\star\|^2\le(1-\eta\mu N/2)^R\Big(\|\bar x_1-"
        r"x^\star\|^2+\Big(1-\frac{8\eta L^2N}{\mu}\Big)\|\mathbb{1}\bar x_1-"
        r"\boldsymbol{x}_0\|_F^2\Big)\text{ for } \eta \text{ as printed},\quad q_i="
        rf"\mathbb{{E}}[I_i/|S|],\;{START}",
        _outer_sc(c),
    )


def _rate_sc(c: SimpleNamespace, clients: Clients, step: Fraction) -> Fraction:
    mu, total = clients.strong_convexity, clients.total
    return 1 - Fraction(c.contraction) * step * mu * total


def _sc_finding(c: SimpleNamespace, reading: str, weight: str, lag: str) -> Finding:
    lyapunov, rate = partial(psi, weight, lag), partial(_rate_sc, c)
    ends = _searched_sc(c, reading, concludes(lyapunov, rate, "x"))
    if lag == "w_{r-1}, x_{r tau}":  # at r = 0 this is x_0, as the proof has it
        proof = rates.strongly_convex(
            c.caps, c.contraction, reading, case_3a=c.case_3a, rows=True, weight=weight
        )
        ends = beside(proof, ends)
    search = judge.all_of(
        {
            "E|xbar_R - x*|^2 <= Psi_R": _first_sc(c, reading, weight, lyapunov),
            "Psi_R <= (1 - eta mu N/2)^R Psi_0": _searched_sc(
                c, reading, contracts(lyapunov, rate)
            ),
            "E|xbar_R - x*|^2 <= (1 - eta mu N/2)^R Psi_0": ends,
        }
    )
    if weight != WEIGHT_102:
        return search
    proof = lagged.psi_shrinks(c.caps, c.contraction, lag, reading, c.case_3a)
    return beside(proof, search)


def _first_sc(
    c: SimpleNamespace, reading: str, weight: str, lyapunov: Lyapunov
) -> Finding:
    listed = proof_first(c.caps, "(23)", c.case_3a, reading, families(CONVEX))
    cases = small_exact(listed, dominates(lyapunov, "x"), 2)
    few = "1 and 2 clients, tau = 1, 2, rounds 1 and 2"
    return beside(more_is_added(weight, c.caps), judge.instances(cases, "<=", few))


def _searched_sc(c: SimpleNamespace, reading: str, inequality: Inequality) -> Finding:
    listed = proof_first(c.caps, "(23)", c.case_3a, reading, families(CONVEX))
    return judge.instances(searched(listed, inequality, 30), "<=", SEARCHED_SC)


SEARCHED_SC = "N = 1, 2, 5, 25, 64, 6400; kappa = 1, 5, 30; tau = 1, 2, 20; five starts"


def _outer_sc(c: SimpleNamespace) -> Finding:
    """Prove the bound from any start; search it, and the exact rate."""
    rate = partial(_rate_sc, c)
    listed = chosen(c.caps, c.case_3a, Q_READINGS[0], families(CONVEX))
    few = "exact rates of 1 and 2 clients, tau = 1, 2"
    search = judge.all_of(
        {
            "finite R": _searched_sc(c, Q_READINGS[0], distances(rate)),
            "rate": judge.instances(exact_rates(listed, rate), "<=", few),
        }
    )
    proof = rates.strongly_convex(c.caps, c.contraction, Q_READINGS[0], rows=True)
    return beside(proof, search)


# (24) ----------------------------------------------------------------------------

PRINTED_PL = {
    "q/N": "3/32",
    "q/(beta N)": "1/12",
    "q/L^2": "1/16",
    "q^(3/2)/(L sqrt N)": "1/8",
}
COLLECTED_PL = {
    **PRINTED_PL,
    "q/N^2": "3/32",
    "q^(3/2)/(L N)": "1/8",
    "q^(3/2)/(L (tau-1))": "1/8",
    "1/(L N)": "1/4",
    "1/((tau-1) L N)": "1/2",
}
MENDED_PL = {"caps": COLLECTED_PL, "case_3a": "1/N"}
CAPS_PL = {"q^(3/2)/(L sqrt N)": "1/8", "1/(L (tau-1))": "1/3"}
SETTINGS_PL = (("1", 2), ("1", 1), ("1", 80), ("1/100", 1), ("100", 1))
SEARCHED_PL = (
    "N = 1, 2, 5, 25, 64, 6400; curvatures of scale 1 (tau = 1, 2, 80), 1/100, 100"
)


@claim(
    "focus.thm1.pl",
    source=Source("focus", "Theorem 1, eq. (24), and Appendix D.6"),
    statement=r"\eta\le\min\Big\{\frac{3q_{\min}}{32N},\frac{q_{\min}}{12\beta N},"
    r"\frac{q_{\min}}{16L^2},\frac{q_{\min}^{3/2}}{8L\sqrt N}\Big\}:\quad\mathbb{E}F("
    r"\bar x_{R\tau+1})-F^\star\le\Phi_R\le(1-\eta\beta N)^R\Phi_0,\quad\Phi_r="
    r"\mathbb{E}F(\bar x_{r\tau+1})-F^\star+(1-4\eta L^2)\,\mathbb{E}\|\mathbb{1}\bar "
    r"x_{r\tau+1}-\boldsymbol{x}_{r\tau}\|^2",
    proposition="Both inequalities of (24) hold for all f_i of L-Lipschitz gradients "
    "with F beta-PL under Assumption 1, with independent rounds of one law, at every "
    "step size inside the printed caps.",
    constants={"caps": PRINTED_PL, "contraction": "1", "case_3a": "1/m"},
    twin=MENDED_PL,
    free=Free(
        "contraction",
        1,
        4,
        weaker="smaller",
        given=MENDED_PL,
        reading=f"Phi of (110); {Q_READINGS[0]}",
    ),
)
def polyak_lojasiewicz(c: SimpleNamespace) -> Finding:
    """Search both inequalities for Phi as printed and as in (110); prove them.

    The correction compares the two ends of (24), with a weight that has the units of
    F/x^2, and needs no more of the caps than one that (24) has and one on tau - 1.
    """
    lags = {"as printed": "w_r, x_{r tau}", "of (110)": "w_{r-1}, x_{(r-1) tau}"}
    found = {
        f"Phi {name}; {reading}": _pl_finding(c, reading, lag)
        for (name, lag), reading in product(lags.items(), Q_READINGS)
    }
    return judge.readings(found).corrected(
        r"\eta\le\min\Big\{\frac{q_{\min}^{3/2}}{8L\sqrt N},\frac1{3L(\tau-1)}\Big\}:"
        r"\quad\mathbb{E}F(\bar x_{R\tau+1})-F^\star\le(1-\eta\beta N)^R\Big(F("
        r"\bar x_1)-F^\star+\frac{\eta L^2}{q_{\min}}\|\mathbb{1}\bar x_1-"
        r"\boldsymbol{x}_0\|_F^2\Big),\quad\nabla f_i\;L\text{-Lipschitz, }0<"
        r"\beta\le L,\;q_i=\mathbb{E}[I_i/|S|],\;" + START,
        _outer_pl(c),
    )


def _rate_pl(c: SimpleNamespace, clients: Clients, step: Fraction) -> Fraction:
    beta = clients.mean_curvature
    return 1 - Fraction(c.contraction) * step * beta * clients.total


def _pl_finding(c: SimpleNamespace, reading: str, lag: str) -> Finding:
    lyapunov, rate = partial(phi, "4 eta L^2", lag), partial(_rate_pl, c)
    clients = families(GENERAL, SETTINGS_PL)
    listed = proof_first(c.caps, "(24)", c.case_3a, reading, clients)
    few = tuple(one for one in listed if one[0].total <= 2)
    cases = small_exact(listed, dominates(lyapunov, "F"), 1)
    first = judge.instances(cases, "<=", "1 and 2 clients, tau = 1, 2, round 1")
    search = judge.all_of(
        {
            "E F(xbar_R) - F* <= Phi_R": beside(
                more_is_added("4 eta L^2", c.caps), first
            ),
            "Phi_R <= (1 - eta beta N)^R Phi_0": judge.instances(
                searched(listed, contracts(lyapunov, rate), 20), "<=", SEARCHED_PL
            ),
            "E F(xbar_R) - F* <= (1 - eta beta N)^R Phi_0": judge.instances(
                searched(few, concludes(lyapunov, rate, "F"), 20),
                "<=",
                "of these, N = 1, 2",
            ),
        }
    )
    proof = lagged.phi_shrinks(c.caps, c.contraction, lag, reading, c.case_3a)
    return beside(proof, search)


def _outer_pl(c: SimpleNamespace) -> Finding:
    """Prove the bound from any start, and search it."""
    listed = chosen(CAPS_PL, "1/N", Q_READINGS[0], families(GENERAL, SETTINGS_PL))
    cases = searched(listed, values(partial(_rate_pl, c)), 20)
    proof = rates.polyak_lojasiewicz(CAPS_PL, c.contraction, Q_READINGS[0])
    return beside(proof, judge.instances(cases, "<=", SEARCHED_PL))
