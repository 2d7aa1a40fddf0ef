r"""Appendix D.7 of the FOCUS paper: the proof of (25), step by step, (111)-(121).

The chain itself is in order up to (118), given (87) and Lemma 4; the caps of (25) do
not contain the cap of Lemma 4 on local steps. In (119) and (121) factors 1/R are
misplaced: one too many beside the gradients of (119), one missing beside F(xbar_1) -
F(xbar_R) in (121). With them put right the bound of (25) follows if C_0 = 0, which
depends on how the run is started, and with a term in C_0 otherwise.

Conventions: w_r = xbar_{r tau+1}, g = grad F(w_r), S the sum of the clients'
gradients that the server uses, E = E|N g - S|^2; A_r = E|grad F(w_r)|^2,
B_r = E F(w_r), C_r = E||1 w_r - x_{r tau}||^2: expectations are taken on both sides;
xbar* is read as a minimiser of F. Steps that cite an earlier line are judged as
implications from that line as printed; the correction of (116)-(118) is from the mended
Lemma 4, with its proof, and from (111)-(115) for every run.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import sympy

from flverify._core.sources import Source
from flverify.claims import focus_theorem1_chain as chain
from flverify.claims import focus_theorem1_chain_searches as searches
from flverify.claims import judge
from flverify.claims.claim import Free, Sharp, claim
from flverify.claims.focus_theorem1_chain import LEMMAS_4, MENDED_4
from flverify.claims.focus_theorem1_steps import (
    L,
    N,
    asked_by,
    conditions,
    eta,
    for_any_q,
    for_each_q,
    implied_under,
    plugged_87,
    q,
    smooth_step,
    stale,
)
from flverify.claims.rationals import rational
from flverify.claims.stack_norms import (
    INDUCED,
    ONE_NORM,
    SEARCHED,
    STALE,
    loosened_norm,
)
from flverify.claims.verdict import Finding

EVERY = "every eta, L > 0, N, tau >= 1, q_min in (0, 1]"

C, E, G = sympy.symbols("C E G", nonnegative=True)
F, F_next, cross = sympy.symbols("F F_next cross", real=True)  # cross = <g, S>
g, S = sympy.symbols("g S", real=True)  # one coordinate


@claim(
    "focus.thm1.nc.step111",
    source=Source("focus", "Appendix D.7, eq. (111)"),
    statement=r"F(\bar x_{(r+1)\tau+1})\le F(\bar x_{r\tau+1})-\eta\langle\nabla F("
    r"\bar x_{r\tau+1}),S\rangle+\tfrac{\eta^2L}{2}\|S\|^2\le F(\bar x_{r\tau+1})-\eta"
    r"\langle\nabla F(\bar x_{r\tau+1}),S\rangle+\eta^2L\|N\nabla F(\bar x_{r\tau+1})-"
    r"S\|^2+\eta^2N^2L\|\nabla F(\bar x_{r\tau+1})\|^2,\quad S=\mathbb{1}^{\mathsf T}"
    r"\nabla\boldsymbol f(\boldsymbol x_{(r+1)\tau})",
    proposition="For every L-smooth F and any S, F(w - eta S) is at most each line of "
    "(111), and the last line follows from the one before.",
    given={"(71)": "focus.obs71"},
    constants={"half": "1/2", "distance": "1", "gradient": "1"},
    twin={"distance": "1/2"},
    reading_twins={
        "Assumption 2 for F": {"half": "1/4"},
        "first line": {"half": "1/4"},
    },
    free=(
        Free("distance", "1/2", "2", weaker="larger"),
        Free("gradient", "1/2", "2", weaker="larger"),
    ),
    exact=("half",),
)
def descent(c: SimpleNamespace) -> Finding:
    """Prove both lines from A2, given for each f_i; Jensen for every coordinate."""
    return smooth_step(c.half, c.distance, c.gradient)


@claim(
    "focus.thm1.nc.step112",
    source=Source("focus", "Appendix D.7, eq. (112)"),
    statement=r"-\eta\langle g,S\rangle=-\eta N\|g\|^2+\eta\langle g,Ng-S\rangle\le-"
    r"\tfrac{\eta N}{2}\|g\|^2+\tfrac{\eta}{2N}\|Ng-S\|^2,\quad g=\nabla F(\bar x_{r"
    r"\tau+1})",
    proposition="The identity and the inequality of (112) hold for all g and S.",
    constants={"gradient": "1/2", "distance": "1/2", "split": 1},
    twin={"distance": "1/4"},
    reading_twins={"identity": {"split": 2}},
    free=(
        Free("gradient", "1/4", "1", weaker="smaller"),
        Free("distance", "1/4", "1", weaker="larger"),
    ),
    exact=("split",),
)
def cross_term(c: SimpleNamespace) -> Finding:
    """Expand in one coordinate; Young's inequality."""
    two = -rational(c.gradient) * eta * N * g**2
    two += rational(c.distance) * eta / N * (N * g - S) ** 2
    split = -eta * N * g**2 + rational(c.split) * eta * g * (N * g - S)
    scope = "every eta > 0, N >= 1 and, coordinate by coordinate, all g and S"
    return judge.all_of(
        {
            "identity": judge.identity([("split", -eta * g * S, split)], scope),
            "inequality": judge.implied([], split <= two, scope),
        }
    )


