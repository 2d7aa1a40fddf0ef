r"""Appendix D.6 of the FOCUS paper: (110), and what the PL chain delivers.

Each line of (110) follows under its own condition, see `focus_theorem1_pl.py` for
(103)-(109). It adds a function value and a squared distance, so 1 - 4 eta L^2,
q/(16 L^2) and 3 q/(32 N) change with the units of f. The caps of (24) grant neither
Lemma 4 nor (108), whose conditions contain tau, and no caps grant the contraction
1 - eta beta N along this chain, because of (105) (another has it, see
flverify/claims/focus_theorem1_rates.py). A quarter of it is delivered, and
with a weight 3 q/(128 eta N^2) of the consensus error by caps that do not depend on
units.

Conventions: A_r = F(w_r) - F*, B_r = E||1 w_r - x_{r tau}||^2, G = |grad F(w_r)|^2,
w_r = xbar_{r tau+1}. (87) and Lemma 4 are given as printed, but for the correction of
the chain: that is from the mended Lemma 4, which has one N more, and its proof.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import focus_theorem1_chain as chain
from flverify.claims import focus_theorem1_chain_searches as searches
from flverify.claims import judge
from flverify.claims.claim import Free, claim
from flverify.claims.focus_theorem1_chain import LEMMAS_4, MENDED_4
from flverify.claims.focus_theorem1_steps import (
    L,
    N,
    Relations,
    asked_by,
    beta,
    conditions,
    eta,
    for_any_q,
    for_each_q,
    implied,
    implied_under,
    q,
    stale,
    tau,
)
from flverify.claims.rationals import rational
from flverify.claims.stack_norms import INDUCED, ONE_NORM
from flverify.claims.verdict import Finding
from flverify.claims.written import at_most

CAPS = {
    "q/N": "3/32",
    "q/(beta N)": "1/12",
    "q/L^2": "1/16",
    "q^(3/2)/(L sqrt N)": "1/8",
}

A, A_next, B, B_before, G = sympy.symbols("A A_next B B_before G", nonnegative=True)
X, Y = sympy.symbols("x y", positive=True)  # eta beta N and eta L^2
LAST = "(110), last line"
CAPS_OF_24 = [q / 12 >= X, q / 16 >= Y]
EVERY = "every eta, L, beta > 0, N, tau >= 1, q_min in (0, 1]"


@claim(
    "focus.thm1.pl.step110a",
    source=Source("focus", "Appendix D.6, eq. (110), first line"),
    statement=r"\eta\le\frac{3q_{\min}}{32N}:\quad A_{r+1}+(1-4\eta L^2)B_r\le(1-"
    r"\eta\beta N)A_r+\Big(1-\frac{q_{\min}}{3}\Big)B_{r-1}",
    proposition="The first line of (110) follows from (108) and (109) at the step "
    "sizes printed with it: the gradient terms cancel. B_r is without F in (108) and "
    "(110), and with it in (109): B and B_F below, where x = eta beta N, y = eta L^2.",
    given={"(108)": "focus.thm1.pl.step108", "(109)": "focus.thm1.pl.step109"},
    constants={"cap": "3/32", "consensus": "4"},
    twin={"cap": "1/8"},
    no_control="Appendix B has two norms, and B_r drops an F; the twin, a cap of q/(8 "
    "N), fails under both readings",
    free=(
        Free("cap", "1/32", "1/8", weaker="smaller", reading=ONE_NORM),
        Free("consensus", "2", "8", weaker="larger", reading=ONE_NORM),
    ),
)
def added(c: SimpleNamespace) -> Finding:
    """Add (108) and (109); for two norms of N rows, say how far they are apart."""
    now, before = sympy.symbols("B_F B_F_before", nonnegative=True)
    apart = [now >= B, now <= N * B, B_before <= before, before <= N * B_before]
    apart += [*CAPS_OF_24, q * N <= 1]
    one = _added(c, B, B_before)
    found = {ONE_NORM: one, INDUCED: _added(c, now, before, *apart)}
    return judge.readings(found).corrected(
        r"B_r=\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol x_{r\tau}\|_F^2", one
    )


def _added(c: SimpleNamespace, now: Any, before: Any, *apart: Any) -> Finding:
    """Bound `now`, the B_r of (109), and put it into (108).

    For one norm refuted, if it can be, where F is L-smooth and beta-PL, with tau = 1.
    """
    known = [
        A_next <= (1 - X) * A + 4 * Y * B - eta * N / 2 * G,
        (1 - q / 3) * before + 16 * eta**2 * N**2 / (3 * q) * G >= now,
        *conditions({"q/N": c.cap}),
        q <= 1,
        *apart,
    ]
    right = (1 - X) * A + (1 - q / 3) * B_before
    claimed = A_next + (1 - rational(c.consensus) * Y) * B <= right
    nearby = [*CAPS_OF_24, 64 * eta * N * Y <= q**3, 16 * eta * N**2 * Y <= 1]
    nearby += [eta * N**2 * Y >= X**2, eta * N * G >= 2 * X * A]  # beta <= L
    nearby += [eta * G**2 <= 4 * Y * A**2]
    return implied_under(known, [] if apart else nearby, claimed, EVERY)


@claim(
    "focus.thm1.pl.step110b",
    source=Source("focus", "Appendix D.6, eq. (110), second and third line"),
    statement=r"\eta\le\frac{q_{\min}}{3\beta N(4-q_{\min})}:\quad\frac{1-\frac{q_{"
    r"\min}}{3}}{1-\eta\beta N}\le1-\frac{q_{\min}}{4}",
    proposition="The quotient of the second line of (110) is at most 1 - q_min/4 at "
    "the step sizes printed with (110).",
    constants={"cap": "1/3", "kept": "1/4"},
    twin={"kept": "1/3"},
    free=(
        Free("cap", "1/6", "2/3", weaker="smaller"),
        Free("kept", "1/8", "1/2", weaker="smaller"),
    ),
)
def quotient(c: SimpleNamespace) -> Finding:
    """Decide it under its own condition, denominators positive."""
    cap = conditions({"q/(beta N (4-q))": c.cap})
    left = (1 - q / 3) / (1 - eta * beta * N)
    return judge.implied([q <= 1, *cap], left <= 1 - rational(c.kept) * q, EVERY)


@claim(
    "focus.thm1.pl.step110c",
    source=Source("focus", "Appendix D.6, eq. (110), last line"),
    statement=r"\eta\le\frac{q_{\min}}{16L^2}:\quad1-\frac{q_{\min}}{4}\le1-4\eta L"
    r"^2",
    proposition="1 - q_min/4 <= 1 - 4 eta L^2 at the step sizes printed with (110).",
    constants={"cap": "1/16", "consensus": "4"},
    twin={"cap": "1/8"},
    free=(
        Free("cap", "1/32", "1/8", weaker="smaller"),
        Free("consensus", "2", "8", weaker="smaller"),
    ),
)
def last_weight(c: SimpleNamespace) -> Finding:
    """Multiply the condition by 4."""
    cap = conditions({"q/L^2": c.cap})
    weight = 1 - rational(c.consensus) * eta * L**2
    return judge.implied([q <= 1, *cap], 1 - q / 4 <= weight, EVERY)


# consensus error's weight in the sum of (108) and (109)
WEIGHTS = {"1": sympy.Integer(1), "3 q/(128 eta N^2)": 3 * q / (128 * eta * N**2)}
MENDED = {
    "caps": {"q/(L N)": "1/23", **MENDED_4.caps},
    "gradient": "1/4",
    "contraction": "1/4",
    "weight": "3 q/(128 eta N^2)",
    "lemma_4": "mended",
}


@claim(
    "focus.thm1.pl.collected",
    source=Source("focus", "Theorem 1, eq. (24), and Appendix D.6"),
    statement=r"\eta\le\min\Big\{\frac{3q_{\min}}{32N},\frac{q_{\min}}{12\beta N},"
    r"\frac{q_{\min}}{16L^2},\frac{q_{\min}^{3/2}}{8L\sqrt N}\Big\}\text{ implies what "
    r"Lemma 4 and (103)-(110) ask of }\eta\text{, which then give }V_{r+1}\le(1-\eta"
    r"\beta N)V_r,\quad V_r=A_r+(1-4\eta L^2)B_{r-1}",
    proposition="The caps of (24) imply every inequality between coefficients that "
    "the chain (103)-(110) uses for the contraction 1 - eta beta N, and Lemma 4's "
    "conditions. Whether (24) holds, by this chain or not, is judged in focus.thm1.pl.",
    constants={
        "caps": CAPS,
        "gradient": "1",
        "contraction": "1",
        "weight": "1",
        "lemma_4": "printed",
    },
    twin=MENDED,
    free=Free("contraction", "1/8", "1/2", weaker="smaller", given=MENDED),
)
def collected(c: SimpleNamespace) -> Finding:
    """Ask the caps of (24) for each; prove the chain with the mended Lemma 4."""
    return _chain(c).corrected(
        r"\eta\le\min\Big\{\frac{q}{23LN},\frac{q^{3/2}}{8LN},\frac{q^{3/2}}{8L(\tau-1"
        r")}\Big\},\;r\ge1:\quad V_{r+1}\le\Big(1-\frac{\eta\beta N}{4}\Big)V_r,\quad V"
        r"_r=\mathbb{E}F(\bar x_{r\tau+1})-F^\star+\Big(\frac{3q}{128\eta N^2}-4\eta L^"
        r"2\Big)\mathbb{E}\|\mathbb{1}\bar x_{(r-1)\tau+1}-\boldsymbol{x}_{(r-1)\tau}\|"
        r"_F^2,\;F\;\beta\text{-PL},\;0<\beta\le L,\;" + chain.SMOOTH,
        _mended(),
    )


@cache
def _mended() -> Finding:
    own = SimpleNamespace(**MENDED)
    needs = {**_needs(own), **chain.asked_by_values()}
    proof = chain.proved(
        for_any_q(_given(own), needs, EVERY),
        chain.lemma_4(),
        chain.value_recursion(rational(own.contraction)),
        _besides(own),
    )
    search = searches.values(own.caps, own.contraction, "3/128")
    return judge.proof_or_search(proof, search)


def _given(c: SimpleNamespace) -> list[Any]:
    return [beta <= L, *conditions(c.caps)]


def _scaled(c: SimpleNamespace) -> bool:
    """Whether the units of f do not matter, which a weight of 1 makes them do."""
    return bool(c.weight != "1")


def _chain(c: SimpleNamespace) -> Finding:
    found = _besides(c)

    def apart(known: Relations) -> dict[str, Finding]:
        """Judge again what fails for some q, for those of a reading."""
        return {} if found[LAST].passes() else {LAST: _last_line(c, known)}

    how = {"scaled": _scaled(c), "besides": found, "apart": apart}
    return for_each_q(_given(c), _needs(c), EVERY, **how)


def _needs(c: SimpleNamespace) -> dict[str, Any]:
    """Return what the coefficients need, divided by eta/N, eta N, eta and eta N."""
    lemma, gradient = LEMMAS_4[c.lemma_4], rational(c.gradient)
    spent = rational(c.contraction) / 2  # of the decrease, on the PL condition
    pushed = sympy.cancel(WEIGHTS[c.weight] * lemma.push / (eta * N))
    return {
        **asked_by({"Lemma 4": lemma.caps}),
        "(105), distance": at_most(sympy.Rational(1, 2) + eta * N * L, 1),
        "(105), gradient": at_most(gradient + eta * N * L, sympy.Rational(1, 2)),
        "(108)": at_most(stale() / N, 4 * L**2),
        "(110), gradients": at_most(pushed, gradient - spent),
    }


def _besides(c: SimpleNamespace) -> dict[str, Finding]:
    return {LAST: _last_line(c), "assembled": _assembled()}


def _last_line(c: SimpleNamespace, known: Relations = ()) -> Finding:
    """Judge W (1 - q/3) <= (1 - c x)(W - 4 y), x for eta beta N and y for eta L^2.

    Tried with the caps of x and y alone first, then with all that do not contain tau.
    """
    x, y = sympy.symbols("x y", positive=True)
    weight, kept = WEIGHTS[c.weight], LEMMAS_4[c.lemma_4].kept
    given = [h.subs(eta * beta * N, x) for h in conditions(c.caps)]
    given = [q <= 1, x <= eta * L * N, *(h for h in given if tau not in h.free_symbols)]
    given += known
    rate = 1 - rational(c.contraction) * x
    need = weight * kept <= rate * (weight - 4 * eta * L**2)
    short = [h.subs(eta * L**2, y) for h in (need, *given)]
    few = [h for h in short[1:] if h.free_symbols <= {q, x, y}]
    found = implied(few, short[0], EVERY, scaled=False)
    return found if found.passes() else implied(given, need, EVERY, scaled=_scaled(c))


def _assembled() -> Finding:
    """Judge that these inequalities give the contraction, for any coefficients.

    With Z = W B: A_next <= a A + y B - s G and, W times (109), Z <= K B_before + P G;
    P <= s and K <= a T give A_next + Z - y B <= a (A + T B_before), T = W - y.
    """
    a, y, s, K, P, T, Z = sympy.symbols("a y s K P T Z", nonnegative=True)
    known = [
        A_next <= a * A + y * B - s * G,
        K * B_before + P * G >= Z,
        s >= P,
        a * T >= K,
    ]
    claimed = A_next + Z - y * B <= a * (A + T * B_before)
    return judge.implied(known, claimed, "all coefficients")
