r"""Appendix D.5 of the FOCUS paper: the proof of (23), step by step, (97)-(102).

The two recursions of the lemmas are added and the error of the function is dropped.
The caps of (23) do not contain the cap of Lemma 4 on local steps; whether the error of
the function may be dropped depends on what q_min is; and the cap printed for (102) is
twice what the last line needs. What the chain delivers with all its conditions
collected stands at the end.

Conventions: w_r = xbar_{r tau+1}, A_r = E|w_r - x*|^2, B_r = E||1 w_r - x_{r tau}||^2,
D = E F(w_r) - F(x*): expectations are taken on both sides. Lemmas 3 and 4 are given as
printed, whether they hold is judged elsewhere; corrections are from the mended ones,
whose proofs are among their links. A step is judged with the caps of (23)
and the condition printed beside it, for every reading of q_min. Repeated monomials
are symbols of their own where their values do not matter.
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
from flverify.claims.focus_theorem1_chain import LEMMAS_3, LEMMAS_4, MENDED_4
from flverify.claims.focus_theorem1_steps import (
    L,
    N,
    Relations,
    asked_by,
    conditions,
    eta,
    for_any_q,
    for_each_q,
    implied_under,
    mu,
    q,
)
from flverify.claims.focus_whole_clients import for_each_q_and_whole_n
from flverify.claims.rationals import rational
from flverify.claims.verdict import Finding

CAPS = {
    "mu/(N L^2)": "3/27",
    "1/(L (tau-1))": "1/3",
    "q^(3/2)/(L sqrt N)": "1/8",
}
SCOPE = "every eta, L >= mu > 0, N, tau >= 1, q_min in its range, inside the caps"

A, A_next, B, B_before, D, G = sympy.symbols(
    "A A_next B B_before D G", nonnegative=True
)
# monomials: 1 - eta mu N/2, 2 eta N (1 - 2 eta N L), eta L^2 N/mu, 1 - q/3,
# eta^2 N^2/q
rate, drop, weight, kept, push = sympy.symbols("rate drop weight kept push", real=True)


def _inside(caps: dict[str, str]) -> Relations:
    return [mu <= L, *conditions(caps)]


def _asked(lemmas: str) -> dict[str, Any]:
    return asked_by(
        {"Lemma 3": LEMMAS_3[lemmas].caps, "Lemma 4": LEMMAS_4[lemmas].caps}
    )


MENDED_99 = {
    "caps": MENDED_4.caps,
    "gradient": MENDED_4.gradient,
    "function": "32/3",
    "lemmas": "mended",
    "by_itself": False,
}


@claim(
    "focus.thm1.sc.step97-99",
    source=Source("focus", "Appendix D.5, eq. (97)-(99)"),
    statement=r"\mathbb{E}\|\bar x_{(r+1)\tau+1}-x^\star\|^2\le(1-\tfrac{\eta\mu N}{2})"
    r"\mathbb{E}\|\bar x_{r\tau+1}-x^\star\|^2-2\eta N(1-2\eta NL)\big(F(\bar x_{r\tau+"
    r"1})-F(x^\star)\big)+\tfrac{8\eta L^2N}{\mu}\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}"
    r"-\boldsymbol{x}_{r\tau}\|^2,\quad\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}-"
    r"\boldsymbol{x}_{r\tau}\|_F^2\le(1-\tfrac{q_{\min}}{3})\|\mathbb{1}\bar x_{(r-1)"
    r"\tau+1}-\boldsymbol{x}_{(r-1)\tau}\|_F^2+\tfrac{16\eta^2N^2}{3q_{\min}}\|\nabla F"
    r"(\bar x_{r\tau+1})\|^2\le(1-\tfrac{q_{\min}}{3})\|\cdot\|_F^2+\tfrac{32\eta^2N^2L"
    r"}{3q_{\min}}\big(F(\bar x_{r\tau+1})-F(x^\star)\big)",
    proposition="(i) Every step size inside the caps of (23) is one for which Lemmas 3 "
    "and 4 are stated, and (99) follows from (98) for an L-smooth F; (ii) (98) is true "
    "inside the caps of (23), wherever it is from.",
    given={"Lemma 3": "focus.lemma3", "Lemma 4": "focus.lemma4"},
    unaided=searches.ITSELF,
    constants={
        "caps": CAPS,
        "gradient": LEMMAS_4["printed"].gradient,
        "function": "32/3",
        "lemmas": "printed",
        "by_itself": True,
    },
    twin=MENDED_99,
    # what the printed caps do not grant has nothing to do with it
    free=Free("function", "1", "20", weaker="larger", given=MENDED_99),
    mended_from={},
)
def recursions(c: SimpleNamespace) -> Finding:
    """Compare the caps with the lemmas'; use A2 at w and w - grad F(w)/L.

    Search (98) by itself.
    """
    found = for_each_q(
        _inside(c.caps), _asked(c.lemmas), SCOPE, besides=_from_slopes(c)
    )
    if c.by_itself:
        found = searches.beside_itself(found, c.caps)
    return found.corrected(
        rf"{chain.CAPS_4}:\quad\text{{(97), and }}{chain.LINE_4}\le\Big(1-\frac q3\Big)"
        r"B_{r-1}+\frac{32\eta^2N^3L}{3q}\big(\mathbb{E}F(\bar x_{r\tau+1})-F(x^\star)"
        rf"\big),\quad r\ge1,\;B_r={chain.ERROR},\;{chain.CONVEX}",
        _recursions_mended(),
    )


@cache
def _recursions_mended() -> Finding:
    mended = SimpleNamespace(**MENDED_99)
    return chain.proved(
        for_any_q(_inside(mended.caps), _asked(mended.lemmas), SCOPE),
        chain.lemma_3(),
        chain.lemma_4(),
        _from_slopes(mended),
    )


def _from_slopes(c: SimpleNamespace) -> dict[str, Finding]:
    """Judge that (98) gives (99), push being eta^2 N^2/q or eta^2 N^3/q."""
    descent = D - G / L + G / (2 * L) >= 0  # F* <= F(w - g/L), G = |g|^2
    before = kept * B_before + rational(c.gradient) * push * G >= B
    after = kept * B_before + rational(c.function) * push * L * D >= B
    nearby = [3 * kept >= 2, kept < 1]
    found = implied_under(
        [descent, before, push > 0], nearby, after, "every L, eta, N, q"
    )
    return {"(98) gives (99)": found}


@claim(
    "focus.thm1.sc.step100-101",
    source=Source("focus", "Appendix D.5, eq. (100)-(101)"),
    statement=r"A_{r+1}\le(1-\tfrac{\eta\mu N}{2})A_r-2\eta N(1-2\eta NL)\big(F(\bar x"
    r"_{r\tau+1})-F(x^\star)\big)+\tfrac{8\eta L^2N}{\mu}B_r,\qquad B_r\le(1-\tfrac{q_"
    r"{\min}}{3})B_{r-1}+\tfrac{32\eta^2N^2L}{3q_{\min}}\big(F(\bar x_{r\tau+1})-F(x^"
    r"\star)\big)",
    proposition="With A_r and B_r as defined, (97) and (99) are (100) and (101).",
    given={"(97)": "focus.thm1.sc.step97-99", "(99)": "focus.thm1.sc.step97-99"},
    constants={"contraction": "1/2", "drop": "2", "consensus": "8", "function": "32/3"},
    twin={"function": "16/3"},
    reading_twins={"(100)": {"consensus": "4"}},
    free=(
        Free("contraction", "1/4", "1", weaker="smaller"),
        Free("drop", "1", "3", weaker="smaller"),
        Free("consensus", "4", "16", weaker="larger"),
        Free("function", "8", "16", weaker="larger"),
    ),
)
def notation(c: SimpleNamespace) -> Finding:
    """Compare coefficients.

    x, v, p, k stand for eta mu N, eta N (1 - 2 eta N L), eta L^2 N/mu, eta^2 N^2 L/q.
    """
    x, v, p, k = sympy.symbols("x v p k", positive=True)
    # inside the caps of (23) eta N L, the root of x p, is at most 1/9; then these are
    # enough for a D between mu A/2 and L A/2
    nearby = [x <= p, 9 * p <= 1, x * A <= 2 * v * D]
    nearby += [324 * v**2 * D**2 <= 49 * x * p * A**2]
    half = sympy.Rational(1, 2)
    lemma_3 = A_next <= (1 - half * x) * A - 2 * v * D + 8 * p * B
    lemma_4 = kept * B_before + sympy.Rational(32, 3) * k * D >= B
    first = (1 - rational(c.contraction) * x) * A - rational(c.drop) * v * D
    second = kept * B_before + rational(c.function) * k * D
    scope = "every eta, mu, L, N, q, wherever 2 eta N L < 1"
    return judge.all_of(
        {
            "(100)": implied_under(
                [lemma_3],
                nearby,
                A_next <= first + rational(c.consensus) * p * B,
                scope,
            ),
            "(101)": implied_under(
                [lemma_4], [3 * kept >= 2, kept < 1], second >= B, scope
            ),
        }
    )


@claim(
    "focus.thm1.sc.stepDF",
    source=Source("focus", "Appendix D.5, text after (101)"),
    statement=r"\text{after summing, the term about }F(\bar x_{r\tau+1})-F(x^\star)"
    r"\text{ is negative: }\;2\eta N(1-2\eta NL)\ge\frac{32\eta^2N^2L}{3q_{\min}}",
    proposition="At every step size inside the caps of (23), and in some readings that "
    "of (102), the coefficient of F(w_r) - F(x*) in the sum of (100) and (101) is not "
    "positive.",
    constants={
        "caps": CAPS,
        "(102)": {"q/(N (8 L^2/mu + mu/2))": "2/3"},
        "drop": "2",
        "inner": "2",
        "function": "32/3",
    },
    twin={"caps": {}, "(102)": {}},
    no_control="the caps decide for E[I_i/|S|], which is at most 1/N, and with that of "
    "(102) for the other q_min; the twin, without caps, fails for each",
    free=Free("function", "8", "16", weaker="smaller", reading="q_i = E[I_i/|S|]"),
)
def function_error(c: SimpleNamespace) -> Finding:
    """Decide the sign inside the caps for each q_min."""
    mended = SimpleNamespace(**{**vars(c), "caps": {"q/(L N)": "3/22"}})
    more = SimpleNamespace(**{**vars(c), "caps": {**c.caps, **vars(c)["(102)"]}})
    later = _sign(more).readings.items()
    with_102 = {f"{name}; with the cap of (102)": found for name, found in later}
    return judge.readings({**_sign(c).readings, **with_102}).corrected(
        r"\eta\le\frac{3q_{\min}}{22NL}\;\Rightarrow\;2\eta N(1-2\eta NL)\ge\frac{32"
        r"\eta^2N^2L}{3q_{\min}}",
        _sign(mended),
    )


def _sign(c: SimpleNamespace) -> Finding:
    lost = rational(c.drop) * (1 - rational(c.inner) * eta * N * L)
    gained = rational(c.function) * eta * N * L / q
    return for_each_q_and_whole_n(_inside(c.caps), {"sign": gained <= lost}, SCOPE)


@claim(
    "focus.thm1.sc.step102a",
    source=Source("focus", "Appendix D.5, eq. (102), first line"),
    statement=r"A_{r+1}+\Big(1-\frac{8\eta L^2N}{\mu}\Big)B_r\le\Big(1-\frac{\eta\mu N}"
    r"{2}\Big)A_r+\Big(1-\frac{q_{\min}}{3}\Big)B_{r-1}",
    proposition="It follows from (100) and (101) once the error of the function has a "
    "coefficient that is not positive; whether it has is judged in stepDF.",
    given={
        "(100)": "focus.thm1.sc.step100-101",
        "(101)": "focus.thm1.sc.step100-101",
        "the sign before (102)": "focus.thm1.sc.stepDF",
    },
    constants={"weight": "8"},
    twin={"weight": "7"},
    free=Free("weight", "4", "16", weaker="larger"),
)
def added(c: SimpleNamespace) -> Finding:
    """Add the two recursions."""
    rise = sympy.Symbol("rise", real=True)  # the coefficient of D in (101)
    hypotheses = [
        A_next <= rate * A - drop * D + 8 * weight * B,
        kept * B_before + rise * D >= B,
        rise <= drop,
        weight > 0,
    ]
    claimed = (
        A_next + (1 - rational(c.weight) * weight) * B <= rate * A + kept * B_before
    )
    x = 2 * (1 - rate)  # eta mu N
    nearby = [x > 0, x <= weight, 9 * weight <= 1, 3 * kept >= 2, kept < 1, rise > 0]
    nearby += [x * A <= drop * D, 81 * drop**2 * D**2 <= 49 * x * weight * A**2]
    return implied_under(hypotheses, nearby, claimed, "every eta, mu, L, N, q")


@claim(
    "focus.thm1.sc.step102b",
    source=Source("focus", "Appendix D.5, eq. (102), last line"),
    statement=r"\eta\le\frac{2q_{\min}}{3N\big(\frac{8L^2}{\mu}+\frac{\mu}{2}\big)}:"
    r"\quad\Big(1-\frac{\eta\mu N}{2}\Big)A_r+\Big(1-\frac{q_{\min}}{3}\Big)B_{r-1}\le"
    r"\Big(1-\frac{\eta\mu N}{2}\Big)\Big(A_r+\Big(1-\frac{8\eta L^2N}{\mu}\Big)B_{r-1}"
    r"\Big)",
    proposition="At every step size inside the caps of (23) and the one printed here, "
    "1 - q/3 <= (1 - eta mu N/2)(1 - 8 eta L^2 N/mu).",
    constants={"caps": CAPS, "cap": "2/3", "contraction": "1/2", "weight": "8"},
    twin={"cap": "1/3"},
    free=Free("cap", "1/6", "2/3", weaker="smaller"),
)
def contracted(c: SimpleNamespace) -> Finding:
    """Decide it as printed, and for half the cap without the others."""
    half = SimpleNamespace(**{**vars(c), "cap": "1/3", "caps": {}})
    return _last_line(c).corrected(
        r"\eta\le\frac{q_{\min}}{3N(8L^2/\mu+\mu/2)}\;\Rightarrow\;1-\frac{q_{\min}}{3}"
        r"\le\Big(1-\frac{\eta\mu N}{2}\Big)\Big(1-\frac{8\eta L^2N}{\mu}\Big)",
        _last_line(half),
    )


def _last_line(c: SimpleNamespace) -> Finding:
    caps = {**c.caps, "q/(N (8 L^2/mu + mu/2))": c.cap}
    return for_each_q(_inside(caps), {"coefficients": _kept_below(c)}, SCOPE)


def _kept_below(c: SimpleNamespace, lemmas: str = "printed") -> sympy.Rel:
    shrink = 1 - rational(c.contraction) * eta * mu * N
    weight = 1 - rational(c.weight) * eta * L**2 * N / mu
    return LEMMAS_4[lemmas].kept <= shrink * weight


COLLECTED = {
    "q/(N (8 L^2/mu + mu/2))": "1/3",
    "q/(N^2 L)": "1/6",
    **MENDED_4.caps,
}
MENDED = {
    "caps": COLLECTED,
    "contraction": LEMMAS_3["mended"].contraction,
    "weight": LEMMAS_3["mended"].consensus,
    "lemmas": "mended",
}


@claim(
    "focus.thm1.sc.collected",
    source=Source("focus", "Theorem 1, eq. (23), and Appendix D.5"),
    statement=r"\eta\le\min\Big\{\frac{3\mu}{27NL^2},\frac{1}{3L(\tau-1)},\frac{q_{"
    r"\min}^{3/2}}{8L\sqrt N}\Big\}\text{ implies what Lemmas 3 and 4, the sign before "
    r"(102) and (102) ask of }\eta\text{, and (97)-(102) then give }V_{r+1}\le(1-\eta"
    r"\mu N/2)V_r,\quad V_r=A_r+\Big(1-\frac{8\eta L^2N}{\mu}\Big)B_{r-1}",
    proposition="The caps of (23) imply every condition that the chain (97)-(102) "
    "uses: those of Lemmas 3 and 4, the sign in stepDF and the last line of (102). "
    "Whether (23) holds, by this chain or not, is judged in focus.thm1.sc.",
    constants={
        "caps": CAPS,
        "contraction": LEMMAS_3["printed"].contraction,
        "weight": LEMMAS_3["printed"].consensus,
        "lemmas": "printed",
    },
    twin=MENDED,
    free=Free(
        "caps",
        "1/12",
        "1",
        weaker="smaller",
        key="q/(N (8 L^2/mu + mu/2))",
        given=MENDED,
    ),
)
def collected(c: SimpleNamespace) -> Finding:
    """Ask the caps of (23) for each condition; prove the chain with mended lemmas."""
    return for_each_q(_inside(c.caps), _needs(c), SCOPE).corrected(
        r"\eta\le\min\Big\{\frac{q}{3N(8L^2/\mu+\mu/2)},\frac{q}{6N^2L},\frac{q^{3/2}}"
        r"{8LN},\frac{q^{3/2}}{8L(\tau-1)}\Big\},\;r\ge1:\quad V_{r+1}\le(1-\eta\mu N/"
        r"2)V_r,\quad V_r=\mathbb{E}\|\bar x_{r\tau+1}-x^\star\|^2+\Big(1-\frac{8\eta L"
        r"^2N}{\mu}\Big)\mathbb{E}\|\mathbb{1}\bar x_{(r-1)\tau+1}-\boldsymbol{x}_{(r-1"
        r")\tau}\|_F^2,\;" + chain.CONVEX,
        _mended(),
    )


@cache
def _mended() -> Finding:
    own = SimpleNamespace(**MENDED)
    proof = chain.proved(
        for_any_q(_inside(own.caps), _needs(own), SCOPE),
        chain.lemma_3(),
        chain.lemma_4(),
        chain.distances_shrink(),
    )
    search = searches.distances(own.caps, own.contraction)
    return judge.proof_or_search(proof, search)


def _needs(c: SimpleNamespace) -> dict[str, Any]:
    return {
        **_asked(c.lemmas),
        "the sign in stepDF": chain.sign(LEMMAS_3[c.lemmas], LEMMAS_4[c.lemmas]),
        "the last line of (102)": _kept_below(c, c.lemmas),
    }