@claim(
    "focus.thm1.nc.step113",
    source=Source("focus", "Appendix D.7, eq. (113)"),
    statement=r"\frac{\eta N}{2}(1-2\eta NL)\,\mathbb{E}\|\nabla F(\bar x_{r\tau+1})\|^"
    r"2\le F(\bar x_{r\tau+1})-\mathbb{E}F(\bar x_{(r+1)\tau+1})+\Big(\frac{\eta}{2N}+"
    r"\eta^2L\Big)\mathbb{E}\|\mathbb{1}^{\mathsf T}\nabla\boldsymbol f(\bar x_{r\tau+"
    r"1})-S\|^2",
    proposition="(113) follows from (111) and (112).",
    given={"(111)": "focus.thm1.nc.step111", "(112)": "focus.thm1.nc.step112"},
    constants={"gradient": "1/2", "less": "2", "distance": "1/2", "more": "1"},
    twin={"less": "1"},
    free=(
        # it stands before `less`, too: with 2 there, smaller ones would fail
        Free("gradient", "1/4", "1", weaker="smaller", given={"less": "4"}),
        Free("less", "1", "4", weaker="larger"),
        Free("distance", "1/4", "1", weaker="larger"),
        Free("more", "1/2", "2", weaker="larger"),
    ),
)
def substituted(c: SimpleNamespace) -> Finding:
    """Put (112) into (111)."""
    known = [
        F_next <= F - eta * cross + eta**2 * L * E + eta**2 * N**2 * L * G,
        -eta * cross <= -eta * N / 2 * G + eta / (2 * N) * E,
    ]
    left = rational(c.gradient) * eta * N * (1 - rational(c.less) * eta * N * L) * G
    up = rational(c.distance) * eta / N + rational(c.more) * eta**2 * L
    nearby = [*conditions(chain.CAPS_25), q <= 1]
    nearby += [(N * G - cross) ** 2 <= G * E]  # <g, N g - S> is at most |g| |N g - S|
    return implied_under(known, nearby, left <= F - F_next + up * E, EVERY)


def _left() -> Any:
    """Left side of (113) and (114)."""
    return eta * N / 2 * (1 - 2 * eta * N * L) * G


@claim(
    "focus.thm1.nc.step114",
    source=Source("focus", "Appendix D.7, eq. (114)"),
    statement=r"\frac{\eta N}{2}(1-2\eta NL)\,\mathbb{E}\|\nabla F(\bar x_{r\tau+1})\|^"
    r"2\le F(\bar x_{r\tau+1})-\mathbb{E}F(\bar x_{(r+1)\tau+1})+\Big(\frac{\eta}{2N}+"
    r"\eta^2L\Big)(2L^2N+8\eta^2(\tau-1)^2L^4N)\,\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}"
    r"-\boldsymbol x_{r\tau}\|^2",
    proposition="(114) follows from (113) and (87) for any eta, as the weights I - Q "
    "and Q are at most 1; its last norm is printed without the F of (83).",
    given={"(113)": "focus.thm1.nc.step113", "(87)": "focus.lemma3.step87.smooth"},
    constants={"first": "2", "second": "8", "(87)": "an upper bound"},
    twin={"first": "1"},
    no_control="Appendix B has two norms, and the line drops an F; the twin, half of "
    "the first weight, fails under both readings",
    reading_twins={f"{ONE_NORM} / substitution": {"(87)": "a lower bound"}},
    free=(
        Free("first", "1", "4", weaker="larger", reading=ONE_NORM),
        Free("second", "4", "16", weaker="larger", reading=ONE_NORM),
    ),
)
def stale_gradients(c: SimpleNamespace) -> Finding:
    """Loosen the weights to 1, and put the result into (113)."""
    up, drift = sympy.symbols("up drift", positive=True)
    bounds = {"an upper bound": drift * C >= E, "a lower bound": drift * C <= E}
    put = judge.implied(
        [_left() <= F - F_next + up * E, bounds[getattr(c, "(87)")]],
        _left() <= F - F_next + up * drift * C,
        "every factor of E in (113) and of C in (87)",
    )
    plugged = {
        ONE_NORM: plugged_87((c.first, c.second), ("2", "8")),
        INDUCED: judge.instances(loosened_norm(c.first, c.second), "<=", SEARCHED),
    }
    found = {
        name: judge.all_of({"(87) with weights 1": one, "substitution": put})
        for name, one in plugged.items()
    }
    statement = rf"\cdots+\Big(\frac{{\eta}}{{2N}}+\eta^2L\Big){STALE}"
    return judge.readings(found).corrected(statement, found[ONE_NORM])


@claim(
    "focus.thm1.nc.step115",
    source=Source("focus", "Appendix D.7, eq. (115)"),
    statement=r"\eta\le\min\Big\{\frac1{4LN},\frac1{2L(\tau-1)}\Big\}:\quad\mathbb{E}\|"
    r"\nabla F(\bar x_{r\tau+1})\|^2\le\frac{4}{\eta N}\big(F(\bar x_{r\tau+1})-F(\bar "
    r"x_{(r+1)\tau+1})\big)+\frac{16L^2}{N}\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}-"
    r"\boldsymbol x_{r\tau}\|^2",
    proposition="(115) follows from (114) at the step sizes printed with it.",
    given={"(114)": "focus.thm1.nc.step114"},
    constants={
        "caps": chain.CAPS_115,
        "function": "4",
        "consensus": "16",
        "combined for": "u <= v",
    },
    twin={"consensus": "8"},
    reading_twins={
        "gradient": {"function": "3"},
        "combined": {"combined for": "u >= v"},
    },
    free=(
        # (114) times it is (115): with 16 there, larger ones would fail
        Free("function", "2", "8", weaker="larger", given={"consensus": "24"}),
        Free("consensus", "8", "16", weaker="larger"),
        Free("caps", "1/8", "1/2", weaker="smaller", key="1/(L N)"),
        Free("caps", "1/4", "1", weaker="smaller", key="1/(L (tau-1))"),
    ),
    sharp=Sharp(
        r"\eta\le\min\Big\{\frac1{4LN},\frac1{2L(\tau-1)}\Big\}:\quad"
        r"\mathbb{E}\|\nabla F(\bar x_{r\tau+1})\|^2\le\frac{4}{\eta N}\big(F(\bar x_{r"
        r"\tau+1})-F(\bar x_{(r+1)\tau+1})\big)+\frac{<consensus>L^2}{N}\mathbb{E}\|"
        r"\mathbb{1}\bar x_{r\tau+1}-\boldsymbol x_{r\tau}\|^2",
        {"consensus": "12", "caps[1/(L (tau-1))]": "1/2"},
    ),
)
def simplified(c: SimpleNamespace) -> Finding:
    """Bound each coefficient, then combine.

    With s = 1 - 2 eta N L: (s/2) G <= change + u C, and 1/factor <= s/2.

    Needed too: with G = 0 and change = -u C (114) holds, and (115) says u <= v.
    """
    weight = rational(c.consensus) / rational(c.function)
    s, half, u, v = sympy.symbols("s half u v", positive=True)
    change = sympy.Symbol("change", real=True)  # (F - F_next)/(eta N)
    caps = conditions(c.caps)
    order = {"u <= v": u <= v, "u >= v": u >= v}[getattr(c, "combined for")]
    combined = judge.implied(
        [s / 2 * G <= change + u * C, half <= s / 2, order],
        half * G <= change + v * C,
        "all coefficients",
    )
    slope = 1 - 2 * eta * N * L
    drift = (eta / (2 * N) + eta**2 * L) * stale()
    return judge.all_of(
        {
            "gradient": judge.implied(
                caps, 1 / rational(c.function) <= slope / 2, EVERY
            ),
            "consensus": judge.implied(caps, drift <= weight * eta * L**2, EVERY),
            "combined": combined,
        }
    )


@claim(
    "focus.thm1.nc.step116-118",
    source=Source("focus", "Appendix D.7, eq. (116)-(118)"),
    statement=r"\mathbb{E}\|\mathbb{1}\bar x_{r\tau+1}-\boldsymbol x_{r\tau}\|_F^2\le"
    r"\Big(1-\frac{q_{\min}}{3}\Big)\|\mathbb{1}\bar x_{(r-1)\tau+1}-\boldsymbol x_{(r-"
    r"1)\tau}\|_F^2+\frac{16\eta^2N^2}{3q_{\min}}\|\nabla F(\bar x_{r\tau+1})\|^2;\quad"
    r" A_r\le\frac{4}{\eta N}(B_r-B_{r+1})+\frac{16L^2}{N}C_r,\quad C_r\le\Big(1-\frac{"
    r"q_{\min}}{3}\Big)C_{r-1}+\frac{16\eta^2N^2}{3q_{\min}}A_r",
    proposition="At every step size inside the caps of (25), (i) Lemma 4 and (115), "
    "which (116)-(118) restate, may be applied: their conditions on the step size "
    "hold; (ii) (118) is true, wherever it is from.",
    given={"Lemma 4": "focus.lemma4", "(115)": "focus.thm1.nc.step115"},
    unaided=searches.ITSELF,
    constants={"caps": chain.CAPS_25, "lemma_4": "printed", "by_itself": True},
    twin={"caps": MENDED_4.caps, "lemma_4": "mended", "by_itself": False},
    mended_from={},
)
def restated(c: SimpleNamespace) -> Finding:
    """Ask the caps for the conditions of Lemma 4 and (115); prove them mended."""
    own = conditions(MENDED_4.caps)
    found = for_each_q(conditions(c.caps), _asked(c.lemma_4), EVERY)
    if c.by_itself:
        found = searches.beside_itself(found, c.caps)
    return found.corrected(
        rf"{chain.CAPS_4}:\quad A_r\le\frac{{4}}{{\eta N}}(B_r-B_{{r+1}})+"
        r"\frac{16L^2}{N}C_r,\quad C_r\le\Big(1-\frac q3\Big)C_{r-1}+\frac{16\eta^2N^3}"
        rf"{{3q}}A_r,\quad {chain.LETTERS},\;{chain.SMOOTH}",
        chain.proved(
            for_any_q(own, _asked("mended") | chain.asked_by_values(), EVERY),
            chain.gradient_recursion(),
            chain.lemma_4(),
        ),
    )


def _asked(lemma_4: str) -> dict[str, Any]:
    return asked_by({"Lemma 4": LEMMAS_4[lemma_4].caps, "(115)": chain.CAPS_115})
